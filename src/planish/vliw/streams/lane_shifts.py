"""Vectors that are shifted together from two neighbours instead of loaded, where loads take an inner loop's time.

A filter reads x[k .. k + 32], x[k + 1 .. k + 33], …: beside each whole vector of x those that begin some elements
later. Where both neighbours are loaded anyway, an operation that takes lanes from two vectors makes what lies between.

>>> from planish.core.span import Source
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.text import parse_program
>>> text = "program p on ftmatrix\\nparam x: AR.x in AM\\nloop k 9 {\\n"
>>> at = "@x.k[{0}:{1} +128]\\n"
>>> for n, offset in enumerate((0, 128, 4, 132, 8)):
...     text += f"VLDW V.{'abcde'[n]}, *AR.x[{offset}] " + at.format(offset, offset + 128)
>>> program = parse_program(Source("p.sa", text + "}"), load_machine("ftmatrix"))
>>> (loop,) = shift_lanes(program, load_machine("ftmatrix")).body
>>> [str(x) for x in loop.body if isinstance(x, Instr) and x.operation == "VSHIFT"]
['VSHIFT #1, V.c, V.a, V.b']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.ir.expr import Load
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Immediate, Instr, Item, Loop, MemoryAddress, StreamProgram, StreamRegister
from planish.vliw.saturation.lanes import lane_moves
from planish.vliw.streams.cost import least_interval
from planish.vliw.streams.lower import patterns_of


@dataclass(frozen=True, slots=True)
class _VectorLoad:
    """A load of a whole vector of elements of `size` bytes; `shifts`: the operations that take lanes from the k-th on
    of two vectors, by k."""

    size: int
    lanes: int
    shifts: Mapping[int, str]


def shift_lanes(program: StreamProgram, machine: VliwMachine) -> StreamProgram:
    """The program whose inner loops load fewer vectors, as far as that makes the interval that their units allow
    shorter. What is loaded from memory is loaded by the original, too."""
    kinds = _vector_loads(machine)
    return replace(program, body=_items(program.body, machine, kinds)) if kinds else program


def _items(items: Sequence[Item], machine: VliwMachine, kinds: Mapping[str, _VectorLoad]) -> tuple[Item, ...]:
    out: list[Item] = []
    for x in items:
        if isinstance(x, Loop) and not x.is_innermost:
            x = replace(x, body=_items(x.body, machine, kinds))
        elif isinstance(x, Loop):
            x = replace(x, body=_fewer_loads([y for y in x.body if isinstance(y, Instr)], machine, kinds))
        out.append(x)
    return tuple(out)


def _fewer_loads(
    body: Sequence[Instr], machine: VliwMachine, kinds: Mapping[str, _VectorLoad]
) -> tuple[Instr, ...]:  # fmt: skip
    """A body with as many shifts instead of loads as bring its units' bound down furthest, and no more."""
    best, least = tuple(body), least_interval(body, machine)
    made = list(body)
    for at, shift in _candidates(body, machine, kinds):
        made[at] = shift
        bound = least_interval(made, machine)
        if bound < least:
            best, least = tuple(made), bound
    return best


def _candidates(
    body: Sequence[Instr], machine: VliwMachine, kinds: Mapping[str, _VectorLoad]
) -> Iterator[tuple[int, Instr]]:  # fmt: skip
    """Loads, by their place in a body, and the shifts that make the same of what is loaded before."""
    written: dict[StreamRegister, int] = {}
    for x in body:
        for n in machine.written_places(x.operation):
            operand = x.operands[n]
            if isinstance(operand, StreamRegister):
                written[operand] = written.get(operand, 0) + 1
    stored = [x.place.array if x.place else "" for x in body if machine.kind(x.operation) == "store"]
    kept: dict[tuple[str, str, str, int | None, int], StreamRegister] = {}
    for at, x in enumerate(body):
        kind, place = kinds.get(x.operation), x.place
        if kind is None or place is None or x.guard is not None or not {"", place.array}.isdisjoint(stored):
            continue
        register = next(y for y in x.operands if isinstance(y, StreamRegister))
        address = next(y for y in x.operands if isinstance(y, MemoryAddress))
        if written[register] != 1:
            continue
        group = (x.operation, place.array, place.group, place.stride)
        shift = None if address.step != 0 else _shift(kind, place.offset, group, kept, register)
        if shift is None:
            kept[*group, place.offset] = register
        else:
            yield at, replace(shift, span=x.span)


def _shift(
    kind: _VectorLoad, offset: int, group: tuple[str, str, str, int | None],
    kept: Mapping[tuple[str, str, str, int | None, int], StreamRegister], register: StreamRegister,
) -> Instr | None:  # fmt: skip
    """The shift that makes the vector at an offset of two that are there."""
    for k, operation in kind.shifts.items():
        low = offset - k * kind.size
        first, second = kept.get((*group, low)), kept.get((*group, low + kind.lanes * kind.size))
        if first is not None and second is not None:
            return Instr(operation, (Immediate(k), register, first, second))
    return None


def _vector_loads(machine: VliwMachine) -> dict[str, _VectorLoad]:
    """The loads of whole vectors whose elements a machine shifts."""
    found: dict[str, _VectorLoad] = {}
    memories = {x.name for x in machine.memories}
    for x in patterns_of(machine).patterns:
        kind = x.result.type
        if not x.lanes or not isinstance(x.value, Load) or x.result.memory in memories:
            continue
        if not any(y.memory in memories for y in x.operation.definition.arrays):
            continue
        moves = lane_moves(machine, kind)
        if moves.lanes != x.lanes:
            continue
        shifts = {
            y.immediate: y.operation
            for y in moves.fixed
            if y.immediate and len(y.sources) == 2 and y.lanes == tuple(range(y.immediate, y.immediate + x.lanes))
        }
        if shifts:
            found[x.operation.name] = _VectorLoad(kind.size, x.lanes, shifts)
    return found
