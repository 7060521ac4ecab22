"""The recurrence bound of a loop: the longest latency around a cycle of statements, for each iteration that it spans.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.schedule.auto.cost.loop_tree import read_loops
>>> loops = "for i in 2 .. n { x[i] = x[i - 2] * 0.5 + y[i]  s[0] += x[i] }"
>>> scop = extract_scop(parse_kernel("kernel k(n; x: f64[n], y: f64[n], s: f64[1]) { %s }" % loops))
>>> (loop,) = read_loops(scop.schedule, scop, {"n": 1000})
>>> recurrence_bound(loop.body, 0, Latencies(add=4, divide=14, forward=5))
4.0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var
from planish.ir.nest import Reduce
from planish.schedule.auto.cost.loop_tree import ArrayReference, Leaf

_DIVISIONS = ("div", "quo", "rem", "floordiv", "mod")
_STEPS = 12
"""Halvings of the interval in which the bound is sought."""


BLOCK = 8
"""The values of a block where loops of C make a recurrence by blocks."""

Way = Literal["blocks", "scan"]
"""How a linear recurrence is made some values at a time: each value of a block as a sum of what the block adds to it
(`blocks`); or in a register, by shifts of 1, 2, 4, ... lanes (`scan`). Of either, one value is carried to the next."""


@dataclass(frozen=True, slots=True)
class BlockWork:
    """What a block of so many `values` takes besides what its iterations do: operations on registers, of which it needs
    one for all values, and how often these are stored and loaded.

    >>> BlockWork.of("scan", 16).operations, BlockWork.of("blocks", 16).operations
    (12.0, 11.0)
    """

    values: int
    operations: float
    stores: float
    loads: float

    @classmethod
    def of(cls, way: Way, lanes: int) -> BlockWork:
        """That of a block of a recurrence whose values fill so many lanes: what is carried is multiplied, added, and
        asked whether it is a number; what is between the steps lies in a strip on the stack."""
        if way == "scan":
            return cls(lanes, 2 * log2(lanes) + 4, 2.0, 2.0)
        return cls(BLOCK, (BLOCK + 3) * max(1.0, BLOCK / lanes), 1.0, float(BLOCK))


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles until the result of an addition or a product is there, of a division or a function, and until what was
    stored can be loaded."""

    add: float
    divide: float
    forward: float


@dataclass(frozen=True, slots=True)
class _Edge:
    """The statement `sink` uses what `source` made so many iterations before; its own result comes `latency` later."""

    source: int
    sink: int
    distance: int
    latency: float


def recurrence_bound(body: Sequence[Leaf], loop: int, latencies: Latencies) -> float:
    """The least cycles of an iteration of a loop at a depth, of which `body` are the statements in their order."""
    edges = list(_edges(body, loop, latencies))
    if not any(x.distance for x in edges):
        return 0.0
    low, high = 0.0, sum(x.latency for x in edges)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gains(len(body), edges, middle) else (low, middle)
    return round(high, 1)


def _gains(count: int, edges: Sequence[_Edge], period: float) -> bool:
    """Whether some cycle takes longer than its iterations, where each one begins a period after the one before."""
    late = [0.0] * count
    for _ in range(count + 1):
        changed = False
        for x in edges:
            at = late[x.source] + x.latency - period * x.distance
            if at > late[x.sink] + 1e-6:
                late[x.sink], changed = at, True
        if not changed:
            return False
    return True


def _edges(body: Sequence[Leaf], loop: int, latencies: Latencies) -> Iterator[_Edge]:
    for sink, leaf in enumerate(body):
        stmt = leaf.statement.stmt
        for access, read in zip(leaf.statement.accesses, leaf.references, strict=True):
            updates = access.write and isinstance(stmt, Reduce)
            if access.write and not updates:
                continue
            for source, other in enumerate(body):
                write = other.references[0]
                distance = _distance(write, read, loop, source < sink)
                if distance is None:
                    continue
                known = [x for x in _loads(stmt.value) if x.array == access.array and x.index == access.index]
                own = latencies.add if isinstance(stmt, Reduce) else 0.0
                latency = own if updates else own + _height(stmt.value, {id(x) for x in known}, latencies)
                # What stays in one place is a register, unless another access may be of the same place.
                stored = not write.moves(loop) and is_ambiguous(body, write)
                yield _Edge(source, sink, distance, latency + (latencies.forward if stored else 0.0))


def is_ambiguous(body: Sequence[Leaf], write: ArrayReference) -> bool:
    """Whether statements refer to an array in other places, too, which may be the same in some iteration."""
    places = {(x.steps, x.origin) for leaf in body for x in leaf.references if x.array == write.array}
    return len(places) > 1


def _distance(write: ArrayReference, read: ArrayReference, loop: int, before: bool) -> int | None:
    """The iterations from a store to a load of what it stored; None where that is none of it, or unknown."""
    if write.array != read.array or not (write.regular and read.regular) or write.steps != read.steps:
        return None
    step = write.steps[loop]
    moved = tuple(b - a for a, b in zip(read.origin, write.origin, strict=True))
    if not any(moved):
        return 0 if before else (None if any(step) else 1)
    along = next((d for d, x in enumerate(step) if x), None)
    if along is None:
        return None
    count, rest = divmod(moved[along], step[along])
    same = not rest and count > 0 and all(m == count * s for m, s in zip(moved, step, strict=True))
    return count if same else None


def _loads(expr: Expr) -> Iterator[Load]:
    match expr:
        case Load():
            yield expr
        case Unary(operand=x) | Cast(operand=x):
            yield from _loads(x)
        case Binary(left=a, right=b) | Compare(left=a, right=b):
            yield from _loads(a)
            yield from _loads(b)
        case Select(condition=c, then=a, otherwise=b):
            for x in (c, a, b):
                yield from _loads(x)
        case Call(arguments=arguments):
            for x in arguments:
                yield from _loads(x)
        case _:
            pass


def _height(expr: Expr, ends: set[int], latencies: Latencies) -> float:
    """The latency of the longest way from some loads to a value; 0 where none is in it."""
    found = _depth(expr, ends, latencies)
    return 0.0 if found is None else found


def _depth(expr: Expr, ends: set[int], latencies: Latencies) -> float | None:
    if id(expr) in ends:
        return 0.0
    parts: tuple[Expr, ...] = ()
    match expr:
        case Const() | Var() | Load():
            return None
        case Unary(operand=x) | Cast(operand=x):
            parts = (x,)
        case Binary(left=a, right=b) | Compare(left=a, right=b):
            parts = (a, b)
        case Select(condition=c, then=a, otherwise=b):
            parts = (c, a, b)
        case Call(arguments=arguments):
            parts = arguments
    inside = [y for x in parts if (y := _depth(x, ends, latencies)) is not None]
    if not inside:
        return None
    own = latencies.add
    match expr:
        case Unary():
            own = 0.0
        case Call():
            own = latencies.divide
        case Binary(op=op) if op in _DIVISIONS:
            own = latencies.divide
        case Binary(op="add" | "sub", left=a, right=b) if any(_is_product(x, ends, latencies) for x in (a, b)):
            own = 0.0  # a product and its sum are one operation
        case _:
            pass
    return max(inside) + own


def _is_product(expr: Expr, ends: set[int], latencies: Latencies) -> bool:
    return isinstance(expr, Binary) and expr.op == "mul" and _depth(expr, ends, latencies) is not None
