"""Nests that lost their strips once: values that are read under a name, sums of rows wider than lanes of 32 bits."""

from __future__ import annotations

import pytest

from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.core.span import Source
from planish.options import Options
from planish.target.load import load_target

PROGRAMS = {
    "least of nine": (
        """for (int y = 1; y < h - 1; y++) for (int x = 1; x < w - 1; x++) {
            uint8_t least = 255;
            for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) {
                uint8_t v = a[(y + j) * w + x + i]; if (v < least) least = v; }
            b[y * w + x] = least; }""",
        "vector-strips, 8 rows",
    ),
    "squares under a mask": (
        """uint64_t s = 0; for (int i = 0; i < w * h; i++) { int v = a[i]; if (b[i] < 9) s += v * v; } *sum = s;""",
        "vector-strips",
    ),
    "rows of squared differences": (
        """uint64_t s = 0; for (int y = 0; y < h; y++) { uint32_t row = 0;
            for (int x = 0; x < w; x++) { int d = a[y * w + x] - b[y * w + x]; row += d * d; } s += row; } *sum = s;""",
        "vector-strips",
    ),
    "a weight of each row": (
        """for (int y = 0; y < h; y++) { int v = m[y]; for (int x = 0; x < w; x++)
            b[y * w + x] = (uint8_t)((a[y * w + x] * v + 128) >> 8); }""",
        "vector-strips",
    ),
    "what any of a row is": (
        """for (int y = 0; y < h; y++) { uint8_t found = 0; for (int x = 0; x < w; x++) found |= a[y * w + x] == 3;
            b[y] = found; }""",
        "vector-strips",
    ),
    "three sums of differences": (
        """for (int k = 0; k < 3; k++) sum[k] = 0; for (int y = 0; y < h; y++) { int rows[3] = {0, 0, 0};
            for (int x = 0; x < w - 2; x++) for (int k = 0; k < 3; k++) {
                int d = a[y * w + x] - m[y * w + x + k]; rows[k] += d < 0 ? -d : d; }
            for (int k = 0; k < 3; k++) sum[k] += rows[k]; }""",
        "vector-strips",
    ),
    "least of two sums, saturated": (
        """for (int i = 0; i < w; i++) { int x = a[2 * i] + m[2 * i], y = a[2 * i + 1] + m[2 * i + 1];
            int v = y < x ? y : x; b[i] = v > 255 ? 255 : v; }""",
        "vector-strips",
    ),
    "least of three, saturated first": (
        """for (int i = 0; i < w; i++) { int x = a[i] + m[i], y = a[i + 1] + m[i + 2];
            int u = x > 255 ? 255 : x; int v = u < y ? u : y; b[i] = v < m[i + 4] ? v : m[i + 4]; }""",
        "vector-strips",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_in_strips(name: str) -> None:
    body, version = PROGRAMS[name]
    head = (
        "void f(int w, int h, const uint8_t *restrict a, const uint8_t *restrict m, uint8_t *restrict b,"
        " uint64_t *restrict sum)"
    )
    options = Options(target="x86-avx512")
    file = read_file(Source("f.c", f"#include <stdint.h>\n{head} {{ {body} }}\n"), options)
    (region,) = file.functions[0].regions
    assert version in [x.name for x in lower_region(region, options, load_target(options.target)).versions]
