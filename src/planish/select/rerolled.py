"""Demands whose lanes take turns among terms that read neighbours, as those of one term.

Where a lane of a strip has several neighbours, as in a sum of two products a lane, they are terms that read every other
element; side by side in a register they are all elements in order.

>>> from planish.select.body import read_body
>>> body = read_body("(p: 256) -> out: 128 { for i < 4 { out.u32[i] = p.u8[2*i] + 3*p.u8[2*i + 1] } }")
>>> terms = [build.add(x, const(-7)) for x in body.leaves]
>>> demand = Demand.of(128, 16, [(x, at) for at in range(4) for x in terms])
>>> made = rerolled(demand, body)
>>> [at for _, at in made.lanes], made.terms[0].op
([0, 1, 2, 3, 4, 5, 6, 7], 'add')
"""

from __future__ import annotations

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, rebuild, walk
from planish.select.body import LaneBody
from planish.select.demand import Demand, Lane


def rerolled(demand: Demand, body: LaneBody) -> Demand:
    """The demand with one term for those that read every so-manieth element, where it has them in order; itself where
    it has not, or nothing is computed for it."""
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
