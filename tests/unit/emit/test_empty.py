"""Arrays of a function's own have at least one element, whatever sizes are: C has no others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.emit.dropin.replacement import replace_region
from planish.frontend.c.reader import read_c
from planish.ir.text.parser import parse_kernel
from planish.poly.canonical.delinearise import delinearise
from planish.poly.scop.extraction import extract_scop

TEXT = """
kernel k(n, m; A: f64[n, m] distinct, B: f64[n] distinct) {
  alloc t: f64[m] stack
  alloc u: f64[n, m - 1] MEMORY
  for i in 0 .. n {
    for j in 0 .. m { t[j] = A[i, j] }
    for j in 0 .. m - 1 { u[i, j] = t[j] }
    for j in 0 .. m - 1 { B[i] += u[i, j] }
  }
}
"""
MAIN = """
int main(void)
{
  double a[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, b[9] = {0};
  for (ptrdiff_t n = 0; n < 4; n++) {
    for (ptrdiff_t m = 1; m < 4; m++) {
      (void)f(n, m, (void *)a, b);
    }
  }
  return b[0] != 12;
}
"""


@pytest.mark.parametrize("memory", ["stack", "dram", "scratch"])
def test_no_array_is_empty(memory: str, tmp_path: Path) -> None:
    text = emit_function(parse_kernel(TEXT.replace("MEMORY", memory)), "f")
    (tmp_path / "f.c").write_text(emit_prologue([text]) + MAIN)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    made = subprocess.run(["gcc", *flags, "f.c", "-o", "f"], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "asan" in made.stderr and "cannot find" in made.stderr:
        pytest.skip("the compiler has no sanitizers here")
    assert made.returncode == 0, f"{made.stderr}\n{text}"
    done = subprocess.run(["./f"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{text}"


def test_extents_that_are_known_to_be_positive_stay() -> None:
    known = TEXT.replace(" {", " assume n >= 1 assume m >= 2 {", 1).replace("MEMORY", "stack")
    text = emit_function(parse_kernel(known), "f")
    assert "[m]" in text and "max" not in text


def test_rows_that_the_user_did_not_declare_are_not_empty() -> None:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = 1;"
    text = f"void f(int n, int m, double *a) {{ {loops} }}"
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    scop = extract_scop(delinearise(region.kernel))
    made = replace_region(
        region, scop, scop.kernel, text, threads=False, strict=False, comment="", reserved=frozenset()
    )
    assert "double (*restrict a)[m]" in made.function
    assert "(int64_t)m >= 1" in made.guards
