"""Unification: whether a normal form equals a definition's, and with which operands, sizes and scalars.

The factors of each product are tried in each order in which they could be the definition's.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.index.polynomial import show
>>> from planish.poly.match.normal_form import form_of
>>> from planish.poly.scop.extraction import extract_scop
>>> def only(text):
...     scop = extract_scop(parse_kernel(text))
...     return form_of(scop.statements[0], scop.context)
>>> dot = "kernel dot(n; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] * y[i] } }"
>>> back = "kernel k(m; A: f32[m, m], s: f32[2]) { for i in 0 .. m { s[1] += A[i, 0] * A[3, m - 1 - i] } }"
>>> match = agree(pattern_of(parse_kernel(dot), only(dot)), only(back))
>>> for name in sorted(match.operands):
...     print(name, match.operands[name])
s s[1]
x A[0 + x0, 0]
y A[3, m - 1 - x0]
>>> print({name: show(size) for name, size in match.sizes.items()})
{'n': 'm'}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations, product

import islpy as isl

from planish.ir.expr import Expr, Load, Var, type_of
from planish.ir.index.polynomial import names
from planish.ir.nest import Kernel
from planish.ir.traverse import map_expr
from planish.ir.types import INDEX
from planish.poly.isl.affine import NotAffineError
from planish.poly.match.normal_form import IDEMPOTENT, Cell, Head, NormalForm, Term, columns, is_own
from planish.poly.match.operand_orders import turnings
from planish.poly.match.operands import (
    OWN,
    Bindings,
    MatchedOperand,
    OperandMismatchError,
    PointPiece,
    candidates,
    check,
    check_piece,
    may_turn,
    own_sizes,
)
from planish.poly.match.scalars import bind_scalars, number
from planish.poly.match.sum_of_products import whole

PARAM, SET = isl.dim_type.param, isl.dim_type.set
MOST_CHECKS = 48
"""How many guesses are checked."""
_MOST_TURNINGS = 8
"""In how many ways the operands of factors are turned."""


@dataclass(frozen=True, slots=True)
class Unifier:
    """What stands for the arrays, sizes and scalars of a definition, and what has to hold of the nest's sizes."""

    operands: Mapping[str, MatchedOperand]
    sizes: Mapping[str, Expr]
    scalars: Mapping[str, Expr]
    conditions: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A definition as a form, in variants in which some scalars have fixed values: where what multiplies the old values
    is 1, these are kept; where what is stored is 0, nothing is added."""

    kernel: Kernel
    variants: tuple[tuple[NormalForm, Mapping[str, int]], ...]


def pattern_of(kernel: Kernel, form: NormalForm) -> Pattern:
    """What a kernel with that form is compared with."""
    fresh = _renamed(form)
    variants: list[tuple[NormalForm, Mapping[str, int]]] = [(fresh, {})]
    for n, term in enumerate(fresh.terms):
        name = _own_scalar(term, fresh)
        rest = (*fresh.terms[:n], *fresh.terms[n + 1 :])
        if name is not None and not term.heads:
            variants.append((replace(fresh, terms=rest), {name: 0}))
        elif name is not None and len(term.heads) == 1 and is_own(term.heads[0], term, fresh):
            kept = columns(term.points, range(fresh.rank))
            variants.append((replace(fresh, terms=rest, lost=fresh.lost.subtract(kept)), {name: 1}))
    return Pattern(kernel, tuple(variants))


def _own_scalar(term: Term, form: NormalForm) -> str | None:
    """The scalar by which a term of a sum is multiplied, where it stands nowhere else."""
    match term.coefficients:
        case (Var(name=name),) if form.op == "add" and not term.negative:
            others = (x for y in form.terms if y is not term for x in (*y.coefficients, *_scalars(y)))
            return None if any(name in names(x) for x in others) else name
        case _:
            return None


def _scalars(term: Term) -> tuple[Expr, ...]:
    return tuple(x for head in term.heads for x in head.scalars)


def _renamed(form: NormalForm) -> NormalForm:
    terms = tuple(replace(x, points=own_sizes(x.points)) for x in form.terms)
    return replace(form, lost=own_sizes(form.lost), terms=terms, context=own_sizes(form.context))


def agree(pattern: Pattern, form: NormalForm) -> Unifier:
    """The operands with which a definition is a form; raises MismatchError."""
    worst: OperandMismatchError | None = None
    for variant, fixed in pattern.variants:
        try:
            found = _agree(pattern.kernel, variant, form, fixed)
        except OperandMismatchError as error:
            if worst is None or error.level > worst.level:
                worst = error
            continue
        return replace(found, scalars={**found.scalars, **{x: number(n, form.type) for x, n in fixed.items()}})
    assert worst is not None
    raise worst


def _agree(kernel: Kernel, own: NormalForm, other: NormalForm, fixed: Mapping[str, int]) -> Unifier:
    if any(str(name).endswith(OWN) for name in other.lost.get_var_names(PARAM)):
        raise OperandMismatchError(f"a size has a name that ends with {OWN}", 0)
    _compare_outlines(own, other)
    worst = OperandMismatchError("the factors differ", 0)
    best: Unifier | None = None
    for terms in permutations(other.terms):
        try:
            choices = [list(_orders(a, b, own, other)) for a, b in zip(own.terms, terms, strict=True)]
        except OperandMismatchError as error:
            worst = error if error.level > worst.level else worst
            continue
        for ordered in product(*choices):
            try:
                scalars = bind_scalars({x.name for x in kernel.scalars} - fixed.keys(), own, ordered, other.type)
                bound = _place(kernel, own, ordered, other)
            except OperandMismatchError as error:
                worst = error if error.level > worst.level else worst
                continue
            found = Unifier(bound.operands, {x: bound.size(x) for x in kernel.sizes}, scalars)
            if best is None or _turns(found, own.target) < _turns(best, own.target):
                best = found
            if not _turns(best, own.target):
                return best
    if best is None:
        raise worst
    return best


def _turns(match: Unifier, target: str) -> int:
    """How many operands are transposed, or worse, reversed; the output counts more than the inputs together."""
    out = 0
    for name, operand in match.operands.items():
        rows = [[d for d, step in enumerate(steps) if step] for steps in operand.steps]
        reversed_ = any(step < 0 for steps in operand.steps for step in steps)
        out += ((rows != sorted(rows)) + 2 * reversed_) * (len(match.operands) if name == target else 1)
    return out


def _compare_outlines(own: NormalForm, other: NormalForm) -> None:
    """Raise MismatchError where operator, terms or what is kept differ at first sight."""
    stored = all(not x.sums and len(x.terms) == 1 and x.lost.is_equal(x.written) for x in (own, other))
    if own.op != other.op and not stored:
        raise OperandMismatchError(f"values are combined by `{other.op}` where the definition has `{own.op}`", 0)
    if own.rank and not other.rank:
        raise OperandMismatchError(f"`{other.target}` is a scalar where the definition updates an array", 0)
    if len(own.terms) != len(other.terms):
        raise OperandMismatchError(
            f"it combines {_count(len(other.terms))} where the definition has {len(own.terms)}", 0
        )


def _compare_start(own: NormalForm, other: NormalForm) -> None:
    """Raise MismatchError where one keeps all old values, and the other does not."""
    if own.lost.is_empty() and not other.lost.is_empty():
        raise OperandMismatchError(f"the old values of `{other.target}` are lost, which the definition keeps", 3)
    if other.lost.is_empty() and not own.lost.is_empty():
        raise OperandMismatchError(f"the old values of `{other.target}` are kept, which the definition overwrites", 3)


def _count(terms: int) -> str:
    return "one product" if terms == 1 else f"{terms or 'no'} products"


def _orders(a: Term, b: Term, own: NormalForm, other: NormalForm) -> Iterator[tuple[Term, Term]]:
    """The term of the nest with its factors in each order in which they could be the definition's."""
    found = False
    # Long values have many orders: none is looked at where they are spelt in another way.
    alike = sorted(x.text for x in a.heads) == sorted(x.text for x in b.heads)
    written = other.written
    for turned in islice(product(*map(_turned, b.heads)), _MOST_TURNINGS) if alike else ():
        for heads in permutations(turned):
            if all(_fits(x, y, b, own, other, written) for x, y in zip(a.heads, heads, strict=True)):
                found = True
                yield a, replace(b, heads=heads)
    if not found:
        raise OperandMismatchError(f"the product is `{b.describe()}` where the definition has `{a.describe()}`", 1)


def _turned(head: Head) -> list[Head]:
    """A factor with operands that look alike in either order."""
    if head.skeleton is None or any(type_of(x) == INDEX for x in head.scalars):
        return [head]
    cells = {f"#{n}": x for n, x in enumerate(head.cells)}
    scalars = {f"${n}": x for n, x in enumerate(head.scalars)}

    def loaded(part: Expr) -> Expr:
        return Load(part.name, (), part.type) if isinstance(part, Var) and part.name in cells else part

    out = []
    for factor in map(whole, turnings(map_expr(loaded, head.skeleton))):
        if factor.head == head.text:
            found = tuple(cells[x.array] for x in factor.loads)
            others = tuple(scalars[x.name] for x in factor.scalars if isinstance(x, Var))
            out.append(replace(head, cells=found, scalars=others))
    return out


def _fits(own: Head, other: Head, term: Term, first: NormalForm, second: NormalForm, written: isl.Set) -> bool:
    if own.text != other.text or len(own.cells) != len(other.cells) or len(own.scalars) != len(other.scalars):
        return False
    for a, b in zip(own.cells, other.cells, strict=True):
        if a.array == first.target:
            if b.array != second.target:
                return False
        elif b.array == second.target and not columns(term.points, b.columns).is_disjoint(written):
            return False
    return True


def _place(kernel: Kernel, own: NormalForm, terms: Sequence[tuple[Term, Term]], other: NormalForm) -> Bindings:
    """Operands and sizes for which the points are the same; raises MismatchError."""
    target = (Cell(own.target, 0, own.rank), Cell(other.target, 0, other.rank))
    pieces = [
        PointPiece(a.points, b.points, (target, *zip(a.cells, b.cells, strict=True)), b.describe()) for a, b in terms
    ]
    pieces.sort(key=lambda x: -x.own.dim(SET))
    empty = Bindings({}, {})
    turns = any(map(may_turn, pieces))
    ways = (candidates(pieces, empty, x) for x in ((False, True) if turns else (False,)))
    if pieces and all(next(x, None) is None for x in ways):
        raise _explain(pieces)
    _compare_start(own, other)
    if not own.lost.is_empty():
        pieces.append(PointPiece(own.lost, other.lost, (target,), "the initialisation"))
    count = own.op not in IDEMPOTENT
    worst = OperandMismatchError(f"`{other.target}` moves in another way than the definition's output", 2)
    for bound in islice(candidates(pieces, empty, False), MOST_CHECKS):
        error = check(kernel.sizes, pieces, bound, count, own.context, other.context)
        if error is None:
            return bound
        if error.level > worst.level:
            worst = error
    for bound in islice(candidates(pieces, empty, True) if turns else (), MOST_CHECKS):
        if check(kernel.sizes, pieces, bound, count, own.context, other.context) is None:
            return bound
    raise worst


def _explain(pieces: Sequence[PointPiece]) -> OperandMismatchError:
    """Why no operands come into question: subscripts that move in another way, or points that are others."""
    close = next(candidates(pieces, Bindings({}, {}), False, alike=False), None)
    if close is not None:
        try:
            errors = [check_piece(x, close, False, x.other.params()) for x in pieces]
        except (NotAffineError, KeyError):
            errors = []
        for error in errors:
            if error is not None:
                return error
    return OperandMismatchError(f"the subscripts of `{pieces[0].text}` move in another way than the definition's", 2)
