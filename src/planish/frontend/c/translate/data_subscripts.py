"""Subscripts that data choose, as in `table[pixel[i]]`, of arrays that a nest only reads: no iteration waits for these.

How far such a subscript may go is written down as a conversion to a type that holds no more, which changes no value.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> cell = "v[] = min(max(i32(x[i]) - 16, 0:i32), 219:i32) y[i] = t[i64(v[])]"
>>> text = "kernel k(n; x: u8[n], y: u8[n], t: u8[?]) { for i in 0 .. n { alloc v: i32[] %s } }" % cell
>>> body = parse_kernel(text).body
>>> loose = {"t": Refused("scop-data", "v is computed from data")}
>>> print(print_stmt(settle_subscripts(body, (), loose).body[0].body.body[-1]))
y[i] = t[i64(u8(v[]))]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial

from pycparser import c_ast

from planish.frontend.c.idioms.modular_subscripts import chooses_affine
from planish.frontend.c.translate.arithmetic import common
from planish.frontend.c.translate.expressions import value_of
from planish.frontend.c.translate.state import CTranslation, NotIndex, Refused
from planish.frontend.c.translate.subscripts import index_of
from planish.frontend.c.types.constants import STEPS, walk_tree
from planish.ir.expr import Binary, Cast, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.interval import Interval, range_of
from planish.ir.index.polynomial import add, build, constant, names, normal, polynomial, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Reduce, Stmt
from planish.ir.passes.number_ranges import narrowest
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import (
    blocks_of,
    children,
    loads,
    map_expr,
    map_exprs,
    stored_arrays,
    walk,
    with_blocks,
    with_children,
)
from planish.ir.types import INDEX, Type
from planish.poly.scop.subscript_range import bound_subscript, data_range

LONG = 64
"""From so many iterations on, a sum of elements that data choose is made in lanes."""
_ANY = "[...]"
"""What stands behind the name of an array for any of its elements."""
_PASSES = 3
"""So often the ranges of cells are found anew from those of others."""


def data_subscript(node: c_ast.Node, reason: NotIndex, cx: CTranslation) -> Expr:
    """A subscript that is no index expression: the sum of one and of a number that is read, or such a number alone.

    Raises Refused, for `reason` where it is neither, and Again."""
    if any(isinstance(x, c_ast.Assignment) or _is_step(x) for x in walk_tree(node)):
        raise reason.refusal()
    return normal(_sum(node, reason, cx)[0])


def _sum(node: c_ast.Node, reason: NotIndex, cx: CTranslation) -> tuple[Expr, Type]:
    """The subscript, and the type that its expression has."""
    granted = [*cx.assumptions]
    try:
        known = index_of(node, cx)
        return known.expr, known.type
    except NotIndex:
        cx.assumptions[:] = granted
    if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
        (left, first), (right, second) = _sum(node.left, reason, cx), _sum(node.right, reason, cx)
        if common(first, second).kind == "int":  # a sum that leaves its type has no meaning
            return (add if node.op == "+" else sub)(left, right), common(first, second)
    value = value_of(node, cx)
    if not type_of(value).is_int:
        raise reason.refusal()
    return Cast(value, INDEX), type_of(value)


def _is_step(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op in STEPS


def settle_subscripts(
    body: Block, given: Iterable[Array], loose: Mapping[str, Refused], untouched: Set[str] = frozenset(),
    objects: Set[str] = frozenset(), longer: Set[str] = frozenset(),
) -> Block:  # fmt: skip
    """A nest whose subscripts that data choose have types that hold no more than these may be; `given`: arrays that are
    declared outside of it. `loose`: what is said of each array with subscripts that are not affine; `untouched`: the
    arrays of which no store of the nest may change an element, wherever that lies; `objects`: those that have as many
    elements as is declared: C has no meaning for what lies outside. `longer`: those that may have more.

    Raises Refused where such an array is stored to as well, or may be and it is not known how far a subscript goes, or
    data decide whether an element is read of which it is not known whether it is one of the array."""
    shapes = {x.name: x.shape for x in given}
    left = frozenset(x for x, shape in shapes.items() if not shape) & stored_arrays(body)
    shapes |= {x.array.name: x.array.shape for x in walk(body) if isinstance(x, Alloc)}
    tables = {f"{x.name}{_ANY}": _range_of_values(x) for x in given if x.values and x.type.is_int}
    narrowing = _Narrowing(
        _cell_ranges(body) | tables, shapes, frozenset(x.var for x in walk(body) if isinstance(x, For)), left, objects,
        longer, _set_to(body),
    )
    body = narrowing.block(body, dict(narrowing.whole)) if loose else body
    lost = narrowing.unsure | (narrowing.lost - untouched)
    for name in sorted(lost | (narrowing.inexact & stored_arrays(body))):
        raise loose[name]
    return body


def long_rows(body: Block) -> Iterator[Expr]:
    """What has to be positive or zero for sums of elements that data choose, anywhere, to be worth a call: the
    iterations of the loop over each are many. Lanes that gather gain little, and nothing in short rows of a matrix."""
    for loop in (x for x in walk(body) if isinstance(x, For)):
        sums = [x for x in loop.body.body if isinstance(x, Reduce) and all(loop.var not in names(y) for y in x.index)]
        if any(data_range(y) is None for x in sums for y in _chosen(x)):
            yield sub(sub(loop.upper, loop.lower), index(LONG))


def _chosen(stmt: Reduce) -> Iterator[Cast]:
    """The parts of subscripts that data choose."""
    for load in loads(stmt.value):
        yield from (x for at in load.index for m in polynomial(at) for x in m if isinstance(x, Cast) and _is_data(x))


@dataclass(frozen=True, slots=True)
class _Narrowing:
    """One walk: between which numbers cells are at all (`whole`), the extents of arrays, the loops, and the arrays that
    have been found with subscripts that are not affine, with those that may be anywhere (`lost`), and with such ones
    under conditions on data, that are known to leave their array, or that hold what the iteration before left in a cell
    (`carried`), which nothing makes faster (`unsure`)."""

    whole: Mapping[str, Interval]
    shapes: Mapping[str, tuple[Expr | None, ...]]
    moving: frozenset[str]
    left: frozenset[str]
    objects: Set[str]
    longer: Set[str]
    sources: Mapping[str, Sequence[Expr]]
    carried: frozenset[str] = frozenset()
    inexact: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)

    def block(self, block: Block, ranges: dict[str, Interval]) -> Block:
        """A block; `ranges`: those of cells where it begins, and then where it ends."""
        out: list[Stmt] = []
        for stmt in block.body:
            inner = dict(ranges)
            if isinstance(stmt, For | If):
                changed = {x: y for x, y in self.whole.items() if x in stored_arrays(stmt)}
                inner |= changed
                ranges |= changed
            done = map_exprs(partial(self.expression, ranges=inner, chosen=False), stmt)
            within = replace(self, carried=self.left) if isinstance(stmt, For) else self
            out.append(with_blocks(done, [within.block(x, dict(inner)) for x in blocks_of(done)]))
            if isinstance(stmt, Assign | Reduce) and stmt.array in ranges:
                ranges[stmt.array] = _range(_stored(stmt), ranges)
            elif isinstance(stmt, Block):
                ranges |= {x: y for x, y in self.whole.items() if x in stored_arrays(stmt)}
        return Block(tuple(out))

    def expression(self, expr: Expr, ranges: Mapping[str, Interval], chosen: bool) -> Expr:
        """An expression; `chosen`: data decide whether it has any meaning."""
        inner = chosen or isinstance(expr, Select)
        expr = with_children(expr, tuple(self.expression(x, ranges, inner) for x in children(expr)))
        if not isinstance(expr, Load):
            return expr
        extents = self.shapes.get(expr.array, ())
        places = []
        for d, at in enumerate(expr.index):
            extent = extents[d] if d < len(extents) else None
            ends = isinstance(extent, Const) and expr.array not in self.longer
            inside = (0, int(extent.value) - 1) if isinstance(extent, Const) and ends else None
            known = chooses_affine(at, self.moving)
            places.append(at if known else self.subscript(expr.array, at, inside, ranges, chosen))
        return replace(expr, index=tuple(places))

    def subscript(
        self, array: str, at: Expr, inside: Interval | None, ranges: Mapping[str, Interval], chosen: bool
    ) -> Expr:
        """A subscript with the narrowest types for the data in it; what data choose to read is `inside` its array."""
        self.inexact.add(array)
        data = dict.fromkeys(x for m in polynomial(at) for x in m if isinstance(x, Cast) and _is_data(x))
        found = {x: _range(x.operand, ranges) for x in data}
        if inside is not None and chosen and at in found and array in self.objects:
            found[at] = _within(found[at], inside)
        parts: dict[Expr, Expr] = {x: _narrowed(x, y) for x, y in found.items()}
        only = _sole_data(at, found) if inside is not None and array in self.objects else None
        if inside is not None and only is not None and self.is_read(only.operand):
            found[only], parts[only] = _clamped(only, found[only], _less(inside, polynomial(at).get((), 0)))
        fresh = _with_parts(at, parts)
        names = {x: f"{n}[]" for n, x in enumerate(data)}
        ends = bound_subscript(
            _with_parts(at, {x: Var(name, INDEX) for x, name in names.items()}),
            {names[x]: (index(low), index(high)) for x, (low, high) in found.items()}, frozenset(),
        )  # fmt: skip
        numbers = [constant(x) for x in ends or ()]
        leaves = inside is not None and not chosen and any(x is not None and not _has(inside, x) for x in numbers)
        if leaves or ends is None or bound_subscript(fresh, {}, frozenset()) is None:
            left = any(y.array in self.carried for x in data for y in loads(x))
            (self.unsure if chosen or leaves or left else self.lost).add(array)
        return fresh


    def is_read(self, value: Expr) -> bool:
        """Whether a number is read from an array, also by way of a cell that is set in one place, and a constant is
        added to it. What is computed in another way may be anything in calls that check, so that these tell nothing."""
        match value:
            case Cast(operand=inner) | Binary(op="add" | "sub", left=inner, right=Const()):
                return self.is_read(inner)
            case Load(array=array, index=()):
                sources = self.sources.get(array, ())
                return len(sources) == 1 and replace(self, sources={}).is_read(sources[0])
            case _:
                return isinstance(value, Load)


def _with_parts(at: Expr, parts: Mapping[Expr, Expr]) -> Expr:
    """A subscript with others in the places of some factors of its products."""
    return build({tuple(parts.get(x, x) for x in m): c for m, c in polynomial(at).items()})


def _narrowed(data: Cast, found: Interval) -> Expr:
    """A number in a type that holds no more than it may be, if the type that it has says less."""
    kind = narrowest(found)
    return data if kind is None or data_range(data) is not None else Cast(Cast(data.operand, kind), INDEX)


def _range_of_values(table: Array) -> Interval:
    """Between which numbers the elements of a constant array are; those that are not said are 0."""
    return int(min(0, *table.values)), int(max(0, *table.values))


def _sole_data(at: Expr, data: Iterable[Cast]) -> Cast | None:
    """The number that data choose of a subscript that is this and a constant; None for another subscript."""
    only = [*data]
    terms = polynomial(at)
    alone = len(only) == 1 and terms.get((only[0],)) == 1 and all(m in ((), (only[0],)) for m in terms)
    return only[0] if alone else None


def _clamped(data: Cast, found: Interval, inside: Interval) -> tuple[Interval, Expr]:
    """A number that chooses an element `inside` of its array, and what that may be: it is that number wherever C gives
    the element a meaning, so that the least that holds it there is taken: its type, or a minimum and a maximum."""
    left = _within(found, inside)
    if left == found or not _has(found, left[0]):  # none of its values chooses an element
        return found, _narrowed(data, found)
    kind = narrowest(left)
    if kind is not None and _has(inside, limits(kind)[0]) and _has(inside, limits(kind)[1]):
        return left, Cast(Cast(data.operand, kind), INDEX)
    value = data.operand
    if found[0] < left[0]:
        value = Binary("max", value, Const(left[0], type_of(value)))
    if found[1] > left[1]:
        value = Binary("min", value, Const(left[1], type_of(value)))
    return left, _narrowed(Cast(value, INDEX), left)


def _less(range: Interval, number: int) -> Interval:
    return range[0] - number, range[1] - number


def _has(range: Interval, number: int) -> bool:
    return range[0] <= number <= range[1]


def _within(found: Interval, inside: Interval) -> Interval:
    """What two ranges have in common; the second one where that is nothing."""
    low, high = max(found[0], inside[0]), min(found[1], inside[1])
    return (low, high) if low <= high else inside


def _set_to(body: Block) -> dict[str, list[Expr]]:
    """All that the cells of a nest that are integers are ever set to."""
    own = {x.array.name: x.array.type for x in walk(body) if isinstance(x, Alloc) and not x.array.shape}
    sets: dict[str, list[Expr]] = {name: [] for name, type in own.items() if type.is_int}
    for stmt in walk(body):
        if isinstance(stmt, Assign | Reduce) and stmt.array in sets:
            sets[stmt.array].append(_stored(stmt))
    return sets


def _cell_ranges(body: Block) -> dict[str, Interval]:
    """Between which numbers the cells of a nest are, from all that they are ever set to."""
    sets = _set_to(body)
    own = {x.array.name: x.array.type for x in walk(body) if isinstance(x, Alloc)}
    ranges = {name: limits(own[name]) for name in sets}
    for _ in range(_PASSES):
        ranges |= {
            name: _union(_range(x, ranges) for x in values) for name, values in sets.items() if values
        }  # fmt: skip
    return ranges


def _stored(stmt: Assign | Reduce) -> Expr:
    """What a statement stores to a cell."""
    if isinstance(stmt, Assign):
        return stmt.value
    return Binary(stmt.op, Load(stmt.array, stmt.index, type_of(stmt.value)), stmt.value)


def _range(expr: Expr, ranges: Mapping[str, Interval]) -> Interval:
    """The range of a value, where those of cells are known."""
    known = {name if name.endswith(_ANY) else f"{name}[]": x for name, x in ranges.items()}

    def named(x: Expr) -> Expr:
        name = f"{x.array}{_ANY if x.index else '[]'}" if isinstance(x, Load) else ""
        return Var(name, type_of(x)) if name in known else x

    return range_of(map_expr(named, expr), known)


def _union(parts: Iterable[Interval]) -> Interval:
    found = [*parts]
    return min(x for x, _ in found), max(x for _, x in found)


def _is_data(expr: Expr) -> bool:
    """Whether a part of a subscript is a number that is computed from data."""
    return isinstance(expr, Cast) and type_of(expr.operand) != INDEX
