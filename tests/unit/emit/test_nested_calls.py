"""Calls are nested only where that changes nothing."""

from __future__ import annotations

import pytest

from planish.emit.tidy.nested_calls import WIDTH, nest_calls

LOAD = "const __m256i a = _mm256_loadu_si256((__m256i const *)(p));"
STORE = "_mm256_storeu_si256((__m256i *)(q), {});"


def test_calls_keep_their_order() -> None:
    lines = [LOAD, "const __m256i b = _mm256_abs_epi8(c);", "const __m256i d = _mm256_add_epi8(a, b);"]
    assert nest_calls([*lines, STORE.format("d")]) == [LOAD, STORE.format("_mm256_add_epi8(a, _mm256_abs_epi8(c))")]


@pytest.mark.parametrize(
    "between",
    [
        [STORE.format("c")],  # what is loaded may be stored before
        ["if (m) {", f"  {STORE.format('c')}", "}"],
        ["*p = 0;"],
        ["const __m256i b = _mm256_add_epi8(a, c);"],  # used twice
    ],
)
def test_others_keep_their_names(between: list[str]) -> None:
    lines = [LOAD, *between, STORE.format("a")]
    assert nest_calls(lines)[0] == LOAD


def test_lines_are_not_longer_than_people_read() -> None:
    lines = [f"const __m256i v{n + 1} = _mm256_add_epi8(v{n}, c);" for n in range(30)]
    made = nest_calls([*lines, STORE.format("v30")])
    assert 1 < len(made) < 15 and max(map(len, made)) <= WIDTH
