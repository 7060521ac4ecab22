"""What generated functions may assume holds for them alone, and under whatever flags the file is compiled."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.emit.c.compiler_attributes import CompilerSettings
from planish.emit.c.prologue import emit_prologue
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="what gcc makes of the original is right")

HEAD = "#include <math.h>\n#include <stdio.h>\n"
NESTS = """
float energy(int n, const float *x)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}

double most(int n, const double *x)
{
    double s = -1.0 / 0.0;
    for (int i = 0; i < n; i++)
        s = x[i] > s ? x[i] : s;
    return s;
}

void polynomial(int n, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = (x[i] * 1.1 + 2.3) * x[i] + 0.7;
}

int odd_ones(int n, const double *x)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (x[i] != x[i])
            k++;
    return k;
}
"""
OWN = """
__attribute__((noinline)) int special(int n, const double *x)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(x[i]))
            k += 1;
        if (isinf(x[i]))
            k += 100;
        if (x[i] == 0 && signbit(x[i]))
            k += 10000;
        if (x[i] != 0 && fabs(x[i]) < 2.2250738585072014e-308)
            k += 1000000;
    }
    return k;
}

__attribute__((noinline)) double lost(double a, double b)
{
    return (a + b) - a;
}
"""
MAIN = """
int main(void)
{
    static double x[1000], y[1000];
    static float f[1000];
    for (int n = 0; n < 1000; n += n < 40 ? 1 : 311) {
        for (int i = 0; i < n; i++) {
            f[i] = (float)(i % 17) / 4;
            x[i] = i % 9 ? i % 5 ? i : 5e-324 : i % 2 ? NAN : i % 4 ? -0.0 : INFINITY;
        }
        printf("%g %g %d %d\\n", energy(n, f), most(n, x), odd_ones(n, x), special(n, x));
        polynomial(n, x, y);
        for (int i = 0; i < n; i++)
            printf("%.FORMAT ", y[i]);
    }
    printf("%g\\n", lost(1e17, 3));
    return 0;
}
"""
COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
WAYS = ("-O2", "-O3 -march=native", "-O2 -flto", "-O1 -fopenmp-simd")


def run(text: str, command: list[str], place: Path, *emulator: str) -> str:
    (place / "p.c").write_text(text)
    subprocess.run([*command, "-w", "p.c", "-o", "p", "-lm"], cwd=place, check=True)
    done = subprocess.run([*emulator, str(place / "p")], capture_output=True, text=True, check=True)
    return done.stdout


def built(text: str, floats: Floats, target: str = "native") -> tuple[str, str]:
    """The drop-in, and the command that it names."""
    made = build_file(Source("p.c", text), Options(fp=floats, measure=False, target=target))
    found = re.search(r"compile: (.*)", made.text)
    assert found is not None
    assert all(f"planish_{x}_1(" in made.text for x in ("energy", "most", "polynomial"))
    return made.text, found[1]


@pytest.mark.each_value
@pytest.mark.parametrize("flags", ["", *WAYS])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("floats", ["reassociate", "strict"])
def test_all_are_right_under_any_flags(floats: Floats, compiler: str, flags: str, tmp_path: Path) -> None:
    # Every bit with --fp strict, but for what each compiler makes of what is as it was written.
    main = MAIN.replace("FORMAT", "a" if floats == "strict" else "12g")
    text = HEAD + NESTS + OWN + main
    right = run(text, ["gcc", "-O1", "-ffp-contract=off"], tmp_path)
    made, command = built(text, floats)
    way = [compiler, *flags.split()] if flags else command.split()
    if "clang" in compiler and shutil.which("ld.lld") is None:
        way = [x for x in way if x != "-flto"]
    assert run(made, way, tmp_path) == right, way


@pytest.mark.each_value
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("floats", ["reassociate", "strict"])
def test_what_is_as_it_was_compiles_to_what_it_was(compiler: str, floats: Floats, tmp_path: Path) -> None:
    text = HEAD + NESTS + OWN
    made, _ = built(text, floats)
    for flags in ("-O2", "-O3 -march=native", "-O1 -fno-strict-aliasing -ffp-contract=off"):
        code = []
        for number, source in enumerate((text, made)):
            (tmp_path / f"{number}.c").write_text(source)
            command = [compiler, *flags.split(), "-w", "-S", "-fno-asynchronous-unwind-tables", f"{number}.c"]
            subprocess.run(command, cwd=tmp_path, check=True)
            code.append([instructions((tmp_path / f"{number}.s").read_text(), x) for x in ("special", "lost")])
        assert code[0] == code[1], flags


def instructions(assembly: str, function: str) -> list[str]:
    """A function's instructions, with labels and constants by the order in which they come."""
    body = re.search(rf"^{function}:(.*?)^\s*\.size\s+{function}", assembly, re.DOTALL | re.MULTILINE)
    assert body is not None
    seen: dict[str, str] = {}
    lines = [re.sub(r"\s*#.*", "", x) for x in body[1].splitlines() if re.match(r"\t[a-z]|\.L", x)]
    return [re.sub(r"\.L\w+", lambda x: seen.setdefault(x[0], f"L{len(seen)}"), x) for x in lines]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_original_runs_where_the_processor_lacks_something(compiler: str, tmp_path: Path) -> None:
    machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    if not machine.startswith("x86_64"):
        pytest.skip("the code is for x86")
    text = HEAD + NESTS + OWN + MAIN.replace("FORMAT", "12g")
    right = run(text, ["gcc", "-O1", "-ffp-contract=off"], tmp_path)
    made, _ = built(text, "reassociate", "x86-avx2")
    assert made.count("if (planish_able") >= 3
    lacking = made.replace('__builtin_cpu_supports("avx2")', "0")
    assert run(lacking, [compiler, "-O2"], tmp_path) == right
    assert run(made, [compiler, "-O2", "-DPLANISH_ORIGINAL"], tmp_path) == right
    if shutil.which("qemu-x86_64") is not None:
        assert run(made, [compiler, "-O2"], tmp_path, "qemu-x86_64", "-cpu", "Nehalem") == right


STRIDED = """
static void planish_f(long m, long n, double (*restrict x)[n], const double *restrict y)
{
    for (long i = n; i < 2 * n - 1; i++) {
        planish_lanes
        for (long r = 0; r < m; r++)
            x[r][2 * n - i - 2] += -(y[2 * n - i - 2] * x[r][2 * n - i - 1]);
    }
}
"""
PRINTED = """
#include <stdio.h>
int main(void)
{
    double x[20][20], y[20];
    for (int i = 0; i < 400; i++)
        x[i / 20][i % 20] = i % 7;
    for (int i = 0; i < 20; i++)
        y[i] = i;
    planish_f(20, 20, x, y);
    for (int i = 0; i < 400; i++)
        printf("%a ", x[i / 20][i % 20]);
}
"""


@pytest.mark.each_value
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native"])
def test_lanes_whose_elements_lie_apart_wait_for_those_of_the_iteration_before(
    compiler: str, flags: str, tmp_path: Path
) -> None:
    text = emit_prologue([STRIDED], settings=CompilerSettings("strict")) + PRINTED
    plain = [compiler, "-O1", "-ffp-contract=off", "-Dplanish_lanes="]
    right = run(STRIDED + PRINTED, plain, tmp_path)
    assert run(text, [compiler, *flags.split()], tmp_path) == right


ROTATIONS = """
void rotate(int n, TYPE re, TYPE im, const TYPE *restrict x, TYPE *restrict y)
{
    for (int i = 0; i < n; i++) {
        y[2 * i] = re * x[2 * i] - im * x[2 * i + 1];
        y[2 * i + 1] = re * x[2 * i + 1] + im * x[2 * i];
    }
}
void halves(int n, const TYPE *restrict w, TYPE *restrict x)
{
    for (int i = 0; i < n; i++) {
        TYPE a = x[2 * i], b = x[2 * i + 1] * w[i];
        x[2 * i] = a + b;
        x[2 * i + 1] = a - b;
    }
}
void predicted(int n, TYPE c, const TYPE *restrict x, const TYPE *restrict y, TYPE *restrict z)
{
    for (int i = 0; i < n; i++) {
        z[2 * i] = y[2 * i] - c * x[2 * i];
        z[2 * i + 1] = y[2 * i + 1] + c * x[2 * i + 1];
    }
}
"""


@pytest.mark.parametrize("type", ["float", "double"])
def test_products_are_rounded_before_they_are_added_and_subtracted(type: str) -> None:
    """gcc 12 rounds sums and differences side by side once with their products, even where contraction is off."""
    result = build_file(Source("r.c", ROTATIONS.replace("TYPE", type)), Options(measure=False, fp="strict"))
    for function in result.functions:
        assert function.selection is not None and function.selection.version is not None, function.remarks
        assert not [x for x in function.remarks if x.id in ("verify-result", "verify-time")], function.remarks


COMPACTED = """
void halve(int w, long *a) { for (int i = 0; i < w; i++) a[i] = a[2 * i]; }
void thin(int w, float *restrict a, float *restrict b)
{
    for (int i = 0; i < w; i++) {
        a[i] = a[3 * i] + b[i];
        b[i] = 1;
    }
}
double walk(int n, double *a)
{
    double *p = a, s = 0;
    const double *q = a;
    for (int i = 0; i < n; i++)
        *p++ = *q, q += 4;
    return s + a[n - 1];
}
void rows(int n, int m, short *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i * m + j] = a[2 * (i * m + j)];
}
"""
MOVED = """
int main(void)
{
    static long a[400]; static float b[400], c[400]; static double d[400]; static short e[400];
    for (int i = 0; i < 400; i++)
        a[i] = i, b[i] = i, c[i] = -i, d[i] = i, e[i] = i;
    halve(90, a), thin(90, b, c), rows(9, 10, e);
    printf("%g\\n", walk(90, d));
    for (int i = 0; i < 400; i++)
        printf("%ld %g %g %g %d\\n", a[i], b[i], c[i], d[i], e[i]);
}
"""


@pytest.mark.parametrize("floats", ["reassociate", "strict"])
def test_no_call_of_a_generated_function_is_taken_for_one_without_effect(floats: Floats, tmp_path: Path) -> None:
    # gcc 12 drops calls of functions in which an element moves to a smaller multiple of its index.
    text = HEAD + COMPACTED + MOVED
    made = build_file(Source("p.c", text), Options(fp=floats, measure=False)).text
    assert all(f"planish_{x}_1(" in made for x in ("halve", "thin", "walk", "rows"))
    right = run(text, ["gcc", "-O0", "-ffp-contract=off"], tmp_path)
    for compiler in COMPILERS:
        for flags in ("-O1", *WAYS[:2]):
            assert run(made, [compiler, *flags.split()], tmp_path) == right, (compiler, flags)


CHARACTERS = """
void widen(int n, const char *restrict x, int *restrict y) { for (int i = 0; i < n; i++) y[i] = x[i] * 3; }
int below(int n, const char *x) { int k = 0; for (int i = 0; i < n; i++) k += x[i] < 0; return k; }
void shift(int n, short *y) { for (int i = 0; i < n; i++) y[i] += '\\x0e9'; }
"""
SHOWN = """
int main(void)
{
    static char x[300]; static int y[300]; static short z[300];
    for (int i = 0; i < 300; i++)
        x[i] = (char)i;
    widen(300, x, y), shift(300, z);
    for (int i = 0; i < 300; i++)
        printf("%d %d\\n", y[i], z[i]);
    printf("%d\\n", below(300, x));
}
"""


def test_the_original_runs_where_a_plain_char_is_another_one(tmp_path: Path) -> None:
    text = HEAD + CHARACTERS + SHOWN
    made = build_file(Source("p.c", text), Options(measure=False)).text
    assert all(f"planish_{x}_1(" in made for x in ("widen", "below", "shift"))
    assert made.count("defined(__CHAR_UNSIGNED__)") == 1
    for sign in ("-funsigned-char", "-fsigned-char"):
        right = run(text, ["gcc", "-O1", sign], tmp_path)
        for compiler in COMPILERS:
            assert run(made, [compiler, "-O2", sign], tmp_path) == right, (compiler, sign)
