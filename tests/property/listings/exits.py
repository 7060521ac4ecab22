"""Loops that an iteration may leave: searches, copies and sums up to a mark, with `break`, `return` and `goto`.

>>> text = random_exit(random.Random(1), "int")
>>> any(x in text for x in ("break;", "return", "goto")) and text.count("{") == text.count("}")
True
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.property.listings.types import is_float

FACTOR = 6
"""Loops run so many times as long as a size says: what is searched in lanes begins behind some iterations."""


@dataclass(frozen=True, slots=True)
class Head:
    """How a loop runs: what stands in front of it, its head and what its body ends with; how an element of the array
    `x` and of `y` is read, and how many iterations were begun or how far it came, once it has ended."""

    before: str
    head: str
    last: str
    x: str
    y: str
    far: str
    counter: str = ""


def random_exit(rng: random.Random, t: str) -> str:
    """A loop with one exit or two, with effects or without."""
    head = _head(rng, t)
    effects = [_effect(rng, t, head) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    leaves = [_leave(rng, t, head) for _ in range(rng.choice((1, 1, 1, 2)))]
    lines = [*leaves, *effects]
    if rng.random() < 0.5:
        rng.shuffle(lines)
    if rng.random() < 0.12:
        lines.insert(rng.randrange(len(lines) + 1), f"if ({_condition(rng, t, head, rare=False)}) s += 2;")
    body = "\n".join([*lines, head.last] if head.last else lines)
    answer = rng.choice((
        f"return ({t})({head.far});", f"return ({t})(s + 3 * last);", f"return ({t})(s + 7 * ({head.far}) + last);",
        f"return ({t})(last - found);",
    ))  # fmt: skip
    start = f"{t} last = {rng.choice(('alpha', '3', '0'))};\n{_sum_type(rng, t)} s = 0;\nlong found = -1;\n"
    label = "out:\n" if "goto out" in body else ""
    if rng.random() < 0.15:
        inner = f"{head.before}{head.head} {{\n{body}\n}}\ns += 1;"
        while_all = f"for (int r = 0; r < 3; r++) {{\n{inner}\n}}\n"
        return f"{start}{while_all}{label}return ({t})(s + last - found);"
    return f"{start}{head.before}{head.head} {{\n{body}\n}}\n{label}{answer}"


def _sum_type(rng: random.Random, t: str) -> str:
    return t if is_float(t) else rng.choice((t, "long", "unsigned", "int"))


def _head(rng: random.Random, t: str) -> Head:
    many = f"{FACTOR} * n"
    roll = rng.random()
    if roll < 0.3:
        kind = rng.choice(("int", "int", "long", "ptrdiff_t", "size_t", "unsigned"))
        last = many if kind in ("int", "long", "ptrdiff_t") else f"({kind})({many})"
        step = rng.choice(("i++", "++i", "i += 1", "i += 2"))
        first = rng.choice(("0", "0", "0", "1", "2"))
        return Head(f"{kind} i;\n", f"for (i = {first}; i < {last}; {step})", "", "x[i]", "y[i]", "i", "i")
    if roll < 0.4:
        return Head("int i;\n", f"for (i = {many} - 1; i >= 0; i--)", "", "x[i]", "y[i]", "i", "i")
    if roll < 0.48:
        return Head(f"size_t i = {many};\n", "while (i-- > 0)", "", "x[i]", "y[i]", "i", "i")
    if roll < 0.6:
        test = rng.choice(("", f" && x[i] != {_mark(rng, t)}", " && y[i] == y[i]", f" && !(x[i] == {_mark(rng, t)})"))
        return Head("long i = 0;\n", f"while (i < {many}{test})", "i++;", "x[i]", "y[i]", "i", "i")
    if roll < 0.75:
        end = f"const {t} *end = x + {many};\nconst {t} *p = x, *q = y;\n"
        head = rng.choice(("while (p < end)", "while (p != end)"))
        return Head(end, head, "p++;\nq++;", "*p", "*q", "p - x", "")
    if roll < 0.85:
        end = f"const {t} *end = x + {many}, *p;\n"
        start = rng.choice(("x", "x + 1"))
        head = f"for (p = {start}; p < end; p++)"
        return Head(end, head, "", "*p", "y[p - x]", "p - x", "")
    walk = f"long left = {many};\nconst {t} *p = x, *q = y;\n"
    head = rng.choice(("while (left-- > 0)", "while (left > 0)", "for (; left > 0; left--)"))
    if head == "while (left > 0)":
        return Head(walk, head, "left--;\np++;\nq++;", "*p", "*q", "left", "")
    return Head(walk, head, "++p, ++q;", "*p", "*q", "left + (p - x)", "")


def _mark(rng: random.Random, t: str) -> str:
    return rng.choice(("alpha", "0.9375f", "0.5f") if is_float(t) else ("alpha", "7", "100", "'a'"))


def _condition(rng: random.Random, t: str, head: Head, rare: bool = True) -> str:
    x, y = head.x, head.y
    if is_float(t):
        choices = [
            f"{x} > 0.97f", f"{x} == {y}", f"{x} + {y} > 1.9f", f"!({x} < 0.95f)", f"{x} != {x}",
            f"fabs({x} - {y}) > 1.8",
            f"{x} * 2 > {y} + 2.7f", f"{x} > {y} ? {x} > 0.97f : {y} > 0.97f", f"-{x} > 0.96f",
            f"({t})({x} * 16) == 15",
            f"{x} >= 0.9f && {y} < 0", f"{x} * alpha > 6.5f", f"is_large({x})",
        ]  # fmt: skip
    else:
        choices = [
            f"({x} & 127) == 5", f"{x} == {y}", f"({x} & 31) == 3 && ({y} & 3) == 1", f"({x} ^ {y}) % 64 == 1",
            f"(unsigned char){x} == 'z'", f"(unsigned)({x} & 255) - 48u < 3u", f"({x} & 255) > 253",
            f"(signed char){x} < -125", f"!(({x} + {y}) & 63)", f"abs((signed char){x}) > 126", f"({x} & 63) == alpha",
            f"({x} & 15) == 1 && ({y} & 15) == 2", f"({x} & 1 ? {x} : {y}) % 50 == 0", f"(short){x} == (short){y}",
            f"({x} >> 2) % 40 == 1", f"({x} & 255) == 9 || ({y} & 255) == 9", f"{x} < {y} - 250", f"is_large({x})",
            f"(unsigned char)({x} - 'A') <= 2 || (unsigned char)({x} - 'a') <= 2", f"(uint16_t){x} > 65000u",
            f"({x} * 3u + 1u) % 77u == 0", f"~{x} == 7", f"-{x} % 60 == 1",
        ]  # fmt: skip
    if head.counter == "i":
        choices += [f"(i > 3 && {x} == x[i - 1])", f"i == 40 && {x} > 0", f"{x} == i", f"{x} == x[0] && i > 20"]
    found = rng.choice(choices)
    if not rare:
        return rng.choice((f"{x} > {y}", f"{x} > 0", found))
    roll = rng.random()
    if roll < 0.1:
        return f"{found} && s < 1000"
    if roll < 0.18:
        return f"(last = {x}) == {_mark(rng, t)}"
    return found


def _leave(rng: random.Random, t: str, head: Head) -> str:
    condition = _condition(rng, t, head)
    way = rng.choice((
        "break;", "break;", "return 1;", f"return {head.x};", f"return ({t})({head.far});", "goto out;",
        f"{{\nfound = {head.far};\nbreak;\n}}", f"{{\ns += 1000;\nlast = {head.x};\nbreak;\n}}",
        f"{{\nz[0] = {head.x};\nbreak;\n}}", f"{{\nlast = {head.y};\ngoto out;\n}}",
    ))  # fmt: skip
    if rng.random() < 0.1:
        return f"if ({condition}) {way}\nelse if ({_condition(rng, t, head)}) break;"
    return f"if ({condition}) {way}"


def _effect(rng: random.Random, t: str, head: Head) -> str:
    x, y = head.x, head.y
    choices = [
        f"s += {x};", f"s += {x} * {y};", f"last = {x};", "s++;", f"if ({x} > last) last = {x};",
        f"if ({x} > {y}) s += 1;",
        f"last = {y} > {x} ? {y} : {x};", f"last = last * 3 + {x};", f"const {t} kept = {x};\ns += kept;",
    ]  # fmt: skip
    if head.counter == "i":
        choices += [
            f"z[i] = {x};", f"z[i] = {x} + {y};", f"z[i] += {x};", "z[i + 1] = z[i];", f"y[i] = {x};", f"x[i] = {y};",
            f"if ({x} > {y}) z[i] = {x};", f"z[{FACTOR} * n - 1 - i] = {x};", f"z[i] = s;\ns += {x};",
            "x[i + 1] = y[i];",
            f"if (i % 2) s += {x};",
        ]  # fmt: skip
    return rng.choice(choices)
