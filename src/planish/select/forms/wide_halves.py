"""Halves of wide lanes: what is shifted out of products of twice the bits, by even and by odd iterations.

The product of two lanes of 32 bits has 64, so that a register has room for every other one. Where a quotient of it is
wanted, that of even iterations is brought into the low half of its wide lane, that of odd ones into the high half, and
one instruction takes both halves.

>>> from planish.isa.semantics.node import const
>>> product = build.multiply(*(build.bits(x, const(0), 32, True) for x in "xy"))
>>> low, high = halves_of(build.shift_right(product, const(31)), 32)
>>> low.op, high is build.multiply(product, const(2))
('shr', True)
"""

from __future__ import annotations

import numpy as np

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, node
from planish.select.demand import Demand
from planish.select.lane_table import LaneRow, MovingRows

HALVED = 32
"""The bits of the lanes that are made so: narrower ones have instructions that narrow two registers at once."""


def halves_of(term: Node, width: int) -> tuple[Node, Node] | None:
    """A quotient of what has more than `width` bits as terms in lanes of twice the width: the low half of the first is
    it, and the high half of the second; None where a term is no such quotient."""
    while term.op == "wrap" and int(term.attr[0]) >= width:
        term = term.args[0]
    by = term.args[1].constant if width == HALVED and term.op == "shr" else None
    if by is None or not 0 < by <= width:
        return None
    inner = term.args[0]
    if not max(-inner.low - 1, inner.high) >> width:
        return None
    cut = node("wrap", (inner,), (2 * width, False)) if inner.low < 0 else inner
    return node("shr", (cut, const(by))), build.multiply(inner, const(1 << width - by))


def alternating(rows: MovingRows, width: int) -> LaneRow | None:
    """The cheapest shuffle whose lanes are in turns those of one operand and of another, each where it lies."""
    if rows.most_operands < 2:
        return None
    lanes = np.arange(rows.operands.shape[1])
    found = (rows.operands == lanes % 2).all(axis=1) & (rows.places == lanes * width).all(axis=1)
    return min((rows.rows[at] for at in np.flatnonzero(found)), key=lambda x: x.cost, default=None)


def pair_distance(row: LaneRow, demand: Demand) -> tuple[int, int]:
    """By how many iterations each lane lies behind the one before, and what an instruction leaves in the high half of a
    pair behind what it leaves in the low half. The latter is 0 where all operands are pairs, whose
    halves are treated alike: two instructions do the same."""
    count = len(demand.lanes)
    known = [(at, x[1]) for at, x in enumerate(demand.lanes) if x is not None]
    if len(known) < 2 or len(row.slots) != 2 * count:
        return 0, 0
    (at, first), (other, second) = known[:2]
    if len({len(row.slots[x]) for x in (at, other, count + at)}) > 1:
        return 0, 0  # lanes that read more than others, as the last ones of a window do
    pace = (second - first) // (other - at)
    distances = []
    for (operand, here), (_, beside), (above, there) in zip(
        row.slots[at], row.slots[other], row.slots[count + at], strict=True
    ):
        step, distance = (beside - here) // (other - at), there - here
        bits = row.instruction.operands[operand].bits
        whole = bits // 2 if bits == row.instruction.result else bits
        if step > 0 and above == operand and 0 < distance < whole:
            distances.append(distance * pace // step)
    return pace, min(distances, default=0)
