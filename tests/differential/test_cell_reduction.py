"""Places of extrema, last matches and affine recurrences in lanes: the same cells as the original's, to the bit."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from judging import agree

from planish.build.assemble import FileResult
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file

COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
HEAD = "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <math.h>\n"
EXTREMA = {
    "first_max": ("float", "x[i] > m", "x[i]"), "last_max": ("float", "x[i] >= m", "x[i]"),
    "first_min": ("double", "x[i] < m", "x[i]"), "last_min": ("int32_t", "m >= x[i]", "x[i]"),
    "least_byte": ("int8_t", "x[i] < m", "x[i]"), "most_unsigned": ("uint32_t", "m < x[i]", "x[i]"),
    "wide": ("int64_t", "x[i] > m", "x[i]"), "of_products": ("float", "x[i] * x[i] + y[i] > m", "x[i] * x[i] + y[i]"),
    "magnitude": ("double", "(x[i] < 0 ? -x[i] : x[i]) > m", "x[i] < 0 ? -x[i] : x[i]"),
}  # fmt: skip
MATCHES = {
    "last_negative": ("float", "x[i] < 0", "k = i;"), "any_large": ("int32_t", "x[i] > 90", "k = 1;"),
    "all_there": ("double", "!(x[i] == x[i])", "k = 0;"), "last_pair": ("int16_t", "x[i] == y[i]", "k = i; m = x[i];"),
    "none": ("uint8_t", "x[i] > 200", "k = 2 * i + 3;"),
}  # fmt: skip
AFFINE = {
    "hash": ("uint32_t", "m * 31u + x[i]"), "wide_hash": ("uint64_t", "x[i] + m * 1099511628211u"),
    "signed_hash": ("int32_t", "m * -3 + x[i]"), "decayed": ("double", "m * 0.75 + x[i]"),
    "alternating": ("float", "x[i] - m * 0.5f"),
}  # fmt: skip


UNROLLED = {
    "by_three": ("int32_t", "m += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2];", 3),
    "by_two": ("double", "m += x[i + 1] + x[i];", 2),
    "by_four": ("float", "m += x[i] + x[i + 1]; m += x[i + 2] + x[i + 3];", 4),
}  # fmt: skip
PLACES = {
    "least_at": ("float", "int at = 0; for (int i = 1; i < n; i++) if (x[i] < x[at]) at = i; return at;"),
    "last_most_at": ("double", "int at = n - 1; for (int i = n - 2; i >= 0; i--) if (x[at] < x[i]) at = i; return at;"),
    "largest_at": ("double", "int k = 0; for (int i = 0; i < n; i++) if (fabs(x[i]) > fabs(x[k])) k = i; return k;"),
    "strided_at": ("int16_t", "int i = 0, k = n; while (i < n) { if (x[2 * i] >= x[2 * k]) k = i; i++; } return k;"),
    "counted_down_at": (
        "int32_t", "int at = 0, i = 0; while (n-- > 0) { if (x[i] >= x[at]) at = i; i++; } return at;"
    ),
    "stepped_first_at": ("float", "int at = 0, i = 0; while (++i < n) if (x[i] >= x[at]) at = i; return at;"),
    "through_a_pointer": (
        "double", "int at = -1; *r = 0; for (int i = 0; i < n; i++) if (*r < x[i]) { *r = x[i]; at = i; } return at;"
    ),
    "place_of_it": (
        "uint8_t", "long at = n ? x[0] : 0, i; for (i = 3; i < n; ++i) { if (y[i] < y[at]) { at = i; } } return at;"
    ),
}  # fmt: skip
"""What compares elements by their place: at most 2 * n + 1 of them are read."""

ROUNDED = {"of_products", "decayed", "alternating", "by_two", "by_four"}
"""Where `--fp reassociate` may round otherwise."""


def write() -> str:
    """The functions, and a nest in which rows are searched."""
    parts = []
    for name, (type, test, value) in EXTREMA.items():
        body = f"if ({test}) {{ m = {value}; k = i; }}"
        parts.append(_function(name, type, body))
    parts += [_function(name, type, f"if ({test}) {{ {change} }}") for name, (type, test, change) in MATCHES.items()]
    parts += [_function(name, type, f"m = {value};") for name, (type, value) in AFFINE.items()]
    parts += [_function(name, type, value, step) for name, (type, value, step) in UNROLLED.items()]
    for name, (type, body) in PLACES.items():
        arrays = f"const {type} *restrict x, const {type} *restrict y, {type} *restrict r"
        parts.append(f"int64_t {name}(int n, {arrays})\n{{\n    {body}\n}}\n")
    parts.append(
        "int64_t in_rows(int n, const int32_t *restrict x, const int32_t *restrict y, int32_t *restrict r)\n{\n"
        "    int32_t m = r[0], k = -1, l = -1;\n    for (int i = 0; i < n / 40; i++)\n"
        "        for (int j = 0; j < 40; j++)\n"
        "            if (x[i * 40 + j] > m) { m = x[i * 40 + j]; k = i; l = j; }\n"
        "    r[0] = m;\n    return k * 1000 + l;\n}\n"
    )
    return "".join(parts)


def _function(name: str, type: str, body: str, step: int = 1) -> str:
    arrays = f"const {type} *restrict x, const {type} *restrict y, {type} *restrict r"
    return (
        f"int64_t {name}(int n, {arrays})\n{{\n    {type} m = r[0];\n    int64_t k = -1;\n"
        f"    for (int i = 0; i < n - {step - 1}; i += {step}) {{ {body} }}\n    r[0] = m;\n    return k;\n}}\n"
    )


def write_main() -> str:
    """Prints what each function leaves for values with many that are equal, zeros of both signs, and NaNs."""
    calls = []
    types = {x: y[0] for x, y in (*EXTREMA.items(), *MATCHES.items(), *AFFINE.items(), *UNROLLED.items())}
    types |= {x: y[0] for x, y in PLACES.items()}
    for name, type in {**types, "in_rows": "int32_t"}.items():
        calls.append(
            f"    {{ static {type} x[10001], y[10001], r; fill(x, {type}); fill(y, {type});\n"
            f"      r = ({type})(first ? x[0] : 50);\n"
            f"      int64_t k = {name}(n, x, y, &r); double d = r == r ? (double)r : 777.5;\n"
            f"      uint64_t b; memcpy(&b, &d, 8);\n"
            f'      printf("{name} %d: %lld %.17g %s\\n", n, (long long)k, d, b >> 63 ? "-" : "+"); }}\n'
        )
    special = "kind == 1 && (T)0.5 && j % 61 == 7 ? (T)(0.0 / zero) : j % 53 == 3 ? (T)(-0.0) : "
    fill = (
        "static double zero;\n#define fill(a, T) for (int i = 0; i < 2 * n + 1; i++) { const int j = i + (int)(a == y);"
        f" a[i] = {special}(T)(kind == 2 ? i / 50 : (j * 7919) % 97 - 40); }}"
    )
    lengths = "for (int n = 0; n < 5000; n += n < 70 ? 1 : n < 300 ? 41 : 853)"
    loops = f"for (int kind = 0; kind < 3; kind++) for (int first = 0; first < 2; first++) {lengths} {{"
    return f"{fill}\nint main(void)\n{{\n    {loops}\n{''.join(calls)}    }}\n}}\n"


@cache
def build(floats: Floats) -> FileResult:
    return build_file(Source("c.c", HEAD + write()), Options(measure=False, fp=floats))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the functions print as they are written."""
    return run(HEAD + write() + write_main(), "gcc -O1 -ffp-contract=off -fwrapv", tmp_path_factory.mktemp("original"))


@pytest.mark.parametrize("floats", ["reassociate", "strict"])
def test_cells_are_reduced(floats: Floats) -> None:
    made = build(floats)
    taken = {
        x.function.name for x in made.functions
        if x.selection is not None and x.selection.version is not None and "cell-reduction" in x.selection.version.label
    }  # fmt: skip
    places = {x for x, y in PLACES.items() if floats == "reassociate" or "int" in y[0]}
    types = {x: y[0] for x, y in (*EXTREMA.items(), *AFFINE.items(), *UNROLLED.items())}
    exact = {x for x, y in types.items() if "int" in y} | {*MATCHES, *places, "in_rows"}
    wanted = exact if floats == "strict" else exact | {*EXTREMA, *AFFINE, *UNROLLED}
    assert taken == wanted, taken ^ wanted


@pytest.mark.each_value
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("floats", ["reassociate", "strict"])
def test_cells_are_those_of_the_original(
    floats: Floats, compiler: str, flags: str, expected: str, tmp_path: Path
) -> None:
    off = "-ffp-contract=off" if floats == "strict" else ""
    printed = run(build(floats).text + write_main(), f"{compiler} {flags} -fwrapv {off}", tmp_path)
    for ours, right in zip(printed.splitlines(), expected.splitlines(), strict=True):
        exactly = floats == "strict" or right.split()[0] not in ROUNDED
        assert ours == right if exactly else agree(ours, right, 1e-4), (ours, right)


def test_what_is_no_such_reduction_is_left_alone() -> None:
    stays = {
        "two_tests": "if (x[i] > m) m = x[i]; if (x[i] > 3) k = i;",
        "read_back": "if (x[i] > m) { m = x[i] + 1; k = i; }",
        "counted": "if (x[i] > m) { m = x[i]; k = k + i; }",
        "growing": "m = m * 1.5f + x[i];", "vanishing": "m = m * 0.125f + x[i];",
    }
    text = HEAD + "".join(_function(x, "float", y) for x, y in stays.items())
    made = build_file(Source("c.c", text), Options(measure=False))
    for x in made.functions:
        version = x.selection.version if x.selection is not None else None
        assert version is None or "cell-reduction" not in version.label, x.function.name


def run(text: str, command: str, place: Path) -> str:
    (place / "p.c").write_text(text)
    subprocess.run([*command.split(), "-w", "p.c", "-o", "p", "-lm"], cwd=place, check=True)
    return subprocess.run([str(place / "p")], capture_output=True, text=True, check=True).stdout
