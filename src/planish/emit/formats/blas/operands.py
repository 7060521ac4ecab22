"""BLAS operands: a matrix is a pointer and a leading dimension, a vector a pointer and an increment.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> from planish.ir.types import F64
>>> array = Array("A", F64, (index("m"), index("n")))
>>> column = View("A", (index(0), index(3)), ((1, 0),), (index("m"),))
>>> vector = as_vector(column, array)
>>> print_expr(vector.increment), [print_expr(x) for x in vector.first]
('n', ['0', '3'])
>>> back = View("A", (index(0), parse_expr("n - 1")), ((0, -2),), (index(4),))
>>> vector = as_vector(back, array)
>>> print_expr(vector.increment), [print_expr(x) for x in vector.first]
('-2', ['0', 'n - 7'])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planish.emit.formats.numpy.array_statements import ViewLoop
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import add, constant, mul, neg, normal, polynomial, sub
from planish.ir.nest import Array, Assign, Reduce
from planish.ir.types import Type
from planish.raising.raised import View

Order = Literal["row", "column"]


@dataclass(frozen=True, slots=True)
class BlasFlag:
    """A word that CBLAS has a name for: "RowMajor", "Trans"."""

    word: str


@dataclass(frozen=True, slots=True)
class BlasSize:
    """A size, a leading dimension or an increment; `least` is the smallest that is allowed (None: any)."""

    value: Expr
    least: Expr | None = index(0)


@dataclass(frozen=True, slots=True)
class BlasValue:
    """A number of the elements' type."""

    value: Expr


@dataclass(frozen=True, slots=True)
class BlasPointer:
    """The address of an element."""

    array: str
    at: tuple[Expr, ...]


Argument = BlasFlag | BlasSize | BlasValue | BlasPointer


@dataclass(frozen=True, slots=True)
class RoutineCall:
    """A routine ("gemm", without the letter of its type) and its arguments, for each iteration of some loops.

    `result` is an update of an element by what the call returns (its own value is left out). `conditions`: what has to
    hold of the arguments, apart from what holds of numbers.
    """

    function: str
    type: Type
    arguments: tuple[Argument, ...]
    conditions: tuple[Expr, ...] = ()
    result: Assign | Reduce | None = None
    loops: tuple[ViewLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class BlasVector:
    """`count` elements of an array, `increment` apart; `first` is the one with the lowest address.

    `descends`: the increment is negative. `conditions`: what has to hold when it runs.
    """

    array: str
    first: tuple[Expr, ...]
    count: Expr
    increment: Expr
    descends: bool = False
    conditions: tuple[Expr, ...] = ()

    def arguments(self, signed: bool = True) -> tuple[Argument, ...]:
        """The pointer and the increment; not `signed`: from the lowest address on, whatever the order is."""
        turned = self.descends and not signed
        return BlasPointer(self.array, self.first), BlasSize(neg(self.increment) if turned else self.increment, None)


@dataclass(frozen=True, slots=True)
class BlasMatrix:
    """`rows` times `columns` elements, which lie in rows or in columns that are `leading` elements apart."""

    array: str
    first: tuple[Expr, ...]
    rows: Expr
    columns: Expr
    leading: Expr
    order: Order

    def arguments(self) -> tuple[Argument, ...]:
        """The pointer and the leading dimension."""
        contiguous = self.columns if self.order == "row" else self.rows
        return BlasPointer(self.array, self.first), BlasSize(self.leading, contiguous)

    def turn(self, order: Order) -> BlasFlag:
        """How it is read by a routine that takes all matrices for rows, or for columns."""
        return BlasFlag("NoTrans" if self.order == order else "Trans")


def major(order: Order) -> BlasFlag:
    """How all matrices lie."""
    return BlasFlag("RowMajor" if order == "row" else "ColMajor")


def stride_of(view: View, dimension: int, array: Array) -> Expr:
    """How many elements apart two neighbours along a dimension of a view are."""
    out: Expr = index(0)
    row: Expr = index(1)
    for d in reversed(range(len(array.shape))):
        out = add(out, mul(index(view.steps[dimension][d]), row))
        extent = array.shape[d]
        if extent is not None:
            # Only the first extent may be unknown, and it does not matter.
            row = mul(row, extent)
    return normal(out)


def as_vector(view: View, array: Array) -> BlasVector | None:
    """A view of one dimension, whose elements are a known, even distance apart that is not zero."""
    if len(view.steps) != 1:
        return None
    stride = stride_of(view, 0, array)
    signs = {c > 0 for c in polynomial(stride).values()}
    if not signs:
        return None
    count = view.shape[0]
    if signs == {False}:
        last = sub(count, index(1))
        first = tuple(add(x, mul(index(step), last)) for x, step in zip(view.start, view.steps[0], strict=True))
        known = () if constant(stride) is not None else (Compare("le", stride, index(-1)),)
        return BlasVector(view.array, first, count, stride, True, known)
    known = () if constant(stride) is not None else (Compare("ge", stride, index(1)),)
    return BlasVector(view.array, view.start, count, stride, False, known)


def as_matrix(view: View, array: Array) -> BlasMatrix | None:
    """A view of two dimensions of which one has its elements side by side."""
    if len(view.steps) != 2:
        return None
    down, along = stride_of(view, 0, array), stride_of(view, 1, array)
    rows, columns = view.shape
    if constant(along) == 1:
        return BlasMatrix(view.array, view.start, rows, columns, down, "row")
    if constant(down) == 1:
        return BlasMatrix(view.array, view.start, rows, columns, along, "column")
    return None
