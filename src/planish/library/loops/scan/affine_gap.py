"""Recognises affine-gap recurrences: two coupled max-plus recurrences, where opening a gap costs more than extending
it.

Before: for j { e[j] = max(e[j - 1] - c, h[j - 1] - d);  h[j] = max(f(j), e[j]) }

`h[j - 1] - d` is the larger one of `f(j - 1) - d` and of `e[j - 1] - d`, so that the chain is
`e[j] = max(f(j - 1) - d, e[j - 1] - min(c, d))`, and `f` depends on neither.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> loop = "e[j] = max(e[j - 1] - 1:i32, h[j - 1] - 4:i32) h[j] = max(max(y[j], 0:i32), e[j])"
>>> kernel = parse_kernel("kernel k(n; e: i32[n], h: i32[n], y: i32[n]) { for j in 1 .. n { %s } }" % loop)
>>> found = find_gaps(kernel.body.body[0])
>>> print_expr(found.cost), print_expr(found.second.own), print_expr(found.second.cost), found.bound
('1:i32', 'max(y[j], 0:i32)', '4:i32', -4)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from planish.ir.expr import Binary, Expr, Load
from planish.ir.nest import Assign, For, Stmt
from planish.ir.traverse import chained, loads
from planish.library.loops.scan.max_plus import (
    Cost,
    Extremum,
    MaxPlusChain,
    Second,
    cost_of,
    goes_along,
    is_beside,
    target_of,
    written_out,
)
from planish.schedule.auto.rewrites.rematerialise import are_same, before


def find_gaps(stmt: Stmt, scalars: Collection[str] = ()) -> MaxPlusChain | None:
    """The chain with a second value that a loop is; costs are constants or some `scalars`. None where it is none, or
    where anything else in it waits."""
    if not isinstance(stmt, For) or stmt.step != 1 or stmt.facts.simd or loads(stmt.lower) or loads(stmt.upper):
        return None
    stmts = written_out(stmt)
    if stmts is None or len({x.array for x in stmts}) < len(stmts):
        return None
    if not all(goes_along(target_of(x), stmt.var) for x in stmts):
        return None
    pairs = ((a, b) for n, a in enumerate(stmts) for b in stmts[n + 1 :])
    found = (_pair(stmt, a, b, stmts, scalars) for a, b in pairs)
    return next((x for x in found if x is not None), None)


def _pair(
    loop: For, first: Assign, last: Assign, stmts: Sequence[Assign], scalars: Collection[str]
) -> MaxPlusChain | None:
    """The chain of one statement with the second value of a later one."""
    chain, second, value = target_of(first), target_of(last), first.value
    if not isinstance(value, Binary) or value.op not in ("max", "min") or chain.type != second.type:
        return None
    op: Extremum = "max" if value.op == "max" else "min"
    costs = _costs(list(chained(value, op)), op, [before(x, loop.var, 1) for x in (chain, second)], scalars)
    parts = list(chained(last.value, op))
    others = [x for x in parts if not _is(x, chain)]
    if costs is None or len(others) != len(parts) - 1 or not others:
        return None
    own = reduce(lambda a, b: Binary(op, a, b), others)
    early = [x for x in stmts if x is not first and x is not last]
    made = [target_of(x) for x in early]
    if not all(_is_early(x, (chain, second), made, loop.var) for x in (own, *(y.value for y in early))):
        return None
    place = stmts.index(last)
    ahead = tuple(x for x in stmts[:place] if x is not first)
    found = Second(second, own, costs[1], value, ahead, tuple(stmts[place + 1 :]))
    begun = Binary("sub" if op == "max" else "add", own, costs[1])
    return MaxPlusChain(loop, op, chain, begun, costs, before(chain, loop.var, 1), second=found)


def _costs(
    parts: Sequence[Expr], op: Extremum, starts: Sequence[Load], scalars: Collection[str]
) -> tuple[Cost, ...] | None:
    """What parts take from what the iteration before has left, in order; None where they are anything else."""
    for one in (parts, parts[::-1]):
        costs = [cost_of(x, op, start, scalars) for x, start in zip(one, starts, strict=False)]
        known = tuple(x for x in costs if x is not None)
        if len(parts) == len(starts) == len(known):
            return known
    return None


def _is(part: Expr, target: Load) -> bool:
    return isinstance(part, Load) and part.array == target.array and are_same(part, target)


def _is_early(value: Expr, chain: Sequence[Load], made: Sequence[Load], var: str) -> bool:
    """Whether a value is made of what no iteration of the loop stores, but for what its own one does that is `made`
    early, too: of the arrays of the `chain` it reads other rows alone."""
    for load in loads(value):
        for target in (*chain, *made):
            is_own = target in made and _is(load, target)
            if load.array == target.array and not is_own and not is_beside(load, target, var):
                return False
    return True
