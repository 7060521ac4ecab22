"""Recognises loops whose iterations change nothing but some scalar cells, and what becomes of these in one iteration.

Location: for i { if (e(i) > m) { m = e(i);  k = v(i) } }      the place of an extremum (MAXLOC), the first or the last
Match:    for i { if (c(i)) { k = v(i) } }                      the last iteration of which something holds
Affine:   for i { s = s * f + e(i) }                            the value of a polynomial, a hash
Unrolled: for i by 4 { s += e(i) + e(i + 1) + e(i + 2) + e(i + 3) }   a sum that is unrolled by hand

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> body = "let t = x[i] > m[] k[] = select(t, i32(i), k[]) m[] = select(t, x[i], m[])"
>>> kernel = parse_kernel("kernel f(n; x: f32[n], m: f32[], k: i32[]) { for i in 0 .. n { %s } }" % body)
>>> found = find_update(kernel.body.body[0])
>>> found.op, found.cell.array, print_expr(found.value), sorted(found.values)
('gt', 'm', 'x[i]', ['k', 'm'])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, CompareOp, Const, Expr, Load, Select, Unary, index, type_of
from planish.ir.index.polynomial import add, normal
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import (
    chained,
    expressions,
    loads,
    map_block,
    map_expr,
    substitute,
    used_names,
    variables,
    walk,
    walk_expr,
)
from planish.ir.types import Type
from planish.schedule.accesses import use_element
from planish.schedule.auto.recurrence import linear

LARGEST = 100
"""The nodes of an expression that is worth computing twice."""
LANES = 64
"""The partial values of an affine recurrence: enough that no multiplication waits for the one before."""
_LEAST = {32: 2.0**-126, 64: 2.0**-1022}
"""The least float of so many bits that has all its digits."""

Order = Literal["gt", "ge", "lt", "le"]
_TURNED: Mapping[CompareOp, Order] = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


@dataclass(frozen=True, slots=True)
class Location:
    """Where `value` is beyond the `cell` (`op` of value and cell), all cells become `values`; the cell the value."""

    loop: For
    op: Order
    cell: Load
    value: Expr
    values: Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class Match:
    """Where the `condition` holds, which reads none of the cells, these become `values`."""

    loop: For
    condition: Expr
    values: Mapping[str, Expr]

    @property
    def is_of_any(self) -> bool:
        """Whether it is no matter of which iteration the condition holds."""
        return not any(self.loop.var in variables(x) for x in self.values.values())


@dataclass(frozen=True, slots=True)
class Affine:
    """The `cell` becomes `factor` times itself plus `rest`; the factor is the same in all iterations."""

    loop: For
    cell: Load
    factor: Expr
    rest: Expr


@dataclass(frozen=True, slots=True)
class Unrolled:
    """The `term` of each iteration, and of as many after it as the loop steps over, is added to the `cell`."""

    loop: For
    cell: Load
    term: Expr


CellUpdate = Location | Match | Affine | Unrolled


def find_update(stmt: Stmt, scratch: Collection[str] = ()) -> CellUpdate | None:
    """What a loop does with scalar cells; None where it does anything else, or what is a plain sum. `scratch`: cells
    that nothing else reads."""
    if not isinstance(stmt, For) or stmt.facts.simd or loads(stmt.lower) or loads(stmt.upper):
        return None
    values = final_values(stmt, scratch)
    if stmt.step > 1:
        return _unrolled(stmt, values or {})
    if not values or any(sum(1 for _ in walk_expr(x)) > LARGEST for x in values.values()):
        return None
    return _conditional(stmt, values) or _affine(stmt, values)


def in_cells(kernel: Kernel, guarded: Collection[str] = ()) -> Kernel:
    """A kernel in which elements that a loop stores to, always the same ones, are cells while it runs; those of arrays
    that are `guarded` are not, as nothing of these may be read in any case.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.ir.text.printer import print_stmt
    >>> loop = "for i in 0 .. n { t[0] = select(x[i] > t[0], x[i], t[0]) }"
    >>> print(print_stmt(in_cells(parse_kernel("kernel f(n; x: f32[n], t: f32[1]) { %s }" % loop)).body), end="")
    {
      if 0 < n {
        alloc t_cell: f32[] distinct register
        t_cell[] = t[0]
        for i in 0 .. n {
          t_cell[] = select(x[i] > t_cell[], x[i], t_cell[])
        }
        t[0] = t_cell[]
      }
    }
    """
    taken, types = {*used_names(kernel)}, {x.name: x.type for x in kernel.arrays if x.name not in guarded}

    def visit(stmt: Stmt) -> Stmt:
        inner = isinstance(stmt, For) and not any(isinstance(x, For) for x in walk(stmt.body))
        places = _fixed_places(stmt.body, types) if isinstance(stmt, For) and inner else {}
        if not isinstance(stmt, For) or not places:
            return stmt
        before: list[Stmt] = []
        after: list[Stmt] = []
        body = stmt.body
        for name, at in places.items():
            cell = Array(take_name(f"{name}_cell", taken), types[name], (), True, "register")
            before += [Alloc(cell), Assign(cell.name, (), Load(name, at, cell.type))]
            after.append(Assign(name, at, Load(cell.name, (), cell.type)))
            body = use_element(body, name, cell.name)
        return If(Compare("lt", stmt.lower, stmt.upper), Block((*before, replace(stmt, body=body), *after)))

    return replace(kernel, body=map_block(visit, kernel.body))


def _fixed_places(block: Block, types: Mapping[str, Type]) -> dict[str, tuple[Expr, ...]]:
    """The arrays of some types of which a block stores to one element, with a number, and uses no other one."""
    stored: dict[str, tuple[Expr, ...]] = {}
    for x in walk(block):
        if isinstance(x, Assign | Reduce) and x.index and x.array in types:
            stored.setdefault(x.array, x.index)
    used = [(x.array, x.index) for x in walk(block) if isinstance(x, Assign | Reduce)]
    used += [(x.array, x.index) for stmt in walk(block) for e in expressions(stmt) for x in loads(e)]
    moved = {array for array, at in used if array in stored and at != stored[array]}
    return {x: at for x, at in stored.items() if x not in moved and all(isinstance(y, Const) for y in at)}


def scratch_cells(kernel: Kernel, loop: For) -> set[str]:
    """The local cells of a kernel that are for a loop alone."""
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc) and not x.array.shape}
    inside = {id(x) for x in walk(loop)}
    outside = [x for x in walk(kernel.body) if id(x) not in inside and not isinstance(x, Alloc)]
    used = {x.array for x in outside if isinstance(x, Assign | Reduce)}
    return local - used - {y.array for x in outside for e in expressions(x) for y in loads(e)}


def final_values(loop: For, scratch: Collection[str] = ()) -> dict[str, Expr] | None:
    """What an iteration leaves in each cell that was there before, by what it finds; None where it does more than
    that, or leaves something in `scratch` for the next one."""
    values: dict[str, Expr] = {}
    names: dict[str, Expr] = {}
    own = {*scratch}

    def known(expr: Expr) -> Expr:
        placed = map_expr(lambda x: values.get(x.array, x) if isinstance(x, Load) else x, expr)
        return substitute(placed, names)

    for x in loop.body.body:
        match x:
            case Let(var=var, value=value):
                names[var] = known(value)
            case Alloc(array=array) if not array.shape:
                own.add(array.name)
            case Assign(array=array, index=(), value=value):
                values[array] = known(value)
            case Reduce(array=array, index=()):
                values[array] = known(updated(x))
            case _:
                return None
        if sum(1 for y in (*values.values(), *names.values()) for _ in walk_expr(y)) > 4 * LARGEST:
            return None
    if any(y.array in own for x in values.values() for y in loads(x)):
        return None
    return {x: y for x, y in values.items() if x not in own}


def _conditional(loop: For, values: Mapping[str, Expr]) -> CellUpdate | None:
    """A location or a match: all cells change under one condition, to what none of them has a part in."""
    condition: Expr | None = None
    chosen: dict[str, Expr] = {}
    for name, value in values.items():
        match value:
            case Select(condition=test, then=then, otherwise=Load(array=array, index=())) if array == name:
                if condition is not None and test != condition:
                    return None
                condition, chosen[name] = test, then
            case _:
                return None
    if condition is None or any(_reads(x, values) for x in chosen.values()):
        return None
    if not _reads(condition, values):
        return Match(loop, condition, chosen) if loop.var in variables(condition) else None
    match _unwidened(condition):
        case Compare(op="gt" | "ge" | "lt" | "le" as op, left=left, right=Load(index=()) as cell):
            found = Location(loop, op, cell, left, chosen)
        case Compare(op="gt" | "ge" | "lt" | "le" as op, left=Load(index=()) as cell, right=right):
            found = Location(loop, _TURNED[op], cell, right, chosen)
        case _:
            return None
    return found if chosen.get(found.cell.array) == found.value and len(chosen) > 1 else None


def _unwidened(condition: Expr) -> Expr:
    """A comparison of two integers of the same type that are widened first as one of what they were."""
    match condition:
        case Compare(op=op, left=Cast(operand=left, type=wide), right=Cast(operand=right, type=other)):
            narrow = type_of(left)
            same = wide == other and type_of(right) == narrow and narrow.is_int and wide.is_int
            return Compare(op, left, right) if same and wide.bits > narrow.bits else condition
        case _:
            return condition


def _affine(loop: For, values: Mapping[str, Expr]) -> Affine | None:
    """One cell that is multiplied by the same factor each time; of floats, by one that lets nothing grow."""
    match [*values.items()]:
        case [(name, value)]:
            pass
        case _:
            return None
    cell = Load(name, (), type_of(value))
    if not (cell.type.is_int or cell.type.kind == "float") or cell.type.size < 4:
        return None
    if any(isinstance(x, Load) and x != cell and x.array == name for x in walk_expr(value)):
        return None
    factor, rest = linear(value, cell) or (None, None)
    if factor is None or rest is None or loop.var in variables(factor) or loads(factor):
        return None
    one = Const(1.0 if cell.type.is_float else 1, cell.type)
    if factor == one or factor == Unary("neg", one) or loop.var not in variables(rest):
        return None
    return Affine(loop, cell, factor, rest) if cell.type.is_int or _is_bounded(factor, cell.type) else None


def _is_bounded(factor: Expr, type: Type) -> bool:
    """Whether nothing grows by a factor of floats, and its powers in lanes do not vanish: an infinity times nothing is
    no number."""
    known = factor.operand if isinstance(factor, Unary) and factor.op == "neg" else factor
    return isinstance(known, Const) and _LEAST[type.bits] ** (1 / LANES) <= abs(known.value) <= 1


def _unrolled(loop: For, values: Mapping[str, Expr]) -> Unrolled | None:
    """One cell to which as many terms are added as the loop steps over, each the one before an iteration later."""
    match [*values.items()]:
        case [(name, value)]:
            cell = Load(name, (), type_of(value))
        case _:
            return None
    terms = [_normal(x) for x in chained(value, "add")]
    if len(terms) != loop.step + 1 or cell not in terms or not (cell.type.is_int or cell.type.kind == "float"):
        return None
    terms.remove(cell)
    if any(_reads(x, values) or loop.var not in variables(x) for x in terms):
        return None

    def later(term: Expr, k: int) -> Expr:
        return _normal(substitute(term, {loop.var: add(index(loop.var), index(k))}))

    first = (x for x in terms if all(terms.count(later(x, k)) == 1 for k in range(loop.step)))
    return next((Unrolled(loop, cell, x) for x in first), None)


def _normal(expr: Expr) -> Expr:
    """An expression in which the same places are spelt alike."""

    def spell(x: Expr) -> Expr:
        return Load(x.array, tuple(map(normal, x.index)), x.type) if isinstance(x, Load) else x

    return map_expr(spell, expr)


def _reads(expr: Expr, cells: Mapping[str, Expr]) -> bool:
    return any(x.array in cells for x in loads(expr))


def is_exact(expr: Expr) -> bool:
    """Whether an expression has the same value wherever it is computed: no compiler fuses any of it."""
    return not any(isinstance(x, Binary) and type_of(x).is_float for x in walk_expr(expr))
