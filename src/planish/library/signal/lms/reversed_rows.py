"""Adaptive loops over reversed rows (a signal's past): run forwards on reversed weights.

Before: for i { for k { y[i] += w[k] * x[i - k] };  for k { w[k] += mu * e[i] * x[i - k] } }
After:  for k { t[m - 1 - k] = w[k] };  for i { for k { y[i] += t[k] * x[i - m + 1 + k] };  … };  for k { w[k] = … }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> sum, move = "y[i] += w[k] * x[i + m - k]", "w[k] += y[i] * x[i + m - k]"
>>> nest = "for i in 0 .. n { for k in 0 .. m { %s } for k in 0 .. m { %s } }" % (sum, move)
>>> kernel = parse_kernel("kernel k(n, m; w: f64[m], x: f64[n + m], y: f64[n]) { " + nest + " }")
>>> turned = turn_loop(kernel.body.body[0], {"k", "i"}, frozenset(kernel.sizes))
>>> print(print_stmt(turned.found.loop.body.body[1]))
for k in 0 .. m {
  turned[k] += y[i] * x[i + k + 1]
}
>>> print(print_stmt(turned.before))
for k in 0 .. m {
  turned[k] = w[m - k - 1]
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, Load, index
from planish.ir.index.polynomial import add, extremum, same, sub
from planish.ir.nest import Array, Assign, Block, For, If, Stmt
from planish.ir.traverse import arrays_in, flatten, loads, substitute, variables
from planish.library.kernels.accumulations import Update, pace
from planish.library.signal.lms.adaptive_loops import Adaptive, find_adaptive, loops_in
from planish.poly.isl.expression import conjunction
from planish.schedule.accesses import redirect
from planish.schedule.auto.lower import place


@dataclass(frozen=True, slots=True)
class ReversedRows:
    """A `loop` as one that adapts `array`, to which the weights are copied `before` it, and from which they are `after`
    it; nothing of that where weights stay where they are."""

    loop: For
    found: Adaptive
    array: Array | None = None
    before: For | None = None
    after: For | None = None

    @property
    def weights(self) -> str:
        """The array in which the weights are."""
        (copy,) = (self.after or self.found.inner).body.body
        return copy.array if self.after is not None and isinstance(copy, Assign) else self.found.weight.array

    def around(self, stmt: Stmt) -> Stmt:
        """The replacement of the loop: a statement with the weights reversed before it and after it."""
        if self.array is None or self.before is None or self.after is None:
            return stmt
        loop, inner = self.found.loop, self.found.inner
        runs = conjunction(Compare("lt", x.lower, x.upper) for x in (loop, inner))
        return If(runs, Block((self.before, stmt, self.after)), Block((self.loop,)))


def turn_loop(stmt: Stmt, taken: set[str], sizes: frozenset[str]) -> ReversedRows | None:
    """The loop, from the other end where its rows go backwards, if it is one that adapts then; names that are made are
    `taken` then. Weights are copied where sizes alone say how many there are."""
    pair = loops_in(stmt) if isinstance(stmt, For) else None
    if pair is None or not isinstance(stmt, For) or stmt.step != 1:
        return None
    ways = stmt, _with_loops(stmt, [_reversed(x, update) for x, update in pair])
    for way in ways:
        found = find_adaptive(way)
        if found is not None:
            return ReversedRows(stmt, found)
    made = (_with_copies(stmt, way, taken, sizes) for way in ways)
    return next((x for x in made if x is not None), None)


def _reversed(loop: For, update: Update) -> For:
    """A loop over one statement, from its other end on."""
    other = sub(add(loop.lower, loop.upper), add(index(loop.var), index(1)))
    return replace(loop, body=Block((place(update, {loop.var: other}),)))


def _with_loops(loop: For, inside: list[For]) -> For:
    """The loop with others in the place of those in it."""
    rest = iter(inside)
    return replace(loop, body=Block(tuple(next(rest) if isinstance(x, For) else x for x in flatten(loop.body.body))))


def _with_copies(written: For, loop: For, taken: set[str], sizes: frozenset[str]) -> ReversedRows | None:
    """The loop, as it is `written` and from the other end, on weights that are turned around, if it is one that adapts
    then."""
    pair = loops_in(loop)
    assert pair is not None
    (_, _), (inner, move) = pair
    element = next((x for x in loads(move.value) if pace(x, inner.var) == 1), None)
    bounds = variables(inner.lower) | variables(inner.upper)
    if element is None or not bounds <= sizes or loads(inner.lower) or loads(inner.upper):
        return None
    weight = Load(move.array, move.index, element.type)
    if pace(weight, inner.var) != -1 or loop.var in {y for x in weight.index for y in variables(x)}:
        return None
    name = take_name("turned", {*taken})
    turned = Array(name, weight.type, (extremum("max", index(0), sub(inner.upper, inner.lower)),), True, "scratch")
    inside = [_redirected(x, weight, inner.var, name) for x, _ in pair]
    made = _with_loops(loop, inside)
    found = find_adaptive(made)
    if found is None or move.array in arrays_in(made) or any(loads(x) for x in weight.index):
        return None
    taken.add(name)
    own = Load(name, (sub(index(inner.var), inner.lower),), weight.type)
    before = replace(inner, body=Block((Assign(name, own.index, weight),)))
    after = replace(inner, body=Block((Assign(weight.array, weight.index, own),)))
    return ReversedRows(written, found, turned, before, after)


def _redirected(loop: For, weight: Load, var: str, name: str) -> For:
    """A loop in which another array has what the weights have."""
    wanted = [substitute(x, {var: index(loop.var)}) for x in weight.index]

    def moved(at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
        if len(at) == len(wanted) and all(same(x, y) for x, y in zip(at, wanted, strict=True)):
            return name, (sub(index(loop.var), loop.lower),)
        return weight.array, at

    return replace(loop, body=redirect(loop.body, weight.array, moved))
