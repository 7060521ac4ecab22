"""Shapes of the tiles that blocks make of a contraction, and which one is for which sizes.

Large tiles read each operand less often; small ones are for small matrices, and for few: a device is busy when each of
its multiprocessors has a block or two.

>>> from planish.ir.expr import index
>>> [x.shape.extents for x in choose_tiles(index("n"), index("m"), (), 4)]
[(128, 128), (64, 64), (32, 32)]
>>> print(choose_tiles(index("n"), index("n"), (index("b"),), 8)[0].where)
n > 32 && (n + 63) // 64 * ((n + 63) // 64) * b >= 198
>>> [(x.shape.extents, x.where) for x in choose_tiles(index(64), index(64), (index("b"),), 4)]
[((64, 64), 'b >= 66'), ((32, 32), '')]
>>> [x.shape.extents for x in choose_tiles(index(48), index(200), (index("b"),), 4)]
[(32, 32)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from planish.ir.expr import Binary, Compare, Const, Expr, index
from planish.ir.index.simplify import simplify
from planish.ir.text.printer import print_expr
from planish.ir.types import BOOL

TRUE = Const(True, BOOL)
_PAD, _LEAST = 16, 8
"""Bytes at the end of a row of a copy, and the products from one at least."""


@dataclass(frozen=True, slots=True)
class DeviceRoom:
    """What a device has room for: blocks on so many multiprocessors, each with so many bytes of shared memory; so many
    copies of an operand (`stages`): of two, one is used while the other one is filled."""

    multiprocessors: int = 132
    shared_bytes: int = 49152
    stages: int = 2


ANY_ROOM = DeviceRoom()
"""Where nothing is known of a device."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """How a block makes a tile: `warps`, and the threads of one (`lanes`), along rows and columns; what a thread has of
    either, so many groups (`groups`) of so many neighbours (`width`); `depth`, the products of a sum from one copy."""

    warps: tuple[int, int]
    lanes: tuple[int, int]
    groups: tuple[int, int]
    width: int
    depth: int

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.warps[0] * self.warps[1] * self.lanes[0] * self.lanes[1]

    @property
    def own(self) -> tuple[int, int]:
        """The rows and columns of a thread."""
        return self.groups[0] * self.width, self.groups[1] * self.width

    @property
    def extents(self) -> tuple[int, int]:
        """The rows and columns of a tile."""
        rows, columns = self.own
        return self.warps[0] * self.lanes[0] * rows, self.warps[1] * self.lanes[1] * columns

    def fitted(self, size: int, room: DeviceRoom) -> TileShape:
        """The shape for elements of `size` bytes, with fewer products from one copy where copies have no room.

        >>> SHAPES[4][0].fitted(4, DeviceRoom()).depth, SHAPES[4][0].fitted(4, DeviceRoom(132, 32768)).depth
        (16, 8)
        """
        row = sum(self.extents) * size + 2 * _PAD
        fits = self.depth <= _LEAST or room.stages * self.depth * row <= room.shared_bytes
        return self if fits else replace(self, depth=self.depth // 2).fitted(size, room)

    def __str__(self) -> str:
        return f"{self.extents[0]} x {self.extents[1]}, {self.own[0]} x {self.own[1]} a thread"


SHAPES: dict[int, tuple[TileShape, ...]] = {
    4: (
        TileShape((4, 2), (4, 8), (2, 2), 4, 16), TileShape((2, 2), (4, 8), (2, 1), 4, 16),
        TileShape((2, 1), (4, 8), (1, 1), 4, 16),
    ),
    8: (TileShape((4, 2), (4, 8), (2, 2), 2, 16), TileShape((2, 1), (4, 8), (2, 2), 2, 16)),
}  # fmt: skip
"""By the bytes of an element, the largest first: threads read 16 bytes of shared memory at once, without conflicts of
banks."""

BUSY = 1.5, 0.5
"""The blocks for each multiprocessor from which on the largest tiles are used, and those that are not the smallest."""


@dataclass(frozen=True, slots=True)
class TileChoice:
    """A shape, and the sizes that it is for, where those before it are not ("": for all)."""

    shape: TileShape
    where: str


def choose_tiles(
    rows: Expr, columns: Expr, outer: Sequence[Expr], size: int, room: DeviceRoom = ANY_ROOM
) -> tuple[TileChoice, ...]:  # fmt: skip
    """The shapes for a contraction of so many rows and columns, as often as `outer` iterations say, with elements of
    `size` bytes; a shape is for matrices that are larger than the next smaller one."""
    out = list[TileChoice]()
    shapes = [x.fitted(size, room) for x in SHAPES[8 if size > 4 else 4]]
    for number, shape in enumerate(shapes[:-1]):
        smaller = shapes[number + 1].extents
        blocks = [
            Binary("floordiv", Binary("add", x, index(extent - 1)), index(extent))
            for x, extent in zip((rows, columns), shape.extents, strict=True)
        ]
        count = reduce(lambda a, b: Binary("mul", a, b), (*blocks, *outer))
        least = int(BUSY[min(number, 1)] * room.multiprocessors)
        asked = (
            *(Compare("gt", x, index(extent)) for x, extent in zip((rows, columns), smaller, strict=True)),
            Compare("ge", count, index(least)),
        )
        left = [x for x in dict.fromkeys(map(simplify, asked)) if x != TRUE]
        # Of matrices that are known to be smaller no tile is whole.
        beyond = any(isinstance(x, Const) and x.value < y for x, y in zip((rows, columns), shape.extents, strict=True))
        if beyond or any(isinstance(x, Const) for x in left):
            continue
        out.append(TileChoice(shape, " && ".join(print_expr(x) for x in left)))
        if not left:
            return tuple(out)
    return (*out, TileChoice(shapes[-1], ""))
