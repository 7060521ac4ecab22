"""About how many cycles a stream takes before it is packed: units, sums that wait, chains of operations.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Immediate
>>> a, b = StreamRegister("S", "a"), StreamRegister("S", "b")
>>> body = (Instr("SMOVIF", (Immediate(1.0), a)), Instr("SFMULS32", (b, a, a)), Instr("SFADDS32", (b, b, a)))
>>> depth_of(body, load_machine("ftmatrix")), least_interval(body, load_machine("ftmatrix"))
(13, 6)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from planish.ir.expr import Binary, Compare, Const, Expr, Select, Unary, Var
from planish.ir.traverse import variables
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Instr, Item, Loop, MemoryAddress, StreamRegister
from planish.vliw.streams.lower import LoweredStream

GUESS = 64
"""What a size is taken to be that is not given."""

_CONTROL = 8
"""Cycles that the control of a loop takes each time."""


def depth_of(items: Sequence[Item], machine: VliwMachine) -> int:
    """The longest chain of operations, each of which waits for one before."""
    ready: dict[StreamRegister, int] = {}
    longest = 0
    for x in items:
        if not isinstance(x, Instr):
            continue
        written = machine.written_places(x.operation)
        start = max((ready.get(r, 0) for r in _read(x, written)), default=0)
        end = start + machine.operation(x.operation).latency
        longest = max(longest, end)
        for n in written:
            operand = x.operands[n]
            if isinstance(operand, StreamRegister):
                ready[operand] = end
    return longest


def _read(x: Instr, written: Sequence[int]) -> Iterator[StreamRegister]:
    if x.guard is not None:
        yield x.guard.register
    for n, operand in enumerate(x.operands):
        if isinstance(operand, MemoryAddress):
            yield operand.base
        elif isinstance(operand, StreamRegister) and n not in written:
            yield operand


def least_interval(items: Sequence[Item], machine: VliwMachine) -> int:
    """The least cycles by the units that operations take, and by those that change what they read."""
    work: dict[frozenset[str], int] = {}
    longest = 1
    for x in items:
        if not isinstance(x, Instr):
            continue
        operation = machine.operation(x.operation)
        units = frozenset(operation.units)
        work[units] = work.get(units, 0) + operation.busy
        named = [y for y in x.operands if isinstance(y, StreamRegister)]
        if len(named) != len(set(named)):
            longest = max(longest, operation.latency)
    shared = [(units, sum(n for other, n in work.items() if other <= units)) for units in work]
    return max(longest, *(-(-n // len(units)) for units, n in shared)) if shared else longest


def innermost(items: Sequence[Item]) -> Iterator[Loop]:
    """The loops in which there are none."""
    for x in items:
        if isinstance(x, Loop):
            if x.is_innermost:
                yield x
            else:
                yield from innermost(x.body)


Amount = Any
"""A number, or a vector of numbers: one for each of several sets of sizes."""

_EACH: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "mod": np.mod,
    "min": np.minimum, "max": np.maximum, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def evaluate_each(expr: Expr, sizes: Mapping[str, Amount]) -> Amount:
    """The value of an index expression for each set of sizes; ValueError for what is none.

    >>> from planish.ir.text.parser import parse_expr
    >>> evaluate_each(parse_expr("min(n, 4) // 2"), {"n": np.array([1, 3, 9])}).tolist()
    [0, 1, 2]
    """
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return sizes[name]
        case Unary(op="neg", operand=operand):
            return -evaluate_each(operand, sizes)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return np.where(*(evaluate_each(x, sizes) for x in (condition, then, otherwise)))
        case Binary(op=op, left=left, right=right) | Compare(op=op, left=left, right=right) if op in _EACH:
            return _EACH[op](evaluate_each(left, sizes), evaluate_each(right, sizes))
        case _:
            raise ValueError(f"no index expression: {expr}")


def cycles_of(lowered: LoweredStream, machine: VliwMachine, sizes: Mapping[str, Amount]) -> Amount:
    """About how many cycles a stream takes before it is packed, for one set of sizes or for each of several: innermost
    loops at the least interval."""
    return _cycles(lowered.program.body, machine, (lowered.trips, sizes_of(lowered, sizes)))


def sizes_of(lowered: LoweredStream, sizes: Mapping[str, Amount]) -> Mapping[str, Amount]:
    """All sizes of a stream, those that follow from others too; a guess for those that are not given."""
    known = {**dict.fromkeys(lowered.kernel.sizes, GUESS), **sizes}
    for name, value in lowered.sizes.items():
        known[name] = evaluate_each(value, known)
    return known


def _cycles(
    items: Sequence[Item],
    machine: VliwMachine,
    sizes: tuple[Mapping[str, Expr], Mapping[str, Amount]],
) -> Amount:
    total: Amount = 0.0
    block: list[Item] = []
    for item in (*items, None):
        if isinstance(item, Instr):
            block.append(item)
            continue
        if block:
            total = total + max(depth_of(block, machine), least_interval(block, machine))
            block = []
        if item is None:
            break
        trips = np.maximum(0, _trips(item, *sizes))
        if item.is_innermost:
            interval = least_interval(item.body, machine)
            first = depth_of(item.body, machine) + _CONTROL - interval
            total = total + np.where(trips > 0, trips * interval + first, 2)
        else:
            total = total + trips * (_cycles(item.body, machine, sizes) + _CONTROL)
    return total if np.ndim(total) else float(total)


def _trips(loop: Loop, trips: Mapping[str, Expr], known: Mapping[str, Amount]) -> Amount:
    return loop.count if isinstance(loop.count, int) else trips_of(loop.name, trips, known)


def trips_of(name: str, trips: Mapping[str, Expr], known: Mapping[str, Amount]) -> Amount:
    """How often a loop runs whose count is in a register, by known sizes; a guess where its bounds vary."""
    trip = trips.get(name)
    if trip is None:
        return GUESS // 2
    guessed = dict.fromkeys(variables(trip) - known.keys(), GUESS // 2)
    return evaluate_each(trip, {**known, **guessed})
