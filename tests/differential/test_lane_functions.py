"""Functions of C's library in loops in lanes: no calls are left, the values are the library's, and what is the user's
own still tells errno."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
CALLS = {
    "roots": "sqrtS(x[i])", "lengths": "sqrtS(x[i] * x[i] + y[i])", "greater": "fmaxS(x[i], y[i])",
    "lesser": "fminS(x[i], y[i])", "clamped": "fminS(fmaxS(x[i], -1), y[i])", "sizes": "fabsS(x[i])",
    "down": "floorS(x[i])", "up": "ceilS(x[i])", "cut": "truncS(x[i])", "even": "rintS(x[i])",
    "signs": "copysignS(x[i], y[i])", "fused": "fmaS(x[i], y[i], x[i])",
}  # fmt: skip
HEAD = "#include <errno.h>\n#include <math.h>\n#include <stdio.h>\n"
OWN = """
__attribute__((noinline)) int outside(double x)
{
    errno = 0;
    volatile double y = sqrt(x);
    return errno == EDOM && y != y;
}
"""
VALUES = "{-0.0, 0.0, 1, -1, 2.5, -2.5, 1e30, -1e30, 1e-40, NAN, INFINITY, -INFINITY, 0.49999997, 8388609, -3.5, 7}"


def write(name: str, type: str) -> str:
    """A function that calls one for each element."""
    value = CALLS[name].replace("S", "f" if type == "float" else "")
    return (
        f"void {name}_{type}(int n, const {type} *restrict x, const {type} *restrict y, {type} *restrict z)\n"
        f"{{\n    for (int i = 0; i < n; i++)\n        z[i] = {value};\n}}\n"
    )


def write_main() -> str:
    """Prints what each makes of all pairs of some values; a NaN by no sign."""
    out = [f"int main(void)\n{{\n    static const double v[16] = {VALUES};\n"]
    for type in ("float", "double"):
        out.append(f"    {{ static {type} x[256], y[256], z[256];\n")
        out.append(f"      for (int i = 0; i < 256; i++) x[i] = ({type})v[i / 16], y[i] = ({type})v[i % 16];\n")
        for name, value in CALLS.items():
            # Which of two zeros is the greater one is open.
            zero = "0.0" if re.search("fm(in|ax)S", value) else "-0.0"
            out.append(f"      {name}_{type}(256, x, y, z);\n      for (int i = 0; i < 256; i++)\n")
            out.append(f'        if (z[i] != z[i]) puts("nan"); else printf("%a\\n", (double)z[i] + {zero});\n')
        out.append("    }\n")
    return "".join(out) + '    printf("%d\\n", outside(-1));\n}\n'


@pytest.fixture(scope="module")
def text() -> str:
    """The functions."""
    return HEAD + "".join(write(name, type) for name in CALLS for type in ("float", "double")) + OWN


@pytest.fixture(scope="module")
def made(text: str) -> str:
    """The drop-in."""
    return build_file(Source("f.c", text), Options(measure=False, target="x86-avx2")).text


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_calls_are_left(compiler: str, made: str, tmp_path: Path) -> None:
    machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    if not machine.startswith("x86_64"):
        pytest.skip("the instructions are those of x86")
    apart = re.sub(r"^static void planish_(\w+_1)\(", r"void planish_\1(", made, flags=re.MULTILINE)
    (tmp_path / "f.c").write_text(apart)
    for flags in ("-O3 -mavx2 -mfma -mf16c", "-O2", "-std=c11 -O2 -fno-builtin"):
        subprocess.run([compiler, *flags.split(), "-w", "-S", "f.c"], cwd=tmp_path, check=True)
        assembly = (tmp_path / "f.s").read_text()
        for name in CALLS:
            for type, letter in (("float", "s"), ("double", "d")):
                place = f"planish_{name}_{type}_1"
                body = re.search(rf"^{place}:(.*?)^\s*\.size\s+{place}", assembly, re.DOTALL | re.MULTILINE)
                if "-fno-builtin" in flags and "sqrt" not in CALLS[name]:
                    continue  # What the library's functions are is not to be known.
                assert body is not None and not re.search(r"\bcall|\bjmp\s+\w+@PLT", body[1]), (place, flags)
                lanes = rf"^\s*v(\w+p{letter}|p?and\w*|p?or\w*)\s.*%ymm"
                assert re.search(lanes, body[1], re.MULTILINE), (place, flags)


@pytest.mark.each_value
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native", "-O2 -std=c11 -Wall -Wpedantic -Werror"])
def test_values_are_the_librarys_and_the_users_own_calls_tell_errno(
    compiler: str, flags: str, text: str, made: str, tmp_path: Path
) -> None:
    printed = [run(x + write_main(), [compiler, *flags.split()], tmp_path) for x in (text, made)]
    assert printed[1].splitlines() == printed[0].splitlines()
    assert printed[1].endswith("\n1\n")


def run(text: str, command: list[str], place: Path) -> str:
    (place / "p.c").write_text(text)
    subprocess.run([*command, "p.c", "-o", "p", "-lm"], cwd=place, check=True)
    return subprocess.run([str(place / "p")], capture_output=True, text=True, check=True).stdout
