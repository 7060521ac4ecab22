"""Vector loops: whether a loop that may run in lanes does so, read off the loop, so that remark and emitted code agree.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n; x: f32[n], s: f32[]) {{ for i in 0 .. {} simd reduce(add: s) {{ s[] += x[i] }} }}"
>>> [runs_in_lanes(parse_kernel(text.format(x)).body.body[0]) for x in ("n", "64", "min(n, 3)")]
[True, True, False]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planish.ir.expr import Binary, Call, Compare, Const, Expr, Var, index, type_of
from planish.ir.index.polynomial import constant, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import PLAIN_MEMORIES, Alloc, Assign, Block, For, Kernel, Let, Reduce
from planish.ir.traverse import blocks_of, expressions, loads, walk, walk_expr
from planish.ir.types import INDEX

FEW = 16
"""Fewer values are added one after the other: lanes have to be cleared, and added to each other in the end."""

_DIVISIONS = ("div", "quo", "rem", "floordiv", "mod")
_QUICK = ("fabs", "abs", "fmin", "fmax", "fma", "copysign", "floor", "ceil", "trunc", "rint")
"""Functions that are one instruction, or two."""

_UNROLLED = 8
"""So many iterations in one of a loop in lanes are written out by compilers, which make lanes of no loop in a loop."""

Values = Mapping[str, Expr]
"""What names stand for."""


def runs_in_lanes(loop: For, values: Values | None = None) -> bool:
    """Whether the iterations of a loop run side by side, and do not only may. `values`: what names in it stand for.

    Sums have lanes where there are enough values; and no iteration may have an array for itself, which is one place for
    all of them, or a loop of a length that is not known."""
    if not loop.facts.simd or has_own_array(loop):
        return False
    if not loop.facts.reductions:
        return True
    most = longest(loop, values)
    return (most is None or most >= FEW) and _iterations_inside(loop.body) <= _UNROLLED


def has_own_array(loop: For) -> bool:
    """Whether each iteration has an array for itself."""
    local = [x.array for x in walk(loop.body) if isinstance(x, Alloc)]
    return any(x.shape and x.memory in PLAIN_MEMORIES for x in local)


def length_of(loop: For) -> int | None:
    """The number of iterations, where it is a constant."""
    distance = constant(sub(loop.upper, loop.lower))
    return None if distance is None else _rounds(distance, loop.step)


def long_enough(kernel: Kernel, least: int) -> Iterator[Expr]:
    """That a kernel which is one loop, but for single statements beside it, has so many iterations: with fewer nothing
    is gained, and what comes before them, and is asked of arrays, would take as long as the loop.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; x: f32[n]) {{ for i in 0 .. {} {{ x[i] = 0.0:f32 }} }}"
    >>> [len([*long_enough(parse_kernel(text.format(x)), 32)]) for x in ("n", "64")]
    [1, 0]
    """
    loops = [x for x in kernel.body.body if not isinstance(x, Alloc | Assign | Reduce | Let)]
    if len(loops) == 1 and isinstance(loops[0], For) and not any(isinstance(x, For) for x in walk(loops[0].body)):
        enough = simplify(Compare("ge", sub(loops[0].upper, loops[0].lower), index(least)))
        if not isinstance(enough, Const) and not loads(enough):
            yield enough


def is_short(kernel: Kernel) -> bool:
    """Whether no statement of a kernel is run more than a few times, whatever its sizes are, and in all of these
    little is divided, and few functions are called.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; x: f32[n, 9]) {{ for i in n .. n + {} {{ for j in 0 .. {} {{ x[i, j] = 0.0:f32 }} }} }}"
    >>> [is_short(parse_kernel(text.format(*x))) for x in ((3, 3), (9, 9), (1, "n"))]
    [True, False, False]
    >>> text = "kernel k(n; x: f32[n]) {{ for i in n .. n + {} {{ x[i] = {} }} }}"
    >>> [is_short(parse_kernel(text.format(*x))) for x in ((4, "sqrt(x[i])"), (16, "sqrt(x[i])"), (16, "fabs(x[i])"))]
    [True, False, True]
    """
    times = _iterations_inside(kernel.body)
    return times <= FEW and times * _slow_operations(kernel.body) < FEW


def _slow_operations(block: Block) -> int:
    """The divisions, roots and calls of functions in a block."""
    found = (x for stmt in walk(block) for e in expressions(stmt) for x in walk_expr(e))
    return sum(
        (isinstance(x, Binary) and x.op in _DIVISIONS and type_of(x) != INDEX and not isinstance(x.right, Const))
        or (isinstance(x, Call) and x.function not in _QUICK)
        for x in found
    )


def longest(loop: For, values: Values | None = None) -> int | None:
    """The most iterations that a loop may have, where a lower and an upper bound lie a constant apart."""
    known = values or {}
    pairs = [(a, b) for a in _parts("max", loop.lower, known) for b in _parts("min", loop.upper, known)]
    distances = [x for a, b in pairs if (x := constant(sub(b, a))) is not None]
    return _rounds(min(distances), loop.step) if distances else None


def values_of(kernel: Kernel) -> Values:
    """The integers that have a name in a kernel, but for names of several."""
    found: dict[str, set[Expr]] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Let):
            found.setdefault(stmt.var, set()).add(stmt.value)
    return {name: next(iter(x)) for name, x in found.items() if len(x) == 1}


def _parts(op: str, bound: Expr, values: Values) -> Iterator[Expr]:
    """The bounds of which one is the least, or the greatest."""
    match bound:
        case Binary(op=own, left=left, right=right) if own == op:
            yield from _parts(op, left, values)
            yield from _parts(op, right, values)
        case Var(name=name, type=type) if type == INDEX and name in values:
            yield from _parts(op, values[name], values)
        case _:
            yield bound


def _rounds(distance: int, step: int) -> int:
    return max(0, -(-distance // step))


def _iterations_inside(block: Block) -> float:
    """How often the innermost statements of a block run in it."""
    out = 1.0
    for stmt in block.body:
        times = 1.0
        if isinstance(stmt, For):
            length = length_of(stmt)
            times = float("inf") if length is None else max(1, length)
        out = max(out, *(times * _iterations_inside(x) for x in blocks_of(stmt)), 1.0)
    return out
