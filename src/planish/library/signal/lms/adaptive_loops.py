"""Recognises adaptive (LMS) loops: each iteration takes a dot product of weights and a row, then adds a multiple of a
row to all weights.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> loops = "for k in 0 .. m { e[i] += -(w[k] * x[i + k]) } for k in 0 .. m { w[k] += mu * e[i] * x[i + k] }"
>>> arrays = "w: f64[m], x: f64[n + m], d: f64[n], e: f64[n]"
>>> kernel = parse_kernel("kernel k(n, m; mu: f64; %s) { for i in 0 .. n { e[i] = d[i] %s } }" % (arrays, loops))
>>> found = find_adaptive(kernel.body.body[0])
>>> found.negative, *map(print_expr, (found.sum, found.weight, found.seen, found.step, found.moved))
(True, 'e[i]', 'w[k]', 'x[i + k]', 'mu * e[i]', 'x[i + k]')
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.ir.expr import Expr, Load, Unary, index
from planish.ir.index.polynomial import same
from planish.ir.nest import Assign, For, Reduce, Stmt
from planish.ir.traverse import arrays_in, flatten, loads, substitute, variables
from planish.ir.types import F32, F64, Type
from planish.library.kernels.accumulations import Update, added_by, factors_of, is_row, single_update
from planish.poly.match.sum_of_products import join
from planish.schedule.auto.rewrites.rematerialise import are_same


@dataclass(frozen=True, slots=True)
class Adaptive:
    """A `loop` whose iterations do what stands `before`, add the sum over `inner` of weight times seen to `sum` (or
    subtract it where `negative`), do what is `between`, add step times moved to each weight, and do what is `after`.

    `weight`, `seen` and `moved` are elements at the place that the variable of `inner` says; `step` is the same at all
    of them. The weights are touched nowhere else in the loop, and nothing in it stores what is seen or moved."""

    loop: For
    inner: For
    before: tuple[Update, ...]
    sum: Load
    negative: bool
    weight: Load
    seen: Load
    between: tuple[Update, ...]
    step: Expr
    moved: Load
    after: tuple[Update, ...]

    @property
    def type(self) -> Type:
        """The type of all these."""
        return self.weight.type

    @property
    def alike(self) -> bool:
        """Whether weights are moved along what they are multiplied by."""
        return self.seen.array == self.moved.array and are_same(self.seen, self.moved)


def find_adaptive(stmt: Stmt) -> Adaptive | None:
    """The loop, if it is one that adapts, as its statements say it; None where anything else happens in it."""
    if not isinstance(stmt, For) or stmt.step != 1 or stmt.facts.instruction:
        return None
    body = flatten(stmt.body.body)
    pair = loops_in(stmt)
    if pair is None or any(not isinstance(x, For | Assign | Reduce) for x in body):
        return None
    (inner, add), (other, move) = pair
    places = [n for n, x in enumerate(body) if isinstance(x, For)]
    if not _have_one_range(inner, other, stmt.var):
        return None
    sum, seen = _read_sum(add, inner.var, move.array), _read_update(_renamed(move, other.var, inner.var), inner.var)
    if sum is None or seen is None:
        return None
    cut = [tuple(x for x in part if isinstance(x, Assign | Reduce)) for part in _cut(body, *places)]
    found = Adaptive(stmt, inner, cut[0], *sum, cut[1], *seen[1:], cut[2])
    return found if are_same(found.weight, seen[0]) and _is_apart(found) else None


def loops_in(loop: For) -> tuple[tuple[For, Update], tuple[For, Update]] | None:
    """The two loops in a loop, each with the one statement in it; None where there are others."""
    inside = [single_update(x) for x in flatten(loop.body.body) if isinstance(x, For)]
    match inside:
        case [(For(), _) as first, (For(), _) as second]:
            return first, second
        case _:
            return None


def _cut(body: list[Stmt], first: int, second: int) -> tuple[list[Stmt], list[Stmt], list[Stmt]]:
    return body[:first], body[first + 1 : second], body[second + 1 :]


def _have_one_range(a: For, b: For, var: str) -> bool:
    """Whether two loops go over the same range in every iteration of the one around."""
    bounds = (a.lower, a.upper, b.lower, b.upper)
    if any(var in variables(x) or loads(x) for x in bounds):
        return False
    return same(a.lower, b.lower) and same(a.upper, b.upper)


def _renamed(update: Update, old: str, name: str) -> Update:
    values = {old: index(name)}
    at, value = tuple(substitute(x, values) for x in update.index), substitute(update.value, values)
    if isinstance(update, Assign):
        return Assign(update.array, at, value, update.span)
    return Reduce(update.array, at, update.op, value, update.span)


def _read_sum(update: Update, var: str, weights: str) -> tuple[Load, bool, Load, Load] | None:
    """The cell that a statement adds to, whether it subtracts, and the two elements whose product it adds, that of the
    weights first."""
    added = added_by(update)
    if added is None or update.array == weights or any(var in variables(x) or loads(x) for x in update.index):
        return None
    negative, factors = factors_of(added)
    match factors:
        case [Load() as a, Load() as b]:
            pass
        case _:
            return None
    weight, seen = (a, b) if a.array == weights else (b, a)
    if weight.array != weights or not is_row(weight, var) or not is_row(seen, var):
        return None
    return Load(update.array, update.index, weight.type), negative, weight, seen


def _read_update(update: Update, var: str) -> tuple[Load, Expr, Load] | None:
    """The element that a statement moves, by which step, and along what."""
    added = added_by(update)
    if added is None:
        return None
    negative, factors = factors_of(added)
    moving = [x for x in factors if var in variables(x)]
    steps = tuple(x for x in factors if var not in variables(x))
    if len(moving) != 1 or not steps:
        return None
    (moved,) = moving
    if not isinstance(moved, Load) or not is_row(moved, var):
        return None
    step = join("mul", steps)
    weight = Load(update.array, update.index, moved.type)
    return (weight, Unary("neg", step) if negative else step, moved) if is_row(weight, var) else None


def _is_apart(found: Adaptive) -> bool:
    """Whether weights are floats that stay where they are and are touched by nothing else, and nothing stores what is
    seen or moved."""
    weights, simple = found.weight.array, (*found.before, *found.between, *found.after)
    stored = {found.sum.array, weights, *(x.array for x in simple)}
    touched = {y for x in simple for y in arrays_in(x)} | {x.array for x in loads(found.step)}
    return (
        not any(found.loop.var in variables(x) for x in found.weight.index)
        and weights not in touched | {found.sum.array}
        and not {found.seen.array, found.moved.array} & stored
        and not any(loads(x) for stmt in simple for x in stmt.index)
        and found.type in (F32, F64)
    )
