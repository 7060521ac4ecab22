"""Systems of affine recurrence equations (SARE): mutually dependent statements as equations, compared up to order.

Where the instances of two nests use the same cells in the same expressions, and those that meet in a cell come in the
same order, both compute the same, in whatever order the others run.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel scan(n; x: f64[n]) { for i in 1 .. n { x[i] += x[i - 1] } }"
>>> back = "kernel k(m; A: f64[m, m]) { for r in 0 .. m - 1 { A[m - r - 2, 0] += A[m - r - 1, 0] } }"
>>> scop = extract_scop(parse_kernel(back))
>>> other = system_of(scop, (0,), find_order(scop))
>>> print(agree_systems(equations_of(parse_kernel(text)), other, frozenset()).operands["x"])
A[m - 1 - x0, 0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, permutations, product

import islpy as isl

from planish.ir.expr import Expr, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Kernel, Reduce, ReduceOp
from planish.ir.traverse import substitute
from planish.ir.types import Type
from planish.poly.canonical.canonicalise import tidy
from planish.poly.canonical.minmax_idioms import find_updates
from planish.poly.isl.affine import NotAffineError, condition_set
from planish.poly.match.normal_form import Cell, Head, bound_value, plain_range, require_exact
from planish.poly.match.operand_orders import orders_of, shape_of
from planish.poly.match.operands import (
    Bindings,
    OperandMismatchError,
    PointPiece,
    allowed_sizes,
    candidates,
    check_pieces,
    may_turn,
    own_sizes,
    placement,
    with_sizes,
)
from planish.poly.match.scalars import Scale, bind, spelt
from planish.poly.match.sum_of_products import NoFormError, whole
from planish.poly.match.unify import MOST_CHECKS, Unifier
from planish.poly.scop.dependence import find_order
from planish.poly.scop.extraction import Access, Scop, Statement, extract_scop, require_affine
from planish.poly.scop.statement_order import commute

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
_MOST_SPELLINGS = 24
_ORDER = 5
"""The level of a mismatch where all is the same but for the order."""


@dataclass(frozen=True, slots=True, eq=False)
class OperandOrder:
    """A statement's value with its operands in one order: `points` has the subscripts of the target, then those of
    what is loaded, and `instances` maps the iterations to them."""

    head: Head
    points: isl.Set
    instances: isl.Map


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """A statement: what it stores where (`op`: as an update), in each way in which its operands can stand."""

    target: Cell
    op: ReduceOp | None
    type: Type
    spellings: tuple[OperandOrder, ...]


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """Statements, and for pairs of them (by number) the instances that must keep their order, earlier to later."""

    members: tuple[Equation, ...]
    order: Mapping[tuple[int, int], isl.Map]
    context: isl.Set

    def renamed(self) -> System:
        """The system of a definition, with names of its own for its sizes."""
        members = tuple(
            replace(x, spellings=tuple(
                replace(y, points=own_sizes(y.points), instances=own_sizes(y.instances)) for y in x.spellings
            ))
            for x in self.members
        )  # fmt: skip
        return System(members, {pair: own_sizes(x) for pair, x in self.order.items()}, own_sizes(self.context))


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """A definition as a system, with its sizes, its scalars, the arrays that are its own, and what it assumes."""

    system: System
    kinds: tuple[str, ...]
    sizes: tuple[str, ...]
    scalars: tuple[str, ...]
    locals: frozenset[str]
    assumptions: tuple[Expr, ...]


def equations_of(kernel: Kernel) -> Equations:
    """What a kernel of several statements is compared with; raises NoFormError, and NotAffineError where it is not a
    static control part."""
    require_affine(kernel)
    scop = extract_scop(find_updates(tidy(kernel)))
    system = system_of(scop, range(len(scop.statements)), find_order(scop)).renamed()
    scalars, locals = tuple(x.name for x in kernel.scalars), frozenset(x.name for x in scop.locals)
    kinds = tuple(kinds_of(scop.statements))
    return Equations(system, kinds, kernel.sizes, scalars, locals, kernel.assumptions)


def system_of(scop: Scop, numbers: Sequence[int], before: isl.UnionMap, reassociate: bool = True) -> System:
    """Some statements of a nest as a system (`before`: the order of all instances that meet in a cell); raises
    NoFormError where iterations cannot be told apart by the cells that they use."""
    statements = [scop.statements[x] for x in numbers]
    members = tuple(map(_member, statements))
    order: dict[tuple[int, int], isl.Map] = {}
    for (a, early), (b, late) in product(enumerate(statements), repeat=2):
        pairs = _meetings(early, late, reassociate)
        if pairs is not None:
            ordered = before.intersect(isl.UnionMap.from_map(pairs))
            if not ordered.is_empty():
                order[a, b] = isl.Map.from_union_map(ordered)
    return System(members, order, scop.context)


def kinds_of(statements: Sequence[Statement]) -> list[str]:
    """What statements do, whatever cells they use: systems that differ in it differ."""
    return sorted(_kind(x) for x in statements)


def _kind(statement: Statement) -> str:
    stmt, value = statement.stmt, bound_value(statement)
    return f"{stmt.op if isinstance(stmt, Reduce) else ''} {shape_of(value)}"


def _meetings(early: Statement, late: Statement, reassociate: bool) -> isl.Map | None:
    """Pairs of instances that use one cell, one of them writing, but for two that update it in one way."""
    joint = commute(early, late, reassociate)
    found: list[isl.Map] = []
    for (i, x), (j, y) in product(enumerate(early.accesses), enumerate(late.accesses)):
        if x.array == y.array and (x.write or y.write) and not (joint and i < 2 and j < 2):
            found.append(x.relation.apply_range(y.relation.reverse()))
    return reduce(isl.Map.union, found) if found else None


def _member(statement: Statement) -> Equation:
    stmt = statement.stmt
    require_exact(statement)
    relations = {(x.array, x.index): x for x in statement.accesses}
    values = islice(orders_of(bound_value(statement)), _MOST_SPELLINGS)
    spellings = tuple(_spelling(x, statement, relations) for x in values)
    op = stmt.op if isinstance(stmt, Reduce) else None
    return Equation(Cell(stmt.array, 0, len(stmt.index)), op, type_of(stmt.value), spellings)


def _spelling(
    value: Expr, statement: Statement, relations: Mapping[tuple[str, tuple[Expr, ...]], Access]
) -> OperandOrder:
    factor = whole(value)
    relation, cells, at = plain_range(statement.write.relation), [], len(statement.stmt.index)
    for load in factor.loads:
        relation = relation.flat_range_product(plain_range(relations[load.array, load.index].relation))
        cells.append(Cell(load.array, at, len(load.index)))
        at += len(load.index)
    if not relation.is_injective():
        raise NoFormError("iterations that use the same cells wait for each other")
    return OperandOrder(Head(factor.head, tuple(cells), factor.scalars), relation.range(), relation)


def agree_systems(definition: Equations, other: System, private: Set[str]) -> Unifier:
    """The operands with which the nest is the definition; arrays that are its own stand for `private` ones. Raises
    MismatchError."""
    own, sizes = definition.system, definition.sizes
    if len(own.members) != len(other.members):
        raise OperandMismatchError(
            f"there are {len(other.members)} statements and {len(own.members)} in the definition", 0
        )
    worst = OperandMismatchError("its statements are others than the definition's", 0)
    for turned in permutations(range(len(other.members))):
        chosen = [other.members[x] for x in turned]
        choices = [_alike(a, b) for a, b in zip(own.members, chosen, strict=True)]
        for spellings in islice(product(*choices), _MOST_SPELLINGS):
            try:
                values = _scalars(own, spellings, definition.scalars, chosen[0].type)
                bound = _place(own, chosen, spellings, other, turned, sizes)
                for name in sorted(definition.locals):
                    if bound.operands[name].array not in private:
                        raise OperandMismatchError(f"`{bound.operands[name].array}` is read afterwards", 4)
            except OperandMismatchError as error:
                worst = error if error.level > worst.level else worst
                continue
            known = {x: bound.size(x) for x in sizes}
            return Unifier(bound.operands, known, values, _conditions(definition, known, other.context))
    raise worst


def _conditions(definition: Equations, sizes: Mapping[str, Expr], context: isl.Set) -> tuple[Expr, ...]:
    """What the definition assumes and the nest's sizes need not have."""
    found = [simplify(substitute(x, sizes)) for x in definition.assumptions]
    space = context.get_space().set_from_params()
    return tuple(x for x in found if not context.is_subset(condition_set(x, space).params()))


def _alike(own: Equation, other: Equation) -> list[OperandOrder]:
    """The ways in which a statement of the nest can be read as one of the definition."""
    if own.op != other.op:
        return []
    wanted = own.spellings[0].head
    return [
        x for x in other.spellings
        if x.head.text == wanted.text and len(x.head.scalars) == len(wanted.scalars)
        and len(x.head.cells) == len(wanted.cells)
    ]  # fmt: skip


def _scalars(own: System, spellings: Sequence[OperandOrder], wanted: Sequence[str], kind: Type) -> dict[str, Expr]:
    bound: dict[str, Scale] = {}
    for member, other in zip(own.members, spellings, strict=True):
        for mine, theirs in zip(member.spellings[0].head.scalars, other.head.scalars, strict=True):
            bind(mine, (False, (theirs,)), bound)
    missing = [x for x in wanted if x not in bound]
    if missing:
        raise OperandMismatchError(f"nothing says what `{missing[0]}` is", 1)
    return {name: spelt(scale, "mul", kind) for name, scale in bound.items()}


def _place(
    own: System, chosen: Sequence[Equation], spellings: Sequence[OperandOrder], other: System, turned: Sequence[int],
    sizes: Sequence[str],
) -> Bindings:
    """Operands and sizes for which points and order are the same."""
    pieces: list[PointPiece] = []
    for mine, theirs, spelling in zip(own.members, chosen, spellings, strict=True):
        cells = zip(mine.spellings[0].head.cells, spelling.head.cells, strict=True)
        pieces.append(PointPiece(
            mine.spellings[0].points, spelling.points, ((mine.target, theirs.target), *cells), str(spelling.head)
        ))  # fmt: skip
    ranked = sorted(pieces, key=lambda x: -x.own.dim(SET))
    worst = OperandMismatchError(f"the subscripts of `{ranked[0].text}` move in another way than the definition's", 2)
    for flipped in (False, True):
        if flipped and worst.level < _ORDER and not any(map(may_turn, pieces)):
            break
        for bound in islice(candidates(ranked, Bindings({}, {}), flipped), MOST_CHECKS):
            error = _check(own, other, pieces, spellings, turned, sizes, bound)
            if error is None:
                return bound
            worst = error if error.level > worst.level else worst
    raise worst


def _check(
    own: System, other: System, pieces: Sequence[PointPiece], spellings: Sequence[OperandOrder], turned: Sequence[int],
    sizes: Sequence[str], bound: Bindings,
) -> OperandMismatchError | None:
    """What is wrong with a guess, if anything is, for those sizes that the definition allows."""
    try:
        allowed = allowed_sizes(sizes, bound, own.context, other.context)
    except OperandMismatchError as error:
        return error
    inside = [replace(x, other=x.other.intersect_params(allowed)) for x in pieces]
    return check_pieces(inside, bound, True, allowed) or _check_order(
        own, other, inside, spellings, turned, bound, allowed
    )


def _check_order(
    own: System, other: System, pieces: Sequence[PointPiece], spellings: Sequence[OperandOrder], turned: Sequence[int],
    bound: Bindings, context: isl.Set,
) -> OperandMismatchError | None:
    """What is wrong with the order of the instances that meet in a cell, if anything is."""
    try:
        there = [placement(x, bound, context) for x in pieces]
    except NotAffineError as error:
        return OperandMismatchError(f"an operand has no affine place: {error.reason}", 2)
    for a, b in product(range(len(pieces)), repeat=2):
        mine, theirs = own.order.get((a, b)), other.order.get((turned[a], turned[b]))
        if mine is None and theirs is None:
            continue
        space = there[a].range().get_space().map_from_domain_and_range(there[b].range().get_space())
        wanted = found = isl.Map.empty(space)
        if mine is not None:
            early, late = (own.members[x].spellings[0].instances for x in (a, b))
            points = with_sizes(mine.apply_domain(early).apply_range(late), bound.sizes)
            wanted = points.apply_domain(there[a]).apply_range(there[b])
        if theirs is not None:
            found = theirs.apply_domain(spellings[a].instances).apply_range(spellings[b].instances)
        if not wanted.is_equal(found.intersect_params(context)):
            return OperandMismatchError(f"`{pieces[b].text}` does not wait for the same as in the definition", _ORDER)
    return None
