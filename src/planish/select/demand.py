"""Demands on registers: which term at which iteration lies in each lane, modulo 2^width.

>>> from planish.isa.semantics.node import const
>>> Demand.of(128, 64, [(const(1), 0), None]).width
64
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from planish.isa.semantics.node import Node, walk, width_of

Lane = tuple[Node, int]
"""A term and the iteration at which it is meant: 0 where it does not vary."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What is to lie in a register of so many bits, lane by lane of `width` bits; None where it does not matter."""

    bits: int
    width: int
    lanes: tuple[Lane | None, ...]
    key: int

    def __hash__(self) -> int:
        return self.key

    @classmethod
    def of(cls, bits: int, width: int, lanes: Sequence[Lane | None]) -> Demand:
        """The demand, hashed once."""
        fixed = tuple(lanes)
        return cls(bits, width, fixed, hash((bits, width, fixed)))

    @property
    def terms(self) -> tuple[Node, ...]:
        """The terms, each once."""
        return tuple(dict.fromkeys(x[0] for x in self.lanes if x is not None))

    @property
    def filled(self) -> int:
        """How many lanes matter."""
        return sum(x is not None for x in self.lanes)

    @property
    def runs(self) -> int:
        """In how many pieces the iterations of its terms advance evenly: 1 for all in order, or every other one."""
        count = 0
        last: dict[Node, tuple[int, int, int | None]] = {}
        for at, lane in enumerate(self.lanes):
            if lane is None:
                continue
            term, iteration = lane
            before = last.get(term)
            if before is None:
                count += 1
                last[term] = at, iteration, None
                continue
            place, turn, pace = before
            if pace is not None and iteration - turn == pace * (at - place):
                last[term] = at, iteration, pace
            elif pace is None and (iteration - turn) % (at - place) == 0:
                last[term] = at, iteration, (iteration - turn) // (at - place)
            else:
                count += 1
                last[term] = at, iteration, None
        return count


@cache
def needed_width(term: Node) -> int:
    """The narrowest of 8, 16, 32 and 64 bits that holds all that a term computes on the way, leaves apart."""
    computed = (x for x in walk([term]) if x.args and x.op != "bits")
    most = max((width_of(x.low, x.high) for x in computed), default=8)
    return next((x for x in (8, 16, 32, 64) if most <= x), 128)
