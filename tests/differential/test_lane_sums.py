"""Sums run in lanes where that is said: read from what compilers make of the functions, and from what these return."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from judging import agree

from planish.build.assemble import FileResult
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file

COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
UPDATES = {
    "add": "{0} += {1};", "mul": "{0} *= {1};", "xor": "{0} ^= {1};", "or": "{0} |= {1};", "and": "{0} &= {1};",
    "min": "{0} = {1} < {0} ? {1} : {0};", "max": "{0} = {1} > {0} ? {1} : {0};",
}  # fmt: skip
INTEGERS = {"int8_t": "b", "uint8_t": "b", "uint16_t": "w", "int32_t": "d", "uint32_t": "d", "uint64_t": "q"}
SUMS = {
    "two": (("float", "add"), ("double", "mul"), 1), "bytes": (("float", "add"), ("uint8_t", "xor"), 1),
    "signed_bytes": (("double", "max"), ("int8_t", "add"), 1), "shorts": (("double", "add"), ("uint16_t", "mul"), 1),
    "words": (("float", "max"), ("uint32_t", "add"), 1), "bits": (("float", "mul"), ("uint32_t", "and"), 1),
    "wide": (("double", "min"), ("uint64_t", "or"), 1), "least": (("float", "add"), ("int32_t", "min"), 1),
    "odd": (("float", "add"), ("float", "max"), 2), "odd_bytes": (("double", "add"), ("uint8_t", "add"), 2),
    "third": (("float", "mul"), ("int32_t", "add"), 3), "whole": (("int32_t", "add"), ("uint32_t", "xor"), 2),
}  # fmt: skip
SHORT = """
void short_rows(int n, const float (*restrict x)[3], const double *y, float *restrict r, double *restrict s)
{
    float a = r[0];
    for (int i = 0; i < n / 4; i++)
        for (int k = 0; k < 3; k++)
            a += x[i][k];
    r[0] = a;
}
void beyond(int n, const float (*restrict x), const double *y, float *restrict r, double *restrict s)
{
    float a = r[0];
    double b = s[0];
    for (int i = 0; i < n; i++) {
        if (y[i] > 1.001 && x[i] < a)
            a = x[i];
        if (x[i] < 1.004f && b > y[i] && y[i] != 1)
            b = y[i];
    }
    r[0] = a;
    s[0] = b;
}
static float kept[400], other[400];
void stored(int n, const float *restrict x, const double *y, float *restrict r, double *restrict s)
{
    float a = r[0];
    for (int i = 0; i < n; i++) {
        kept[i] = x[i] * 2;
        other[i] += x[i] - kept[i];
        a += kept[i] * other[i];
    }
    r[0] = a;
    s[0] = n > 3 ? kept[n - 1] + other[2] + kept[n / 2] : 0;
}
"""
CHOSEN: dict[str, tuple[str, ...]] = {
    "over_bytes": ("uint8_t", "int64_t"), "over_shorts": ("int16_t", "double"), "over_words": ("int", "int64_t"),
    "wide_over_words": ("int", "double"), "over_floats": ("float", "int64_t"), "words_over_bytes": ("int8_t", "float"),
    "most_over_bytes": ("uint8_t", "double", ">"), "least_over_words": ("int", "int32_t", "<"),
}  # fmt: skip
"""Sums and extrema of what is read under conditions: the types of the one and the other."""
STORED = dict.fromkeys(("short_rows", "beyond", "stored"), (("float", ""), ("double", ""), 1))
HEAD = "#include <stdint.h>\n#include <stdio.h>\n"


def write(name: str) -> str:
    """A function of two sums over each `step`-th element."""
    (a, first), (b, second), step = SUMS[name]
    return (
        f"void {name}(int n, const {a} *restrict x, const {b} *restrict y, {a} *restrict r, {b} *restrict s)\n"
        f"{{\n    {a} p = r[0];\n    {b} q = s[0];\n    for (int i = 0; i < n; i += {step}) {{\n"
        f"        {UPDATES[first].format('p', 'x[i]')}\n        {UPDATES[second].format('q', 'y[i]')}\n"
        f"    }}\n    r[0] = p;\n    s[0] = q;\n}}\n"
    )


def write_chosen(name: str) -> str:
    """A function of a sum, or an extremum, of the elements beside which another one is large."""
    condition, element, *beyond = CHOSEN[name]
    update = f"if (m[i] > 3 && x[i] {beyond[0]} s) s = x[i];" if beyond else "if (m[i] > 3) s += x[i];"
    return (
        f"{element} {name}(int n, const {condition} *m, const {element} *x)\n{{\n    {element} s = 0;\n"
        f"    for (int i = 0; i < n; i++)\n        {update}\n    return s;\n}}\n"
    )


def write_main() -> str:
    """Prints what each function makes of values near 1 and 100, for some lengths."""
    calls = []
    for name, ((a, _), (b, _), _) in {**SUMS, **STORED}.items():
        calls.append(
            f'    {{ static {a} x[400], r; static {b} y[400], s; fill(x, {a}); fill(y, {b}); r = ({a})3; s = ({b})5;\n'
            f'      {name}(n, (void *)x, y, &r, &s); printf("%.9g %.9g\\n", (double)r, (double)s); }}\n'
        )
    fill = "#define fill(x, T) for (int i = 0; i < 400; i++) x[i] = (T)((T)0.5 ? 1 + i % 7 / 1024.0 : 93 + i * 41 % 34)"
    lengths = "for (int n = 0; n < 400; n += n < 70 ? 1 : 97) {"
    return f"{fill}\nint main(void)\n{{\n    {lengths}\n{''.join(calls)}    }}\n}}\n"


def packed(type: str, op: str) -> str:
    """What the instructions that do an operation in lanes are called."""
    if type in ("float", "double"):
        return f"v?{op}p{type[0].replace('f', 's')}"
    if op in ("add", "mul"):
        return r"v?pmul\w+" if op == "mul" else f"v?padd{INTEGERS[type]}"
    return rf"v?p?{op}\w*|vpternlog\w|vpblend\w+" if op in ("and", "or", "xor") else f"v?p{op}[su]{INTEGERS[type]}"


def innermost_loops(assembly: str, function: str) -> list[str]:
    """The loops of a function in which there is no other one."""
    body = re.search(rf"^{function}:(.*?)^\s*\.size\s+{function}", assembly, re.DOTALL | re.MULTILINE)
    assert body is not None, function
    lines = body[1].splitlines()
    places = {x[1]: i for i, line in enumerate(lines) if (x := re.match(r"(\.L\w+):", line))}
    jumps = [(x[1], i) for i, line in enumerate(lines) if (x := re.match(r"\s*j\w+\s+(\.L\w+)", line))]
    loops = [(places[label], i) for label, i in jumps if places.get(label, i + 1) <= i]
    inner = [x for x in loops if not any(y != x and x[0] <= y[0] and y[1] <= x[1] for y in loops)]
    return ["\n".join(lines[first : last + 1]) for first, last in inner]


@pytest.fixture(scope="module")
def built() -> FileResult:
    """The functions, for a processor with AVX2, which compilers make code for wherever they make it for x86."""
    text = HEAD + "".join((*map(write, SUMS), SHORT, *map(write_chosen, CHOSEN)))
    return build_file(Source("s.c", text), Options(measure=False, target="x86-avx2"))


def says_lanes(built: FileResult, name: str) -> bool:
    """Whether the version that was taken is said to add up in lanes."""
    function = next(x for x in built.functions if x.function.name == name)
    assert function.selection is not None and function.selection.version is not None, function.remarks
    label = function.selection.version.label
    taken = [x for plan in function.plans for x in plan.candidates if x.name in label]
    return any("reduction" in x.message for c in taken[:1] for x in c.remarks)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_said_to_run_in_lanes_does(compiler: str, built: FileResult, tmp_path: Path) -> None:
    machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    if not machine.startswith("x86_64"):
        pytest.skip("the instructions are those of x86")
    apart = re.sub(r"^static void planish_(\w+_1)\(", r"void planish_\1(", built.text, flags=re.MULTILINE)
    (tmp_path / "s.c").write_text(apart)
    subprocess.run([compiler, "-O3", "-mavx2", "-mfma", "-mf16c", "-w", "-S", "s.c"], cwd=tmp_path, check=True)
    assembly = (tmp_path / "s.s").read_text()
    for name, (*sums, _) in SUMS.items():
        assert says_lanes(built, name), name
        loops = innermost_loops(assembly, f"planish_{name}_1")
        for type, op in sums:
            found = [x for x in loops if re.search(rf"^\s*(?:{packed(type, op)})\s.*%[xy]mm", x, re.MULTILINE)]
            assert found, (name, type, op)


def test_rows_that_are_shorter_than_a_register_are_said_to_run_in_lanes_where_they_do(built: FileResult) -> None:
    assert "planish_short_rows_1(" in built.text
    # Lanes may run along the other loop; along three elements there are none.
    assert says_lanes(built, "short_rows") == ("planish_reduce(" in built.text.partition("planish_short_rows_1(")[2])
    assert "k + 64" not in built.text


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_read_under_conditions_is_added_up_in_lanes(name: str, built: FileResult) -> None:
    """gcc 12 takes one mask for all loads where it writes out the lanes of several registers: no version was right."""
    assert says_lanes(built, name)


def test_what_is_stored_is_summed_in_the_same_pass(built: FileResult) -> None:
    body = built.text.partition("static void planish_stored_1(")[2].partition("\n}\n")[0]
    assert says_lanes(built, "stored")
    assert all("kept[" in x for x in body.split("for (")[1:] if "other[" in x)


@pytest.mark.each_value
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("floats", ["reassociate", "strict"])
def test_sums_are_those_of_the_original(floats: Floats, compiler: str, flags: str, tmp_path: Path) -> None:
    text = HEAD + "".join(map(write, SUMS)) + SHORT
    main = write_main()
    made = build_file(Source("s.c", text), Options(measure=False, fp=floats)).text
    expected = run(text + main, "gcc -O1 -ffp-contract=off", tmp_path)
    printed = run(made + main, f"{compiler} {flags}", tmp_path)
    assert printed == expected if floats == "strict" else agree(printed, expected, 1e-4)


def run(text: str, command: str, place: Path) -> str:
    (place / "p.c").write_text(text)
    subprocess.run([*command.split(), "-w", "p.c", "-o", "p", "-lm"], cwd=place, check=True)
    return subprocess.run([str(place / "p")], capture_output=True, text=True, check=True).stdout
