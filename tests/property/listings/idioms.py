"""Loops that everybody writes (products, sums, filters, stencils, scans, searches), each with something changed.

>>> text = write_idiom(random.Random(2), "average", "f0").text
>>> text.startswith(("void f0(", "static void f0("))
True
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.property.listings.exits import FACTOR, random_exit
from tests.property.listings.memory import (
    random_absent,
    random_affine,
    random_complex_type,
    random_extreme,
    random_gather,
    random_inner,
    random_members,
    random_records,
    random_rows,
    random_view,
)
from tests.property.listings.places import LARGEST, Array
from tests.property.listings.selections import (
    random_answer,
    random_chain,
    random_channels,
    random_guarded,
    random_switch,
    random_table,
)
from tests.property.listings.types import is_float

L = LARGEST
_REAL = ("float", "double")
_WHOLE = (
    "int", "unsigned", "unsigned char", "signed char", "short", "unsigned short", "long", "uint64_t", "long long",
    "int8_t", "uint16_t", "char", "size_t",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Idiom:
    """A function's text with what a call needs, as `listing.Function` has it."""

    name: str
    text: str
    sizes: tuple[tuple[str, str], ...]
    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, str], ...]
    result: str
    special: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """What one idiom is made of: names of sizes; arrays with how many elements they need and whether they are stored
    to; scalars; and what writes the body. `result`: whether a value is returned."""

    sizes: str
    arrays: Sequence[tuple[str, int, bool]]
    body: Callable[[random.Random, str], str]
    scalars: str = ""
    result: bool = False
    types: tuple[str, ...] = (*_REAL, *_REAL, *_WHOLE)


def nested(rng: random.Random, loops: Sequence[str], inside: str) -> str:
    """Loops `i n` (from 0 to n) around a statement, in any order, some of them down."""
    order = list(loops)
    if rng.random() < 0.5:
        rng.shuffle(order)
    for loop in reversed(order):
        name, high = loop.split(" ", 1)
        if rng.random() < 0.12:
            inside = f"for (int {name} = {high} - 1; {name} >= 0; {name}--) {{\n{inside}\n}}"
        else:
            low = rng.choice(("0", "0", "0", "0", "1"))
            inside = f"for (int {name} = {low}; {name} < {high}; {name}++) {{\n{inside}\n}}"
    return inside


def _product(rng: random.Random, t: str) -> str:
    a = rng.choice(("a[i * k + p]", "a[p * n + i]"))
    b = rng.choice(("b[p * m + j]", "b[j * k + p]", "b[p * m + j + 1]"))
    c = rng.choice(("c[i * m + j]", "c[j * n + i]"))
    roll = rng.random()
    if roll < 0.4:
        return nested(rng, ("i n", "j m", "p k"), f"{c} {rng.choice(('+=', '+=', '-='))} {a} * {b};")
    kind = rng.choice((t, t, "double" if is_float(t) else "int"))
    store = rng.choice(("= s", "+= s", "= alpha * s", f"= alpha * s + {c}", "-= s"))
    inner = f"{kind} s = 0;\nfor (int p = 0; p < k; p++) s += {a} * {b};\n{c} {store};"
    return nested(rng, ("i n", "j m"), inner)


def _vector(rng: random.Random, t: str) -> str:
    a = rng.choice(("a[i * m + j]", "a[j * n + i]"))
    y, x = rng.choice((("y[i]", "x[j]"), ("y[j]", "x[i]")))
    return nested(rng, ("i n", "j m"), f"{y} {rng.choice(('+=', '-='))} {rng.choice(('', 'alpha * '))}{a} * {x};")


def _map(rng: random.Random, t: str) -> str:
    ops = ("+", "-", "*") if is_float(t) else ("+", "-", "*", "^", "|", "&")
    element = rng.choice(("x[i]", "x[i]", "x[i + 1]", "x[2 * i]", "x[n - 1 - i]"))
    new = f"{element} {rng.choice(ops)} {rng.choice(('alpha', 'z[i]', 'y[i]', '3'))}"
    stores = (
        f"y[i] = {new};",
        f"y[i] = {new} > z[i] ? z[i] : {new};",
        f"if (x[i] > z[i]) y[i] = {new};",
        f"y[i] += {new};",
    )
    return nested(rng, ("i n",), rng.choice(stores))


def _sum(rng: random.Random, t: str) -> str:
    kind = rng.choice((t, t, "double" if is_float(t) else rng.choice(("int", "long", "unsigned"))))
    square = "(x[i] - y[i]) * (x[i] - y[i])"
    what = rng.choice(("x[i]", "x[i] * y[i]", "x[i] * x[i]", square, "(x[i] > y[i])", "x[2 * i]", "x[n - 1 - i]"))
    condition = rng.choice(("", "", "if (x[i] > 0) ", "if (i % 2 == 0) ", "if (y[i] != 0) "))
    loop = nested(rng, ("i n",), f"{condition}s += {what};")
    return f"{kind} s = {rng.choice(('0', '0', '1', 'x[0]'))};\n{loop}\nreturn s;"


def _extremum(rng: random.Random, t: str) -> str:
    op = rng.choice(("<", ">", "<=", ">="))
    roll = rng.random()
    if roll < 0.4:
        return f"{t} s = x[0];\n" + nested(rng, ("i n",), f"if (x[i] {op} s) s = x[i];") + "\nreturn s;"
    if roll < 0.7:
        loop = nested(rng, ("i n",), f"if (x[i] {op} s) {{ s = x[i]; at = i; }}")
        return f"{t} s = x[0];\nint at = 0;\n{loop}\nreturn ({t})at;"
    return nested(rng, ("i n", "j m"), f"if (x[i * m + j] {op} y[i]) y[i] = x[i * m + j];") + "\nreturn x[0];"


def _scan(rng: random.Random, t: str) -> str:
    move = rng.choice(("s += x[i]", "s = s * alpha + x[i]", "s = x[i] - s", "s = s > x[i] ? s : x[i]"))
    order = rng.choice((f"{move};\ny[i] = s;", f"y[i] = s;\n{move};"))
    return f"{t} s = 0;\n" + nested(rng, ("i n",), order)


def _recurrence(rng: random.Random, t: str) -> str:
    back = rng.choice((1, 1, 2, 3))
    half = "0.5f" if is_float(t) else "3"
    value = f"{half} * y[i - {back}] {rng.choice('+-')} x[i]"
    return f"for (int i = {back}; i < n; i++)\ny[i] {rng.choice(('=', '+='))} {value};"


def _filter(rng: random.Random, t: str) -> str:
    tap, reach = rng.choice(("h[j]", "h[m - 1 - j]")), rng.choice(("x[i + j]", "x[i - j + m]", "x[2 * i + j]"))
    if rng.random() < 0.5:
        return nested(rng, ("i n", "j m"), f"y[i] += {tap} * {reach};")
    kind = rng.choice((t, "double" if is_float(t) else "int"))
    shift = rng.choice(("", " >> 2")) if not is_float(t) else ""
    return nested(rng, ("i n",), f"{kind} s = 0;\nfor (int j = 0; j < m; j++) s += {tap} * {reach};\ny[i] = s{shift};")


def _stencil(rng: random.Random, t: str) -> str:
    third = " * 0.25f" if is_float(t) else rng.choice((" / 3", " >> 2", ""))
    src, dst = rng.choice((("x", "y"), ("x", "y"), ("y", "y")))
    one = f"for (int i = 1; i < n - 1; i++)\n{dst}[i] = ({src}[i - 1] + 2 * {src}[i] + {src}[i + 1]){third};"
    if rng.random() < 0.5:
        back = "for (int i = 1; i < n - 1; i++)\nx[i] = y[i];"
        return f"for (int t = 0; t < 4; t++) {{\n{one}\n{back}\n}}"
    return one


def _grid(rng: random.Random, t: str) -> str:
    third = " * 0.2f" if is_float(t) else rng.choice((" / 5", " >> 2", ""))
    src, dst = rng.choice((("x", "y"), ("x", "y"), ("y", "y")))
    places = ("i * m + j", "(i - 1) * m + j", "(i + 1) * m + j", "i * m + j - 1", "i * m + j + 1")
    total = " + ".join(f"{src}[{x}]" for x in places)
    return f"for (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < m - 1; j++)\n{dst}[i * m + j] = ({total}){third};"


def _move(rng: random.Random, t: str) -> str:
    roll = rng.random()
    if roll < 0.25:
        return nested(rng, ("i n", "j m"), "y[j * n + i] = x[i * m + j];")
    if roll < 0.5:
        taken = rng.choice(("i", "n - 1 - i", "0"))
        return nested(rng, ("i n",), f"y[i] = x[n - 1 - i];\nz[i + {rng.choice((0, 1))}] = y[{taken}];")
    if roll < 0.7:
        return f"for (int i = 0, j = n - 1; i < j; i++, j--) {{\n{t} t = y[i];\ny[i] = y[j];\ny[j] = t;\n}}"
    if roll < 0.85:
        return "memset(z, 0, n * sizeof(z[0]));\n" + nested(rng, ("i n",), "z[i] += y[i];")
    return "for (int i = 0; i < n; i++) {\ny[2 * i] = x[i];\ny[2 * i + 1] = z[i];\n}"


def _count(rng: random.Random, t: str) -> str:
    return rng.choice((
        "for (int i = 0; i < n; i++) h[b[i]]++;",
        "for (int i = 0; i < n; i++) h[b[i] & 15] += 2;",
        "for (int i = 0; i < n; i++) if (b[i] > 7) h[b[i] >> 3] += b[i];",
        "int k = 0;\nfor (int i = 0; i < n; i++) if (b[i] & 1) h[k++] = b[i];",
        "for (int i = 0; i < n; i++) {\nint c = 0;\nfor (unsigned v = b[i]; v; v >>= 1) c += v & 1;\nh[i] = c;\n}",
        "int k = 0;\nwhile (k < n && b[k] != 0) k++;\nh[0] = k;",
    ))  # fmt: skip


def _average(rng: random.Random, t: str) -> str:
    return nested(rng, ("i n",), rng.choice((
        "y[i] = (x[i] + z[i] + 1) >> 1;",
        "int v = x[i] + z[i];\ny[i] = v > 255 ? 255 : v;",
        "int v = x[i] - z[i];\ny[i] = v < 0 ? 0 : v;",
        "int v = x[i] * 3 - z[i];\ny[i] = v < -128 ? -128 : v > 127 ? 127 : v;",
        "y[i] = abs(x[i] - z[i]);",
        "y[i] = (x[i] * alpha + (z[i] << 2)) >> 3;",
        "y[i] = (unsigned char)(x[i] >> 4) | (unsigned char)(z[i] << 4);",
        "y[i] = x[i] & 1 ? z[i] : -z[i];",
        "y[i] ^= x[i] ^ (x[i] << 3) ^ (z[i] >> 2);",
    )))  # fmt: skip


def _triangle(rng: random.Random, t: str) -> str:
    return rng.choice((
        "for (int i = 0; i < n; i++) {\nfor (int j = 0; j < i; j++) x[i] -= a[i * n + j] * x[j];\n}",
        "for (int i = n - 1; i >= 0; i--) {\nfor (int j = i + 1; j < n; j++) x[i] -= a[i * n + j] * x[j];\n}",
        "for (int i = 0; i < n; i++)\nfor (int j = 0; j <= i; j++)\n"
        "for (int p = 0; p < n; p++) a[i * n + j] += b[i * n + p] * b[j * n + p];",
        "for (int i = 0; i < n; i++)\nfor (int j = i + 1; j < n; j++) {\n"
        "a[j * n + i] = a[i * n + j];\nx[i] += a[i * n + j];\n}",
        "for (int i = 0; i < n; i++) a[i * n + i] += x[i];\nfor (int i = 0; i < n; i++)\n"
        "for (int j = 0; j < n; j++) if (i != j) a[i * n + j] *= 2;",
    ))  # fmt: skip


def _paths(rng: random.Random, t: str) -> str:
    return rng.choice((
        "for (int k = 0; k < n; k++)\nfor (int i = 0; i < n; i++)\nfor (int j = 0; j < n; j++)\n"
        "if (a[i * n + k] + a[k * n + j] < a[i * n + j]) a[i * n + j] = a[i * n + k] + a[k * n + j];",
        "for (int i = 1; i < n; i++)\nfor (int j = 1; j < n; j++)\n"
        "a[i * n + j] = b[i] == x[j] ? a[(i - 1) * n + j - 1] + 1 : a[(i - 1) * n + j] > a[i * n + j - 1] ? "
        "a[(i - 1) * n + j] : a[i * n + j - 1];",
        "for (int h = 1; h < n; h *= 2)\nfor (int i = 0; i + 2 * h <= n; i += 2 * h)\n"
        "for (int j = i; j < i + h; j++) {\n"
        f"{t} u = a[j], v = a[j + h];\na[j] = u + v;\na[j + h] = u - v;\n}}",
        "for (int i = 0; i < n; i++)\nfor (int j = 0; j < n - 1 - i; j++)\nif (x[j] > x[j + 1]) {\n"
        f"{t} u = x[j];\nx[j] = x[j + 1];\nx[j + 1] = u;\n}}",
    ))  # fmt: skip


def _complex(rng: random.Random, t: str) -> str:
    sign = rng.choice("+-")
    return (
        "for (int i = 0; i < n; i++) {\n"
        f"y[2 * i] = x[2 * i] * z[2 * i] - x[2 * i + 1] * z[2 * i + 1];\n"
        f"y[2 * i + 1] = x[2 * i] * z[2 * i + 1] {sign} x[2 * i + 1] * z[2 * i];\n}}"
    )


def _window(rng: random.Random, t: str) -> str:
    start = rng.choice(("t", "0"))
    best = "if (x[2 * i * m + 2 * j + q * m + p] > s) s = x[2 * i * m + 2 * j + q * m + p];"
    inner = rng.choice((best, "s += x[2 * i * m + 2 * j + q * m + p];"))
    first = "x[2 * i * m + 2 * j]" if start == "t" else "0"
    return (
        f"for (int i = 0; i < n / 2; i++)\nfor (int j = 0; j < m / 2; j++) {{\n{t} s = {first};\n"
        f"for (int q = 0; q < 2; q++)\nfor (int p = 0; p < 2; p++)\n{inner}\ny[i * (m / 2) + j] = s;\n}}"
    )


_FLAT = [("y", 4 * L + 7, True), ("x", 4 * L + 7, True), ("z", L + 1, True)]

_BYTES = ("unsigned char", "uint8_t")
_VIEWED = ("absent", "affine", "complexes", "exit", "inner", "members", "records", "rows")
"""What points into arrays."""
_MANY = FACTOR * L + 9

IDIOMS: dict[str, Shape] = {
    "absent": Shape("n", [("y", 3 * L, True), ("x", L, False), ("z", 1, True)], random_absent),
    "affine": Shape(
        "n", [("x", L, False), ("y", L, False), ("z", L, True)], random_affine, "alpha", result=True,
    ),
    "complexes": Shape("n", [("y", 2 * L, True), ("x", 2 * L, False), ("z",
    2 * L, False)], random_complex_type, "alpha", types=_REAL),
    "exit": Shape("n", [("x", _MANY, True), ("y", _MANY, True), ("z", _MANY, True)], random_exit, "alpha", result=True),
    "extreme": Shape("n", [("x", L, False), ("y", L, True)], random_extreme, "alpha", result=True, types=_REAL),
    "gather": Shape("n", [("y", 4 * L, True), ("x", 4 * L, False), ("b", L, False)], random_gather),
    "inner": Shape("n", [("y", L + 1, True), ("x", L + 1, False), ("z", 9, True)], random_inner, "alpha"),
    "members": Shape("n", [("y", 90, True), ("x", 90, True), ("z", 90, True)], random_members, "alpha"),
    "records": Shape("n", [("y", 90, True), ("x", 90, True), ("z", 90, True)], random_records),
    "rows": Shape("n m", [("y", 2 * L * L, True), ("z", 2 * L * L, True), ("x", 2 * L + 9, True)], random_rows),
    "view": Shape(
        "n", [("y", 4 * L + 8, True), ("x", 8 * L + 8, False), ("z", 4 * L, True)], random_view, types=_BYTES,
    ),
    "answer": Shape("n", [("x", L, False), ("y", L, False)], random_answer, "alpha", result=True),
    "chain": Shape("n", [("y", L + 7, True), ("x", L, False), ("z", L, False)], random_chain, "alpha"),
    "channels": Shape(
        "n", _FLAT, random_channels, "alpha", types=("unsigned char", "uint8_t", "short", "uint16_t", "int", "float"),
    ),
    "guarded": Shape("n", _FLAT, random_guarded, "alpha"),
    "switch": Shape("n", _FLAT, random_switch, "alpha", types=_WHOLE),
    "table": Shape(
        "n", [("y", L, True), ("b", L, True), ("h", 256, True)], random_table, types=("unsigned char", "uint8_t"),
    ),
    "average": Shape(
        "n", [("y", L, True), ("x", L, False), ("z", L, False)], _average, "alpha",
        types=("unsigned char", "uint8_t", "signed char", "short", "uint16_t", "char", "int8_t"),
    ),
    "complex": Shape("n", [("y", 2 * L, True), ("x", 2 * L, False), ("z", 2 * L, False)], _complex),
    "count": Shape("n", [("h", 256, True), ("b", L, False)], _count, types=("unsigned char", "uint8_t")),
    "extremum": Shape("n m", [("x", L * L + 1, False), ("y", L, True)], _extremum, result=True),
    "filter": Shape("n m", [("y", L, True), ("x", 3 * L + 1, False), ("h", L, False)], _filter),
    "grid": Shape("n m", [("y", L * L, True), ("x", L * L, False)], _grid),
    "map": Shape("n", [("y", 2 * L, True), ("x", 2 * L, False), ("z", L, False)], _map, "alpha"),
    "move": Shape("n m", [("y", L * L, True), ("x", L * L, False), ("z", L + 1, True)], _move),
    "paths": Shape("n", [("a", L * L, True), ("b", L, False), ("x", L + 1, True)], _paths),
    "product": Shape("n m k", [("c", L * L, True), ("a", L * L, False), ("b", L * L + 1, False)], _product, "alpha"),
    "recurrence": Shape("n", [("y", L, True), ("x", L, False)], _recurrence),
    "scan": Shape("n", [("y", L, True), ("x", L, False)], _scan, "alpha"),
    "stencil": Shape("n", [("y", L, True), ("x", L, True)], _stencil),
    "sum": Shape("n", [("x", 2 * L, False), ("y", L, False)], _sum, result=True),
    "triangle": Shape("n", [("a", L * L, True), ("b", L * L, False), ("x", L, True)], _triangle),
    "vector": Shape("n m", [("y", L, True), ("a", L * L, False), ("x", L, False)], _vector, "alpha"),
    "window": Shape("n m", [("y", L * L, True), ("x", L * L + L, False)], _window),
}  # fmt: skip


def write_idiom(rng: random.Random, kind: str, name: str) -> Idiom:
    """A function that does one of these."""
    shape = IDIOMS[kind]
    type = rng.choice(shape.types)
    count = kind in ("count", "table")
    arrays = []
    for label, extent, stored in shape.arrays:
        # What is a place has few values.
        chosen = label in "hy" if count else kind == "gather" and label == "b"
        own = rng.choice(("int", "unsigned", "uint16_t", "long", "short")) if chosen else type
        if rng.random() < 0.12 and not (count or chosen or kind in _VIEWED):
            own = rng.choice(_REAL if is_float(type) else _WHOLE) if kind != "average" else rng.choice(shape.types)
        const, restrict = not stored and rng.random() < 0.6, kind == "view" or rng.random() < 0.4
        star = f"*restrict {label}" if restrict else rng.choice((f"*{label}", f"{label}[]"))
        array = Array(label, own, (), const, restrict, spelling=f"{'const ' if const else ''}{own} {star}")
        array.touch(0, extent)
        arrays.append(array)
    sizes = tuple((x, rng.choice(("int",) * 5 + ("long",))) for x in shape.sizes.split())
    scalars = tuple((x, type) for x in shape.scalars.split())
    parameters = [f"{t} {x}" for x, t in sizes] + [x.spelling for x in arrays] + [f"{t} {x}" for x, t in scalars]
    result = type if shape.result else ""
    helpers, _, inside = shape.body(rng, type).replace("@", name).rpartition("\f")
    body = inside.replace("\n", "\n    ")
    head = f"{rng.choice(('', '', 'static '))}{result or 'void'} {name}({', '.join(parameters)})"
    return Idiom(name, f"{helpers}{head}\n{{\n    {body}\n}}\n", sizes, tuple(arrays), scalars, result)
