"""Index-set splitting of selects: subscripts that choose between affine ones become statements with affine subscripts.

Each part runs under the conditions that decide its choices; what cannot hold together is not made, and what only can
for small sizes (the first element is the last one) is left to a caller who finds such sizes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> text = "kernel k(n; A: f32[n], B: f32[n]) { for i in 0 .. n { B[i] = A[select(i - n + 1 < 0, i + 1, i - n + 1)] } }"
>>> print(print_kernel(split_choices(parse_kernel(text))[0]))
kernel k(n; A: f32[n], B: f32[n])
{
  for i in 0 .. n {
    if i - n + 1 < 0 {
      B[i] = A[i + 1]
    } else {
      B[i] = A[i - n + 1]
    }
  }
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import islpy as isl

from planish.core.diagnostic import Remark
from planish.ir.expr import Cast, Compare, CompareOp, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.index.polynomial import normal
from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import (
    arrays_in,
    conditions,
    decide,
    expressions,
    map_expr,
    map_exprs,
    used_names,
    variables,
    walk_expr,
)
from planish.ir.types import INDEX, Type
from planish.poly.isl.affine import CONTEXT, NotAffineError, condition_set, isl_name
from planish.poly.isl.expression import constraint_expr

_MOST_PARTS, _MOST_TESTS = 64, 12
"""Of a kernel, and of statements that are cut together: more would take the scheduler too long."""
_SMALL = 8
"""Sizes up to which a part may be left to a caller: beyond, too much would not be done here."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The loops around a statement, outermost first, and what was asked on the way."""

    loops: tuple[For, ...] = ()
    asked: tuple[Expr, ...] = ()


@dataclass(slots=True)
class _Cut:
    """State of one cut: what is granted of the sizes, names in use, and the parts that were made."""

    sizes: tuple[str, ...]
    assumptions: list[Expr]
    taken: set[str]
    remarks: list[Remark]
    parts: int = 0


def split_choices(kernel: Kernel) -> tuple[Kernel, tuple[Remark, ...]]:
    """The kernel without choices in subscripts, and what was cut; the kernel's assumptions may be more than before.

    Raises NotAffineError where there would be too many parts.
    """
    cut = _Cut(kernel.sizes, list(kernel.assumptions), set(used_names(kernel)), [])
    body = _split_block(kernel.body, _Place(), cut)
    made = replace(kernel, body=body, assumptions=tuple(cut.assumptions))
    return made, tuple(dict.fromkeys(cut.remarks))


def _split_block(block: Block, place: _Place, cut: _Cut) -> Block:
    out: list[Stmt] = []
    body = [_split_inside(stmt, place, cut) for stmt in block.body]
    position = 0
    for simple, group in groupby(body, lambda x: isinstance(x, Assign | Reduce | Alloc)):
        stmts = list(group)
        position += len(stmts)
        if simple and any(_tests(x) for x in stmts):
            later = {name for x in body[position:] for name in arrays_in(x)}
            stmts = list(_split_segment(stmts, later, place, cut))
        out += stmts
    return Block(tuple(map_exprs(_numbers, x) if isinstance(x, Assign | Reduce) else x for x in out))


def _split_inside(stmt: Stmt, place: _Place, cut: _Cut) -> Stmt:
    match stmt:
        case For(body=body):
            return replace(stmt, body=_split_block(body, replace(place, loops=(*place.loops, stmt)), cut))
        case If(condition=test, then=then, otherwise=otherwise):
            yes, no = (replace(place, asked=(*place.asked, x)) for x in (test, Unary("not", test)))
            return replace(stmt, then=_split_block(then, yes, cut), otherwise=_split_block(otherwise, no, cut))
        case Block():
            return _split_block(stmt, place, cut)
        case _:
            return stmt


def _split_segment(stmts: Sequence[Stmt], later: set[str], place: _Place, cut: _Cut) -> Iterator[Stmt]:
    """Simple statements in order, those that choose cut into parts; what hands values on in scalars is cut together."""
    cells = {x.array.name for x in stmts if isinstance(x, Alloc) and not x.array.shape} - later
    position = 0
    for first, last in _runs(stmts, cells):
        yield from stmts[position:first]
        position = last + 1
        run = stmts[first:position]
        own = {x.array.name for x in run if isinstance(x, Alloc)} & cells
        own -= {name for x in stmts[position:] for name in arrays_in(x)}
        yield from (x for x in run if isinstance(x, Alloc) and x.array.name not in own)
        kept = [x for x in run if not isinstance(x, Alloc) or x.array.name in own]
        before = cut.parts
        if len({test for x in kept for s in _subscripts(x) for test in conditions(s)}) > _MOST_TESTS:
            raise NotAffineError(index(0), f"its subscripts are chosen by more than {_MOST_TESTS} conditions")
        yield from _parts(kept, place, (), cut)
        message = f"index-set splitting into {cut.parts - before} parts, without selected or wrapped subscripts"
        span = next((x.span for x in kept if isinstance(x, Assign | Reduce) and _tests(x)), None)
        cut.remarks.append(Remark("scop-parts", "done", message, span))
    yield from stmts[position:]


def _runs(stmts: Sequence[Stmt], cells: set[str]) -> list[tuple[int, int]]:
    """First and last statement of each part of a list that is cut together."""
    runs: list[tuple[int, int]] = []
    uses = {c: [n for n, x in enumerate(stmts) if c in _touched(x)] for c in cells}
    for n, stmt in enumerate(stmts):
        if not _tests(stmt) or (runs and n <= runs[-1][1]):
            continue
        first = last = n
        grown = True
        while grown:
            linked = [x for c in cells for x in uses[c] if any(first <= y <= last for y in uses[c])]
            low, high = min((first, *linked)), max((last, *linked))
            grown = (low, high) != (first, last)
            first, last = low, high
        while runs and runs[-1][1] >= first:
            first = min(first, runs.pop()[0])
        runs.append((first, last))
    return runs


def _touched(stmt: Stmt) -> set[str]:
    return {stmt.array.name} if isinstance(stmt, Alloc) else set(arrays_in(stmt))


def _subscripts(stmt: Stmt) -> Iterator[Expr]:
    if isinstance(stmt, Assign | Reduce):
        yield from stmt.index
        for expr in expressions(stmt):
            yield from (x for load in walk_expr(expr) if isinstance(load, Load) for x in load.index)


def _tests(stmt: Stmt) -> list[Expr]:
    """The conditions of the choices in a statement's subscripts that hold no choice themselves."""
    return [x for s in _subscripts(stmt) for x in conditions(s) if not conditions(x)]


def _parts(run: Sequence[Stmt], place: _Place, tests: tuple[Expr, ...], cut: _Cut) -> tuple[Stmt, ...]:
    """The statements under all conditions that decide the choices in them, the outermost loop's first."""
    order = {loop.var: depth for depth, loop in enumerate(place.loops)}
    found = [x for stmt in run for x in _tests(stmt)]
    if not found:
        cut.parts += 1
        if cut.parts > _MOST_PARTS:
            raise NotAffineError(index(0), f"its subscripts wrap around in more than {_MOST_PARTS} ways")
        return tuple(_renamed(run, cut) if cut.parts > 1 else run)
    test = min(found, key=lambda x: max((order.get(v, -1) for v in variables(x)), default=-1))
    sides: list[tuple[Stmt, ...] | None] = []
    for holds in (True, False):
        asked = (*tests, test if holds else Unary("not", test))
        possible = _is_possible(place, asked, cut)
        sides.append(_parts([_decide(x, test, holds) for x in run], place, asked, cut) if possible else None)
    match sides:
        case [None, None]:
            return ()
        case [None, other] | [other, None] if other is not None:
            return other
        case _:
            span = next((x.span for x in run if isinstance(x, Assign | Reduce)), None)
            return (If(test, Block(sides[0] or ()), Block(sides[1] or ()), span),)


def _decide(stmt: Stmt, test: Expr, holds: bool) -> Stmt:
    """A statement where a condition is known to hold, or not to; subscripts stay sums in normal form."""

    def settled(x: Expr) -> Expr:
        return replace(x, index=tuple(normal(s) for s in x.index)) if isinstance(x, Load) else x

    fresh = map_exprs(lambda x: map_expr(settled, decide(x, test, holds)), stmt)
    return replace(fresh, index=tuple(normal(x) for x in fresh.index)) if isinstance(fresh, Assign | Reduce) else fresh


def _renamed(run: Sequence[Stmt], cut: _Cut) -> list[Stmt]:
    """Statements with scalars of their own, under names of their own."""
    fresh: dict[str, str] = {}
    for stmt in run:
        if isinstance(stmt, Alloc):
            stem, n = stmt.array.name, 2
            while f"{stem}_{n}" in cut.taken:
                n += 1
            fresh[stem] = f"{stem}_{n}"
            cut.taken.add(fresh[stem])

    def called(x: Expr) -> Expr:
        return replace(x, array=fresh.get(x.array, x.array)) if isinstance(x, Load) else x

    out: list[Stmt] = []
    for stmt in run:
        match map_exprs(lambda x: map_expr(called, x), stmt):
            case Alloc(array=array) as alloc:
                out.append(replace(alloc, array=replace(array, name=fresh[array.name])))
            case Assign() | Reduce() as stored:
                out.append(replace(stored, array=fresh.get(stored.array, stored.array)))
            case other:
                out.append(other)
    return out


def _numbers(expr: Expr) -> Expr:
    """A value with choices between numbers in the place of chosen indices that are used as numbers."""

    def told(x: Expr) -> Expr:
        match x:
            case Cast(operand=Select(condition=test, then=a, otherwise=b), type=wanted) if type_of(a) == INDEX:
                return Select(test, *(told(_number(y, wanted)) for y in (a, b)))
            case _:
                return x

    return map_expr(told, expr)


def _number(expr: Expr, wanted: Type) -> Expr:
    match expr:
        case Const(value=value) if wanted.kind == "int" and -(1 << wanted.bits - 1) <= value < 1 << wanted.bits - 1:
            return Const(value, wanted)
        case _:
            return Cast(expr, wanted)


def _is_possible(place: _Place, tests: tuple[Expr, ...], cut: _Cut) -> bool:
    """Whether all conditions can hold at once, for other sizes than a few small ones, which are then ruled out."""
    loops = {loop.var: loop for loop in place.loops}
    if len(loops) < len(place.loops) or loops.keys() & set(cut.sizes):
        return True
    # Only what has to do with the last condition, so that sizes of other loops do not blur what is found.
    wanted, linked = variables(tests[-1]) & loops.keys(), [tests[-1]]
    grown = True
    while grown:
        bounds = {v for name in wanted for e in expressions(loops[name]) for v in variables(e)} & loops.keys()
        linked = [x for x in tests if variables(x) & wanted or x is tests[-1]]
        wider = wanted | bounds | ({v for x in linked for v in variables(x)} & loops.keys())
        grown, wanted = wider != wanted, wider
    around = [loop for loop in place.loops if loop.var in wanted]
    names = [isl_name(x) for x in cut.sizes]
    space = isl.Space.create_from_names(CONTEXT, params=names, set=[isl_name(x.var) for x in around])
    bounds_of = [Compare(op, a, b) for x in around for op, a, b in _limits(x)]
    asked = [x for x in place.asked if variables(x) & loops.keys() <= wanted]
    base = _points([*cut.assumptions, *bounds_of, *asked], space)
    region = base.intersect(_points(linked, space))
    return not region.is_empty() and not _rule_out(region.params(), base.params(), cut)


def _limits(loop: For) -> tuple[tuple[CompareOp, Expr, Expr], ...]:
    var = Var(loop.var, INDEX)
    return (("ge", var, loop.lower), ("lt", var, loop.upper))


def _points(conditions: Iterable[Expr], space: isl.Space) -> isl.Set:
    """The points at which conditions hold, as far as isl can tell: at least all at which they do."""
    out = isl.Set.universe(space)
    for condition in conditions:
        try:
            out = out.intersect(condition_set(condition, space))
        except NotAffineError:
            continue
    return out


def _rule_out(small: isl.Set, base: isl.Set, cut: _Cut) -> bool:
    """Take for granted that sizes are not those of `small`, out of `base`, where these are the few smallest ones."""
    parts = base.subtract(small).coalesce().gist(base).get_basic_sets()
    if len(parts) != 1 or len(parts[0].get_constraints()) != 1 or parts[0].dim(isl.dim_type.div):
        return False
    (limit,) = parts[0].get_constraints()
    count = parts[0].dim(isl.dim_type.param)
    factors = [int(limit.get_coefficient_val(isl.dim_type.param, n).to_python()) for n in range(count)]
    if limit.is_equality() or min(factors, default=-1) < 0 or int(limit.get_constant_val().to_python()) < -_SMALL:
        return False
    granted = constraint_expr(limit, ())
    if not small.intersect(base).intersect(_points([granted], small.get_space())).is_empty():
        return False
    cut.assumptions.append(granted)
    return True
