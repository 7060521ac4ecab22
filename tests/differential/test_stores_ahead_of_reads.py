"""Loops with early exits that store in front of what they read, which ends them: nothing behind that is read, since it
may lie where no memory is."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from test_early_exit import Pairs, build_both

PROGRAM = """#include <stddef.h>
#include <stdint.h>

ptrdiff_t forward(const char *s, char *t, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    while (s[i]) {
        t[i] = 0;
        i++;
    }
    return i;
}

ptrdiff_t counted(const int32_t *s, int16_t *t, ptrdiff_t n)
{
    ptrdiff_t i;
    for (i = 0; i < n && s[i] > 0; i++)
        t[3 * i] = 0;
    return i;
}

ptrdiff_t backward(const int16_t *s, int16_t *t, ptrdiff_t n)
{
    ptrdiff_t i;
    for (i = n - 1; i >= 0; i--) {
        if (!s[i])
            return i;
        t[i] = 0;
    }
    return i;
}

ptrdiff_t rows(const char *s, char *t, ptrdiff_t n)
{
    ptrdiff_t i = 0, w = n & 7;
    while (s[i]) {
        t[i * w + 2] = 0;
        i++;
    }
    return i;
}

ptrdiff_t meeting(const uint8_t *s, uint8_t *t, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    while (s[i] != 9) {
        t[n - i] = 9;
        i++;
    }
    return i;
}
"""
TYPES = {"forward": np.int8, "counted": np.int32, "backward": np.int16, "rows": np.int8, "meeting": np.uint8}
COUNT = 2 * mmap.PAGESIZE - 8


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return build_both(PROGRAM, TYPES, "native", tmp_path_factory.mktemp("ahead"))


def run(pairs: Pairs, name: str, shift: int, room: int, n: int, guarded: Any) -> list[tuple[int, list[int]]]:
    """Results of both functions, with `room` elements between where they begin to read and the end of memory; they
    begin to store `shift` bytes from there."""
    out = []
    for function in pairs[name]:
        memory = guarded(np.ones(COUNT // np.dtype(TYPES[name]).itemsize, TYPES[name]), 0)
        if name == "backward":  # from the elements behind the room on, to number `n` in front of memory
            ctypes.memset(memory.ctypes.data - 8, 1, 8)
            start = memory.ctypes.data - 8 + 2 * (room - n)
        else:
            start = memory.ctypes.data + memory.nbytes - room * memory.itemsize
        out.append((function(start, start + shift, n), memory.tolist()))
    return out


@pytest.mark.parametrize("ahead", [1, 3, 15, 16, 17, 20, 64, 65, 300])
@pytest.mark.parametrize("name", TYPES)
def test_the_store_that_ends_the_loop(name: str, ahead: int, both: Pairs, guarded: Any) -> None:
    size = np.dtype(TYPES[name]).itemsize
    for room in (3 * ahead, 3 * ahead + 1, 3 * ahead + 40):  # what is stored before that needs memory, too
        match name:
            case "counted":
                calls = [(ahead * size, 10**6), (ahead * size, room)]
            case "backward":
                calls = [(-ahead * size, 10**6), (-ahead * size, room)]
            case "rows":
                calls = [(ahead - 2, 1), (ahead - 2, 8)]
            case "meeting":
                calls = [(room - 1 - n, n) for n in (ahead, 5000)]
            case _:
                calls = [(ahead, 0)]
        for shift, n in calls:
            old, new = run(both, name, shift, room, n, guarded)
            assert old == new, (room, shift, n)
