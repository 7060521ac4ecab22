"""Covering a strip with instructions: demands on registers, answered by the cheapest program that is found.

A demand is answered by a load where its lanes are neighbours in memory, by a constant or a broadcast where they do not
vary, and by every instruction whose lane functions unify with its terms; what then has to lie in the operands are
demands again. Packs, unpacks, even|odd pairs and masks are not special: they follow from the access maps. The search is
branch and bound by cycles of throughput, with bounds that grow; equal demands are answered once.

>>> from planish.select.body import read_body
>>> from planish.select.lane_functions import usable
>>> body = read_body("(p: 136) -> out: 128 { for i < 16 { out.u8[i] = p.u8[i] + p.u8[i + 1] + 1 >> 1 } }")
>>> cover = Cover(body, LaneTable(usable("arm", ("v7",)), lambda name: 1.0))
>>> cover.find(Demand.of(128, 8, [(body.outputs[0].value, at) for at in range(16)])).value
call('vrhaddq_u8', ())(load('p', 0)(), load('p', 8)())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, product

import numpy as np

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, walk
from planish.select.body import LaneBody
from planish.select.demand import Demand, Lane, needed_width
from planish.select.lane_functions import LaneOperand
from planish.select.lane_table import LaneRow, LaneTable
from planish.select.program import Kind, RegisterProgram, Value
from planish.select.unify import Binding, unify

LOAD, CONSTANT = 0.5, 0.03
"""Cycles of a load, two of which start in each; what a register costs that is made once, before the loop."""
_LEAST = 0.1
_BOUNDS = (3.0, 6.0, 12.0, 24.0, 48.0, 96.0)
_BINDINGS, _COMBINATIONS = 16, 24


Limit = Callable[[], float]
"""What is still cheap enough: the cost of the best program so far."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A program for a demand: its last value, all values it is made of, and what they cost together."""

    value: Value
    values: frozenset[Value]
    cost: float


@dataclass(slots=True)
class Cover:
    """Answers demands for one strip with the instructions of a table; `steps`: how many demands may be looked at."""

    body: LaneBody
    table: LaneTable
    steps: int = 20_000
    program: RegisterProgram = field(default_factory=RegisterProgram)
    asked: int = 0
    _known: dict[Demand, tuple[Solution | None, float]] = field(default_factory=dict)
    _open: set[Demand] = field(default_factory=set)
    _unified: dict[tuple[Node, Node, int], list[Binding]] = field(default_factory=dict)
    _costs: dict[Value, float] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)

    def find(self, demand: Demand) -> Solution | None:
        """The cheapest program that is found within growing bounds."""
        for bound in _BOUNDS:
            found = self.solve(demand, bound)
            if found is not None or self.asked >= self.steps:
                return found
        return None

    def solve(self, demand: Demand, bound: float) -> Solution | None:
        """The cheapest program of less than `bound` cycles; None where none is found."""
        known = self._known.get(demand)
        if known is not None:
            found, tried = known
            if found is not None:
                return found if found.cost < bound else None
            if tried >= bound:
                return None
        if demand in self._open or self.asked >= self.steps or bound <= 0:
            return None
        self.asked += 1
        self._open.add(demand)
        best: Solution | None = None
        limit = bound
        direct = self._direct(demand)
        answers: Iterable[Solution] = ()
        if direct is not None:
            answers = (direct,)
        elif demand.filled * 2 >= len(demand.lanes):  # what is computed for a few lanes of a register is wasted
            answers = self._computed(demand, lambda: limit)
        for answer in answers:
            if answer.cost < limit:
                best, limit = answer, answer.cost
        self._open.discard(demand)
        self._known[demand] = best, bound
        return best

    def _direct(self, demand: Demand) -> Solution | None:
        """A constant, a broadcast, or a load."""
        given = [x for x in demand.lanes if x is not None]
        if all(x.op == "const" for x, _ in given):
            mask = (1 << demand.width) - 1
            numbers = tuple(None if x is None else x[0].low & mask for x in demand.lanes)
            return self._leaf("constant", demand.bits, (demand.width, periodic(numbers)), CONSTANT)
        if all(self.body.is_invariant(x) for x, _ in given):
            terms = periodic(tuple(None if x is None else x[0] for x in demand.lanes))
            if len(terms) * demand.width <= 64:
                return self._leaf("splat", demand.bits, (demand.width, terms), CONSTANT)
        return self._loaded(demand)

    def _loaded(self, demand: Demand) -> Solution | None:
        place: tuple[str, int] | None = None
        for at, lane in enumerate(demand.lanes):
            if lane is None:
                continue
            address = self.body.address(lane[0])
            if address is None or int(lane[0].attr[1]) < demand.width:
                return None
            start = address.row, address.at(lane[1]) - at * demand.width
            if place is not None and place != start:
                return None
            place = start
        # Lanes that do not matter may lie where nothing is to be read.
        if place is None or place[1] < 0 or place[1] + demand.bits > self.body.extents[place[0]]:
            return None
        return self._leaf("load", demand.bits, place, LOAD)

    def _leaf(self, kind: Kind, bits: int, detail: tuple[object, ...], cost: float) -> Solution:
        value = self.program.make(kind, bits, detail)
        self._costs[value] = cost
        return Solution(value, frozenset((value,)), cost)

    def _computed(self, demand: Demand, limit: Limit) -> Iterator[Solution]:
        rows = self.table.of(demand.bits, demand.width)
        for row in self._movers(demand):
            found = self._moved(row, demand, limit)
            if found is not None:
                yield found
        if all(self.body.address(x) is not None and int(x.attr[1]) >= demand.width for x in demand.terms):
            return  # nothing is to be computed
        for row in rows.computing:
            if row.cost >= limit():
                continue
            for bindings in self._bindings(row, demand):
                answer = self._called(row, demand, bindings, limit)
                if answer is not None:
                    yield answer
        halves = _zero_extended(demand)
        if halves is not None:
            answer = self.solve(halves, limit())
            if answer is not None:
                yield answer

    # Shuffles.

    def _movers(self, demand: Demand) -> list[LaneRow]:
        """Shuffles whose operands are runs: of neighbours in memory, or of a term at consecutive iterations."""
        rows = self.table.of(demand.bits, demand.width)
        if not rows.moving:
            return []
        keys = np.array([self._address(x, demand.width) for x in demand.lanes], dtype=np.int64)
        some = np.array([x is not None for x in demand.lanes])
        zero = np.array([x is not None and x[0] is build.ZERO for x in demand.lanes])
        good = ~np.any(some & (rows.operands == -1), axis=1) & ~np.any(some & (rows.operands == -2) & ~zero, axis=1)
        starts = keys[None, :] - rows.places
        for operand in range(int(rows.operands.max()) + 1):
            own = (rows.operands == operand) & some
            low = np.where(own, starts, np.iinfo(np.int64).max).min(axis=1)
            high = np.where(own, starts, np.iinfo(np.int64).min).max(axis=1)
            good &= (low == high) | ~own.any(axis=1)
        return [rows.moving[at] for at in np.flatnonzero(good)]

    def _address(self, lane: Lane | None, width: int) -> int:
        """A number for what lies in a lane: neighbours have neighbouring ones."""
        if lane is None:
            return 0
        term, iteration = lane
        address = self.body.address(term)
        if address is not None:
            return self._number(address.row) + address.at(iteration)
        if self.body.is_invariant(term):
            return self._number(term)
        return self._number(term) + iteration * width

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, (len(self._numbers) + 1) << 40)

    def _moved(self, row: LaneRow, demand: Demand, limit: Limit) -> Solution | None:
        wanted: list[dict[int, tuple[Lane, int]]] = [{} for _ in row.instruction.operands]
        for lane, function, places in zip(demand.lanes, row.functions, row.slots, strict=True):
            if lane is not None and function is not None and function.op != "const":
                at, offset = places[0]
                wanted[at][offset] = lane, demand.width
        return self._assembled(row, demand, wanted, {}, limit, moved=True)

    def _is_natural(self, demand: Demand) -> bool:
        """Whether it is a whole register of a term at consecutive iterations from a multiple of its lanes on."""
        (term, first) = next(x for x in demand.lanes if x is not None)
        if self.body.address(term) is not None or self.body.is_invariant(term):
            return True
        start = first - next(at for at, x in enumerate(demand.lanes) if x is not None)
        return start % len(demand.lanes) == 0

    # Instructions that compute.

    def _bindings(self, row: LaneRow, demand: Demand) -> Iterator[Mapping[tuple[Node, Node], Binding]]:
        """What lies in the slots, for each function and term that meet in a lane."""
        pairs: dict[tuple[Node, Node], list[Binding]] = {}
        for lane, function in zip(demand.lanes, row.functions, strict=True):
            if lane is None:
                continue
            if function is None:
                return
            pair = function, lane[0]
            if pair not in pairs:
                found = self._unify(function, lane[0], demand.width)
                if not found:
                    return
                pairs[pair] = found
        keys = list(pairs)
        for chosen in islice(product(*pairs.values()), _COMBINATIONS):
            yield dict(zip(keys, chosen, strict=True))

    def _unify(self, function: Node, term: Node, width: int) -> list[Binding]:
        key = function, term, width
        found = self._unified.get(key)
        if found is None:
            most = max(needed_width(term), width)
            widths = slot_widths(function)
            wide = any(x > most for name, x in widths.items() if name.isdigit())
            found = self._unified[key] = [] if wide else list(islice(unify(function, term, width), _BINDINGS))
        return found

    def _called(
        self, row: LaneRow, demand: Demand, bindings: Mapping[tuple[Node, Node], Binding], limit: Limit
    ) -> Solution | None:
        """A call of an instruction, where all of its operands can be had."""
        wanted: list[dict[int, tuple[Lane, int]]] = [{} for _ in row.instruction.operands]
        fixed: dict[str, int] = {}
        for lane, function, places in zip(demand.lanes, row.functions, row.slots, strict=True):
            if lane is None or function is None:
                continue
            widths = slot_widths(function)
            for name, term in bindings[function, lane[0]].items():
                if not name.isdigit():
                    value = term.constant
                    if value is None or fixed.setdefault(name, value) != value:
                        return None
                    continue
                at, offset = places[int(name)]
                given = (term, 0 if self.body.is_invariant(term) else lane[1]), widths[name]
                if wanted[at].setdefault(offset, given) != given:
                    return None
        return self._assembled(row, demand, wanted, fixed, limit)

    def _assembled(
        self, row: LaneRow, demand: Demand, wanted: Sequence[Mapping[int, tuple[Lane, int]]],
        fixed: Mapping[str, int], limit: Limit, moved: bool = False,
    ) -> Solution | None:  # fmt: skip
        instruction = row.instruction
        cost = max(row.cost, _LEAST)
        natural = moved and len(demand.terms) == 1 and demand.runs == 1 and self._is_natural(demand)
        inner: list[Demand | int] = []
        for operand, lanes in zip(instruction.operands, wanted, strict=True):
            value = instruction.fixed.get(operand.name, fixed.get(operand.name))
            if value is not None or operand.role == "immediate":
                if value is None or not _is_legal(operand, value):
                    return None
                inner.append(value)
                continue
            made = _operand_demand(operand, lanes)
            if made is None or made == demand:
                return None
            if lanes and made.runs > len(made.terms) * max(2, made.bits // 128):
                return None  # no shuffle leads there
            if lanes and moved and not self._is_natural(made):
                return None
            if moved and natural and made.bits == demand.bits:
                return None  # the same lanes from a register with holes, or a run across two registers
            inner.append(made)
        args: list[Solution] = []
        values: frozenset[Value] = frozenset()
        for operand, x in zip(instruction.operands, inner, strict=True):
            found = self._operand(operand, x, limit() - cost)
            if found is None:
                return None
            args.append(found)
            values |= found.values
            if cost + sum(self._costs[y] for y in values) >= limit():
                return None
        detail = instruction.entry, tuple(sorted(instruction.fixed.items()))
        made_value = self.program.make("call", demand.bits, detail, [y.value for y in args])
        self._costs[made_value] = cost
        values |= {made_value}
        return Solution(made_value, values, sum(self._costs[y] for y in values))

    def _operand(self, operand: LaneOperand, x: Demand | int, bound: float) -> Solution | None:
        if isinstance(x, int):
            return self._leaf("scalar", operand.bits, (operand.bits, (const(x),)), 0.0)
        if operand.role != "scalar":
            return self.solve(x, bound)
        terms = tuple(y[0] if y is not None else build.ZERO for y in x.lanes)
        if not all(self.body.is_invariant(y) for y in terms):
            return None
        return self._leaf("scalar", x.bits, (x.width, terms), CONSTANT)


def _operand_demand(operand: LaneOperand, lanes: Mapping[int, tuple[Lane, int]]) -> Demand | None:
    """What an operand has to hold, where all of it is read in lanes of one width."""
    if not lanes:
        return Demand.of(operand.bits, operand.bits, [None])
    widths = {width for _, width in lanes.values()}
    if len(widths) != 1:
        return None
    (width,) = widths
    if operand.bits % width or any(offset % width or offset >= operand.bits for offset in lanes):
        return None
    return Demand.of(
        operand.bits, width, [lanes[at][0] if at in lanes else None for at in range(0, operand.bits, width)]
    )


def _is_legal(operand: LaneOperand, value: int) -> bool:
    return (operand.low is None or value >= operand.low) and (operand.high is None or value <= operand.high)


def _zero_extended(demand: Demand) -> Demand | None:
    """The same register in lanes of half the width, where what is above is 0."""
    half = demand.width // 2
    if half < 8 or any(x.low < 0 or x.high >> half for x in demand.terms):
        return None
    lanes: list[Lane | None] = []
    for x in demand.lanes:
        lanes += [None, None] if x is None else [x, (build.ZERO, 0)]
    return Demand.of(demand.bits, half, lanes)


@cache
def slot_widths(function: Node) -> Mapping[str, int]:
    """The widths of what a lane function reads, by the names of slots."""
    return {str(x.attr[0]): int(x.attr[1]) for x in walk([function]) if x.op == "bits"}


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
