"""The normal form of a nest that updates one array: what each element holds afterwards, without loops.

A cell holds its old value, unless that is lost, combined with terms. A term is a product of factors, and the set of
its points: the subscripts of the target, and of all that the factors load. Since points are subscripts and no
iterations, nests that differ in the order of loops, in tiles, in unrolled or peeled iterations have one form.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "kernel k(n; A: f64[n], B: f64[n], s: f64[1]) { for i in 0 .. n { s[0] += A[n - 1 - i] * B[i] } }"
>>> scop = extract_scop(parse_kernel(text))
>>> form = form_of(scop.statements[0], scop.context)
>>> print(form.terms[0])
A * B at [n] -> { [0, i1, -1 + n - i1] : 0 <= i1 < n }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from planish.ir.expr import Binary, Const, Expr, Load, type_of
from planish.ir.nest import Reduce, ReduceOp
from planish.ir.traverse import substitute, walk_expr
from planish.ir.types import Type
from planish.poly.isl.coalesce import coalesce
from planish.poly.match.sum_of_products import (
    INNER,
    Factor,
    NoFormError,
    ProductTerm,
    add_coefficients,
    joined,
    print_coefficient,
    products,
    spell,
)
from planish.poly.scop.extraction import Statement

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
IDEMPOTENT: frozenset[ReduceOp] = frozenset({"min", "max", "and", "or"})


@dataclass(frozen=True, slots=True)
class Cell:
    """An element of an array within a term: `at` is the first of its subscripts among the columns of the points."""

    array: str
    at: int
    rank: int

    @property
    def columns(self) -> range:
        """Where its subscripts are."""
        return range(self.at, self.at + self.rank)


@dataclass(frozen=True, slots=True)
class Head:
    """A factor within a term: what is made of its cells (`Factor.head`, `Factor.skeleton`)."""

    text: str
    cells: tuple[Cell, ...]
    scalars: tuple[Expr, ...] = ()
    skeleton: Expr | None = field(default=None, compare=False)

    @property
    def kind(self) -> tuple[str, tuple[str, ...], str]:
        """What tells it from the other factors of a term, whatever cells it reads."""
        return self.text, tuple(x.array for x in self.cells), repr(self.scalars)

    @property
    def rank(self) -> int:
        """How many columns it has."""
        return sum(x.rank for x in self.cells)

    def moved(self, at: int) -> Head:
        """The factor with its columns from `at` on."""
        cells: list[Cell] = []
        for x in self.cells:
            cells.append(replace(x, at=at))
            at += x.rank
        return replace(self, cells=tuple(cells))

    def __str__(self) -> str:
        return spell(self.text, tuple(x.array for x in self.cells), self.scalars)


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A product for each point: the columns are the target's subscripts, then those of the factors' cells in order."""

    negative: bool
    coefficients: tuple[Expr, ...]
    heads: tuple[Head, ...]
    points: isl.Set

    @property
    def cells(self) -> Iterator[Cell]:
        """All that the factors load."""
        return (x for head in self.heads for x in head.cells)

    def like(self, other: Term) -> bool:
        """Whether the two differ in their points only."""
        mine = (self.negative, self.coefficients, self.heads)
        return mine == (other.negative, other.coefficients, other.heads)

    def describe(self) -> str:
        """The product without its points."""
        parts = [*map(str, self.heads)]
        if self.coefficients or self.negative or not parts:
            parts.insert(0, print_coefficient(self.negative, self.coefficients))
        return " * ".join(parts)

    def __str__(self) -> str:
        return f"{self.describe()} at {self.points}"


@dataclass(frozen=True, slots=True, eq=False)
class NormalForm:
    """What a nest makes of an array: `lost` are the cells whose old values do not count any more (elsewhere, they are
    combined with the terms by `op`). Terms load what the arrays hold before the nest.

    `sums`: cells may combine several values, so that floats are added up in some order; `type` is the elements';
    `context`: what is known of the sizes.
    """

    target: str
    rank: int
    type: Type
    op: ReduceOp
    lost: isl.Set
    terms: tuple[Term, ...]
    statements: tuple[str, ...]
    sums: bool
    context: isl.Set

    @property
    def written(self) -> isl.Set:
        """The cells that may hold something new."""
        out = self.lost
        for term in self.terms:
            out = out.union(columns(term.points, range(self.rank)))
        return coalesce(out)

    @property
    def is_exact(self) -> bool:
        """Whether floats come out in every bit as written, in whatever order one multiplies or adds."""
        if self.op not in ("add", "mul"):
            return True
        return not self.sums and len(self.terms) <= 1 and all(map(_is_exact, self.terms))

    @property
    def arrays(self) -> frozenset[str]:
        """The arrays that are read."""
        return frozenset(x.array for term in self.terms for x in term.cells)


def _is_exact(term: Term) -> bool:
    """Whether a product has two factors at most, and none that was divided by."""
    alone = len(term.heads) + len(term.coefficients) == 1
    divides = any(isinstance(x, Binary) and x.op == "div" for c in term.coefficients for x in walk_expr(c))
    divides |= any("/" in x.text for x in term.heads)
    return alone or len(term.heads) + len(term.coefficients) == 2 and not divides


def columns(points: isl.Set, chosen: Sequence[int]) -> isl.Set:
    """The points with some columns only, in the order that is given."""
    total = points.dim(SET)
    if list(chosen) == list(range(total)):
        return points
    names = [f"x{i}" for i in range(total)]
    text = f"{{ [{', '.join(names)}] -> [{', '.join(names[i] for i in chosen)}] }}"
    return points.apply(isl.Map.read_from_str(points.get_ctx(), text))


def form_of(statement: Statement, context: isl.Set) -> NormalForm:
    """The form of all instances of one statement that reads nothing which it has written before, but for what it
    updates; raises NoFormError."""
    stmt, relations = statement.stmt, {(x.array, x.index): x.relation for x in statement.accesses}
    _require_old(statement)
    require_exact(statement)
    value = bound_value(statement)
    rank, once = len(stmt.index), bool(statement.write.relation.is_injective())
    target, kind = statement.write.relation, type_of(stmt.value)
    nothing = isl.Set.empty(_plain(target.range()).get_space())
    if isinstance(stmt, Reduce) and not (stmt.op == "mul" and once):
        op, lost, found = stmt.op, nothing, joined(value, stmt.op)
    elif not once:
        raise NoFormError(f"`{stmt.array}` is overwritten several times")
    else:
        if isinstance(stmt, Reduce):
            value = Binary("mul", Load(stmt.array, stmt.index, kind), value)
        op, lost, found = "add", _plain(target.range()), products(value)
    terms = [_term(x, target, relations, rank, op not in IDEMPOTENT) for x in found]
    sums = not once or len(found) > 1
    return NormalForm(stmt.array, rank, kind, op, lost, _merged(terms, op), (statement.name,), sums, context)


def bound_value(statement: Statement) -> Expr:
    """What a statement stores or adds, with the values that have names put in their places."""
    value = statement.stmt.value
    for let in reversed(statement.lets):
        value = substitute(value, {let.var: let.value})
    return value


def require_exact(statement: Statement) -> None:
    """Raise NoFormError where it is not known exactly which elements a statement reads."""
    for access in statement.accesses:
        if access.inexact:
            raise NoFormError(f"a subscript of `{access.array}` is not affine")


def _require_old(statement: Statement) -> None:
    """Raise NoFormError where an instance reads what an earlier one has written."""
    write = statement.write
    own = 2 if isinstance(statement.stmt, Reduce) else 1
    for access in statement.accesses[own:]:
        if access.array == write.array:
            pairs = write.relation.apply_range(access.relation.reverse())
            earlier = isl.Map.lex_lt(statement.domain.get_space())
            if not pairs.intersect(earlier).is_empty():
                raise NoFormError(f"`{access.array}` is read where an earlier iteration has written it")


def _plain(points: isl.Set) -> isl.Set:
    return points.reset_tuple_id() if points.has_tuple_id() else points


def _term(
    product: ProductTerm,
    target: isl.Map,
    relations: Mapping[tuple[str, tuple[Expr, ...]], isl.Map],
    rank: int,
    count: bool,
) -> Term:
    """A product of a statement with its points; each point must stand for one instance where that counts."""
    factors = sorted(product.factors, key=_order)
    relation, heads, at = plain_range(target), [], rank
    for factor in factors:
        cells = []
        for load in factor.loads:
            relation = relation.flat_range_product(plain_range(relations[load.array, load.index]))
            cells.append(Cell(load.array, at, len(load.index)))
            at += len(load.index)
        heads.append(Head(factor.head, tuple(cells), factor.scalars, factor.skeleton))
    if count and not relation.is_injective():
        raise NoFormError("the same product is combined several times")
    return Term(product.negative, product.coefficients, tuple(heads), coalesce(relation.range()))


def _order(factor: Factor) -> tuple[str, tuple[str, ...], str]:
    """As `Head.kind`; factors of one kind keep the order in which they are written."""
    return factor.head, tuple(x.array for x in factor.loads), repr(factor.scalars)


def plain_range(relation: isl.Map) -> isl.Map:
    """A relation to subscripts that bear no name."""
    return relation.reset_tuple_id(OUT) if relation.has_tuple_id(OUT) else relation


def _merged(terms: Sequence[Term], op: ReduceOp) -> tuple[Term, ...]:
    """The terms, those that differ in their points only made one where no point counts twice."""
    out: list[Term] = []
    for term in terms:
        if term.points.is_empty():
            continue
        for n, other in enumerate(out):
            if term.like(other) and (op in IDEMPOTENT or term.points.is_disjoint(other.points)):
                out[n] = replace(other, points=coalesce(other.points.union(term.points)))
                break
        else:
            out.append(term)
    return _added(out) if op == "add" else tuple(out)


def _added(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of a sum, those with the same factors at the same points made one that is multiplied by more."""
    out: list[Term] = []
    for term in terms:
        for n, other in enumerate(out):
            if term.heads == other.heads and term.points.is_equal(other.points):
                both = add_coefficients(_scale(other), _scale(term))
                if both is not None:
                    out[n] = replace(other, negative=both[0], coefficients=both[1])
                    break
        else:
            out.append(term)
    return tuple(out)


def _scale(term: Term) -> tuple[bool, tuple[Expr, ...]]:
    return term.negative, term.coefficients


def sorted_term(term: Term, rank: int) -> Term:
    """The term with its factors, and their columns, in the order of their kinds."""
    order = sorted(term.heads, key=lambda x: x.kind)
    chosen, heads, at = [*range(rank)], [], rank
    for head in order:
        chosen += [c for cell in head.cells for c in cell.columns]
        heads.append(head.moved(at))
        at += head.rank
    return replace(term, heads=tuple(heads), points=columns(term.points, chosen))


def follow(first: NormalForm, second: NormalForm) -> NormalForm:
    """The form of one nest after another that updates the same array; raises NoFormError where there is none."""
    if first.target != second.target:
        raise NoFormError(f"`{first.target}` and `{second.target}` are updated")
    first, second = _alike(first, second)
    written = first.written
    terms: list[Term] = []
    kept = second.lost.complement()
    for term in first.terms:
        inside = _with_target(term.points, kept, first.rank)
        terms.append(replace(term, points=inside))
    for term in second.terms:
        own = [x for x in term.heads if is_own(x, term, second)]
        others = [x for x in term.cells if x.array == first.target and not any(x in y.cells for y in own)]
        for cell in others:
            if not columns(term.points, cell.columns).is_disjoint(written):
                raise NoFormError(f"`{cell.array}` is read between two updates of it")
        if not own:
            terms.append(term)
            continue
        if len(own) > 1:
            raise NoFormError(f"a power of `{first.target}` is taken between two updates of it")
        if second.op != "add":
            raise NoFormError(f"`{first.target}` is combined with itself")
        terms += [_placed(term, own[0], x, first.rank) for x in first.terms]
        # Where the first kept the old value, the second one's factor is that.
        terms.append(replace(term, points=_with_target(term.points, first.lost.complement(), first.rank)))
    lost = coalesce(first.lost.union(second.lost))
    sums = first.sums or second.sums or any(not x.points.is_empty() for x in first.terms)
    return NormalForm(
        first.target, first.rank, first.type, second.op, lost, _merged(terms, second.op),
        (*first.statements, *second.statements), sums, first.context,
    )  # fmt: skip


def _alike(first: NormalForm, second: NormalForm) -> tuple[NormalForm, NormalForm]:
    """The two under one operator: an assignment of one value to a cell serves any."""
    if first.op == second.op:
        return first, second
    if _is_assignment(first):
        if not first.terms:
            points = first.lost
            zero = Term(False, (Const(0.0 if first.type.is_float else 0, first.type),), (), points)
            return replace(first, op=second.op, terms=(zero,)), second
        if _has_one_load(first):
            return replace(first, op=second.op), second
    if _is_assignment(second) and not second.terms:
        return replace(first, op="add"), second
    raise NoFormError(f"`{first.target}` is updated by `{first.op}` and by `{second.op}`")


def _is_assignment(form: NormalForm) -> bool:
    return form.op == "add" and not form.sums and form.lost.is_equal(form.written)


def _has_one_load(form: NormalForm) -> bool:
    """Whether cells are set to a load or a coefficient, in which no operator stands."""
    if len(form.terms) != 1:
        return False
    (term,) = form.terms
    size = len(term.heads) + len(term.coefficients)
    return not term.negative and size <= 1 and not any(x.array == form.target for x in term.cells)


def _with_target(points: isl.Set, cells: isl.Set, rank: int) -> isl.Set:
    """The points whose target is among the cells."""
    wider = cells.add_dims(SET, points.dim(SET) - rank)
    return points.intersect(wider)


def is_own(head: Head, term: Term, form: NormalForm) -> bool:
    """Whether a factor is the cell that is updated, for all points."""
    if head.text or head.cells[0].array != form.target:
        return False
    same = term.points
    for d, column in enumerate(head.cells[0].columns):
        same = same.equate(SET, d, SET, column)
    return bool(term.points.is_subset(same))


def _placed(term: Term, head: Head, value: Term, rank: int) -> Term:
    """A term with one of its factors, a load, replaced by a term of what the cell holds."""
    joint, total = term.points.flat_product(value.points), term.points.dim(SET)
    cell = head.cells[0]
    for d, column in enumerate(cell.columns):
        joint = joint.equate(SET, column, SET, total + d)
    rest = [x for x in term.heads if x is not head]
    kept = [*range(rank), *(c for x in rest for y in x.cells for c in y.columns)]
    kept += range(total + cell.rank, joint.dim(SET))
    heads, at = [], rank
    for x in (*rest, *value.heads):
        heads.append(x.moved(at))
        at += x.rank
    return sorted_term(_times(term, value, tuple(heads), columns(joint, kept)), rank)


def _times(term: Term, value: Term, heads: tuple[Head, ...], points: isl.Set) -> Term:
    plain = ProductTerm(term.negative, term.coefficients, ()).times(ProductTerm(value.negative, value.coefficients, ()))
    return Term(plain.negative, plain.coefficients, heads, coalesce(points))


def inline(value: NormalForm, reader: NormalForm) -> NormalForm:
    """The form of a nest that reads an array, with what another nest has put there in its place; raises NoFormError.

    No array that `value` reads may be written between the two."""
    if value.op != reader.op and _is_assignment(reader) and _has_one_load(reader):
        reader = replace(reader, op=value.op)
    distributes = value.op == reader.op and INNER[value.op] is not None
    terms: list[Term] = []
    for term in reader.terms:
        found = [x for x in term.heads if any(cell.array == value.target for cell in x.cells)]
        if not found:
            terms.append(term)
            continue
        (head,) = found if len(found) == 1 else (None,)
        if head is None or head.text or not (distributes or _is_plain(value)):
            raise NoFormError(f"`{value.target}` is read by more than a product")
        read = columns(term.points, head.cells[0].columns)
        if not read.is_subset(value.lost):
            raise NoFormError(f"`{value.target}` is read where it holds something else")
        if value.sums and not _reads_once(term, head):
            raise NoFormError(f"a sum in `{value.target}` is used several times")
        terms += [_inlined(term, head, x, reader.rank) for x in value.terms]
    sums = reader.sums or value.sums
    statements = (*value.statements, *reader.statements)
    return replace(reader, terms=_merged(terms, reader.op), statements=statements, sums=sums)


def _is_plain(value: NormalForm) -> bool:
    return not value.sums and _has_one_load(value)


def _reads_once(term: Term, head: Head) -> bool:
    """Whether no cell of a factor is in two points."""
    others = [c for c in range(term.points.dim(SET)) if c not in head.cells[0].columns]
    return _is_function(term.points, others, head.cells[0].columns)


def _is_function(points: isl.Set, values: Sequence[int], arguments: Sequence[int]) -> bool:
    """Whether some columns follow from others."""
    pairs = columns(points, [*arguments, *values]).identity()
    pairs = pairs.project_out(IN, len(arguments), len(values))
    return bool(pairs.project_out(OUT, 0, len(arguments)).is_single_valued())


def _inlined(term: Term, head: Head, value: Term, rank: int) -> Term:
    """As `_placed`, where the cell's own subscripts must follow from what is left, for every point counts."""
    joint, total = term.points.flat_product(value.points), term.points.dim(SET)
    cell = head.cells[0]
    for d, column in enumerate(cell.columns):
        joint = joint.equate(SET, column, SET, total + d)
    dropped = [*cell.columns]
    kept = [c for c in range(joint.dim(SET)) if c not in dropped and not total <= c < total + cell.rank]
    if not _is_function(joint, dropped, kept):
        raise NoFormError("the same product is combined several times")
    return _placed(term, head, value, rank)


def scaling_apart(form: NormalForm) -> tuple[NormalForm, NormalForm] | None:
    """What multiplies the old values, and then what is added to them, as two forms; None for other forms, and where all
    is multiplied after it was added up."""
    own = next((x for x in form.terms if len(x.heads) == 1 and is_own(x.heads[0], x, form)), None)
    rest = tuple(x for x in form.terms if x is not own)
    if own is None or form.op != "add" or not rest or any(x.array == form.target for y in rest for x in y.cells):
        return None
    if not columns(own.points, range(form.rank)).is_equal(form.lost) or all(_has_scale(x, own) for x in rest):
        return None
    return replace(form, terms=(own,), sums=False), replace(form, terms=rest, lost=form.lost.subtract(form.lost))


def _has_scale(term: Term, other: Term) -> bool:
    """Whether a term is multiplied by what another one is."""
    left = list(term.coefficients)
    for x in other.coefficients:
        if x not in left:
            return False
        left.remove(x)
    return bool(other.coefficients) or term.negative == other.negative
