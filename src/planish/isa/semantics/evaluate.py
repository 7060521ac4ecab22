"""Runs a definition on many inputs at once: what an instruction means.

Each operand is a table of bytes, a row for each input; counters of loops are axes of their own, so that all lanes of
all inputs are computed together. Whole numbers that 64 bits hold are NumPy's, others Python's.

>>> from planish.isa.semantics.text import parse_definition
>>> add = parse_definition("(a: 16, b: 16) -> out: 16 { for i < 2 { out.u8[i] = u8(a.u8[i] + b.u8[i]) } }")
>>> a, b = (np.array([[255, 1]], np.uint8), np.array([[1, 1]], np.uint8))
>>> evaluate(add, {"a": a, "b": b}).result
array([[0, 2]], dtype=uint8)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planish.isa.semantics import floats
from planish.isa.semantics.definition import Definition, LaneLoop, Put, nested_puts
from planish.isa.semantics.node import FLOAT_OPERATORS, Node, walk

Bytes = NDArray[np.uint8]
_Values = NDArray[Any]
_MACHINE = {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True, slots=True)
class LaneOutcome:
    """What a definition leaves: the bytes of the result, which of its bits are defined, and the bytes of each memory
    that it stores to."""

    result: Bytes
    defined: Bytes
    memory: Mapping[str, Bytes]


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes behind an address: `start` is the place in each row that the address points to."""

    bytes: Bytes
    start: int


Given = Bytes | Memory


def evaluate(definition: Definition, given: Mapping[str, Given]) -> LaneOutcome:
    """The outcome for each row of what is given: the bytes of each operand, by name."""
    rows = next((len(x.bytes if isinstance(x, Memory) else x) for x in given.values()), 1)
    size = (definition.result.bits + 7) // 8 if definition.result else 0
    result, defined = np.zeros((rows, size * 8), np.uint8), np.zeros((rows, size * 8), np.uint8)
    stored = {
        name: np.unpackbits(x.bytes, axis=1, bitorder="little") for name, x in given.items() if isinstance(x, Memory)
    }
    sources = {name: _Source.of(x) for name, x in given.items()}
    for put, loops in nested_puts(definition.body):
        run = _Run(put, loops, sources, rows)
        offsets, values, when = run.of(put.offset), run.of(put.value), run.of(put.when)
        if definition.result and put.target == definition.result.name:
            _scatter(result, offsets, values, when, put.width, run.shape, 0)
            _scatter(defined, offsets, None, when, put.width, run.shape, 0)
        else:
            memory = given[put.target]
            start = memory.start * 8 if isinstance(memory, Memory) else 0
            _scatter(stored[put.target], offsets, values, when, put.width, run.shape, start)
    return LaneOutcome(_pack(result), _pack(defined), {name: _pack(x) for name, x in stored.items()})


def _pack(bits: Bytes) -> Bytes:
    return np.packbits(bits, axis=1, bitorder="little")


def _scatter(
    bits: Bytes, offsets: _Values, values: _Values | None, when: _Values, width: int, shape: tuple[int, ...], start: int
) -> None:
    rows = shape[0]
    where = np.broadcast_to(offsets, shape).reshape(rows, -1).astype(np.int64) + start
    holds = np.broadcast_to(when, shape).reshape(rows, -1).astype(bool)
    places = where[..., None] + np.arange(width)
    inside = holds[..., None] & (places >= 0) & (places < bits.shape[1])
    row = np.broadcast_to(np.arange(rows)[:, None, None], places.shape)
    if values is None:
        bits[row[inside], places[inside]] = 1
        return
    spread = _bits_of(np.broadcast_to(values, shape).reshape(rows, -1), width)
    bits[row[inside], places[inside]] = spread[inside]


def _bits_of(values: _Values, width: int) -> Bytes:
    if values.dtype != object and width <= 64:
        unsigned = values.astype(np.uint64) if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)
        low = np.ascontiguousarray(unsigned)[..., None].view(np.uint8)
        return np.unpackbits(low, axis=-1, bitorder="little")[..., :width]
    mask = (1 << width) - 1
    size = (width + 7) // 8
    text = b"".join((int(x) & mask).to_bytes(size, "little") for x in values.ravel())
    low = np.frombuffer(text, np.uint8).reshape(*values.shape, size)
    return np.unpackbits(low, axis=-1, bitorder="little")[..., :width]


@dataclass(frozen=True, slots=True)
class _Source:
    """An operand as bits, with zeros beyond its ends."""

    bits: Bytes
    start: int

    @classmethod
    def of(cls, given: Given) -> _Source:
        data, start = (given.bytes, given.start * 8) if isinstance(given, Memory) else (given, 0)
        return cls(np.unpackbits(data, axis=1, bitorder="little"), start)

    def read(self, offsets: _Values, width: int, signed: bool, shape: tuple[int, ...]) -> _Values:
        places = offsets.astype(np.int64)[..., None] + np.arange(width) + self.start
        inside = (places >= 0) & (places < self.bits.shape[1])
        rows = np.arange(len(self.bits)).reshape(-1, *[1] * (len(shape)))
        found = self.bits[rows, np.where(inside, places, 0)] & inside
        return _whole(np.broadcast_to(found, (max(found.shape[0], 1), *found.shape[1:])), width, signed)


def _whole(bits: Bytes, width: int, signed: bool) -> _Values:
    """Numbers of the bits on the last axis."""
    packed = np.packbits(bits, axis=-1, bitorder="little")
    if width <= 64:
        room = np.zeros((*packed.shape[:-1], 8), np.uint8)
        room[..., : packed.shape[-1]] = packed
        unsigned = room.view(np.uint64)[..., 0]
        if not signed:
            return unsigned if width == 64 else unsigned.astype(np.int64)
        shift = np.uint64(64 - width)
        return (unsigned << shift).view(np.int64) >> np.int64(64 - width)
    shape, size = packed.shape[:-1], packed.shape[-1]
    text = packed.tobytes()
    found = [int.from_bytes(text[at : at + size], "little") for at in range(0, len(text), size)]
    if signed:
        found = [x - (1 << width) if x >> (width - 1) else x for x in found]
    made = np.empty(len(found), object)
    made[:] = found
    return made.reshape(shape)


class _Run:
    """The values of the nodes of one statement."""

    def __init__(self, put: Put, loops: tuple[LaneLoop, ...], sources: Mapping[str, _Source], rows: int) -> None:
        roots = (put.offset, put.value, put.when)
        sums = [x for x in walk(roots) if x.op == "sum"]
        self.axes: dict[tuple[str, int], int] = {}
        for name, count in [*((x.var, x.count) for x in loops), *((str(x.attr[0]), int(x.attr[1])) for x in sums)]:
            self.axes.setdefault((name, count), len(self.axes) + 1)
        self.rank = len(self.axes) + 1
        self.rows = rows
        self.shape = (rows, *(x.count for x in loops), *[1] * (self.rank - 1 - len(loops)))
        self.sources = sources
        self.known: dict[int, _Values] = {}
        for place in walk(roots):
            self.known[id(place)] = self.find(place)

    def of(self, x: Node) -> _Values:
        return self.known[id(x)]

    def counter(self, name: str, count: int) -> _Values:
        shape = [1] * self.rank
        shape[self.axes[name, count]] = count
        return np.arange(count, dtype=np.int64).reshape(shape)

    def find(self, x: Node) -> _Values:
        match x.op:
            case "const":
                return _constant(x.low, self.rank)
            case "var":
                return self.counter(str(x.attr[0]), int(x.attr[1]))
            case "bits":
                name, width, signed = str(x.attr[0]), int(x.attr[1]), bool(x.attr[2])
                return self.sources[name].read(self.of(x.args[0]), width, signed, self.shape)
            case "sum":
                axis = self.axes[str(x.attr[0]), int(x.attr[1])]
                return _fit(_wide(self.of(x.args[0]), x).sum(axis=axis, keepdims=True), x)
            case _:
                return apply(x, [self.of(y) for y in x.args])


def _constant(value: int, rank: int) -> _Values:
    if -(1 << 63) <= value < 1 << 63:
        return np.full([1] * rank, value, np.int64)
    made = np.empty([1] * rank, object)
    made[...] = value
    return made


def _fits(x: Node) -> bool:
    return x.low >= -(1 << 63) and x.high < 1 << 63


def _wide(values: _Values, x: Node) -> _Values:
    # As NumPy's numbers where the result and what it is made of are within 63 bits.
    return values if values.dtype == np.int64 and _fits(x) else values.astype(object)


def _fit(values: _Values, x: Node) -> _Values:
    if _fits(x):
        return values if values.dtype == np.int64 else values.astype(np.int64)
    if x.low >= 0 and x.high < 1 << 64:
        return values if values.dtype == np.uint64 else values.astype(np.uint64)
    return values.astype(object)


def apply(x: Node, args: list[_Values]) -> _Values:
    """The value of an operator that reads no operand, of the values of its arguments."""
    if x.op in _WHOLE:
        small = all(map(_fits, (x, *x.args)))
        taken = args if small else [a.astype(object) for a in args]
        return _fit(np.asarray(_WHOLE[x.op](x, taken)), x)
    if x.op == "select":
        condition, then, otherwise = args
        chosen = np.where(condition.astype(bool), _fit(then, x), _fit(otherwise, x))
        return _fit(chosen, x)
    return _float(x, args)


def _elementwise(function: Callable[..., int], args: list[_Values]) -> _Values:
    found = np.frompyfunc(lambda *given: function(*map(int, given)), len(args), 1)(*args)
    return np.asarray(found, object)


def _shifted(x: Node, args: list[_Values]) -> _Values:
    # What is shifted by less than nothing is a way that is not taken: it stays as it is.
    value, by = args
    if value.dtype == object or by.dtype == object:
        op = (lambda v, n: v << max(n, 0) if n < 4096 else 0) if x.op == "shl" else (lambda v, n: v >> _within(n))
        return _elementwise(op, args)
    by = np.maximum(by, 0)
    if x.op == "shr":
        return np.right_shift(value, np.minimum(by, 63))
    return np.where(by > 63, 0, np.left_shift(value, np.minimum(by, 63)))


def _within(count: int) -> int:
    return min(max(count, 0), 4096)


_WHOLE: dict[str, Callable[[Node, list[_Values]], _Values]] = {
    "add": lambda x, a: sum(a[1:], a[0]),
    "mul": lambda x, a: a[0] * a[1],
    "quo": lambda x, a: _elementwise(lambda p, q: 0 if q == 0 else (abs(p) // abs(q)) * (1 if p * q >= 0 else -1), a),
    "mod": lambda x, a: _elementwise(lambda p, q: p % q if q else 0, a),
    "shl": _shifted,
    "shr": _shifted,
    "and": lambda x, a: a[0] & a[1],
    "or": lambda x, a: a[0] | a[1],
    "xor": lambda x, a: a[0] ^ a[1],
    "invert": lambda x, a: -1 - a[0],
    "not": lambda x, a: 1 - a[0],
    "eq": lambda x, a: (a[0] == a[1]).astype(np.int64),
    "lt": lambda x, a: (a[0] < a[1]).astype(np.int64),
    "le": lambda x, a: (a[0] <= a[1]).astype(np.int64),
    "min": lambda x, a: np.minimum(a[0], a[1]),
    "max": lambda x, a: np.maximum(a[0], a[1]),
    "abs": lambda x, a: np.abs(a[0]),
    "sat": lambda x, a: np.minimum(np.maximum(a[0], x.low), x.high),
    "wrap": lambda x, a: _cut(x, a[0]),
    "popcount": lambda x, a: _elementwise(lambda v: v.bit_count(), a),
    "parity": lambda x, a: _elementwise(lambda v: v.bit_count() & 1, a),
    "clmul": lambda x, a: _elementwise(_without_carry, a),
    "clz": lambda x, a: _elementwise(lambda v: int(x.attr[0]) - v.bit_length(), a),
    "nth": lambda x, a: _elementwise(_nth, a),
    "rank": lambda x, a: _elementwise(lambda v, n: (v & ((1 << n) - 1)).bit_count(), a),
}


def _cut(x: Node, values: _Values) -> _Values:
    width, signed = int(x.attr[0]), bool(x.attr[1])
    low = values & ((1 << width) - 1)
    return np.where(low >> (width - 1) != 0, low - (1 << width), low) if signed else low


def _without_carry(a: int, b: int) -> int:
    """The product of two polynomials over bits."""
    found = 0
    while b:
        low = b & -b
        found ^= a * low
        b ^= low
    return found


def _nth(mask: int, count: int) -> int:
    """The place of the set bit before which there are so many."""
    for place in range(mask.bit_length()):
        if mask >> place & 1:
            if count == 0:
                return place
            count -= 1
    return mask.bit_length()


_COMPARED: dict[str, Callable[[int | None], bool]] = {
    "feq": lambda c: c == 0, "flt": lambda c: c == -1, "fle": lambda c: c in (-1, 0), "funord": lambda c: c is None,
}  # fmt: skip


def _float(x: Node, args: list[_Values]) -> _Values:
    form = str(x.attr[0])
    if x.op in _COMPARED:
        test = _COMPARED[x.op]
        return _fit(_elementwise(lambda a, b: int(test(floats.compare(form, a, b))), args), x)
    if x.op == "toint":
        bits, signed = int(x.attr[1]), bool(x.attr[2])
        return _fit(_elementwise(lambda a, m: floats.to_integer(form, a, bits, signed, m), args), x)
    if x.op == "quiet":
        return _fit(_elementwise(lambda a: floats.quiet(form, a), args), x)
    nearest = len(x.args) == FLOAT_OPERATORS[x.op] + 1 and x.args[-1].constant in (0, 4)
    if nearest and form in _MACHINE and x.op in _FAST:
        kind = _MACHINE[form]
        size = np.dtype(kind).itemsize
        operands = [_fit(a, y).astype(f"u{size}").view(kind) for a, y in zip(args, x.args, strict=True)]
        with np.errstate(all="ignore"):
            made = np.asarray(_FAST[x.op](*operands[:-1]))
        if not np.isnan(made).any():
            return _fit(made.view(f"u{made.dtype.itemsize}"), x)
    return _fit(_elementwise(lambda *given: _exact(x, form, *given), args), x)


_FAST: dict[str, Callable[..., NDArray[np.floating]]] = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide, "fsqrt": np.sqrt,
}  # fmt: skip


def _exact(x: Node, form: str, *args: int) -> int:
    match x.op:
        case "fadd":
            return floats.add(form, *args)
        case "fsub":
            return floats.subtract(form, *args)
        case "fmul":
            return floats.multiply(form, *args)
        case "fdiv":
            return floats.divide(form, *args)
        case "fsqrt":
            return floats.root(form, *args)
        case "fma":
            return floats.fma(form, *args)
        case "fround":
            return floats.round_scaled(form, args[0], 0, args[1])
        case "roundscale":
            return floats.round_scaled(form, *args)
        case "fromint":
            return floats.from_integer(form, *args)
        case "fconvert":
            return floats.convert(form, str(x.attr[1]), *args)
        case "scalef":
            return floats.scale(form, *args)
        case "getexp":
            return floats.exponent(form, args[0])
        case "getmant":
            return floats.mantissa(form, *args)
        case "frcp":
            return floats.divide(form, floats.from_integer(form, 1, 0), args[0], 0)
        case "frsqrt":
            return floats.divide(form, floats.from_integer(form, 1, 0), floats.root(form, args[0], 0), 0)
        case op:
            raise AssertionError(op)
