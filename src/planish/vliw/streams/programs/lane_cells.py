"""Local arrays with an element for each lane, in registers: accumulators that programs load from and store to.

An array of more lanes than a register has is several of these, whose names have numbers.

>>> name_of("sum", 0, 1), name_of("sum", 1, 2)
('sum', 'sum[1]')
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from planish.ir.expr import Const, Expr, Load
from planish.ir.index.polynomial import constant
from planish.ir.nest import Array
from planish.vliw.program import Instr, Operand, StreamRegister
from planish.vliw.streams.stream import RefusedError, Stream, StreamCell


def name_of(array: str, number: int, count: int) -> str:
    """The cell of one of an array's registers, of which there are so many."""
    return array if count == 1 else f"{array}[{number}]"


def allocate_lanes(stream: Stream, array: Array) -> None:
    """Registers for an array whose shape is known; RefusedError where the machine's vectors do not fit its rows."""
    lanes = _vector_lanes(stream, array)
    count = prod(_extents(array)) // lanes
    slot = stream.slot_for(array.type, lanes)
    stream.lane_arrays[array.name] = replace(array, memory="")
    for at in range(count):
        register = stream.fresh(slot[0], array.name)
        stream.cells[name_of(array.name, at, count)] = StreamCell(register, slot, array.type)


def row_cells(stream: Stream, array: str) -> tuple[StreamCell, ...]:
    """The registers of an array that is one row of several; none where it is in memory, or more than a row."""
    found = stream.lane_arrays.get(array)
    if found is None or len(_extents(found)) > 1:
        return ()
    count = _extents(found)[0] // _vector_lanes(stream, found)
    return tuple(stream.cells[name_of(array, x, count)] for x in range(count))


def _extents(array: Array) -> list[int]:
    return [int(constant(x) or 0) if x is not None else 0 for x in array.shape]


def _vector_lanes(stream: Stream, array: Array) -> int:
    """The lanes of a register, a multiple of which a row is."""
    fitting = [x for x in stream.patterns.lane_counts if _extents(array)[-1] % x == 0 and _is_whole(stream, array, x)]
    if not fitting:
        raise RefusedError(f"lanes of `{array.name}` are no whole vectors", stream.span)
    return fitting[0]


def _is_whole(stream: Stream, array: Array, lanes: int) -> bool:
    return any(lanes * array.type.bits == x.bits for x in stream.patterns.machine.files)


def cell_of(stream: Stream, load: Load, first: int) -> StreamRegister | None:
    """The register with a row's elements from one on; None where its array is in memory."""
    array = stream.lane_arrays.get(load.array)
    if array is None:
        return None
    lanes = _vector_lanes(stream, array)
    *outer, row = _extents(array)
    place = 0
    for at, extent in zip(load.index[:-1], outer, strict=True):
        place = place * extent + _number(stream, at)
    place = place * row + first
    if place % lanes:
        raise RefusedError(f"`{load.array}` is read between its registers", stream.span)
    return stream.cells[name_of(load.array, place // lanes, prod((*outer, row)) // lanes)].register


def _number(stream: Stream, place: Expr) -> int:
    if not isinstance(place, Const):
        raise RefusedError("a row of lanes whose number is not known", stream.span)
    return int(place.value)


Moves = Sequence[tuple[StreamRegister, StreamRegister]]
"""Registers that are to hold what others do: from, to."""
Written = Sequence[Collection[Operand]]
"""What each of some operations writes."""


def directly(
    items: Sequence[Instr], moves: Moves, made: set[StreamRegister], partners: Mapping[StreamRegister, StreamRegister],
    written: Written,
) -> dict[StreamRegister, StreamRegister]:  # fmt: skip
    """Of registers that operations have `made`, those that may be the cells that they are moved to from the beginning,
    with these: nothing touches the cell from there on. Pairs become cells only where both halves do. `written`: what
    each of the operations writes."""
    sources = [x for x, _ in moves]
    found = {x: y for x, y in moves if x in made and sources.count(x) == 1 and _is_free(items, x, y, written)}
    return {x: y for x, y in found.items() if x not in partners or partners[x] in found}


def _is_free(items: Sequence[Instr], source: StreamRegister, cell: StreamRegister, written: Written) -> bool:
    begin = next((n for n in range(len(items)) if source in written[n]), None)
    if begin is None or cell in written[begin]:
        return False
    return not any(cell in items[n].operands for n in range(begin + 1, len(items)))


def renamed(items: Sequence[Instr], names: Mapping[StreamRegister, StreamRegister]) -> list[Instr]:
    """Operations with other registers."""
    return [
        replace(x, operands=tuple(names.get(y, y) if isinstance(y, StreamRegister) else y for y in x.operands))
        for x in items
    ]  # fmt: skip
