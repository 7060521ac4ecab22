"""Winograd tile and filter transforms: loops around straight-line code, vectorised along the last loop.

>>> from planish.ir.expr import Load, index
>>> from planish.ir.text.printer import print_expr
>>> from planish.ir.types import F32
>>> from planish.library.conv.winograd.matrices import F23
>>> code = StraightLineCode(F32, "t")
>>> tile = [[RealValue(Load("d", (index(4 * i + j),), F32)) for j in range(4)] for i in range(4)]
>>> made = transform(F23.image, tile, code)
>>> len(made), len(code.lines), print_expr(code.lines[0].value)
(4, 32, 'd[0] - d[8]')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.ir.expr import Expr, Load, index
from planish.ir.nest import Array, Assign, Block, For, Kernel, Let, Stmt
from planish.ir.types import Type
from planish.library.conv.winograd.matrices import Matrix
from planish.library.kernels.fft.butterfly import RealValue, StraightLineCode
from planish.schedule.program import Program
from planish.schedule.steps.facts import Vectorise

Grid = Sequence[Sequence[RealValue]]
Place = Callable[[int, int], tuple[Expr, ...]]
"""The subscripts of an element of a tile, by its row and column."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is read or written: the elements of tiles of an array, so many rows and columns."""

    array: str
    extent: int
    place: Place


@dataclass(frozen=True, slots=True)
class Around:
    """The loops around a transform by their extents, the last one for lanes, what is named inside all but that one, and
    the kernel that it is for: sizes, arrays, and what is known of them."""

    loops: Mapping[str, Expr]
    names: tuple[Let, ...]
    kernel: Kernel


def transform(matrix: Matrix, tile: Grid, code: StraightLineCode) -> list[list[RealValue]]:
    """matrix * tile * matrix', rows first."""
    columns = [list(x) for x in zip(*tile, strict=True)]
    rows = [[_weigh(row, column, code) for column in columns] for row in matrix]
    return [[_weigh(row, line, code) for row in matrix] for line in rows]


def _weigh(weights: Sequence[float], parts: Sequence[RealValue], code: StraightLineCode) -> RealValue:
    return code.weigh(list(zip(weights, parts, strict=True)))


def write_transform(matrix: Matrix, source: Side, target: Side, type: Type, prefix: str, around: Around) -> Block:
    """The loops that set the target's tiles to the transforms of the source's. PlanishError where iterations of the
    last one would meet, which is asked of the polyhedral model."""
    code = StraightLineCode(type, prefix)
    tile = [
        [RealValue(Load(source.array, source.place(i, j), type)) for j in range(source.extent)]
        for i in range(source.extent)
    ]
    made = transform(matrix, tile, code)
    stores = [
        Assign(target.array, target.place(i, j), code.valued(made[i][j]))
        for i in range(target.extent) for j in range(target.extent)
    ]  # fmt: skip
    *outer, (lanes, extent) = around.loops.items()
    body: tuple[Stmt, ...] = (For(lanes, index(0), extent, 1, Block((*code.lines, *stores))),)
    body = (*around.names, *body)
    for var, count in reversed(outer):
        body = (For(var, index(0), count, 1, Block(body)),)
    kernel = replace(around.kernel, body=Block(body))
    return Program.of(kernel).apply(Vectorise(lanes)).kernel.body


def planes(array: Array, extent: int, at: Sequence[Expr], before: Sequence[Expr] = ()) -> Side:
    """Tiles of an array with a dimension for their elements; `at`, `before`: the subscripts behind it and before it."""
    return Side(array.name, extent, lambda i, j: (*before, index(extent * i + j), *at))
