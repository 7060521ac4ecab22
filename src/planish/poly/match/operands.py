"""Operands: what the cells of a nest are as functions of the subscripts of a definition's cells.

Where the columns of both have the same axes, the operands follow; that every point of one then is a point of the other
is asked of isl, so that a wrong guess can only miss a match.

>>> points = isl.Set("[n_of_definition] -> { [i, i] : 0 <= i < n_of_definition }")
>>> others = isl.Set("[m] -> { [i, m + 2 - i] : 2 <= i < m + 2 }")
>>> cells = (Cell("x", 0, 1), Cell("A", 0, 1)), (Cell("y", 1, 1), Cell("B", 1, 1))
>>> piece = PointPiece(points, others, cells, "a copy")
>>> bound = next(candidates([piece], Bindings({}, {}), False))
>>> print(*bound.operands.values(), check_piece(piece, bound, True, others.params()))
A[2 + x0] B[m - x0] None
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import TypeVar

import islpy as isl

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, coefficient_of, mul, names, place, same, show, sub
from planish.poly.isl.affine import NotAffineError, affine_text, isl_name
from planish.poly.isl.sample import small_point
from planish.poly.match.access_geometry import Geometry, geometries
from planish.poly.match.normal_form import Cell, columns

PARAM, SET = isl.dim_type.param, isl.dim_type.set
OWN = "_of_definition"
"""What the names of a definition's sizes end with here, so that they are none of the nest's."""
_MOST_FLIPS = 4


class OperandMismatchError(Exception):
    """A form is not what a definition says; the text says what differs, `level` how much was the same before."""

    def __init__(self, reason: str, level: int) -> None:
        super().__init__(reason)
        self.reason, self.level = reason, level


@dataclass(frozen=True, slots=True)
class MatchedOperand:
    """Element [x0, x1, ..] is the array's at `start[d]` plus, for each i, `steps[i][d]` times xi."""

    array: str
    start: tuple[Expr, ...]
    steps: tuple[tuple[int, ...], ...]

    @property
    def is_window(self) -> bool:
        """Whether two of its dimensions step through one subscript, as where it has elements more than once."""
        return any(sum(map(bool, steps)) > 1 for steps in zip(*self.steps, strict=True))

    def __str__(self) -> str:
        texts = []
        for d, start in enumerate(self.start):
            text = show(start)
            for i, step in enumerate(x[d] for x in self.steps):
                if step:
                    text += f" {'+' if step > 0 else '-'} {f'{abs(step)} * ' * (abs(step) != 1)}x{i}"
            texts.append(text)
        return f"{self.array}[{', '.join(texts)}]"


@dataclass(frozen=True, slots=True)
class Bindings:
    """What is known so far; sizes are named as in the definition."""

    operands: Mapping[str, MatchedOperand]
    sizes: Mapping[str, Expr]

    def size(self, name: str) -> Expr:
        """What a size of the definition is."""
        return self.sizes[name + OWN]


@dataclass(frozen=True, slots=True, eq=False)
class PointPiece:
    """Points of the definition and those of the nest that should be the same, and the cells in their columns."""

    own: isl.Set
    other: isl.Set
    cells: tuple[tuple[Cell, Cell], ...]
    text: str


T = TypeVar("T", isl.Set, isl.Map)


def own_sizes(points: T) -> T:
    """A definition's points, or pairs of them, with names of its own for its sizes."""
    for i in range(points.dim(PARAM)):
        points = points.set_dim_name(PARAM, i, f"{points.get_dim_name(PARAM, i)}{OWN}")
    return points


def candidates(pieces: Sequence[PointPiece], bound: Bindings, flipped: bool, alike: bool = True) -> Iterator[Bindings]:
    """What the operands and sizes may be, by the axes of one piece after the other; `flipped`: axes may be counted from
    their ends. Without `alike`, points may fill a box on one side only, so that they cannot be the same."""
    if not pieces:
        yield bound
        return
    piece, rest = pieces[0], pieces[1:]
    own = next(iter(geometries(piece.own)), None)
    if own is None:
        return
    for other in geometries(piece.other):
        if len(other.extents) != len(own.extents) or alike and other.box != own.box:
            continue
        for axes in _axes(own, other, piece.cells):
            count = len(axes)
            turns = product((False, True), repeat=count) if flipped and count <= _MOST_FLIPS else [(False,) * count]
            for turned in turns:
                wider = _bind_operands(piece, own, _turned(other, axes, turned), bound)
                if wider is not None:
                    yield from candidates(rest, wider, flipped, alike)


def may_turn(piece: PointPiece) -> bool:
    """Whether it makes a difference from which end an axis is counted."""
    own = next(iter(geometries(piece.own)), None)
    if own is None or own.box and all(sum(map(bool, row)) <= 1 for row in own.steps) and not _is_shifted(piece, own):
        return False
    return len(own.extents) <= _MOST_FLIPS


def _is_shifted(piece: PointPiece, own: Geometry) -> bool:
    """Whether the definition uses elements of one array that lie apart."""
    for (a, _), (b, _) in combinations(piece.cells, 2):
        for x, y in zip(a.columns, b.columns, strict=False):
            if a.array == b.array and own.steps[x] == own.steps[y] and own.offsets[x] != own.offsets[y]:
                return True
    return False


def _axes(own: Geometry, other: Geometry, cells: Sequence[tuple[Cell, Cell]]) -> Iterator[tuple[int, ...]]:
    """For each axis of the definition one of the nest, such that the same factors move along both."""
    kinds = [tuple(own.moves(x, a.columns) for a, _ in cells) for x in range(len(own.extents))]
    others = [tuple(other.moves(x, b.columns) for _, b in cells) for x in range(len(own.extents))]
    if sorted(kinds) != sorted(others):
        return
    groups = {kind: [x for x, k in enumerate(others) if k == kind] for kind in kinds}
    places = {kind: [x for x, k in enumerate(kinds) if k == kind] for kind in groups}
    for chosen in product(*(permutations(groups[kind]) for kind in groups)):
        axes = [0] * len(kinds)
        for kind, row in zip(groups, chosen, strict=True):
            for at, axis in zip(places[kind], row, strict=True):
                axes[at] = axis
        yield tuple(axes)


def _turned(geometry: Geometry, axes: Sequence[int], turned: Sequence[bool]) -> Geometry:
    """A geometry with its axes in another order, some of them counted from their ends."""
    extents = tuple(geometry.extents[x] for x in axes)
    offsets = list(geometry.offsets)
    steps = []
    for c, row in enumerate(geometry.steps):
        fresh = [row[x] for x in axes]
        for i, flip in enumerate(turned):
            if flip and fresh[i]:
                offsets[c] = add(offsets[c], mul(index(fresh[i]), sub(extents[i], index(1))))
                fresh[i] = -fresh[i]
        steps.append(tuple(fresh))
    return Geometry(extents, tuple(offsets), tuple(steps), geometry.box)


def _bind_operands(piece: PointPiece, own: Geometry, other: Geometry, bound: Bindings) -> Bindings | None:
    """What is known with the operands of one piece; None where they contradict what was known."""
    sizes = _bind_sizes(own.extents, other.extents, bound.sizes)
    operands = dict(bound.operands)
    for a, b in piece.cells:
        if a.array not in operands:
            found = _operand(a, b, own, other, sizes)
            if found is None:
                return None
            operands[a.array] = found
        elif not _is_there(operands[a.array], a, b, own, other, sizes):
            return None
    return Bindings(operands, sizes)


def _is_there(
    operand: MatchedOperand, own: Cell, other: Cell, mine: Geometry, theirs: Geometry, sizes: Mapping[str, Expr]
) -> bool:
    """Whether a cell of the nest is where an operand has the definition's."""
    if operand.array != other.array:
        return False
    for d, c in enumerate(other.columns):
        factors = [steps[d] for steps in operand.steps]
        place_ = operand.start[d]
        for factor, x in zip(factors, own.columns, strict=True):
            place_ = add(place_, mul(index(factor), place(mine.offsets[x], sizes)))
        rows = [mine.steps[x] for x in own.columns]
        moves = tuple(sum(f * row[a] for f, row in zip(factors, rows, strict=True)) for a in range(len(mine.extents)))
        if moves != theirs.steps[c] or not same(place_, theirs.offsets[c]):
            return False
    return True


def _bind_sizes(own: Sequence[Expr], other: Sequence[Expr], known: Mapping[str, Expr]) -> dict[str, Expr]:
    """The sizes of the definition that follow from the extents of axes."""
    out = dict(known)
    for _ in own:
        for mine, theirs in zip(own, other, strict=True):
            left = place(mine, out)
            unknown = sorted(x for x in names(left) if x.endswith(OWN))
            parts = coefficient_of(left, unknown[0]) if len(unknown) == 1 else None
            if parts is not None and parts[0] in (1, -1):
                value = sub(theirs, parts[1])
                out[unknown[0]] = value if parts[0] == 1 else mul(index(-1), value)
    return out


def _operand(
    own: Cell, other: Cell, mine: Geometry, theirs: Geometry, sizes: Mapping[str, Expr]
) -> MatchedOperand | None:
    """What the nest's cell is as a function of the subscripts of the definition's cell."""
    columns_: list[tuple[int, ...]] = []
    start: list[Expr] = []
    for c in other.columns:
        solved = _combination([mine.steps[x] for x in own.columns], theirs.steps[c])
        if solved is None:
            return None
        columns_.append(solved)
        offset = theirs.offsets[c]
        for step, x in zip(solved, own.columns, strict=True):
            offset = sub(offset, mul(index(step), place(mine.offsets[x], sizes)))
        start.append(offset)
    steps = tuple(tuple(row[i] for row in columns_) for i in range(own.rank))
    return MatchedOperand(other.array, tuple(start), steps)


def _combination(rows: Sequence[Sequence[int]], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Whole numbers by which rows add up to a row; None where there are none."""
    system = [[*(Fraction(row[x]) for row in rows), Fraction(wanted[x])] for x in range(len(wanted))]
    pivots: list[tuple[int, int]] = []
    done = 0
    for column in range(len(rows)):
        at = next((i for i in range(done, len(system)) if system[i][column]), None)
        if at is None:
            continue
        system[done], system[at] = system[at], system[done]
        pivot = system[done]
        system[done] = [x / pivot[column] for x in pivot]
        for i, line in enumerate(system):
            if i != done and line[column]:
                system[i] = [x - line[column] * y for x, y in zip(line, system[done], strict=True)]
        pivots.append((column, done))
        done += 1
    if any(line[-1] for line in system[done:]):
        return None
    out = [Fraction(0)] * len(rows)
    for column, line_ in pivots:
        out[column] = system[line_][-1]
    return tuple(map(int, out)) if all(x.denominator == 1 for x in out) else None


def check(
    sizes: Sequence[str], pieces: Sequence[PointPiece], bound: Bindings, count: bool, assumed: isl.Set, context: isl.Set
) -> OperandMismatchError | None:
    """What is wrong with a guess, if anything is: a size that is missing, one that the definition does not allow
    (`assumed`, where the nest's are in `context`), or points that only one side has. Where points `count`, none may
    stand for two."""
    try:
        allowed = allowed_sizes(sizes, bound, assumed, context)
    except OperandMismatchError as error:
        return error
    if not context.is_subset(allowed):
        return OperandMismatchError("its sizes may be some that the definition does not allow", 3)
    return check_pieces(pieces, bound, count, context)


def allowed_sizes(sizes: Sequence[str], bound: Bindings, assumed: isl.Set, context: isl.Set) -> isl.Set:
    """Those of the nest's sizes in `context` that a definition allows (`assumed`); raises MismatchError where there are
    none, or one is missing."""
    missing = [x for x in sizes if x + OWN not in bound.sizes]
    if missing:
        raise OperandMismatchError(f"nothing says what the size `{missing[0]}` is", 2)
    try:
        allowed = context.intersect(with_sizes(assumed, bound.sizes))
    except NotAffineError as error:
        raise OperandMismatchError(f"an operand has no affine place: {error.reason}", 2) from error
    if allowed.is_empty():
        raise OperandMismatchError("its sizes are none that the definition allows", 3)
    return allowed


def check_pieces(
    pieces: Sequence[PointPiece], bound: Bindings, count: bool, context: isl.Set
) -> OperandMismatchError | None:
    """What is wrong with a guess for any of some sets of points."""
    try:
        found = (check_piece(piece, bound, count, context) for piece in pieces)
        return next((x for x in found if x is not None), None)
    except NotAffineError as error:
        return OperandMismatchError(f"an operand has no affine place: {error.reason}", 2)


def check_piece(piece: PointPiece, bound: Bindings, count: bool, context: isl.Set) -> OperandMismatchError | None:
    """What is wrong with a guess for one set of points; raises NotAffineError."""
    there = placement(piece, bound, context)
    if count and not there.is_injective():
        return OperandMismatchError(f"operands of `{piece.text}` overlap", 4)
    image, other = there.range(), columns(piece.other, [c for _, b in piece.cells for c in b.columns])
    for extra, missing, told in ((other, image, "goes into"), (image, other, "does not go into")):
        rest = extra.subtract(missing)
        if not rest.is_empty():
            return OperandMismatchError(_describe(piece, rest, told), 4)
    return None


def placement(piece: PointPiece, bound: Bindings, context: isl.Set) -> isl.Map:
    """From the points of the definition to those that they are in the nest, the cells in the order of the piece."""
    own = with_sizes(piece.own, bound.sizes).intersect_params(context)
    known = piece.other.get_space().params()
    used = [str(known.get_dim_name(PARAM, i)) for i in range(known.dim(PARAM))]
    subscripts: list[str] = []
    for a, b in piece.cells:
        operand = bound.operands[a.array]
        for d in range(b.rank):
            text = f"({affine_text(operand.start[d])})"
            for i, x in enumerate(a.columns):
                text += f" + ({operand.steps[i][d]} * x{x})"
            subscripts.append(text)
    text = f"[{', '.join(f'x{i}' for i in range(own.dim(SET)))}] -> [{', '.join(subscripts)}]"
    there = isl.Map.read_from_str(own.get_ctx(), f"[{', '.join(used)}] -> {{ {text} }}")
    return there.intersect_domain(own)


def with_sizes(points: T, sizes: Mapping[str, Expr]) -> T:
    """A definition's points, or pairs of them, with expressions over the nest's sizes in the place of its own."""
    own: list[str] = [str(points.get_dim_name(PARAM, i)) for i in range(points.dim(PARAM))]
    wanted = [x for x in own if x in sizes]
    if not wanted:
        return points
    used: list[str] = sorted({isl_name(y) for x in wanted for y in names(sizes[x])})
    equal = " and ".join(f"{x} = {affine_text(sizes[x])}" for x in wanted)
    text = f"[{', '.join(dict.fromkeys([*own, *used]))}] -> {{ : {equal} }}"
    points = points.intersect_params(isl.Set.read_from_str(points.get_ctx(), text))
    for x in wanted:
        points = points.project_out(PARAM, points.find_dim_by_name(PARAM, x), 1)
    return points


def _describe(piece: PointPiece, points: isl.Set, told: str) -> str:
    """An example of a product that only one of the two has."""
    point = small_point(isl.UnionSet.from_set(points))
    values = [int(point.get_coordinate_val(SET, i).to_python()) for i in range(points.dim(SET))]
    cells, at = [], 0
    for _, b in piece.cells:
        cells.append(f"{b.array}[{', '.join(map(str, values[at : at + b.rank]))}]")
        at += b.rank
    sizes = [
        f"{points.get_dim_name(PARAM, i)} = {int(point.get_coordinate_val(PARAM, i).to_python())}"
        for i in range(points.dim(PARAM))
    ]
    what = " * ".join(cells[1:]) if cells[1:] else "an initial value"
    where = f" ({', '.join(sizes)})" if sizes else ""
    return f"`{what}` {told} `{cells[0]}`{where}, other than in the definition"
