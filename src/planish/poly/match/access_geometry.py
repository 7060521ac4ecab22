"""Access geometry: each column of a point set as an affine function of a few axes that begin at 0.

>>> import islpy as isl
>>> points = isl.Set("[n] -> { [i, j, n - 1 - j, 2i] : 0 <= i < n and 0 <= j < i }")
>>> first, *_ = geometries(points)
>>> print(first)
n - 1 by n - 1: [1 + x0, 0 + x1, n - 1 - x1, 2 + 2 x0]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations, islice

import islpy as isl

from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, floordiv, mul, normal, show, sub
from planish.ir.types import INDEX
from planish.poly.isl.affine import NotAffineError, affine_text, source_name
from planish.poly.isl.coalesce import coalesce_function
from planish.poly.isl.expression import aff_expr, extreme_expr
from planish.poly.match.normal_form import columns

PARAM, SET = isl.dim_type.param, isl.dim_type.set
Row = tuple[Fraction, ...]
_MOST_BASES, _MOST_SUMS = 60, 4


@dataclass(frozen=True, slots=True)
class Geometry:
    """`extents`: of the axes; column c is `offsets[c]` plus, for each axis, `steps[c][axis]` times its value. `box`:
    there is a point for each combination of values on the axes."""

    extents: tuple[Expr, ...]
    offsets: tuple[Expr, ...]
    steps: tuple[tuple[int, ...], ...]
    box: bool

    def moves(self, axis: int, chosen: Sequence[int]) -> bool:
        """Whether any of some columns moves along an axis."""
        return any(self.steps[c][axis] for c in chosen)

    def __str__(self) -> str:
        texts = []
        for offset, steps in zip(self.offsets, self.steps, strict=True):
            text = show(offset)
            for i, x in enumerate(steps):
                if x:
                    text += f" {'+' if x > 0 else '-'} {'' if abs(x) == 1 else f'{abs(x)} '}x{i}"
            texts.append(text)
        return f"{' by '.join(map(show, self.extents))}: [{', '.join(texts)}]"


@lru_cache(maxsize=4096)
def geometries(points: isl.Set) -> tuple[Geometry, ...]:
    """The ways in which columns serve as axes, so that the others move by whole numbers along them; boxes come first.
    Where columns give no box, the sums of columns that bound the points are tried as well.

    They are guesses: what is built on one is to be checked on the points."""
    total = points.dim(SET)
    found = list(_by_columns(points, total))
    if not any(x.box for x in found) and (sums := _bounding_sums(points)):
        names = [f"x{i}" for i in range(total)]
        values = [" + ".join(f"({n} * {x})" for n, x in zip(row, names, strict=True) if n) for row in sums]
        text = f"{{ [{', '.join(names)}] -> [{', '.join((*names, *values))}] }}"
        wider = points.apply(isl.Map.read_from_str(points.get_ctx(), text))
        found += [x for x in _by_columns(wider, total) if x.box]
    return tuple(sorted(found, key=lambda x: not x.box))


def _by_columns(points: isl.Set, shown: int) -> Iterator[Geometry]:
    """The ways in which columns serve as axes; of the geometry, the first `shown` columns are told."""
    total = points.dim(SET)
    rows = _equalities(points)
    chosen = _representatives(rows, total)
    free = total - len(_eliminated(rows, range(total))[0])
    boxes: dict[int, tuple[Expr, Expr, int] | None] = {}
    for basis in islice(combinations(chosen, free), _MOST_BASES):
        if total > shown and max(basis, default=0) < shown:
            continue
        solved = _solved(rows, basis, total)
        if solved is None:
            continue
        for c in basis:
            if c not in boxes:
                boxes[c] = _box(points, c)
        geometry = _geometry(solved, basis, [x for c in basis if (x := boxes[c]) is not None], points)
        if geometry is not None:
            yield replace(geometry, offsets=geometry.offsets[:shown], steps=geometry.steps[:shown])


def _bounding_sums(points: isl.Set) -> list[tuple[int, ...]]:
    """The sums of two or more columns that are bounded, as the factors of the columns."""
    out: list[tuple[int, ...]] = []
    for constraint in points.simple_hull().get_constraints():
        divisions = constraint.dim(isl.dim_type.div)
        if constraint.is_equality() or divisions and constraint.involves_dims(isl.dim_type.div, 0, divisions):
            continue
        row = tuple(int(_whole(constraint.get_coefficient_val(SET, i))) for i in range(points.dim(SET)))
        last = next((x for x in reversed(row) if x), 0)
        row = tuple(-x for x in row) if last < 0 else row
        if sum(map(bool, row)) > 1 and row not in out:
            out.append(row)
    return out[:_MOST_SUMS]


def _equalities(points: isl.Set) -> list[Row]:
    """The equations between columns, sizes and constants that hold for all points (as rows of factors)."""
    out: list[Row] = []
    hull = points.affine_hull()
    for constraint in hull.get_constraints():
        divisions = constraint.dim(isl.dim_type.div)
        if not constraint.is_equality() or divisions and constraint.involves_dims(isl.dim_type.div, 0, divisions):
            continue
        kinds = ((SET, points.dim(SET)), (PARAM, points.dim(PARAM)))
        row = [_whole(constraint.get_coefficient_val(kind, i)) for kind, size in kinds for i in range(size)]
        out.append((*row, _whole(constraint.get_constant_val())))
    return out


def _whole(value: isl.Val) -> Fraction:
    return Fraction(0) if value.is_zero() else Fraction(int(value.to_python()))


def _eliminated(rows: Sequence[Row], order: Sequence[int]) -> tuple[dict[int, Row], list[Row]]:
    """Rows solved for as many of the columns `order` as can be, and what is left."""
    rest, solved = list(rows), dict[int, Row]()
    for column in order:
        pivot = next((x for x in rest if x[column]), None)
        if pivot is None:
            continue
        rest.remove(pivot)
        unit = tuple(x / pivot[column] for x in pivot)
        rest = [_minus(x, unit, x[column]) for x in rest]
        solved = {c: _minus(x, unit, x[column]) for c, x in solved.items()}
        solved[column] = unit
    return solved, rest


def _minus(row: Row, other: Row, factor: Fraction) -> Row:
    return tuple(x - factor * y for x, y in zip(row, other, strict=True)) if factor else row


def _representatives(rows: Sequence[Row], total: int) -> list[int]:
    """The columns that are no other one's copy, negation or shift, and no constants."""
    solved, _ = _eliminated(rows, range(total - 1, -1, -1))
    out, seen = [], set[Row]()
    for c in range(total):
        if c in solved:
            motion = tuple(-x for i, x in enumerate(solved[c][:total]) if i != c)
            line = tuple(-x if i != c else Fraction(0) for i, x in enumerate(solved[c][:total]))
        else:
            line = tuple(Fraction(i == c) for i in range(total))
            motion = line
        if not any(motion) or line in seen:
            continue
        seen |= {line, tuple(-x for x in line)}
        out.append(c)
    return out


def _solved(rows: Sequence[Row], basis: Sequence[int], total: int) -> dict[int, Row] | None:
    """Every other column by those of the basis; None where it does not follow from them."""
    others = [c for c in range(total) if c not in basis]
    solved, _ = _eliminated(rows, others)
    return solved if len(solved) == len(others) else None


def _box(points: isl.Set, column: int) -> tuple[Expr, Expr, int] | None:
    """The least value of a column, how many it takes, and how far they are apart."""
    line = columns(points, [column])
    low, high = _value(line.dim_min(0)), _value(line.dim_max(0))
    if low is None or high is None:
        return None
    stride = int(line.get_stride(0).to_python())
    return low, add(floordiv(sub(high, low), index(stride)), index(1)), stride


def _value(function: isl.PwAff) -> Expr | None:
    """A function of the sizes wherever it is defined."""
    domain = function.domain()
    function = coalesce_function(function.gist(domain))
    pieces = [aff for _, aff in function.get_pieces()]
    for aff in pieces:
        if len(pieces) == 1 or domain.is_subset(isl.PwAff.from_aff(aff).eq_set(function)):
            return normal(aff_expr(aff, ()))
    return normal(extreme_expr(function, domain)) if pieces else None


def _geometry(
    solved: dict[int, Row], basis: Sequence[int], boxes: Sequence[tuple[Expr, Expr, int]], points: isl.Set
) -> Geometry | None:
    if len(boxes) != len(basis):
        return None
    total, sizes = points.dim(SET), points.dim(PARAM)
    names = [Var(source_name(str(points.get_dim_name(PARAM, i))), INDEX) for i in range(sizes)]
    offsets: list[Expr] = []
    steps: list[tuple[int, ...]] = []
    for c in range(total):
        if c in basis:
            k = list(basis).index(c)
            offsets.append(boxes[k][0])
            steps.append(tuple(boxes[k][2] * (i == k) for i in range(len(basis))))
            continue
        row = solved[c]
        factors = [-row[b] * box[2] for b, box in zip(basis, boxes, strict=True)]
        fixed = [-row[b] for b in basis] + [-x for x in row[total:]]
        if any(x.denominator != 1 for x in (*factors, *fixed)):
            return None
        values = [*(box[0] for box in boxes), *names, index(1)]
        parts = [mul(index(int(x)), value) for x, value in zip(fixed, values, strict=True) if x]
        offsets.append(reduce(add, parts, index(0)))
        steps.append(tuple(map(int, factors)))
    extents = tuple(box[1] for box in boxes)
    return Geometry(extents, tuple(offsets), tuple(steps), _is_box(points, extents, offsets, steps))


def _is_box(
    points: isl.Set, extents: Sequence[Expr], offsets: Sequence[Expr], steps: Sequence[Sequence[int]]
) -> bool:
    """Whether all combinations of values on the axes are points, for sizes with which there are any."""
    try:
        bounds = " and ".join(f"0 <= x{i} < {affine_text(x)}" for i, x in enumerate(extents))
        values = [_text(x, row) for x, row in zip(offsets, steps, strict=True)]
    except NotAffineError:
        return False
    names = ", ".join(str(points.get_dim_name(PARAM, i)) for i in range(points.dim(PARAM)))
    axes = ", ".join(f"x{i}" for i in range(len(extents)))
    text = f"[{names}] -> {{ [{axes}] -> [{', '.join(values)}] : {bounds} }}" if bounds else ""
    if not text:
        return True
    every = isl.Map.read_from_str(points.get_ctx(), text).range()
    return bool(every.intersect_params(points.params()).is_subset(points))


def _text(offset: Expr, steps: Sequence[int]) -> str:
    return affine_text(offset) + "".join(f" + ({n} * x{i})" for i, n in enumerate(steps) if n)
