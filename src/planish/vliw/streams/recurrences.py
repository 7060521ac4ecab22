"""Recurrences in registers: an element that an earlier iteration has stored is not read from memory again (scalar
replacement by dependence distance), and of a sum what comes from the iteration before is added last.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel f(n; x: f32[n], y: f32[n]) { for i in 2 .. n { y[i] = y[i - 1] + x[i] - y[i - 2] } }"
>>> print(print_stmt(carried_last(keep_carried(parse_kernel(text))).body))
{
  alloc y_0: f32[] distinct register
  alloc y_1: f32[] distinct register
  alloc y_2: f32[] distinct register
  if 2 < n {
    y_1[] = y[1]
    y_2[] = y[0]
  }
  for i in 2 .. n {
    y_0[] = y_1[] + (x[i] - y_2[])
    y[i] = y_0[]
    y_2[] = y_1[]
    y_1[] = y_0[]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.ir.accesses import map_values
from planish.ir.expr import Binary, Compare, Expr, Load, Unary, index, type_of
from planish.ir.index.polynomial import build, constant, linear_in, sub
from planish.ir.index.polynomial import place as put
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import (
    bindings,
    expressions,
    loads,
    map_block,
    map_expr,
    map_exprs,
    stored_arrays,
    used_names,
    variables,
    walk,
)
from planish.ir.types import Type
from planish.vliw.streams.shapes import unused

_FARTHEST = 4
"""From so many iterations before, elements are kept."""

_Place = tuple[Expr, ...]


def keep_carried(kernel: Kernel) -> Kernel:
    """The kernel whose innermost loops keep what they have stored a few iterations before and read again."""
    arrays = {x.name: x for x in kernel.arrays if x.shape}
    taken = set(used_names(kernel))

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(stmt, For) or stmt.facts.simd or any(isinstance(x, For) for x in walk(stmt.body)):
            return stmt
        before: list[Stmt] = []
        loop = stmt
        for name in sorted(stored_arrays(stmt) & arrays.keys()):
            found = _find(loop, name, arrays[name].type)
            if found is not None:
                start, loop = _kept(loop, found, arrays[name], taken)
                before += start
        return (*before, loop)

    return replace(kernel, body=map_block(visit, kernel.body))


@dataclass(frozen=True, slots=True)
class _Recurrence:
    """An element that each iteration stores, for certain, in one statement; and by their places the loads of what some
    iterations before have stored, with how many."""

    store: Assign | Reduce
    distances: Mapping[_Place, int]


def _find(loop: For, name: str, kind: Type) -> _Recurrence | None:
    """The recurrence of an array in a loop; None where there is none, or another store may be of the same element."""
    stores = [x for x in walk(loop) if isinstance(x, Assign | Reduce) and x.array == name]
    if len(stores) != 1 or not any(x is stores[0] for x in loop.body.body):
        return None
    store = stores[0]
    if type_of(store.value) != kind:
        return None
    changed = {*bindings(loop), *stored_arrays(loop)} - {loop.var}
    steps: list[int] = []
    for x in store.index:
        apart = linear_in(x, loop.var)
        factor = constant(build(apart[0])) if apart is not None and apart[0] else 0
        if apart is None or factor is None or variables(x) & changed or any(y.array in changed for y in loads(x)):
            return None
        steps.append(factor * loop.step)
    distances: dict[_Place, int] = {}
    for stmt in walk(loop):
        for load in (y for e in expressions(stmt) for y in loads(e) if y.array == name):
            distance = _distance(store.index, load.index, steps)
            if distance is not None and 1 <= distance <= _FARTHEST:
                distances[load.index] = distance
    return _Recurrence(store, distances) if distances else None


def _distance(stored: _Place, read: _Place, steps: Sequence[int]) -> int | None:
    """How many iterations before it an element was stored that is read; None where that is no number."""
    found: set[int] = set()
    for one, other, step in zip(stored, read, steps, strict=True):
        apart = constant(sub(one, other))
        if apart is None or (apart % step if step else apart):
            return None
        found |= {apart // step} if step else set()
    return found.pop() if len(found) == 1 else None


def _kept(loop: For, found: _Recurrence, array: Array, taken: set[str]) -> tuple[list[Stmt], For]:
    """What comes before the loop, and the loop."""
    deepest = max(found.distances.values())
    cells: list[Array] = []
    for _ in range(deepest + 1):
        cells.append(Array(unused(f"{array.name}_0", taken), array.type, (), True, "register"))
        taken.add(cells[-1].name)
    old = [Load(x.name, (), array.type) for x in cells]
    store, span = found.store, found.store.span
    first: list[Stmt] = []
    for distance in range(1, deepest + 1):
        at = sub(loop.lower, index(distance * loop.step))
        place = tuple(simplify(put(x, {loop.var: at})) for x in store.index)
        first.append(Assign(cells[distance].name, (), Load(array.name, place, array.type), span))
    trip = constant(sub(loop.upper, loop.lower))
    # An element that no iteration reads may not be there.
    start: list[Stmt] = (
        first if trip is not None and trip > 0 else [If(Compare("lt", loop.lower, loop.upper), Block(tuple(first)))]
    )

    def read(x: Expr) -> Expr:
        is_kept = isinstance(x, Load) and x.array == array.name and x.index in found.distances
        return old[found.distances[x.index]] if is_kept and isinstance(x, Load) else x

    body: list[Stmt] = []
    for stmt in loop.body.body:
        if stmt is store:
            value = updated(store) if isinstance(store, Reduce) else store.value
            body.append(Assign(cells[0].name, (), map_expr(read, value), span))
            body.append(Assign(array.name, store.index, old[0], span))
        else:
            (changed,) = map_values(read, Block((stmt,))).body
            body.append(changed)
    turns = (Assign(cells[d].name, (), old[d - 1], span) for d in range(deepest, 0, -1))
    return [*(Alloc(x) for x in cells), *start], replace(loop, body=Block((*body, *turns)))


def carried_last(kernel: Kernel) -> Kernel:
    """The kernel whose sums of floats in innermost loops add what the iteration before has made last, so that a
    recurrence goes through one addition: they are rounded in another order."""

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or any(isinstance(x, For) for x in walk(stmt.body)):
            return stmt
        ages = _ages(stmt)
        if not ages:
            return stmt
        body = map_block(lambda s: map_exprs(lambda e: _ordered(e, ages), s), stmt.body)
        return replace(stmt, body=body)

    return replace(kernel, body=map_block(visit, kernel.body))


def _ages(loop: For) -> dict[str, int]:
    """The scalars that an iteration reads before it sets them, and of how many iterations before their value is."""
    stmts = loop.body.body
    sets = {x.array: n for n, x in enumerate(stmts) if isinstance(x, Assign) and not x.index}
    early = {
        y.array for n, x in enumerate(stmts) for e in expressions(x) for y in loads(e) if n <= sets.get(y.array, -1)
    }  # fmt: skip
    ages: dict[str, int] = {}
    for name in early:
        age, at, seen = 1, name, {name}
        while True:
            stmt = stmts[sets[at]]
            assert isinstance(stmt, Assign)
            source = stmt.value.array if isinstance(stmt.value, Load) and not stmt.value.index else None
            if source not in early or source in seen or sets[source] < sets[at]:
                break
            age, at = age + 1, source
            seen.add(source)
        ages[name] = age
    return ages


def _ordered(x: Expr, ages: Mapping[str, int]) -> Expr:
    """A sum whose youngest terms come last."""
    if not (isinstance(x, Binary) and x.op in ("add", "sub") and type_of(x).is_float):
        return x
    terms = list(_terms(x, False))
    placed = sorted(terms, key=lambda y: -_age(y[0], ages))
    if placed == terms:
        return x
    (total, negated), *rest = placed
    total = Unary("neg", total) if negated else total
    for term, is_less in rest:
        # Of two products the first one is added to the other.
        total = Binary("sub", total, term) if is_less else Binary("add", term, total)
    return total


def _terms(x: Expr, negated: bool) -> Iterator[tuple[Expr, bool]]:
    match x:
        case Binary(op="add" | "sub" as op, left=left, right=right):
            yield from _terms(left, negated)
            yield from _terms(right, negated != (op == "sub"))
        case Unary(op="neg", operand=inner):
            yield from _terms(inner, not negated)
        case _:
            yield x, negated


def _age(x: Expr, ages: Mapping[str, int]) -> int:
    """How many iterations before the youngest value in a term is; many for what waits for none."""
    return min((ages[y.array] for y in loads(x) if y.array in ages), default=1 << 20)
