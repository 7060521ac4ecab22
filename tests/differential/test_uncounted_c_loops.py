"""Loops in C that data alone end: the same result wherever they end, up to the end of a page."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from test_early_exit import Pairs, build_both

PROGRAM = """#include <stddef.h>

ptrdiff_t length(const char *s, char *t, ptrdiff_t n)
{
    const char *p = s;
    for (;; p++) {
        if (*p == ' ')
            continue;
        if (!*p || *p == '#')
            return p - s;
    }
}

ptrdiff_t copy(const char *s, char *t, ptrdiff_t n)
{
    unsigned i = 0;
    while (s[i]) {
        t[i] = s[i];
        i++;
    }
    return i;
}

ptrdiff_t second_name(const char *s, char *t, ptrdiff_t n)
{
    const char *p = t, *end, *q;
    for (p = s; *p && *p != '#'; ++p)
        n += 2;
    for (q = p, end = s + 9001; q < end && *q; q++)
        if (*q == 'z')
            return -n;
    return n * 10000 + (q - s);
}

ptrdiff_t lower(const char *s, char *t, ptrdiff_t n)
{
    char *p = t;
    while (*p) {
        if (*p >= 'A' && *p <= 'Z')
            *p += 32;
        p++;
    }
    return p - t;
}

ptrdiff_t terminated(const char *s, char *t, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    do {
        if (i >= 5000)
            return -i;
        t[i] = s[i];
    } while (s[i++]);
    return i;
}

ptrdiff_t wrapped(const char *s, char *t, ptrdiff_t n)
{
    unsigned char i = (unsigned char)n;
    while (s[i])
        i++;
    return i;
}

struct entry { short key, value; };

ptrdiff_t keys(const struct entry *s, struct entry *t, ptrdiff_t n)
{
    const struct entry *p = s;
    while (p->key && p->value != n)
        p++;
    return p - s;
}

ptrdiff_t of_a_byte(const char *s, char *t, ptrdiff_t n)
{
    int i = n & 255;
    while (s[(unsigned char)i])
        i++;
    return i & 255;
}

ptrdiff_t below_zero(const char *s, char *t, ptrdiff_t n)
{
    const char *middle = s + 128;
    signed char i = (signed char)(n - 128);
    while (middle[i])
        i++;
    return i + 128;
}

ptrdiff_t falling(const char *s, char *t, ptrdiff_t n)
{
    unsigned char i = (unsigned char)n;
    for (; s[i]; i--)
        ;
    return i;
}

ptrdiff_t of_two(const char *s, char *t, ptrdiff_t n)
{
    short i = 0;
    unsigned char j = (unsigned char)n;
    while (s[j] == 'x' && s[2 * i] != 7)
        i++, j++;
    return j;
}
"""

NARROW = ("wrapped", "of_a_byte", "below_zero", "falling", "of_two")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    names = ("length", "copy", "second_name", "lower", "terminated", "keys")
    return build_both(PROGRAM, (*names, *NARROW), "native", tmp_path_factory.mktemp("uncounted"))


@pytest.mark.parametrize("name", ["length", "copy", "second_name", "lower", "terminated"])
def test_where_the_data_end(name: str, both: Pairs, guarded: Any) -> None:
    random = np.random.default_rng(3)
    for count in (1, 2, 15, 16, 17, 18, 80, 300, 4095, 4096, 4097, 9001):
        values = random.integers(65, 122, count).astype(np.uint8)
        values[-1] = 0
        if count % 3 == 0:
            values[random.integers(0, count)] = ord("#")
        results = []
        for function in both[name]:
            s, t = guarded(values, 0), guarded(values if name == "lower" else values * 0, 0)
            results.append((function(s.ctypes.data, t.ctypes.data, 0), t.tolist()))
        assert results[0] == results[1], count


def test_members_that_end_a_loop(both: Pairs, guarded: Any) -> None:
    for count in (1, 2, 16, 17, 33, 300, 1024, 1025, 5000):
        entries = np.full(2 * count, 3, np.int16)
        entries[-2] = 0
        for place in (count - 1, count // 2, count // 3):
            entries[2 * place + 1] = 9
            s = guarded(entries, 0)
            old, new = (f(s.ctypes.data, None, 9) for f in both["keys"])
            assert old == new == place


@pytest.mark.parametrize("shift", [101, 115, 700, -1, -15, -16, -64])
def test_copies_into_what_decides(shift: int, both: Pairs) -> None:
    results = []
    for function in both["copy"]:
        memory = np.zeros(4000, np.uint8)
        memory[800:2300] = np.arange(1500) % 90 + 1
        memory[900 if shift > 0 else 1700] = 0  # a copy that stores over this would not end
        s = memory[800:].ctypes.data
        results.append((function(s, s + shift, 0), memory.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", NARROW)
def test_narrow_counters_wrap_around(name: str, both: Pairs) -> None:
    ring = ctypes.create_string_buffer(b"x" * 600)
    for end in (0, 5, 30, 254, 255):
        ring[end] = 0
        for start in (0, 1, 17, 100, 255):
            old, new = (f(ctypes.addressof(ring), None, start) for f in both[name])
            assert old == new == end
        ring[end] = b"x"
