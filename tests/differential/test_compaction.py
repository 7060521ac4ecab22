"""Loops that pack or spread what they keep: the same elements, counters and variables as the original's, in place as
well."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.build.assemble import FileResult
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
SANITIZED = "gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
HEAD = "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <stddef.h>\n"
HEAD += "static float row[700], kept[700];\n"
ARGUMENTS = "ptrdiff_t n, const {0} *x, const {1} *y, {2} *out, {3} *other, int limit"
PACKS = {
    "positive": ("int32_t", "int32_t", "int32_t", "char",
                 "int k = 0; for (int i = 0; i < n; i++) if (x[i] > limit) out[k++] = x[i]; return k;"),
    "where": ("float", "float", "int32_t", "char",
              "long k = 3; for (int i = 0; i < n; i++) { if (x[i] < 0.5f) { out[k] = i; k = k + 1; } } return k;"),
    "pairs": ("double", "int64_t", "double", "int64_t",
              "double *p = out; int64_t *q = other; for (ptrdiff_t i = 0; i < n; i++)"
              " if (x[i] != 0) { *p++ = x[i] * 2; *q++ = y[i]; } return (p - out) * 100000 + (q - other);"),
    "sides": ("int16_t", "int16_t", "int16_t", "int16_t",
              "size_t a = 0, b = 0; const int16_t *e = x + n; while (x < e) { int16_t v = *x++;"
              " if (v < limit) { out[a++] = v; } else { other[b] = (int16_t)(v - limit); ++b; } } return a * 99 + b;"),
    "no_blanks": ("char", "char", "char", "char",
                  "char *q = out; for (; n > 0; n--) { const char c = *x++; if (c == ' ' || c == 9) continue; *q++ = c;"
                  " } return q - out;"),
    "masked": ("uint8_t", "uint16_t", "uint16_t", "char",
               "unsigned k = 0; for (int i = 0; i < n; ++i) { if (x[i] & 4) { out[k] = y[i]; k += 1u; } } return k;"),
    "narrowed": ("int64_t", "int64_t", "int32_t", "uint8_t",
                 "int k = -1, j = 0; for (int i = 0; i < n; i++) { if (x[i] > y[i]) out[++k] = (int32_t)x[i];"
                 " if (y[i] > 7) other[j++] = 1; } return k * 1000 + j;"),
    "apart": ("uint32_t", "uint32_t", "uint32_t", "char",
              "int k = 0, v = 0; for (int i = 0; i < n / 3; i++) { v = x[3 * i + 1]; if (v != limit) out[k++] = v; }"
              " return k + 7 * v;"),
    "in_place": ("float", "float", "float", "char",
                 "float *z = (float *)x; int k = 0; for (int i = 0; i < n; i++) if (z[i] == z[i]) z[k++] = z[i];"
                 " memcpy(out, z, n * 4); return k;"),
    "narrow": ("double", "uint8_t", "uint8_t", "int16_t",
               "int k = 0; for (int i = 0; i < n; i++) if (x[i] > 9) out[k++] = y[i]; return k;"),
    "halves": ("int64_t", "int16_t", "int16_t", "int16_t",
               "int k = 0, j = 0; for (int i = 0; i < n; i++) { if (x[i] > 9) { out[k++] = y[i]; }"
               " if (x[i] < limit) other[j++] = y[i]; } return k * 1000 + j;"),
    "kept_rows": ("float", "float", "float", "char",
                  "memcpy(row, x, n * sizeof *x); int k = 0; for (int i = 0; i < n; i++)"
                  " if (row[i] > limit) kept[k++] = row[i]; memcpy(out, kept, k * sizeof *out); return k;"),
    "unique": ("int32_t", "int32_t", "int32_t", "char",
               "int32_t *z = (int32_t *)x; int k = 1; for (int i = 1; i < n; i++) if (z[i] != z[i - 1]) z[k++] = z[i];"
               " memcpy(out, z, n * 4); return k;"),
    "unique_pairs": ("uint16_t", "float", "uint16_t", "char",
                     "uint16_t *z = (uint16_t *)x; float *w = (float *)y; long k = 1; for (int i = 1; i < n; i++)"
                     " if (w[i - 1] != w[i]) { z[k] = z[i]; w[k] = w[i]; k++; } memcpy(out, z, n * 2); return k;"),
    "in_pairs": ("int32_t", "int32_t", "int32_t", "int32_t",
                 "int32_t *z = (int32_t *)x, *w = (int32_t *)y; int k = 0; for (int i = 0; i < n; i++)"
                 " if (w[i] != 7) { z[k] = z[i]; w[k] = w[i]; k++; } memcpy(out, z, n * 4); return k;"),
    "spread": ("float", "float", "float", "char",
               "int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0.5f) out[i] = y[k++]; return k;"),
    "spread_in_place": ("int32_t", "int32_t", "int32_t", "char",
                        "memcpy(out, x, n * sizeof *x); int k = -1; for (int i = 0; i < n; i++)"
                        " if (out[i] > limit) { k++; out[i] = y[k]; } return k;"),
    "spread_twice": ("uint8_t", "double", "double", "double",
                     "size_t k = 0; for (ptrdiff_t i = 0; i < n; ++i) { if (!(x[i] & 4)) continue;"
                     " out[i] = y[k]; other[i + 1] = y[k]; k += 1; } return k;"),
    "spread_from": ("int16_t", "int32_t", "int32_t", "int32_t",
                    "const int32_t *p = y; int m = 0; for (int i = 0; i < n; i++)"
                    " if (x[i] != limit) { other[m++] = x[i]; out[i] = *p++; } return (p - y) + m;"),
}  # fmt: skip
STAYS = {
    "read_again": "int *z = (int *)x; int k = 0, m = 0; for (int i = 0; i < n; i++) if (z[i] > limit) {"
    " z[k++] = z[i] + 1; other[m++] = z[i]; } memcpy(out, z, n * 4); return k;",
    "next_but_one": "int *z = (int *)x; int k = 2; for (int i = 2; i < n; i++) if (z[i] != z[i - 2]) z[k++] = z[i];"
    " memcpy(out, z, n * 4); return k;",
    "read_before": "int *z = (int *)x; int k = 1, m = 0; for (int i = 1; i < n; i++) if (z[i] != 7) {"
    " z[k++] = z[i]; other[m++] = z[i - 1]; } memcpy(out, z, n * 4); return k;",
    "spread_again": "int k = 0, m = 0; for (int i = 0; i < n; i++) if (x[i] > 0) { out[i] = y[k++];"
    " other[m++] = out[i]; } return k;",
    "spread_sums": "int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0) out[i] += y[k++]; return k;",
    "last_kept": "int k = 0; for (int i = 0; i < n; i++) if (k == 0 || x[i] != out[k - 1]) out[k++] = x[i]; return k;",
    "bounded": "int k = 0; for (int i = 0; i < n && k < limit; i++) if (x[i]) out[k++] = x[i]; return k;",
    "handed_on": "int k = 0, p = 0; for (int i = 0; i < n; i++) { if (x[i] > p) out[k++] = p; p = x[i]; } return k;",
    "sums": "int k = 0; for (int i = 0; i < n; i++) if (x[i]) { out[k++] = x[i]; other[0] += 1; } return k;",
    "left_behind": "int k = 0; for (int i = 0; i < n; i++) if (x[i]) { out[k] = x[i]; if (x[i] > 9) k++; } return k;",
    "twice": "int k = 0; for (int i = 0; i < n; i++) { if (x[i]) out[k++] = 1; if (y[i]) out[k++] = 2; } return k;",
}


def write() -> str:
    parts = []
    for name, (a, b, c, d, body) in PACKS.items():
        parts.append(f"long {name}({ARGUMENTS.format(a, b, c, d)})\n{{\n    {body}\n}}\n")
    for name, body in STAYS.items():
        parts.append(f"long {name}({ARGUMENTS.format('int', 'int', 'int', 'int')})\n{{\n    {body}\n}}\n")
    return HEAD + "\n".join(parts)


def write_main() -> str:
    """Calls of all on blocks of just as much memory as they touch, and what they leave."""
    calls = []
    types = {x: y[:4] for x, y in PACKS.items()} | dict.fromkeys(STAYS, ("int",) * 4)
    for name, (a, b, c, d) in types.items():
        room = "2 * n + 4"
        calls.append(
            f"    {{ {a} *x = malloc(n * sizeof *x); {b} *y = malloc(n * sizeof *y);\n"
            f"      {c} *out = calloc({room}, sizeof *out); {d} *other = calloc({room}, sizeof *other);\n"
            f"      for (long i = 0; i < n; i++) {{ x[i] = ({a})draw(kind); y[i] = ({b})(draw(kind) + 3); }}\n"
            f"      long r = {name}(n, x, y, out, other, kind ? 3 : 40); uint64_t h = 0;\n"
            f"      for (long i = 0; i < {room}; i++)\n"
            "        h = h * 31 + (uint64_t)(int64_t)out[i] + 17 * (uint64_t)(int64_t)other[i];\n"
            f'      printf("{name} %ld: %ld %llu\\n", n, r, (unsigned long long)h);\n'
            "      free(x); free(y); free(out); free(other); }\n"
        )
    draw = (
        "static uint64_t state = 1;\nstatic long draw(int kind) { state = state * 6364136223846793005u + 1;"
        " long v = (long)(state >> 40); return kind == 0 ? v % 100 - 40 : kind == 1 ? v % 9 : kind == 2 ? 60 : 0; }"
    )
    loops = "for (int kind = 0; kind < 4; kind++) for (long n = 0; n < 700; n += n < 70 ? 1 : n < 200 ? 19 : 167) {"
    return f"{draw}\nint main(void)\n{{\n    {loops}\n{''.join(calls)}    }}\n}}\n"


def run(text: str, command: str, place: Path) -> str:
    (place / "p.c").write_text(text)
    subprocess.run([*command.split(), "-w", "p.c", "-o", "p"], cwd=place, check=True)
    return subprocess.run([str(place / "p")], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def made() -> FileResult:
    return build_file(Source("c.c", write()), Options(measure=False, target="x86-avx512"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the functions print as they are written."""
    return run(write() + write_main(), "gcc -O1 -fwrapv", tmp_path_factory.mktemp("original"))


def test_what_packs_is_taken(made: FileResult) -> None:
    taken = {x.function.name for x in made.functions if x.selection is not None and x.selection.version is not None}
    assert taken == {*PACKS}, taken ^ {*PACKS}


@pytest.mark.each_value
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_packed_is_what_the_original_packs(
    compiler: str, flags: str, made: FileResult, expected: str, tmp_path: Path
) -> None:
    assert run(made.text + write_main(), f"{compiler} {flags}", tmp_path) == expected


def test_nothing_else_is_touched(made: FileResult, expected: str, tmp_path: Path) -> None:
    assert run(made.text + write_main(), SANITIZED, tmp_path) == expected


@pytest.mark.parametrize("target", ["x86-avx2", "generic"])
def test_without_masks_nothing_is_packed(target: str) -> None:
    loop = "for (int i = 0; i < n; i++) if (x[i]) out[k++] = i;"
    text = f"int f(int n, const int *x, int *out) {{ int k = 0; {loop} return k; }}"
    made = build_file(Source("c.c", text), Options(measure=False, target=target))
    assert "planish_pack" not in made.text
