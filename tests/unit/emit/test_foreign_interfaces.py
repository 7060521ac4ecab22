"""Fortran and Rust call the functions of a C file by the interfaces that are written for them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.dropin.foreign_interfaces import Language, emit_interface
from planish.frontend.c.reader import read_c

LONG = ", ".join(f"const double *restrict a_rather_long_name_{i}" for i in range(8))
TEXT = f"""
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
typedef float sample;
typedef int *places;
typedef struct {{ int x; }} point;
static float hidden(const float *x) {{ return x[0]; }}
/* Names that mean something, or differ in case only, in one of the languages. */
double real(size_t n, const double *restrict A, double *a, sample type)
{{ for (size_t i = 0; i < n; i++) a[i] = A[i] * type; return a[n - 1]; }}
int64_t Real(const int8_t in[], unsigned char self[3], unsigned _Real) {{ return in[0] + self[2] + (int64_t)_Real; }}
bool _any(int m, int n, const float rows[m][n], bool deflt) {{ return rows[m - 1][n - 1] > 0 || deflt; }}
void id(uint16_t id, uint16_t *const result, const short c_int16_t) {{ *result = (uint16_t)(id + c_int16_t); }}
unsigned answer(void) {{ return 4000000000u; }}
double many({LONG}) {{ return {" + ".join(f"a_rather_long_name_{i}[0]" for i in range(8))}; }}
size_t bytes(const size_t *sizes) {{ return sizes[0]; }}
int first(const point *p) {{ return p->x + (int)hidden((const float *)p); }}
int type(int in, int in_, int _) {{ return in + 10 * in_ + _; }}
int type_(const places x) {{ return x[0]++; }}
int kernels_interface(void) {{ return 5; }}
float **rows(float **x) {{ return x; }}
void tell(const char *format, ...) {{ (void)format; }}
"""
FORTRAN = """
program test
  use, intrinsic :: iso_c_binding
  use kernels_interface_2
  real(c_double) :: x(3) = [1, 2, 3], y(3)
  real(c_float) :: rows(3, 2) = 0
  integer(c_int16_t) :: z(1)
  integer(c_int32_t) :: three(1) = [3]
  integer(c_int8_t) :: bytes3(3) = [0_c_int8_t, 0_c_int8_t, -1_c_int8_t]
  print '(f0.1)', real(3_c_size_t, x, y, 2.0)
  print '(i0)', real_2([-3_c_int8_t], bytes3, -1)
  rows(3, 2) = 1
  print '(l1, l1)', c_any(2, 3, rows, .false._c_bool), c_any(2, 2, rows, .false._c_bool)
  call id(30_c_int16_t, z, 12_c_int16_t)
  print '(i0)', z
  print '(i0)', answer()
  print '(f0.1)', many(x, x, x, x, x, x, x, x)
  print '(i0)', bytes([7_c_size_t])
  three(1) = type_(three) + kernels_interface()
  print '(i0)', type(1, 2, three(1))
end program
"""
RUST = """
mod kernels { include!("kernels.rs"); }
use kernels::*;
fn main() {
    let (x, mut y, rows, mut z) = ([1.0, 2.0, 3.0], [0.0; 3], [0f32, 0., 0., 0., 0., 1.], 0u16);
    let p = x.as_ptr();
    unsafe {
        println!("{:.1}", real(3, p, y.as_mut_ptr(), 2.0));
        println!("{}", Real([-3i8].as_ptr(), [0u8, 0, 255].as_mut_ptr(), u32::MAX));
        let told = |n| if _any(2, n, rows.as_ptr(), false) { "T" } else { "F" };
        println!("{}{}", told(3), told(2));
        id(30, &mut z, 12);
        println!("{}", z);
        println!("{}", answer() as i32);
        println!("{:.1}", many(p, p, p, p, p, p, p, p));
        println!("{}", bytes([7usize].as_ptr()));
        let mut three = [3];
        three[0] = type_(three.as_mut_ptr()) + kernels_interface();
        println!("{}", type__(1, 2, three[0]));
    }
}
"""
PRINTED = ["6.0", str(-3 + 255 + 2**32 - 1), "TF", "42", str(4000000000 - 2**32), "8.0", "7", "29"]


def make(tmp_path: Path, language: Language, main: str, name: str, *command: str) -> list[str]:
    """What a program prints that calls the functions of `TEXT`; skips where the compiler does not take an empty one."""
    compiler = shutil.which(command[0])
    if compiler is None or shutil.which("gcc") is None:
        pytest.skip(f"{command[0]} or gcc is not here")
    (tmp_path / name).write_text(main)
    found = emit_interface(language, "kernels.c", read_c(Source("kernels.c", TEXT)))
    assert dict(found.left_out).keys() == {"first", "rows", "tell"}
    own = tmp_path / ("kernels.f90" if language == "fortran" else "kernels.rs")
    own.write_text(found.text)
    (tmp_path / "kernels.c").write_text(TEXT)
    run(tmp_path, "gcc", "-O1", "-c", "kernels.c", "-o", "kernels.o")
    if language == "rust":
        (tmp_path / "probe.rs").write_text('unsafe extern "C" { pub fn abs(x: i32) -> i32; }\n')
        probe = subprocess.run(
            [compiler, "--crate-type=rlib", "probe.rs"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        if probe.returncode:
            pytest.skip(f"rustc here is older than 1.82: {probe.stderr.splitlines()[0]}")
    run(tmp_path, *command)
    return run(tmp_path, "./program").split()


def run(folder: Path, *command: str) -> str:
    """What a command prints; it must end well."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def test_fortran_calls_the_functions(tmp_path: Path) -> None:
    flags = ("-std=f2008", "-Wall", "-Werror", "-Wno-intrinsic-shadow")
    command = ("gfortran", *flags, "kernels.f90", "main.f90", "kernels.o", "-o", "program")
    assert make(tmp_path, "fortran", FORTRAN, "main.f90", *command) == PRINTED


def test_rust_calls_the_functions(tmp_path: Path) -> None:
    command = ("rustc", "--edition=2021", "-Dwarnings", "-Anon_snake_case", "main.rs", "-Clink-arg=kernels.o", "-o",
               "program")  # fmt: skip
    assert make(tmp_path, "rust", RUST, "main.rs", *command) == PRINTED


@pytest.mark.parametrize("language", ["fortran", "rust"])
def test_a_file_without_such_a_function_is_refused(language: Language) -> None:
    text = "struct p { int x; };\nint f(struct p *a) { return a->x; }\nfloat _Complex g(int n) { return n; }\n"
    with pytest.raises(PlanishError) as refused:
        emit_interface(language, "f.c", read_c(Source("f.c", text)))
    assert refused.value.diagnostic.code == "E0135" and "f: a is neither a number" in str(refused.value)


def test_addresses_that_stay_lead_to_what_changes() -> None:
    text = "typedef float *place;\nvoid f(int n, const place x) { for (int i = 0; i < n; i++) x[i] *= 2; }\n"
    file = read_c(Source("f.c", text))
    assert "x: *mut f32" in emit_interface("rust", "f.c", file).text
    assert "intent(inout) :: x(*)" in emit_interface("fortran", "f.c", file).text
