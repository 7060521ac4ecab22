"""The `main` of a random program: fills data, calls each function with several sizes, and prints checksums.

A line `i NAME HASH` is for integers, `f NAME HASH SUM SIZE COUNT` for floats (`d` for doubles): the hash of all bits,
a sum with weights, the sum of magnitudes, and how many elements are no numbers or infinite. `-DWOBBLE=1e-7` moves the
data; with `-DSPECIAL` there are NaNs, infinities and zeros with a sign among those that are not made integers.

>>> sizes_for(random.Random(1), 2)[0]
(0, 0)
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Protocol

from tests.property.listings.places import LARGEST, Array
from tests.property.listings.types import BITS, is_float, is_signed

_PLAINLY = """\
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
"""
_HEAD = """\
#ifdef MAIN
#include <stdio.h>
#include <string.h>
@#ifndef WOBBLE
#define WOBBLE 0.0
#endif

static unsigned long long state = 1;
static unsigned draw(void)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33);
}
static double real(void)
{
    double x = (double)(int)(draw() % 65u) / 16.0 - 1.0;
    return x * (1.0 + WOBBLE * (double)(draw() % 3u));
}
static unsigned long long whole(void)
{
    unsigned long long x = draw();
    x ^= (unsigned long long)draw() << 33;
    return x;
}
static double any(void)
{
#ifdef SPECIAL
    static const double odd[] = { -0.0, 0.0, 1e308 * 10, -1e308 * 10, 1e308 * 10 - 1e308 * 10 };
    if (draw() % 23u == 0) return odd[draw() % 5u];
#endif
    return real();
}
"""

# Functions, not macros, and compiled plainly in most programs: compilers would take most of their time for these. In
# the others, `main` is one piece with what it calls.
_FILLS = {
    "any": "(T)any()", "real": "(T)real()", "whole": "(T)whole()",
    "small": "(T)((int)(draw() % (2u * bound + 1u)) - (int)bound)",
}  # fmt: skip
_FILL = """\
static __attribute__((noinline)) void NAME(T *x, size_t n, unsigned bound)
{
    (void)bound;
    for (size_t z = 0; z < n; z++) x[z] = VALUE;
}
"""
_SHOW_WHOLE = """\
static __attribute__((noinline)) void NAME(const char *name, const T *x, size_t n)
{
    unsigned long long h = 14695981039346656037ULL;
    for (size_t z = 0; z < n; z++) h = (h ^ (unsigned long long)x[z]) * 1099511628211ULL;
    printf("i %s %016llx\\n", name, h);
}
"""
_SHOW_REAL = """\
static __attribute__((noinline)) void NAME(const char *name, const T *x, size_t n)
{
    unsigned long long h = 14695981039346656037ULL; double s = 0, a = 0; unsigned c = 0;
    for (size_t z = 0; z < n; z++) {
        double v = (double)x[z]; unsigned long long u = 12345;
        if (v == v) memcpy(&u, &v, 8);
        h = (h ^ u) * 1099511628211ULL;
        if (!(v - v == 0)) { c++; continue; }
        s += v * (1.0 + (double)(z % 7)); a += (v < 0 ? -v : v) * (1.0 + (double)(z % 7));
    }
    printf("KIND %s %016llx %.17g %.17g %u\\n", name, h, s, a, c);
}
"""
_NEEDED = re.compile(r"\b(fill_(any|real|whole|small)|show)__(\w+)\(")
"""A call of one of these functions, with the words of a type."""

_CHOICES = (0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, LARGEST)


class Callee(Protocol):
    """What is called."""

    name: str
    sizes: tuple[tuple[str, str], ...]
    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, str], ...]
    result: str
    special: bool


def sizes_for(rng: random.Random, count: int) -> list[tuple[int, ...]]:
    """Values of the sizes for several calls: 0, 1, odd, larger."""
    if count == 0:
        return [()]
    out = [(0,) * count, (1,) * count, tuple(rng.choice(_CHOICES) for _ in range(count))]
    out += [tuple(rng.choice((17, 33, 40, 64, LARGEST)) for _ in range(count))]
    out += [tuple(rng.choice(_CHOICES) for _ in range(count))]
    return out


def write_main(rng: random.Random, functions: Sequence[Callee], globals: Sequence[Array]) -> str:
    """The text of `main`, with a function for each one that is called."""
    parts = list[str]()
    calls = []
    for number, function in enumerate(functions):
        parts.append(_write_runner(rng, function, globals))
        depends = {x for a in function.arrays for x in a.shape if isinstance(x, str)}
        for values in sizes_for(rng, len(function.sizes)):
            # No dimension of an array is 0, which C does not define.
            given = [max(v, 1) if x in depends else v for v, (x, _) in zip(values, function.sizes, strict=True)]
            for overlap in (0, 1) if _partners(function) else (0,):
                seed = number * 1000 + len(calls)
                arguments = ", ".join(map(str, [seed, overlap, *given]))
                calls.append(f"    run_{function.name}({arguments});")
    main = ["int main(void)", "{", *dict.fromkeys(calls), "    return 0;", "}", "#endif", ""]
    head = _HEAD.replace("@", "" if rng.random() < 0.25 else _PLAINLY)
    return "\n".join([head, *_write_helpers("\n".join(parts)), *parts, *main])


def _write_helpers(text: str) -> list[str]:
    """The functions that fill and print, of which the text has calls."""
    out = []
    for name, fill, words in dict.fromkeys(x.groups() for x in _NEEDED.finditer(text)):
        type = words.replace("__", " ")
        plain = _FILL.replace("VALUE", _FILLS[fill]) if fill else _SHOW_REAL if is_float(type) else _SHOW_WHOLE
        made = plain.replace("NAME", f"{name}__{words}").replace("KIND", type[0])
        out.append(re.sub(r"\bT\b", type, made))
    return out


def _partners(function: Callee) -> tuple[Array, Array] | None:
    """Two arrays that may overlap."""
    flat = [x for x in function.arrays if not x.shape and not x.restrict]
    for i, a in enumerate(flat):
        for b in flat[i + 1 :]:
            constant_float = is_float(a.type) and (a.const or b.const)
            if a.type == b.type and not constant_float and not (a.const and b.const):
                return a, b
    return None


def _extent(array: Array) -> tuple[int, int]:
    """How many elements lie before the start, and how many there are in all."""
    if array.shape:
        total = 1
        for x in array.shape:
            total *= x if isinstance(x, int) else LARGEST
        return 0, total
    return 8 - array.low, array.high - array.low + 17


def _write_runner(rng: random.Random, function: Callee, globals: Sequence[Array]) -> str:
    name = function.name
    sizes = "".join(f", {t} {x}" for x, t in function.sizes)
    lines = [f"static void run_{name}(unsigned seed, int overlap{sizes})", "{"]
    partners = _partners(function)
    shared = 0
    if partners is not None:
        a, b = partners
        before = max(_extent(a)[0], _extent(b)[0]) + 4
        shared = before + max(a.high, b.high) + 16
        lines.append(f"    static {a.type} shared[{shared}];")
    for x in function.arrays:
        lines.append(f"    static {x.type} buffer_{x.name}[{_extent(x)[1]}];")
    lines.append("    state = seed;")
    lines += [f"    {_fill(x, f'buffer_{x.name}', _extent(x)[1], function.special)};" for x in function.arrays]
    if partners is not None:
        lines.append(f"    {_fill(partners[0], 'shared', shared, function.special)};")
    given = [x for x, _ in function.sizes]
    for x in function.arrays:
        plain = f"buffer_{x.name} + {_extent(x)[0]}" if not x.shape else f"(void *)buffer_{x.name}"
        if partners is not None and x in partners:
            move = 0 if x is partners[0] else rng.choice((0, 0, 1, -1, 3, -3))
            plain = f"overlap ? shared + {before + move} : {plain}"
        given.append(plain)
    given += [f"({t}){rng.choice((0, 1, 2, 3, 5, 7))}" for _, t in function.scalars]
    call = f"{name}({', '.join(given)})"
    if function.result:
        lines += [f"    {function.result} result[1];", f"    result[0] = {call};"]
        lines.append("    " + _show(function.result, f"{name}.result", "result", 1))
    else:
        lines.append(f"    {call};")
    lines += ["    " + _show(x.type, f"{name}.{x.name}", f"buffer_{x.name}", _extent(x)[1]) for x in function.arrays]
    if partners is not None:
        lines.append("    " + _show(partners[0].type, f"{name}.shared", "shared", shared))
    lines += ["    " + _show(x.type, x.name, f"({x.type} *){x.name}", _extent(x)[1]) for x in globals]
    return "\n".join([*lines, "}", ""])


def _fill(array: Array, name: str, count: int, special: bool) -> str:
    if array.name == "rows":
        return f"{name}[0] = (int)(draw() % {LARGEST + 1}u)"
    kind, bound = "whole", 0
    if is_float(array.type):
        kind = "any" if special else "real"
    elif array.bound and is_signed(array.type) and BITS[array.type] >= 32:
        kind, bound = "small", int(array.bound)
    return f"fill_{kind}__{_words(array.type)}({name}, {count}u, {bound}u)"


def _show(type: str, label: str, name: str, count: int) -> str:
    return f'show__{_words(type)}("{label}", {name}, {count}u);'


def _words(type: str) -> str:
    return type.replace(" ", "__")
