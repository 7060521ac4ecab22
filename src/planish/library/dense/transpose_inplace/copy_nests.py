"""Recognises nests that only copy elements, and whether they transpose a square matrix in place.

Nothing depends on how the nest is written: each copy is followed to the element that its value was in at first, and the
last copy to an element says what is there in the end.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.poly.scop.extraction import extract_scop
>>> swap = "alloc t: f64[] t[] = A[i, j] A[i, j] = A[j, i] A[j, i] = t[]"
>>> text = "kernel k(n, lda; A: f64[n, lda]) { for i in 0 .. n { for j in i + 1 .. n { %s } } }" % swap
>>> found = find_mirror(extract_scop(parse_kernel(text)), {"A"})
>>> found.array, print_expr(found.order)
('A', 'n')
>>> find_mirror(extract_scop(parse_kernel(text.replace("A[j, i] = t[]", "A[i, j] = t[]"))), {"A"}) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import islpy as isl

from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import add, sub
from planish.ir.nest import Assign
from planish.poly.isl.affine import NotAffineError, affine_text, source_name
from planish.poly.isl.expression import extreme_expr
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.dependence import Dependences, find_dependences
from planish.poly.scop.extraction import Scop, Statement

IN, OUT, PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param
_MOST_STEPS = 8
"""A value that is copied more often before it comes to its place is not followed."""


@dataclass(frozen=True, slots=True)
class InplaceTranspose:
    """A matrix of `order` rows and columns that is transposed where it is. Its first element has the subscripts `start`
    in an array, of which the last two are those of rows and columns."""

    array: str
    start: tuple[Expr, ...]
    order: Expr


def find_mirror(scop: Scop, arrays: Set[str]) -> InplaceTranspose | None:
    """The matrix that a nest transposes where it is; None where it does something else, or more. Only what is in some
    arrays is needed after it."""
    if not scop.statements or not all(map(_is_copy, scop.statements)):
        return None
    moves = find_moves(scop, find_dependences(scop), arrays)
    found = list_maps(moves) if moves is not None else []
    try:
        return _mirror(found[0], scop.context) if len(found) == 1 else None
    except NotAffineError:
        return None


def find_moves(scop: Scop, dependences: Dependences, arrays: Set[str]) -> isl.UnionMap | None:
    """The elements of some arrays that a nest of copies changes, each with the element that had its new value before;
    None where that is not known."""
    origins = _origins(scop, dependences)
    if origins is None:
        return None
    _, stores = scop.uses(arrays)
    again = stores.apply_range(stores.reverse()).intersect(dependences.order)
    moves = stores.subtract_domain(again.domain()).reverse().apply_range(origins)
    return moves.subtract(moves.domain().identity())


def _is_copy(statement: Statement) -> bool:
    """Whether a statement stores an element as it is, which is all that it reads."""
    value, lets = statement.stmt.value, {x.var: x.value for x in statement.lets}
    while isinstance(value, Var) and value.name in lets:
        value = lets[value.name]
    return isinstance(statement.stmt, Assign) and isinstance(value, Load) and len(statement.accesses) == 2


def _origins(scop: Scop, dependences: Dependences) -> isl.UnionMap | None:
    """The instances of copies, each with the element that its value was in at first."""
    sources, found = dependences.flow.reverse(), dependences.live_in
    # Where it is not known which of the earlier stores counts, all of them are named.
    unsure = not sources.domain().intersect(found.domain()).is_empty()
    if unsure or not sources.is_single_valued() or not found.is_single_valued():
        return None
    for _ in range(_MOST_STEPS):
        if scop.domain.is_subset(found.domain()):
            return found
        found = found.union(sources.apply_range(found))
    return None


def _mirror(moves: isl.Map, context: isl.Set) -> InplaceTranspose | None:
    """The matrix whose elements move in this way where it is transposed; None where these do not move so. Raises
    NotAffineError where its place is no simple function of the sizes."""
    rank, name, points = moves.dim(IN), moves.get_tuple_name(IN), moves.domain()
    if rank < 2 or moves.get_tuple_name(OUT) != name or points.is_empty():
        return None
    ends = [_ends(points, d) for d in range(rank)]
    start = tuple(low for low, _ in ends)
    order = add(sub(ends[-1][1], start[-1]), index(1))
    if not moves.is_equal(_transposition(moves, start, order).intersect_params(context)):
        return None
    return InplaceTranspose(source_name(name), start, order)


def _transposition(like: isl.Map, start: Sequence[Expr], order: Expr) -> isl.Map:
    """The elements of a matrix that is transposed where it is, but for those on the diagonal, each with the one that
    comes there: between the spaces, and over the sizes, of another map."""
    sizes = ", ".join(str(like.get_dim_name(PARAM, i)) for i in range(like.dim(PARAM)))
    *around, row, column = map(affine_text, start)
    here, there = ([*around, f"{row} + {x}", f"{column} + {y}"] for x, y in (("x", "y"), ("y", "x")))
    inside = " and ".join(f"0 <= {x} < {affine_text(order)}" for x in "xy")
    text = f"[{sizes}] -> {{ [x, y] -> [%s] : {inside} and x != y }}"
    first, second = (isl.Map.read_from_str(like.get_ctx(), text % ", ".join(at)) for at in (here, there))
    name = like.get_tuple_name(IN)
    return first.reverse().apply_range(second).set_tuple_name(IN, name).set_tuple_name(OUT, name)


def _ends(points: isl.Set, dimension: int) -> tuple[Expr, Expr]:
    """The least and the greatest subscript in a dimension, for sizes with which there are any points."""
    there = points.params()
    return extreme_expr(points.dim_min(dimension), there), extreme_expr(points.dim_max(dimension), there)
