"""The instructions of an extension by the lanes of their results: what can leave lanes of a width in a register.

>>> from planish.select.factored.lane_functions import usable
>>> table = LaneTable(usable("x86", ("SSE", "SSE2")), lambda name: 1.0)
>>> any(x.instruction.entry == "_mm_avg_epu8" for x in table.computing(128, 8))
True
>>> any(x.instruction.entry == "_mm_unpacklo_epi8" for x in table.moving(128, 8).rows)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planish.isa.semantics.node import Node, node, rebuild, walk
from planish.select.factored.lane_functions import LaneInstruction, Piece, divided

Places = tuple[tuple[int, int], ...]
"""For each slot the position of the operand that it reads, and the bit in it."""

_Asked = Callable[[LaneInstruction], bool]
_OF_FLOATS = ("__m128", "__m256", "__m512", "__m128d", "__m256d", "__m512d")


@dataclass(frozen=True, slots=True, eq=False)
class LaneRow:
    """An instruction by lanes of one width: for each lane its function (None: it leaves nothing there), and where each
    slot reads."""

    instruction: LaneInstruction
    functions: tuple[Node | None, ...]
    slots: tuple[Places, ...]
    cost: float

    @property
    def size(self) -> int:
        """How much it does: the nodes of its functions."""
        return sum(1 for _ in walk([x for x in dict.fromkeys(self.functions) if x is not None]))


@dataclass(frozen=True, slots=True, eq=False)
class MovingRows:
    """Rows that only move, with for each lane which operand it comes from (-1: none, -2: it is 0) and from which
    bit; `most_operands`: how many operands they have at most."""

    rows: tuple[LaneRow, ...]
    operands: NDArray[np.int64]
    places: NDArray[np.int64]
    most_operands: int


@dataclass(slots=True, eq=False)
class LaneTable:
    """Rows by the bits of the result and the width of lanes, made when they are asked for: those that compute, and
    those that only move, of which there are many more."""

    instructions: Sequence[LaneInstruction]
    cost_of: Callable[[str], float]
    _computing: dict[tuple[int, int], tuple[LaneRow, ...]] = field(default_factory=dict)
    _moving: dict[tuple[int, int], MovingRows] = field(default_factory=dict)
    _wanted: dict[tuple[int, _Asked], Sequence[LaneInstruction]] = field(default_factory=dict)

    def computing(self, bits: int, width: int) -> tuple[LaneRow, ...]:
        """The rows that compute in registers of so many bits with such lanes, those that do most first; of equal ones
        the cheapest with a short name."""
        key = bits, width
        if key not in self._computing:
            rows = (x for x in self._rows(bits, width, _may_compute) if not _is_move(x, width))
            self._computing[key] = tuple(sorted(rows, key=lambda x: -x.size))
        return self._computing[key]

    def moving(self, bits: int, width: int) -> MovingRows:
        """The rows that only move."""
        key = bits, width
        if key not in self._moving:
            self._moving[key] = self._moves(bits, width)
        return self._moving[key]

    def _of(self, bits: int, wanted: _Asked) -> Sequence[LaneInstruction]:
        """The instructions with such results that are wanted."""
        key = bits, wanted
        if key not in self._wanted:
            self._wanted[key] = tuple(x for x in self.instructions if x.result == bits and wanted(x))
        return self._wanted[key]

    def _rows(self, bits: int, width: int, wanted: _Asked) -> Sequence[LaneRow]:
        """Rows of the instructions that are wanted, of equal ones the best."""
        best: dict[tuple[object, ...], LaneRow] = {}
        for x in self._of(bits, wanted):
            # Lanes of one bit are those of masks.
            if width == 1 and "mask" not in x.result_type:
                continue
            row = _row(x, width, self.cost_of(x.entry))
            if row is None:
                continue
            kinds = tuple((y.role, y.bits) for y in x.operands)
            key = row.functions, row.slots, kinds, _ranges(x)
            known = best.get(key)
            if known is None or _rank(row) < _rank(known):
                best[key] = row
        return tuple(best.values())

    def _moves(self, bits: int, width: int) -> MovingRows:
        moving = tuple(x for x in self._rows(bits, width, _may_move) if _is_move(x, width))
        count = bits // width
        operands = np.full((len(moving), count), -1, dtype=np.int64)
        places = np.zeros((len(moving), count), dtype=np.int64)
        for at, row in enumerate(moving):
            for lane, function in enumerate(row.functions):
                if function is not None and function.op == "const":
                    operands[at, lane] = -2
                elif function is not None:
                    operands[at, lane], places[at, lane] = row.slots[lane][0]
        most_operands = max((len(x.instruction.operands) for x in moving), default=0)
        return MovingRows(moving, operands, places, most_operands)


def _may_move(x: LaneInstruction) -> bool:
    """Whether a row of an instruction may only move: some lanes are what they read."""
    return any(y.function.op == "bits" for y in x.pieces)


def _may_compute(x: LaneInstruction) -> bool:
    """Whether a row of an instruction may do more than move: not all of its lanes are what they read, or 0."""
    return not _may_move(x) or not all(_only_moves(y) for y in x.pieces)


def _only_moves(piece: Piece) -> bool:
    function = piece.function
    if function.op == "bits":
        return str(function.attr[0]).isdigit() and int(function.attr[1]) == piece.width
    return function.op == "const" and function.low == 0


def _ranges(x: LaneInstruction) -> tuple[object, ...]:
    return tuple((y.low, y.high) for y in x.operands if y.role in ("immediate", "scalar"))


def _rank(row: LaneRow) -> tuple[float, bool, int, str]:
    """The cheapest first; of these those of whole numbers, and such with short names."""
    kind, name = row.instruction.result_type, row.instruction.entry
    return row.cost, is_of_floats(kind), len(name), name


def is_of_floats(kind: str) -> bool:
    """Whether a type of C is a register of floats, or of polynomials."""
    return kind in _OF_FLOATS or kind.startswith(("float", "poly"))


def _is_move(row: LaneRow, width: int) -> bool:
    """Whether all lanes are what they read, as wide as it is, or 0."""
    found = [x for x in dict.fromkeys(row.functions) if x is not None]
    reads = [x for x in found if x.op == "bits" and str(x.attr[0]).isdigit() and int(x.attr[1]) == width]
    zeros = [x for x in found if x.op == "const" and x.low == 0]
    return bool(reads) and len(reads) + len(zeros) == len(found)


def _row(x: LaneInstruction, width: int, cost: float) -> LaneRow | None:
    count = x.result // width
    functions: list[Node | None] = [None] * count
    slots: list[Places] = [()] * count
    for piece in x.pieces:
        own = _at_width(piece, width)
        if own is None:
            continue
        places = list(zip(*own.slots, strict=True)) if own.slots else [()] * len(own.lanes)
        for offset, read in zip(own.lanes, places, strict=True):
            if offset % width == 0:
                functions[offset // width] = own.function
                slots[offset // width] = read
    return LaneRow(x, tuple(functions), tuple(slots), cost) if any(functions) else None


def _at_width(piece: Piece, width: int) -> Piece | None:
    if piece.width == width:
        return piece
    if piece.divisible and piece.width > width and piece.width % width == 0:
        return divided(piece, width)
    if piece.width < width and _is_choice(piece.function):
        return _widened(piece, width)
    if piece.divisible and 1 < piece.width < width and width % piece.width == 0:
        return _side_by_side(piece, width)
    return None


_BITWISE = ("and", "or", "xor", "invert", "bits", "wrap", "const")
"""What is the same for wider lanes as for narrower ones; of constants those of all bits or none."""


def _side_by_side(piece: Piece, width: int) -> Piece | None:
    """Bitwise lanes beside one another as one; None where they, or what they read, are not."""
    times, lanes = width // piece.width, list(piece.lanes)
    nodes = list(walk([piece.function]))
    if any(x.op not in _BITWISE or (x.op == "const" and x.low not in (0, -1)) for x in nodes) or len(lanes) % times:
        return None
    places = [[(0, x) for x in lanes], *(list(x) for x in piece.slots)]
    for row in places:
        for at, (operand, offset) in enumerate(row):
            first, start = row[at - at % times]
            if operand != first or offset != start + at % times * piece.width:
                return None

    def widened(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits" and int(old.attr[1]) == piece.width:
            return node("bits", args, (old.attr[0], width, old.attr[2]))
        return node("wrap", args, (width, old.attr[1])) if old.op == "wrap" else node(old.op, args, old.attr)

    if any(int(x.attr[-2]) != piece.width for x in nodes if x.op in ("bits", "wrap")):
        return None
    slots = tuple(tuple(x[::times]) for x in places[1:])
    return Piece(rebuild(piece.function, widened), width, tuple(lanes[::times]), slots, True)


def _is_choice(function: Node) -> bool:
    """Whether a bit chooses one of two slots."""
    args = function.args
    return function.op == "select" and all(x.op == "bits" for x in args) and int(args[0].attr[1]) == 1


def _widened(piece: Piece, width: int) -> Piece | None:
    """Choices beside one another as one, for masks whose bits are the same in a lane."""
    times = width // piece.width
    if width % piece.width or len(piece.lanes) % times:
        return None
    choice, *chosen = piece.function.args
    function = node("select", (choice, *(node("bits", x.args, (x.attr[0], width, False)) for x in chosen)))
    return Piece(function, width, piece.lanes[::times], tuple(x[::times] for x in piece.slots))
