"""What a kernel does, one instance after the other: an account of order and memory that owes nothing to isl.

Statements are numbered in textual order, as the polyhedral view numbers them.

>>> from planish.ir.text.parser import parse_kernel
>>> kernel = parse_kernel("kernel scan(n; A: i32[n]) { for i in 1 .. n { A[i] = A[i - 1] } }")
>>> [e.instance for e in list_events(kernel, {"n": 3})]
[('S0', (1,)), ('S0', (2,))]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.astgen.checking.verify import Instance, evaluate
from planish.ir.nest import Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import loads, walk

Cell = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Event:
    """One instance: the cell it writes and those it may read."""

    instance: Instance
    write: Cell
    reads: tuple[Cell, ...]


def list_events(kernel: Kernel, sizes: Mapping[str, int]) -> list[Event]:
    """All instances of a kernel in the order they run."""
    statements = [s for s in walk(kernel.body) if isinstance(s, Assign | Reduce)]
    numbers = {id(s): i for i, s in enumerate(statements)}
    out: list[Event] = []
    _visit(kernel.body, dict(sizes), (), numbers, out)
    return out


def _visit(stmt: Stmt, values: dict[str, int], at: tuple[int, ...], numbers: dict[int, int], out: list[Event]) -> None:
    match stmt:
        case Block(body=body):
            for x in body:
                _visit(x, values, at, numbers, out)
        case For():
            low, high = evaluate(stmt.lower, values), evaluate(stmt.upper, values)
            while low < high:
                _visit(stmt.body, {**values, stmt.var: low}, (*at, low), numbers, out)
                low += stmt.step
        case If():
            _visit(stmt.then if evaluate(stmt.condition, values) else stmt.otherwise, values, at, numbers, out)
        case Assign() | Reduce():
            write = (stmt.array, tuple(evaluate(x, values) for x in stmt.index))
            reads = [(x.array, tuple(evaluate(i, values) for i in x.index)) for x in loads(stmt.value)]
            if isinstance(stmt, Reduce):
                reads.append(write)
            out.append(Event((f"S{numbers[id(stmt)]}", at), write, tuple(reads)))
        case _:
            return


def find_reversed(events: list[Event], times: Mapping[Instance, tuple[int, ...]]) -> tuple[Instance, Instance] | None:
    """Two instances that touch one cell, one of them writing, whose order `times` reverses or leaves open."""
    latest_write: dict[Cell, tuple[tuple[int, ...], Instance]] = {}
    latest: dict[Cell, tuple[tuple[int, ...], Instance]] = {}
    for event in events:
        mine = (times[event.instance], event.instance)
        for cell in event.reads:
            if cell in latest_write and latest_write[cell][0] >= mine[0]:
                return latest_write[cell][1], event.instance
        if event.write in latest and latest[event.write][0] >= mine[0]:
            return latest[event.write][1], event.instance
        for cell in (*event.reads, event.write):
            latest[cell] = max(latest.get(cell, mine), mine)
        latest_write[event.write] = max(latest_write.get(event.write, mine), mine)
    return None


def find_flow(events: list[Event]) -> set[tuple[Instance, Instance]]:
    """Pairs of the instance that wrote a value and an instance that may read it, for values written by the kernel."""
    writer: dict[Cell, Instance] = {}
    out: set[tuple[Instance, Instance]] = set()
    for event in events:
        out |= {(writer[cell], event.instance) for cell in event.reads if cell in writer}
        writer[event.write] = event.instance
    return out


def find_early(events: list[Event]) -> set[str]:
    """The arrays of which a cell is read before any instance has written it."""
    written: set[Cell] = set()
    out: set[str] = set()
    for event in events:
        out |= {cell[0] for cell in event.reads if cell not in written}
        written.add(event.write)
    return out


def find_conflicts(events: list[Event]) -> set[tuple[Instance, Instance]]:
    """Pairs of instances, the first earlier, that touch one cell, one of them writing; only successive uses."""
    writer: dict[Cell, Instance] = {}
    readers: dict[Cell, set[Instance]] = {}
    out: set[tuple[Instance, Instance]] = set()
    for event in events:
        here = event.instance
        out |= {(writer[cell], here) for cell in event.reads if cell in writer}
        for cell in event.reads:
            readers.setdefault(cell, set()).add(here)
        earlier = readers.pop(event.write, set()) - {here}
        out |= {(x, here) for x in earlier}
        if event.write in writer:
            out.add((writer[event.write], here))
        writer[event.write] = here
    return out
