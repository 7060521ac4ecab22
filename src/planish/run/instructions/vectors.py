"""Inputs on which an instruction and its definition are compared: random bits, corners, and floats near one another.

>>> from planish.isa.semantics.text import parse_definition
>>> definition = parse_definition("(a: 64, b: 64) -> out: 64 { for i < 8 { out.u8[i] = u8(a.u8[i] + b.u8[i]) } }")
>>> given = make_inputs(definition, "add", 32)
>>> given["a"].shape, bool((given["a"] == 0).all(axis=1).any())
((32, 8), True)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from planish.isa.semantics.definition import Definition, Operand
from planish.isa.semantics.evaluate import Bytes, Given, Memory
from planish.isa.semantics.floats import FORMATS, Format
from planish.isa.semantics.node import walk

_WIDTHS = (8, 16, 32, 64)


def make_inputs(
    definition: Definition, name: str, rows: int, reads: Mapping[str, tuple[int, int]] | None = None
) -> dict[str, Given]:
    """Bytes for each operand but the immediates, the same for the same name. `reads` gives the first and the last byte
    that is reached behind an address, where offsets depend on values."""
    chance = np.random.default_rng(zlib.crc32(name.encode()))
    made: dict[str, Given] = {}
    first: dict[int, Bytes] = {}
    narrow = _index_operands(definition)
    for operand in definition.operands:
        if operand.role == "immediate":
            continue
        if operand.role == "memory":
            low, high = (reads or {}).get(operand.name, (0, max(reach(definition, operand.name), 1)))
            made[operand.name] = Memory(_elements(chance, rows, (high - low) * 8, operand), -low)
            continue
        size = (operand.bits + 7) // 8
        data = _elements(chance, rows, operand.bits, operand)
        if operand.name in narrow:
            data = _small(chance, rows, operand.bits, narrow[operand.name])
        elif size in first:  # some lanes of two operands are the same
            alike = chance.random((rows, size)) < np.where(np.arange(rows) % 8 == 7, 0.8, 0.0)[:, None]
            data = np.where(alike, first[size], data)
        first.setdefault(size, data)
        if operand.bits % 8:
            data[:, -1] &= (1 << operand.bits % 8) - 1
        made[operand.name] = data
    return made


def reach(definition: Definition, memory: str) -> int:
    """The bytes behind an address that are read or written, where offsets are known but for loops."""
    most = 0
    for put in definition.puts:
        for x in walk((put.offset, put.value, put.when)):
            if x.op == "bits" and x.attr[0] == memory:
                most = max(most, x.args[0].high + int(x.attr[1]))
        if put.target == memory:
            most = max(most, put.offset.high + put.width)
    return (min(most, 1 << 16) + 7) // 8


def _index_operands(definition: Definition) -> dict[str, int]:
    """Operands of which a place in memory depends, with the width of what is read of them."""
    memories = {x.name for x in definition.operands if x.role == "memory"}
    found: dict[str, int] = {}
    for put in definition.puts:
        roots = [put.offset] if put.target in memories else []
        roots += [x.args[0] for x in walk((put.value, put.when)) if x.op == "bits" and x.attr[0] in memories]
        for x in walk(roots):
            if x.op == "bits" and int(x.attr[1]) >= 16:
                found[str(x.attr[0])] = int(x.attr[1])
    return found


def index_reach(definition: Definition) -> tuple[int, int] | None:
    """The bytes around an address that are reached with the indices that `make_inputs` gives; None where offsets do not
    depend on values."""
    if not _index_operands(definition):
        return None
    return -_INDEX * 8, _INDEX * 8 + 72


_INDEX = 16


def _small(chance: np.random.Generator, rows: int, bits: int, width: int) -> Bytes:
    values = chance.integers(-_INDEX, _INDEX, (rows, bits // width)).astype(f"i{width // 8}")
    return np.ascontiguousarray(values).view(np.uint8).reshape(rows, bits // 8)


def _elements(chance: np.random.Generator, rows: int, bits: int, operand: Operand) -> Bytes:
    size = (bits + 7) // 8
    made = chance.integers(0, 256, (rows, size), dtype=np.uint8)
    if operand.element:
        return _floats(chance, rows, size, FORMATS[operand.element])
    for row in range(rows):
        match row % 8:
            case 0:
                made[row] = (0, 0xFF, 0x80, 0x7F, 1)[row // 8 % 5]
            case 1 | 2 | 3:
                made[row] = _corners(chance, size, _WIDTHS[row // 8 % 4])
            case 4:
                made[row] = _near_zero(chance, size, _WIDTHS[row // 8 % 4])
    return made


def _corners(chance: np.random.Generator, size: int, width: int) -> Bytes:
    step = width // 8
    if size % step:
        step, width = 1, 8
    top = 1 << (width - 1)
    every_other = 0x55 * ((2 * top - 1) // 0xFF)
    table = [0, 1, 2, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, every_other, top >> 1, 3 * top >> 1]
    chosen = chance.integers(0, len(table), size // step)
    return np.frombuffer(b"".join(table[x].to_bytes(step, "little") for x in chosen), np.uint8)


def _near_zero(chance: np.random.Generator, size: int, width: int) -> Bytes:
    step = width // 8
    if size % step:
        step, width = 1, 8
    values = chance.integers(-width - 4, width + 5, size // step).astype(f"i{step}")
    return values.view(np.uint8)


def _floats(chance: np.random.Generator, rows: int, size: int, form: Format) -> Bytes:
    step = form.bits // 8
    count = max(size // step, 1)
    unsigned = np.dtype(f"u{step}")
    bits = chance.integers(0, 1 << form.bits, (rows, count), dtype=np.uint64)
    near = form.bias + chance.integers(-12, 13, (rows, count))
    fraction = bits & np.uint64((1 << form.fraction) - 1)
    sign = bits & np.uint64(form.sign)
    close = sign | (near.astype(np.uint64) << np.uint64(form.fraction)) | fraction
    short = close & ~np.uint64((1 << (form.fraction - 3)) - 1)  # halves, and what else is exact
    one = form.bias << form.fraction
    beyond = (form.bias + 31) << form.fraction if form.bits > 16 else one  # more than 32 bits hold
    table = np.array(
        [0, form.sign, one, one | form.sign, form.infinity, form.infinity | form.sign, form.default_nan, 1,
         form.infinity - 1, (1 << form.fraction), one + 1, beyond],
        np.uint64,
    )  # fmt: skip
    special = table[chance.integers(0, len(table), (rows, count))]
    kind = (np.arange(rows) % 8)[:, None]
    mixed = np.where(chance.random((rows, count)) < 0.5, special, close)
    made = np.select([kind < 2, kind < 4, kind < 5, kind < 6], [close, short, bits, special], mixed)
    data = np.ascontiguousarray(made.astype(unsigned)).view(np.uint8)
    return np.pad(data, ((0, 0), (0, size - data.shape[1]))) if data.shape[1] < size else data[:, :size]
