"""Loops with early exits: the same result wherever the exit is, also where lengths say more than there is memory."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TARGETS = ("native", "x86-avx2", "generic")
TRAPS = ["-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error"]
PROGRAM = """#include <stddef.h>
#include <stdint.h>
#include <math.h>

ptrdiff_t find_byte(const uint8_t *s, const uint8_t *t, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (s[i] == 200)
            return i;
    return -1;
}

ptrdiff_t mismatch(const uint8_t *s, const uint8_t *t, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    while (i < n && s[i] == t[i])
        i++;
    return i;
}

ptrdiff_t blanks(const uint8_t *s, const uint8_t *t, ptrdiff_t n)
{
    const uint8_t *p = s;
    unsigned char c = 0;
    while (n-- > 0) {
        c = *p;
        if (!(c == 7 || (c >= 100 && c <= 110) || (unsigned)(c - 3) < 3u))
            break;
        ++p;
    }
    return (p - s) * 1000 + c;
}

ptrdiff_t last_wide(const int64_t *s, const int64_t *t, ptrdiff_t n)
{
    ptrdiff_t i;
    for (i = n - 1; i >= 0; i--) {
        if (s[i] - t[i] > 5 || s[i] == -9)
            break;
    }
    return i;
}

ptrdiff_t descends(const float *s, const float *t, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; ++i)
        if (s[i - 1] > s[i] || s[i] != s[i])
            return i;
    return 0;
}

ptrdiff_t far_apart(const double *s, const double *t, ptrdiff_t n)
{
    ptrdiff_t bad = -1, i = 0;
    for (; i < n; i += 1) {
        double d = fabs(s[i] - t[i]);
        if (d > 1e-3) {
            bad = i;
            break;
        } else if (s[i] * 2 + i < t[i])
            goto_end: return i + 100000;
    }
    return bad;
}

ptrdiff_t of_two(const int32_t *s, const int16_t *t, ptrdiff_t n)
{
    const int32_t *end = s + n;
    const int32_t *p = s;
    for (; p != end; p++, t++)
        if (*p < 0 && *t > 3)
            return p - s;
    return n;
}

typedef struct { int32_t key; float weight; } event;

ptrdiff_t find_event(const event *s, const int32_t *t, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (s[i].key == t[i] || s[i].weight > 3)
            return i;
    return n;
}

ptrdiff_t third(const uint8_t *s, const int16_t *t, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; 3 * i + 2 < n; i++)
        if (s[3 * i + 1] > 9 || s[3 * i] + t[2 * i / 2] > 50)
            return i;
    return n;
}

ptrdiff_t shorts(const int16_t *s, const int16_t *t, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        int v = s[i] * t[i];
        if (i > 3 && v < -100)
            return v;
        if (s[i] > 30000 && t[n > 0 ? 0 : 0] != 5)
            return i;
    }
    return -7;
}

ptrdiff_t flagged(const uint8_t *s, const uint8_t *t, ptrdiff_t n)
{
    ptrdiff_t at = -3, i;
    int found = 0;
    for (i = 0; i < n && !found; i++)
        if (s[i] == 200) {
            found = 2;
            at = i;
        }
    return at * 4 + found + i * 16;
}

ptrdiff_t checked(const int32_t *s, const int32_t *t, ptrdiff_t n)
{
    _Bool good = 1;
    ptrdiff_t i = 0;
    while (good != 0 && i < n) {
        if (s[i] > 5 + t[i])
            good = 0;
        else
            i++;
    }
    return i * 2 + good;
}
""".replace("            goto_end: return", "            return")
EFFECTS = """
#include <stddef.h>
#include <stdint.h>

ptrdiff_t copy_until(const uint8_t *s, uint8_t *t, ptrdiff_t n)
{
    ptrdiff_t i, seen = 0;
    for (i = 0; i < n; i++) {
        if (s[i] == 99)
            break;
        t[i] = s[i] + 1;
        seen += s[i] & 3;
    }
    return i * 1000 + seen;
}

ptrdiff_t sum_until(const int32_t *s, int64_t *t, ptrdiff_t n)
{
    int64_t sum = 5;
    int32_t last = -1;
    while (n-- > 0) {
        int32_t v = *s++;
        if (v < 0 || v == 77)
            return last * 100000 + sum;
        if (v > 5)
            last = v;
        sum += v;
        *t++ += v;
    }
    return sum;
}

ptrdiff_t early_value(const uint16_t *s, uint16_t *t, ptrdiff_t n)
{
    int c = -3, d = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (i < 5)
            c = s[i];
        if (s[i] == 99)
            return c * 1000 + d;
        d = s[i];
    }
    return c;
}

ptrdiff_t least_until(const float *s, float *t, ptrdiff_t n)
{
    float least = s[0];
    for (ptrdiff_t i = 0; i < n; i++) {
        if (s[i] < least)
            least = s[i];
        if (s[i] > 1000)
            return (ptrdiff_t)(least * 8) + i;
        t[n - 1 - i] = s[i];
    }
    return (ptrdiff_t)(least * 8);
}
"""
ENDS: dict[str, tuple[str, str, float]] = {
    "copy_until": ("uint8", "uint8", 99), "early_value": ("uint16", "uint16", 99), "sum_until": ("int32", "int64", -4),
    "least_until": ("float32", "float32", 2e3),
}  # fmt: skip
"""Types of both arrays, and what ends a loop."""
KINDS: dict[str, tuple[str, str, float, float, tuple[float, float]]] = {
    "find_byte": ("uint8", "uint8", 1, 1, (200, 0)),
    "mismatch": ("uint8", "uint8", 9, 9, (8, 9)),
    "blanks": ("uint8", "uint8", 104, 0, (111, 0)),
    "last_wide": ("int64", "int64", 4, 4, (10, 4)),
    "descends": ("float32", "float32", 1.5, 0, (np.nan, 0)),
    "far_apart": ("float64", "float64", 2.5, 2.5, (2.5, 2.6)),
    "of_two": ("int32", "int16", 1, 9, (-1, 9)),
    "find_event": ("int64", "int32", 5, 9, (9, 9)),
    "third": ("uint8", "int16", 5, 9, (77, 9)),
    "flagged": ("uint8", "uint8", 1, 1, (200, 0)),
    "checked": ("int32", "int32", 5, 5, (11, 5)),
    "shorts": ("int16", "int16", 1, 3, (-70, 3)),
}
"""Types of both arrays, what they hold, and what they hold where an iteration leaves."""

Function = Callable[..., int]
Pairs = dict[str, tuple[Function, Function]]


def build_both(text: str, names: Iterable[str], target: str, folder: Path) -> Pairs:
    """The functions of a program as they are written, and as they are built: in all of them a loop was replaced."""
    if target == "x86-avx2" and "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("the processor has no AVX2")
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    made = build_file(Source("exits.c", text), Options(target=target, measure=False))
    for x in made.functions:
        assert x.selection is not None and x.selection.version is not None, x.remarks
        assert x.selection.version.label == "early-exit"
    libraries = []
    for name, written in (("original", text), ("made", made.text)):
        (folder / f"{name}.c").write_text(written)
        flags = ["-mavx2", "-mfma", "-mf16c"] if target == "x86-avx2" else []
        flags += TRAPS if name == "made" else []
        command = ["gcc", "-O2", "-Wall", "-shared", "-fPIC", f"{name}.c", "-o", f"{name}.so", "-lm", *flags]
        subprocess.run(command, cwd=folder, check=True)
        libraries.append(ctypes.CDLL(str(folder / f"{name}.so")))
    out = {}
    for name in names:
        old, new = (getattr(x, name) for x in libraries)
        for function in (old, new):
            function.restype, function.argtypes = ctypes.c_ssize_t, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t]
        out[name] = (old, new)
    return out


@pytest.fixture(scope="session", params=TARGETS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return build_both(PROGRAM, KINDS, request.param, tmp_path_factory.mktemp("exits"))


@pytest.fixture(scope="session")
def effects(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return build_both(EFFECTS, ENDS, "native", tmp_path_factory.mktemp("effects"))


@pytest.mark.parametrize("name", ENDS)
def test_what_iterations_did_before_the_exit(name: str, effects: Pairs, guarded: Any) -> None:
    first, second, end = ENDS[name]
    random, count = np.random.default_rng(7), 1500
    for place in (0, 1, 7, 8, 9, 10, 40, 63, 200, 1031, 1498, 1499, -1):
        values = random.integers(0, 60, count).astype(first)
        if place >= 0:
            values[place] = end
        results = []
        for function in effects[name]:
            s, t = guarded(values, 0), guarded(np.arange(count).astype(second), 0)
            results.append((function(s.ctypes.data, t.ctypes.data, count), s.tolist(), t.tolist()))
        assert results[0] == results[1], place


@pytest.mark.parametrize("shift", [0, 1, 3, 64, 700, -1, -5, -64])
def test_stores_into_what_decides(shift: int, effects: Pairs) -> None:
    # t[i] = s[i] + 1 in one array: an iteration may store what ends the loop.
    results = []
    for function in effects["copy_until"]:
        memory = np.zeros(3000, np.uint8)
        memory[1000:] = np.arange(2000) % 90
        s = memory[1000:].ctypes.data
        results.append((function(s, s + shift, 1200), memory.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_exit_wherever_it_is(name: str, both: Pairs, guarded: Any) -> None:
    kinds = KINDS[name]
    old, new = both[name]
    count = 9000
    s = guarded(np.full(count, kinds[2], kinds[0]), 0)
    t = guarded(np.full(count, kinds[3], kinds[1]), 0)
    places = [*range(140), *range(250, 270), *range(1015, 1030), *range(4080, 4110), 8190, 8191, 8192, 8998, 8999]

    def call(function: Function, first: int, n: int) -> int:
        return function(s[first:].ctypes.data, t[first:].ctypes.data, n)

    for n in (0, 1, 2, 7, 8, 9, 17, 63, 64, 65, 127, 129, 515, 4096, 4097, 8999, 9000):
        for first in {count - n, (count - n) // 2, 0}:
            assert call(old, first, n) == call(new, first, n), (n, first)
    stays = call(old, 0, count)
    for place in places:
        kept = s[place], t[place]
        s[place], t[place] = kinds[4]
        for first, n in (
            (0, count),
            (place // 2, count - place // 2),
            (max(0, place - 11), count - max(0, place - 11)),
        ):
            assert call(old, first, n) == call(new, first, n), (place, first)
        if name not in ("last_wide", "of_two", "third") and call(old, 0, count) != stays:
            # The length may say more than there is where an exit comes first.
            for n in (count + 1, 10 * count, 1 << 60, (1 << 63) - 1):
                assert call(old, 0, n) == call(new, 0, n), (place, n)
        s[place], t[place] = kept
