"""Demands on registers: which term at which iteration lies in each lane, modulo 2^width.

>>> from planish.isa.semantics.node import const
>>> Demand.of(128, 64, [(const(1), 0), None]).width
64
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, rebuild, walk, width_of
from planish.select.body import LaneBody
from planish.select.factored.lane_functions import LaneOperand

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

    def paired(self, half: int, distance: int) -> Demand:
        """The same lanes in the low half (0) or the high half (1) of a register of twice the bits, in whose other half
        these terms lie so many iterations further on."""
        rest = tuple(None if x is None else (x[0], x[1] + distance) for x in self.lanes)
        return Demand.of(2 * self.bits, self.width, (*rest, *self.lanes) if half else (*self.lanes, *rest))

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
        last: dict[Node, tuple[int, int, tuple[int, int] | None]] = {}
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
            step = at - place, iteration - turn
            if pace is None or step[0] * pace[1] == step[1] * pace[0]:
                last[term] = at, iteration, step
            else:
                count += 1
                last[term] = at, iteration, None
        return count


@cache
def needed_width(term: Node) -> int:
    """The narrowest of 8, 16, 32 and 64 bits that holds all that a term computes on the way, leaves apart."""
    most = max((max(width_of(x.low, x.high), _compared(x)) for x in computed(term)), default=8)
    return next((x for x in (8, 16, 32, 64) if most <= x), 128)


def _compared(x: Node) -> int:
    """The bits of a lane in which both sides of a comparison are."""
    if x.op not in ("lt", "le", "eq", "min", "max"):
        return 0
    return width_of(min(y.low for y in x.args), max(y.high for y in x.args))


def computed(*terms: Node) -> list[Node]:
    """What some terms compute on the way, each once: neither what they read nor where."""
    found: dict[Node, None] = {}
    stack = list(terms)
    while stack:
        x = stack.pop()
        if x.args and x.op != "bits" and x not in found:
            found[x] = None
            stack += x.args
    return list(found)


def operand_demand(
    operand: LaneOperand, lanes: Mapping[int, tuple[Lane, int]], loose: bool, narrowest: int
) -> Demand | None:  # fmt: skip
    """What an operand has to hold, where all of it is read in lanes of one width. `loose`: where nothing between lanes
    matters these are wider; `narrowest`: the bits of the least register that stands for the low part of a wider one."""
    if not lanes:
        return Demand.of(operand.bits, operand.bits, [None])
    widths = {width for _, width in lanes.values()}
    if len(widths) != 1:
        return None
    (width,) = widths
    if operand.bits % width or any(offset % width or offset >= operand.bits for offset in lanes):
        return None
    if loose and width < 32 and operand.bits > width and all(offset % (2 * width) == 0 for offset in lanes):
        width *= 2
    bits = operand.bits
    least = 8 if operand.role == "mask" else narrowest
    while bits > least and max(lanes) < bits // 2:
        bits //= 2  # what lies in the other bits of a narrower one does not matter
    return Demand.of(bits, width, [lanes[at][0] if at in lanes else None for at in range(0, bits, width)])


def filled_between(
    operand: LaneOperand, lanes: Mapping[int, tuple[Lane, int]], narrowest: int, body: LaneBody
) -> Demand | None:  # fmt: skip
    """What an operand may hold of one term in lanes as narrow as they are read, with those between that belong there;
    None where it has no such."""
    tight = operand_demand(operand, lanes, False, narrowest)
    if tight is None or len(tight.terms) > 1 or body.is_leaf(tight.terms[0]):
        return None
    whole = between([None if x is None else x[1] for x in tight.lanes])
    if whole is None or max(whole) >= body.lanes:
        return None
    return Demand.of(tight.bits, tight.width, [(tight.terms[0], x) for x in whole])


@cache
def widest_read(term: Node) -> int:
    """The bits of the widest element that a term reads."""
    inner = (x for y in (term, *computed(term)) for x in (y, *y.args))
    return max((int(x.attr[1]) for x in inner if x.op == "bits"), default=0)


def zero_extended(demand: Demand) -> Demand | None:
    """The same register in lanes of half the width, where what is above is 0."""
    half = demand.width // 2
    if half < 8 or any(x.low < 0 or x.high >> half for x in demand.terms):
        return None
    lanes: list[Lane | None] = []
    for x in demand.lanes:
        lanes += [None, None] if x is None else [x, (build.ZERO, 0)]
    return Demand.of(demand.bits, half, lanes)


def other_widths(demand: Demand) -> list[Demand]:
    """The same register in narrower lanes, and in wider ones, where it is one such."""
    return [x for x in (zero_extended(demand), joined(demand)) if x is not None]


def joined(demand: Demand) -> Demand | None:
    """The same register in lanes of twice the width, where every other one is 0 or does not matter."""
    lanes, others = demand.lanes[::2], demand.lanes[1::2]
    if demand.width > 32 or not all(x is None or x[0] is build.ZERO for x in others) or not any(lanes):
        return None
    wide = [None if x is None else (build.wrap(x[0], demand.width), x[1]) for x in lanes]
    return Demand.of(demand.bits, 2 * demand.width, wide)


def extended(lanes: Sequence[int | None]) -> list[int] | None:
    """The numbers of a whole register of which some are given: each run of neighbours is half of a block that goes on
    as it does, so that the lower and the upper halves of blocks (of what is unpacked, say) are of one register; or all
    is one run. None where they are not.

    >>> extended([0, 1, None, None, 8, 9, None, None]), extended([None, None, 2, 3, None, None, 10, 11])
    ([0, 1, 2, 3, 8, 9, 10, 11], [0, 1, 2, 3, 8, 9, 10, 11])
    >>> extended([0, None, None, None]), extended([0, None, 7, None, None, 9])
    ([0, 1, 2, 3], None)
    """
    starts = {x - at for at, x in enumerate(lanes) if x is not None}
    if len(starts) == 1:
        start = starts.pop()
        return None if start % len(lanes) else [start + at for at in range(len(lanes))]
    woven = between(lanes)
    if woven is not None:
        return woven
    half = next((n for n in range(1, len(lanes)) if (lanes[n] is None) != (lanes[0] is None)), len(lanes))
    made: list[int] = []
    for first in range(0, len(lanes), 2 * half):
        block = lanes[first : first + 2 * half]
        inside = {x - at for at, x in enumerate(block) if x is not None}
        if len(block) < 2 * half or len(inside) != 1:
            return None
        start = inside.pop()
        made += range(start, start + 2 * half)
    return made if len(set(made)) == len(made) else None


def between(lanes: Sequence[int | None]) -> list[int] | None:
    """The numbers of a whole register of which every other one is given, and which goes on evenly between them. None
    where it cannot.

    >>> between([0, None, 4, None, 8, None, 12, None]), between([None, 2, None, 6]), between([0, None, 1, None])
    ([0, 2, 4, 6, 8, 10, 12, 14], [0, 2, 4, 6], None)
    """
    known = [(at, x) for at, x in enumerate(lanes) if x is not None]
    if len(known) < 2 or 2 * len(known) != len(lanes):
        return None
    (first, start), (second, other) = known[:2]
    if second - first != 2 or (other - start) % 2 or other <= start:
        return None
    step = (other - start) // 2
    made = [start + (at - first) * step for at in range(len(lanes))]
    return made if made[0] >= 0 and all(made[at] == x for at, x in known) else None


def periodic(lanes: tuple[object, ...]) -> tuple[object, ...]:
    """The shortest period of some lanes, where None is anything.

    >>> periodic((1, 2, None, 2))
    (1, 2)
    """
    period = 1
    while period < len(lanes):
        first = [next((x for x in lanes[at::period] if x is not None), None) for at in range(period)]
        if all(x is None or x == first[at % period] for at, x in enumerate(lanes)):
            return tuple(first)
        period *= 2
    return lanes


def rerolled(demand: Demand, body: LaneBody) -> Demand:
    """The demand with one term for those that read every so-manieth element, where it has them in order; itself where
    it has not, or nothing is computed for it. Where a lane has several neighbours, as in a sum of two products a lane,
    these are terms that read every other element; side by side in a register they are all elements in order.

    >>> from planish.select.body import read_body
    >>> body = read_body("(p: 256) -> out: 128 { for i < 4 { out.u32[i] = p.u8[2*i] + 3*p.u8[2*i + 1] } }")
    >>> terms = [build.add(x, const(-7)) for x in body.leaves]
    >>> made = rerolled(Demand.of(128, 16, [(x, at) for at in range(4) for x in terms]), body)
    >>> [at for _, at in made.lanes], made.terms[0].op
    ([0, 1, 2, 3, 4, 5, 6, 7], 'add')
    """
    terms = [x for x in demand.terms if not body.is_invariant(x)]
    if len(terms) < 2 or all(map(body.is_leaf, terms)):
        return demand
    found = {x: _every_element(x, body) for x in terms}
    made = {x: y for x, y in found.items() if y is not None}
    if len(made) < len(terms) or len({term for term, _, _ in made.values()}) > 1:
        return demand
    lanes: list[Lane | None] = []
    for lane in demand.lanes:
        if lane is None or lane[0] not in made:
            lanes.append(lane)
            continue
        term, times, first = made[lane[0]]
        lanes.append((term, times * lane[1] + first))
    starts = {x[1] - at for at, x in enumerate(lanes) if x is not None and not body.is_invariant(x[0])}
    return Demand.of(demand.bits, demand.width, lanes) if len(starts) == 1 else demand


def _every_element(x: Node, body: LaneBody) -> tuple[Node, int, int] | None:
    """The term that reads all elements of which one reads every so-manieth: how many, and the first of it."""
    reads = [y for y in walk([x]) if y.op == "bits" and not body.is_invariant(y)]
    places = [(y, body.address(y), int(y.attr[1])) for y in reads]
    times = first = 0
    for _, address, width in places:
        if address is None or address.step <= width or address.step % width:
            return None
        turn = address.step // width
        if times and turn != times:
            return None
        first = first if times else address.offset // width
        times = turn
    if not times:
        return None

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        address = body.address(old) if old.op == "bits" and not body.is_invariant(old) else None
        if address is None:
            return build.construct(old.op, args, old.attr) if args else old
        width = int(old.attr[1])
        place = build.add(build.multiply(body.counter, const(width)), const(address.offset - first * width))
        return build.bits(address.row, place, width, bool(old.attr[2]))

    return rebuild(x, change), times, first
