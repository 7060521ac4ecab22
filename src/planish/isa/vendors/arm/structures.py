"""Intrinsics whose definition is their structure: loads and stores of vectors, tables, registers seen as another type.

Arm's page gives one operation for all loads and stores, which speaks of a single lane; what they do follows from how
many vectors they have, whether these are interleaved in memory, and whether one lane or all of them are meant.

>>> from planish.isa.semantics.text import print_definition
>>> c = "int16x4x2_t", (("const int16_t *", "p"),)
>>> given = ArmIntrinsic("vld2_s16", *c, "LD2 {Vt.4H - Vt2.4H},[Xn]", "", "", "", "", 1)
>>> print_definition(structure(given, (Operand("p", 0, "memory"),), Operand("dst", 128)))
'(p: 128 memory) -> dst: 128 { for j < 2 { for i < 4 { dst.u16[4*j + i] = p.u16[j + 2*i] } } }'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, Operand, Put
from planish.isa.semantics.node import Node, const, node
from planish.isa.semantics.reroll import roll
from planish.isa.vendors.arm.page import ArmIntrinsic

_VECTORS = re.compile(r"(?:u?int|float|poly|bfloat)(\d+)(?:x(\d+))?(?:x(\d))?_t")
_MEMORY = re.compile(r"(LD|ST)([1-4])(R?) ")
_SUM = re.compile(r"RESULT\[I\] = a\[i\] ([-+]) \(b\[i\] \* (c\[i\]|c|v\[lane\])\)")


@dataclass(frozen=True, slots=True)
class _Vectors:
    """`count` vectors of `lanes` elements of `size` bits."""

    size: int
    lanes: int
    count: int

    @classmethod
    def of(cls, kind: str) -> _Vectors:
        found = _VECTORS.fullmatch(kind)
        assert found is not None, kind
        return cls(int(found[1]), int(found[2] or 1), int(found[3] or 1))

    def place(self, vector: int, lane: int) -> int:
        """The bit where an element lies."""
        return (vector * self.lanes + lane) * self.size


def structure(entry: ArmIntrinsic, operands: tuple[Operand, ...], result: Operand | None) -> Definition | None:
    """The definition of an intrinsic that is one of these; None for all others."""
    kinds = {name: kind for kind, name in entry.parameters}
    if found := _MEMORY.match(entry.instruction):
        interleaved = int(found[2]) > 1
        if found[1] == "LD" and result is not None:
            return _load(entry, operands, result, interleaved, bool(found[3]))
        return _store(operands, interleaved, kinds)
    if result is None:
        if entry.instruction.startswith("STR"):
            return _store(operands, False, kinds)
        return None
    if entry.instruction.startswith("LDR"):
        return _load(entry, operands, result, False, False)
    if entry.instruction.startswith("NOP"):
        return Definition(operands, result, (Put(result.name, const(0), result.bits, _whole(operands[0])),))
    if entry.name.startswith("vcombine_"):
        low, high = operands
        lower = Put(result.name, const(0), low.bits, _whole(low))
        return Definition(operands, result, (lower, Put(result.name, const(low.bits), high.bits, _whole(high))))
    if entry.name.startswith(("vtbl", "vtbx", "vqtbl", "vqtbx")):
        return _table(operands, result, "x" in entry.name.split("_")[0][-3:])
    if found := _SUM.match(entry.instruction):
        return _multiplied_sum(operands, result, _Vectors.of(entry.result), found[1], found[2])
    return None


def _whole(x: Operand) -> Node:
    return build.bits(x.name, const(0), x.bits)


def _elements(vectors: _Vectors, result: Operand, value: Callable[[int, int], Node]) -> tuple[Put, ...]:
    return tuple(
        Put(result.name, const(vectors.place(v, e)), vectors.size, value(v, e))
        for v in range(vectors.count) for e in range(vectors.lanes)
    )  # fmt: skip


def _made(operands: Sequence[Operand], result: Operand | None, puts: Sequence[Put]) -> Definition:
    return Definition(tuple(operands), result, roll(puts))


def _with_reach(operands: Sequence[Operand], name: str, bits: int) -> tuple[Operand, ...]:
    return tuple(replace(x, bits=bits) if x.name == name else x for x in operands)


def _load(
    entry: ArmIntrinsic, operands: tuple[Operand, ...], result: Operand, interleaved: bool, everywhere: bool
) -> Definition:
    vectors = _Vectors.of(entry.result)
    pointer = operands[0].name
    lane = next((x for x in operands if x.role == "immediate"), None)
    kept = next((x for x in operands[1:] if x is not lane), None)
    step = vectors.count if interleaved else 1

    def read(index: int) -> Node:
        return build.bits(pointer, const(index * vectors.size), vectors.size)

    if lane is not None and kept is not None:
        place = build.bits(lane.name, const(0), lane.bits)

        def value(v: int, e: int) -> Node:
            old = build.bits(kept.name, const(vectors.place(v, e)), vectors.size)
            return build.select(build.equal(place, const(e)), read(v), old)

        reach = vectors.count
    elif everywhere:
        reach = vectors.count

        def value(v: int, e: int) -> Node:
            return read(v)

    else:
        reach = vectors.count * vectors.lanes

        def value(v: int, e: int) -> Node:
            return read(e * step + v if interleaved else v * vectors.lanes + e)

    return _made(_with_reach(operands, pointer, reach * vectors.size), result, _elements(vectors, result, value))


def _store(operands: tuple[Operand, ...], interleaved: bool, kinds: dict[str, str]) -> Definition:
    pointer, given = operands[0].name, operands[1].name
    vectors = _Vectors.of(kinds[given])
    lane = next((x for x in operands if x.role == "immediate"), None)
    puts: list[Put] = []

    def put(index: int, offset: Node) -> None:
        puts.append(Put(pointer, const(index * vectors.size), vectors.size, build.bits(given, offset, vectors.size)))

    for v in range(vectors.count):
        if lane is not None:
            place = build.multiply(build.bits(lane.name, const(0), lane.bits), const(vectors.size))
            put(v, build.add(place, const(vectors.place(v, 0))))
            continue
        for e in range(vectors.lanes):
            put(e * vectors.count + v if interleaved else v * vectors.lanes + e, const(vectors.place(v, e)))
    return _made(_with_reach(operands, pointer, len(puts) * vectors.size), None, puts)


def _table(operands: tuple[Operand, ...], result: Operand, keeps: bool) -> Definition:
    # An index beyond the table gives zero, or leaves what was there.
    kept = operands[0] if keeps else None
    table, index = operands[-2:]
    puts = []
    for at in range(0, result.bits, 8):
        place = build.bits(index.name, const(at), 8)
        entry = build.bits(table.name, build.multiply(place, const(8)), 8)
        other = build.bits(kept.name, const(at), 8) if kept else const(0)
        found = build.select(build.less(place, const(table.bits // 8)), entry, other)
        puts.append(Put(result.name, const(at), 8, found))
    return _made(operands, result, puts)


def _multiplied_sum(
    operands: tuple[Operand, ...], result: Operand, vectors: _Vectors, sign: str, factor: str
) -> Definition:
    # Rounded twice.
    kind = f"f{vectors.size}"
    a, b, c = (x.name for x in operands[:3])

    def value(_: int, e: int) -> Node:
        place: Node = const(e * vectors.size)
        if factor == "c":
            place_of_factor: Node = const(0)
        elif factor == "v[lane]":
            place_of_factor = build.multiply(build.bits(operands[3].name, const(0), 8), const(vectors.size))
        else:
            place_of_factor = place
        other = build.bits(c, place_of_factor, vectors.size)
        product = node("fmul", (build.bits(b, place, vectors.size), other, const(4)), (kind,))
        op = "fadd" if sign == "+" else "fsub"
        return node(op, (build.bits(a, place, vectors.size), product, const(4)), (kind,))

    return _made(operands, result, _elements(vectors, result, value))


