"""Copies that block transfers do: rows of an array in one memory become rows of one in another memory.

A loop that copies carries the operation that starts the transfer, and its channel (`LoopFacts.instruction`); a loop
that never runs stands for the wait.

>>> from planish.ir.types import F32
>>> from planish.ir.text.printer import print_stmt
>>> from planish.vliw.description import load_machine
>>> machine = load_machine("ftmatrix")
>>> found = find_transfer(machine, "DDR", "AM")
>>> there = Load("A", (index("i"), index("c")), F32)
>>> print(print_stmt(copied("b", (index("c"),), there, {"c": index(32)}, mark(found, 1))))
for c in 0 .. 32 as DMADA 1 {
  b[c] = A[i, c]
}
>>> find_transfer(machine, "AM", "SM") is None, waited(machine, 1).facts.instruction
(True, 'DMAWAIT 1')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import add, build, constant, linear_in, mul, sub
from planish.ir.nest import Assign, Block, For, LoopFacts, Stmt
from planish.ir.types import INDEX
from planish.vliw.machine import MachineOperation, VliwMachine
from planish.vliw.program import Immediate, Instr, MemoryAddress, Operand, StreamRegister
from planish.vliw.streams.addresses import base_name, linear_bytes
from planish.vliw.streams.stream import RefusedError, Stream, StreamCell


@dataclass(frozen=True, slots=True)
class MovedRows:
    """What a copy moves: `rows` of `bytes`, whose beginnings lie `d_step` and `s_step` bytes apart; the first ones lie
    `d` and `s` bytes behind the beginnings of their arrays."""

    target: str
    source: str
    d: Expr
    s: Expr
    bytes: Expr
    rows: Expr
    d_step: Expr
    s_step: Expr


def find_transfer(machine: VliwMachine, source: str, to: str) -> MachineOperation | None:
    """The operation that starts a transfer from a memory to another one; None where there is none."""
    for x in machine.operations:
        if x.transfer == "start":
            definition = x.definition
            if (definition.array("s").memory, definition.array("d").memory) == (source, to):
                return x
    return None


def mark(operation: MachineOperation, channel: int) -> LoopFacts:
    """The facts of a loop that a transfer on a channel does."""
    return LoopFacts(instruction=f"{operation.name} {channel}")


def waited(machine: VliwMachine, channel: int) -> For:
    """A loop that stands for the wait for a channel; RefusedError where the machine cannot wait."""
    operation = next((x for x in machine.operations if x.transfer == "wait"), None)
    if operation is None:
        raise RefusedError("no operation waits for a block transfer")
    return For("wait", index(0), index(0), 1, Block(()), mark(operation, channel))


def copied(
    target: str, at: tuple[Expr, ...], source: Load, counts: Mapping[str, Expr], facts: LoopFacts
) -> For:  # fmt: skip
    """Loops, outer ones first, each so often, around a copy."""
    stmt: Stmt = Assign(target, at, source)
    for var, count in reversed(tuple(counts.items())):
        stmt = For(var, index(0), count, 1, Block((stmt,)))
    assert isinstance(stmt, For)
    return replace(stmt, facts=facts)


def rows_of(loop: For, stream: Stream) -> MovedRows:
    """What a copy moves; RefusedError where these are no rows of bytes."""
    counts: list[tuple[str, Expr]] = []
    stmt: Stmt = loop
    while isinstance(stmt, For) and len(stmt.body.body) == 1:
        counts.append((stmt.var, sub(stmt.upper, stmt.lower)))
        stmt = stmt.body.body[0]
    assert isinstance(stmt, Assign) and isinstance(stmt.value, Load)
    size = stream.arrays[stmt.array].type.size
    places = ((stmt.array, stmt.index), (stmt.value.array, stmt.value.index))
    to, source = (linear_bytes(stream.arrays[x], at) for x, at in places)
    steps: list[tuple[Expr, Expr, Expr]] = []
    for var, count in counts:
        d, s = linear_in(to, var), linear_in(source, var)
        if d is None or s is None:
            raise RefusedError(f"what is copied does not move evenly with `{var}`", loop.span)
        (d_step, to), (s_step, source) = d, s
        steps.append((count, build(d_step), build(s_step)))
    # Loops whose rows follow one another without a gap are one.
    merged: list[tuple[Expr, Expr, Expr]] = [(index(size), index(1), index(1))]
    for step in reversed(steps):
        inner, inner_d, inner_s = merged[-1]
        whole = (mul(inner, inner_d), mul(inner, inner_s))
        if all(constant(sub(x, y)) == 0 for x, y in zip(step[1:], whole, strict=True)):
            merged[-1] = (mul(inner, step[0]), inner_d, inner_s)
        elif constant(step[0]) != 1:
            merged.append(step)
    unit = merged[0]
    if len(merged) > 2 or constant(unit[1]) != 1 or constant(unit[2]) != 1:
        raise RefusedError("what is copied is no rows of bytes", loop.span)
    rows = merged[1] if len(merged) > 1 else (index(1), index(0), index(0))
    return MovedRows(stmt.array, stmt.value.array, to, source, unit[0], *rows)


def write_transfer(stream: Stream, loop: For) -> None:
    """The operation that starts a copy, or waits for one, with what it needs in registers."""
    name, channel = loop.facts.instruction.split()
    operation = stream.patterns.machine.operation(name)
    operands: list[Operand] = [Immediate(int(channel))]
    if operation.transfer == "start":
        moved = rows_of(loop, stream)
        definition = operation.definition
        for array, end, at in ((moved.target, "d", moved.d), (moved.source, "s", moved.s)):
            operands.append(MemoryAddress(_address(stream, array, definition.array(end).memory, at)))
        file = definition.array("rows").memory
        operands += [stream.value(x, (file, 0)) for x in (moved.bytes, moved.rows, moved.d_step, moved.s_step)]
    stream.scope.items.append(Instr(name, tuple(operands), stream.guard(), None, loop.span))


def _address(stream: Stream, array: str, memory: str, at: Expr) -> StreamRegister:
    """A register with an address, which is used once: it holds nothing up to the next transfer."""
    name = base_name(array, memory)
    base: Expr = Load(name, (), INDEX)
    slot = stream.slot_for(INDEX, 0)
    sum_ = stream.value(add(base, at), slot)
    held = f"&move{stream.count}"
    stream.cells[held] = StreamCell(sum_, slot, INDEX)
    stream.scope.mutated |= {held}
    file = next((x.name for x in stream.patterns.machine.files if x.addresses), None)
    if file is None:
        raise RefusedError("no register can hold an address", stream.span)
    made = stream.value(Load(held, (), INDEX), (file, 0))
    del stream.cells[held]
    stream.selector.forget()
    return made
