"""Covering a strip with instructions: demands on registers, answered by the cheapest program that is found.

A demand is answered by a load where its lanes are neighbours in memory, by a constant or a broadcast where they do not
vary, by the lane functions that are cheapest for its term (see `lane_cover`) where registers are found for these, and
by shuffles; what then has to lie in the operands are demands again, and equal ones are answered once. Packs, unpacks
and even|odd pairs are not special: they follow from the access maps.

>>> from planish.select.body import read_body
>>> from planish.select.factored.lane_functions import usable
>>> body = read_body("(p: 136) -> out: 128 { for i < 16 { out.u8[i] = p.u8[i] + p.u8[i + 1] + 1 >> 1 } }")
>>> cover = Cover(body, LaneTable(usable("arm", ("v7",)), lambda name: 1.0), (128, 64))
>>> cover.find(Demand.of(128, 8, [(body.outputs[0].value, at) for at in range(16)])).value
call('vrhaddq_u8', ())(load('p', 0)(), load('p', 8)())
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, walk
from planish.select.body import LaneBody
from planish.select.demand import (
    Demand,
    Lane,
    extended,
    filled_between,
    operand_demand,
    other_widths,
    periodic,
    rerolled,
)
from planish.select.factored.lane_functions import LaneOperand
from planish.select.forms.split_products import as_words
from planish.select.forms.wide_halves import alternating, halves_of, pair_distance
from planish.select.gathers import NOWHERE, Gatherer, find_sources
from planish.select.lane_cover import CONSTANT, LOAD, MOST_TERMS, LaneCover, Way, is_kept, slot_widths
from planish.select.lane_table import LaneRow, LaneTable
from planish.select.program import Kind, RegisterProgram, Value
from planish.select.rules import mask_of

_LEAST = 0.1
_NEAR, _FEW = 1.5, 300
"""Registers that cost no more than so many times what lanes do at least are taken; else other ways are looked at, as
long as few demands were."""
_DEEPEST = 120
"""So many demands may be made of each other."""
_UNKNOWN = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Solution:
    """A program for a demand: its last value, all values it is made of, and what they cost together."""

    value: Value
    values: frozenset[Value]
    cost: float


@dataclass(slots=True)
class Cover:
    """Answers demands for one strip with the instructions of a table in registers of some widths, the widest first;
    `steps`: how many demands may be looked at; `narrowest`: the least registers that stand for the low part of wider
    ones; `pairs`: the bits of registers whose halves are registers, 0 where there are none; `gatherer`: brings lanes of
    several registers into one."""

    body: LaneBody
    table: LaneTable
    registers: Sequence[int]
    steps: int = 4_000
    narrowest: int = 1 << 16
    pairs: int = 0
    gatherer: Gatherer = field(default_factory=Gatherer)
    program: RegisterProgram = field(default_factory=RegisterProgram)
    asked: int = 0
    claims: dict[Value, Demand] = field(default_factory=dict)
    lanes: LaneCover = field(init=False)
    _known: dict[Demand, Solution | None] = field(default_factory=dict)
    _open: set[Demand] = field(default_factory=set)
    _costs: dict[Value, float] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lanes = LaneCover(self.table, self.registers, self.body)

    def find(self, demand: Demand) -> Solution | None:
        """The cheapest program that is found; None where none is, or after `steps` demands. What asks for itself on the
        way is no answer."""
        demand = rerolled(demand, self.body)
        if demand in self._known:
            return self._known[demand]
        if demand in self._open or len(self._open) > _DEEPEST or self.asked >= self.steps:
            return None
        self.asked += 1
        self._open.add(demand)
        best = self._direct(demand)
        if best is None and self._is_worth(demand):
            for answer in self._computed(demand):
                if best is None or answer.cost < best.cost:
                    best = answer
        self._open.discard(demand)
        self._known[demand] = best
        if best is not None:
            self.claims.setdefault(best.value, demand)
        return best

    @property
    def is_cut_off(self) -> bool:
        """Whether the search ended at its bound, so that there may be programs that it did not look at."""
        return self.asked >= self.steps or self.lanes.asked >= MOST_TERMS

    def _is_worth(self, demand: Demand) -> bool:
        """Whether most of a register matters: a few lanes waste the rest. Of what is only moved it may be half, and of
        what is half of a register that is asked for anyway."""
        empty = len(demand.lanes) - demand.filled
        if demand.width == 1:
            return empty <= demand.filled
        if empty == demand.filled:
            return all(map(self.body.is_leaf, demand.terms)) or self._completed(demand) is not None
        return empty < demand.filled

    def _completed(self, demand: Demand) -> Demand | None:
        """The whole register of which a demand has some lanes in place; None where it has all, or is none."""
        if demand.filled == len(demand.lanes) or len(demand.terms) > 1 or self.body.is_leaf(demand.terms[0]):
            return None
        term, given = demand.terms[0], [None if x is None else x[1] for x in demand.lanes]
        whole = extended(given)
        if whole is None or not 0 <= min(whole) <= max(whole) < self.body.lanes:
            return None
        return Demand.of(demand.bits, demand.width, [(term, x) for x in whole])

    def _direct(self, demand: Demand) -> Solution | None:
        """A constant, a broadcast, or a load."""
        given = [x for x in demand.lanes if x is not None]
        if all(x.op == "const" for x, _ in given):
            mask = (1 << demand.width) - 1
            numbers = tuple(None if x is None else x[0].low & mask for x in demand.lanes)
            return self._leaf("constant", demand.bits, (demand.width, periodic(numbers)), CONSTANT)
        if all(self.body.is_invariant(x) for x, _ in given):
            terms = periodic(tuple(None if x is None else x[0] for x in demand.lanes))
            if demand.width == 1:
                return None  # there is no broadcast of conditions
            if len(terms) * demand.width <= 64:
                return self._leaf("splat", demand.bits, (demand.width, terms), CONSTANT)
        return self._loaded(demand)

    def _loaded(self, demand: Demand) -> Solution | None:
        place: tuple[str, int] | None = None
        for at, lane in ((at, x) for at, x in enumerate(demand.lanes) if x is not None):
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
        if self._is_between(place):
            return None
        if place[0] in self.body.read_where:
            return self._masked_load(demand, *place)
        return self._leaf("load", demand.bits, place, LOAD)

    def _is_between(self, place: tuple[str, int]) -> bool:
        """Whether a place lies between the registers of a row that has some of its own."""
        return self.pairs > 0 and place[0] in self.body.cells and place[1] % self.registers[0] != 0

    def _masked_load(self, demand: Demand, row: str, offset: int) -> Solution | None:
        """A load of the lanes of which something is read."""
        width = self.body.elements[row]
        if offset % width or demand.bits % width:
            return None
        count, first = demand.bits // width, offset // width
        lanes = [(self.body.read_where[row], first + at) for at in range(count)]
        mask = self.find(Demand.of(count, 1, lanes)) if first + count <= self.body.lanes else None
        return mask and self._made("masked load", demand.bits, (row, offset, width), (mask,), LOAD)

    def stored_where(self, value: Solution, width: int, lanes: Sequence[Lane]) -> Solution | None:
        """A register of which the lanes are stored in which a condition holds."""
        mask = self.find(Demand.of(len(lanes), 1, lanes))
        return mask and self._made("masked", value.value.bits, (width,), (value, mask), 0.0)

    def _made(
        self, kind: Kind, bits: int, detail: tuple[object, ...], given: Sequence[Solution], cost: float
    ) -> Solution:  # fmt: skip
        value = self.program.make(kind, bits, detail, [x.value for x in given])
        self._costs[value] = cost
        values = frozenset((value, *(y for x in given for y in x.values)))
        return Solution(value, values, self.cost(values))

    def _leaf(self, kind: Kind, bits: int, detail: tuple[object, ...], cost: float) -> Solution:
        return self._made(kind, bits, detail, (), cost)

    def _computed(self, demand: Demand) -> Iterator[Solution]:
        whole = self._completed(demand)
        if whole is not None:
            found = self.find(whole)
            if found is not None:
                yield found
            return
        if len(demand.terms) == 1:
            yield from self._halved(demand)
            answer = self._selected(demand)
            if answer is not None:
                yield answer
                if not self.body.is_leaf(demand.terms[0]):
                    return  # what is computed in its place needs no shuffle
        yield from self._shuffled(demand)
        if all(map(self.body.is_leaf, demand.terms)):
            gathered = self.gathered(demand)
            if gathered is not None:
                yield gathered
        for same in other_widths(demand):
            answer = self.find(same)
            if answer is not None:
                yield answer

    def _selected(self, demand: Demand) -> Solution | None:
        """The cheapest lane functions for which registers are found: what others share is known to these only."""
        best: Solution | None = None
        for way in self.lanes.best(demand.terms[0], demand.width).ways:
            # Where terms are shared, what lanes do at least is told with their parts of that: it is no measure.
            near = best is not None and best.cost <= way.cost * demand.filled * _NEAR
            if best is not None and (near or self.lanes.shared or self.asked > _FEW):
                break
            for row in way.lanes.rows:
                answer = self._called(row, demand, way) if row.instruction.result == demand.bits else None
                if row.instruction.result == self.pairs == 2 * demand.bits:
                    answer = self._half(row, demand, way)
                if answer is not None and (best is None or answer.cost < best.cost):
                    best = answer
        return best

    def _halved(self, demand: Demand) -> Iterator[Solution]:
        """Quotients of even and of odd iterations by themselves, in wider lanes, put together."""
        halves = halves_of(demand.terms[0], demand.width)
        if halves is None or demand.filled < len(demand.lanes) or demand.runs > 1:
            return
        wide = 2 * demand.width
        places = range(0, demand.bits, wide)
        given = [[x[1] for x in demand.lanes[at::2] if x is not None] for at in (0, 1)]
        row = alternating(self.table.moving(demand.bits, demand.width), demand.width)
        if row is not None:
            pair = [
                {place: ((x, at), wide) for place, at in zip(places, numbers, strict=True)}
                for x, numbers in zip(halves, given, strict=True)
            ]
            rest = row.instruction.operands[2:]
            found = self._assembled(row, demand, [*pair, *({} for _ in rest)], {})
            if found is not None:
                yield found
            return
        lanes = [(at % 2, at // 2 * wide) for at in range(len(demand.lanes))]
        parts = [self.find(Demand.of(demand.bits, wide, [(halves[0], x) for x in numbers])) for numbers in given]
        known = [x for x in parts if x is not None]
        found = self._brought_together(known, lanes, demand.width) if len(known) == len(parts) else None
        if found is not None:
            yield found

    def _half(self, row: LaneRow, demand: Demand, way: Way) -> Solution | None:
        """The half of a pair of registers: that one whose other half holds what lies between, or behind."""
        pace, distance = pair_distance(row, demand)
        if not distance:
            return None
        at, (_, iteration) = next((at, x) for at, x in enumerate(demand.lanes) if x is not None)
        half = (iteration - at * pace) // distance % 2
        wide = demand.paired(half, -distance if half else distance)
        if not all(x is None or 0 <= x[1] < self.body.lanes for x in wide.lanes):
            return None
        whole = self._called(row, wide, way)
        if whole is None:
            return None
        return self._made("part", demand.bits, (half * demand.bits,), (whole,), 0.0)

    # Shuffles.

    def _shuffled(self, demand: Demand) -> Iterator[Solution]:
        pairs = {tuple(x and x[0] for x in demand.lanes[at : at + 2]) for at in range(0, len(demand.lanes), 2)}
        for together in (1, 2) if len(demand.terms) > 1 and len(pairs - {(None, None)}) > 1 else (1,):
            for row in self._movers(demand, together):
                found = self._moved(row, demand, together)
                if found is not None:
                    yield found

    def _movers(self, demand: Demand, together: int = 1) -> list[LaneRow]:
        """Shuffles whose operands are runs: of neighbours in memory, or of terms at consecutive iterations; of so many
        lanes together."""
        width = demand.width * together
        moves = self.table.moving(demand.bits, width)
        if not moves.rows:
            return []
        units = [demand.lanes[at : at + together] for at in range(0, len(demand.lanes), together)]
        found = np.arange(len(moves.rows))
        starts = np.full((len(moves.rows), moves.most_operands), _UNKNOWN, dtype=np.int64)
        for at, unit in enumerate(units):
            if not any(unit):
                continue
            operands = moves.operands[found, at]
            key, varies = self._unit(unit, width)
            start = key - moves.places[found, at] * varies
            known = starts[found, np.maximum(operands, 0)]
            good = (operands >= 0) & ((known == _UNKNOWN) | (known == start))
            if all(x is None or x[0] is build.ZERO for x in unit):
                good |= operands == -2
            found, operands, start = found[good], operands[good], start[good]
            reads = operands >= 0
            starts[found[reads], operands[reads]] = start[reads]
            if not len(found):
                break
        return [moves.rows[at] for at in found]

    def _unit(self, unit: Sequence[Lane | None], width: int) -> tuple[int, bool]:
        """A number for what lies in some lanes: neighbours have neighbouring ones; and whether it varies."""
        if len(unit) == 1:
            (lane,) = unit
            assert lane is not None
            return self._address(*lane, width), not self.body.is_invariant(lane[0])
        # Pairs need not be neighbours: where each operand has pairs of the same terms, these may come from weaving.
        return self._number(tuple(x and x[0] for x in unit)), False

    def _address(self, term: Node, iteration: int, width: int) -> int:
        address = self.body.address(term)
        if address is not None:
            return self._number(address.row) + address.at(iteration)
        if self.body.is_invariant(term):
            return self._number(term)
        return self._number(term) + iteration * width

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, (len(self._numbers) + 1) << 40)

    def _moved(self, row: LaneRow, demand: Demand, together: int = 1) -> Solution | None:
        wanted: list[dict[int, tuple[Lane, int]]] = [{} for _ in row.instruction.operands]
        for unit, (function, places) in enumerate(zip(row.functions, row.slots, strict=True)):
            lanes = demand.lanes[unit * together : (unit + 1) * together]
            if function is None or function.op == "const":
                continue
            at, offset = places[0]
            for inner, lane in enumerate(lanes):
                if lane is not None:
                    wanted[at][offset + inner * demand.width] = lane, demand.width
        return self._assembled(row, demand, wanted, {}, together)

    def stored(self, demand: Demand) -> Solution | None:
        """A register that is stored: terms in turns are each computed in order, and woven; one whose parts lie apart in
        memory, or that is made of wider elements, may be computed in wider lanes, in order, of which the low bits are
        brought together."""
        if len(demand.terms) > 1:
            found = [self._direct(demand), self.gathered(demand)]
        else:
            found = [self.find(demand)]
            if any(self.body.is_apart(x) or self.body.is_wider(x, demand.width) for x in walk(demand.terms)):
                found += [self.gathered(demand, demand.width * times) for times in (2, 4) if demand.width * times <= 32]
        return min((x for x in found if x is not None), key=lambda x: x.cost, default=None)

    def gathered(self, demand: Demand, width: int = 0) -> Solution | None:
        """Lanes of memory, or of what is computed in order in lanes of a width, brought together."""
        found = find_sources(demand, self.body, width or demand.width)
        if found is None or any(not isinstance(x, Demand) and x[0] in self.body.read_where for x in found[0]):
            return None
        sources, lanes = found
        given = [self.find(x) if isinstance(x, Demand) else self._leaf("load", demand.bits, x, LOAD) for x in sources]
        known = [x for x in given if x is not None]
        if len(known) < len(given):
            return None
        made = self._brought_together(known, lanes, demand.width)
        zero = self._direct(Demand.of(demand.bits, demand.width, [(build.ZERO, 0)] * len(lanes)))
        if made is None and zero is not None:
            known.append(zero)
            lanes = [(len(given), at * demand.width) if x == NOWHERE else x for at, x in enumerate(lanes)]
            made = self._brought_together(known, lanes, demand.width)
        return made

    def _brought_together(
        self, parts: Sequence[Solution], lanes: Sequence[tuple[int, int] | None], width: int
    ) -> Solution | None:  # fmt: skip
        made = self.gatherer.gather(self.program, [x.value for x in parts], lanes, width)
        if made is None:
            return None
        self._costs.update(made)
        values = frozenset(y for x in parts for y in x.values) | {x for x, _ in made}
        return Solution(made[-1][0], values, self.cost(values))

    def _is_movable(self, made: Demand, together: int) -> bool:
        """Whether what a shuffle moves is to be had without more shuffles than bring some terms beside each other."""
        if self._direct(made) is not None:
            return True
        if len(made.terms) == 1:
            return made.runs == 1 and self._is_natural(made)
        return together > 1 and 2 * made.filled >= len(made.lanes)

    def _is_natural(self, demand: Demand) -> bool:
        """Whether it is a whole register of a term at consecutive iterations from a multiple of its lanes on."""
        (term, first) = next(x for x in demand.lanes if x is not None)
        if self.body.is_invariant(term):
            return True
        start = first - next(at for at, x in enumerate(demand.lanes) if x is not None)
        return self.body.address(term) is None and start % len(demand.lanes) == 0

    # Instructions that compute.

    def _called(self, row: LaneRow, demand: Demand, way: Way) -> Solution | None:
        """A call of an instruction, where all of its operands can be had."""
        wanted: list[dict[int, tuple[Lane, int]]] = [{} for _ in row.instruction.operands]
        fixed: dict[str, Node] = {}
        for lane, function, places in zip(demand.lanes, row.functions, row.slots, strict=True):
            if lane is None:
                continue
            if function is not way.function:
                if function is None or not is_kept(function, demand.width):
                    return None
                at, offset = places[0]
                wanted[at][offset] = lane, demand.width
                continue
            widths = slot_widths(function)
            for name, term in way.binding.items():
                if not name.isdigit():
                    if fixed.setdefault(name, term) is not term:
                        return None
                    continue
                at, offset = places[int(name)]
                size = widths[name]
                if size == 1 and row.instruction.operands[at].role == "register":
                    # A bit of a register that chooses is one of a mask, all of whose bits are the same in a lane.
                    term, size, offset = mask_of(term), demand.width, offset - offset % demand.width
                given = (term, 0 if self.body.is_invariant(term) else lane[1]), size
                if wanted[at].setdefault(offset, given) != given:
                    return None
        return self._assembled(row, demand, [as_words(x) for x in wanted], fixed)

    def _assembled(
        self, row: LaneRow, demand: Demand, wanted: Sequence[Mapping[int, tuple[Lane, int]]],
        fixed: Mapping[str, Node], together: int = 0,
    ) -> Solution | None:  # fmt: skip
        """`together`: how many lanes a shuffle moves as one; 0 for what is no shuffle."""
        instruction = row.instruction
        cost = max(row.cost, _LEAST)
        natural = together > 0 and len(demand.terms) == 1 and demand.runs == 1 and self._is_natural(demand)
        inner: list[Demand | Node] = []
        for operand, lanes in zip(instruction.operands, wanted, strict=True):
            given = instruction.fixed.get(operand.name)
            value = const(given) if given is not None else fixed.get(operand.name)
            if value is not None or operand.role == "immediate":
                if value is None or not operand.takes(value):
                    return None
                inner.append(value)
                continue
            loose = together == 0 and not all(self._is_read(*x) for x in lanes.values())
            made = operand_demand(operand, lanes, loose, self.narrowest if together <= 1 else operand.bits)
            if loose and made is not None and made.filled == len(made.lanes):
                tight = filled_between(operand, lanes, self.narrowest, self.body)
                made = tight if tight is not None and self.find(tight) is not None else made
            if made is None or made == demand:
                return None
            if lanes and made.runs > len(made.terms) * max(2, made.bits // 128):
                return None  # no shuffle leads there
            if lanes and together and not self._is_movable(made, together):
                return None
            if natural and made.bits == demand.bits:
                return None  # the same lanes from a register with holes, or a run across two registers
            inner.append(made)
        args: list[Solution] = []
        for operand, x in zip(instruction.operands, inner, strict=True):
            found = self._operand(operand, x)
            if found is None:
                return None
            args.append(found)
        detail = instruction.entry, tuple(sorted(instruction.fixed.items()))
        return self._made("call", demand.bits, detail, args, cost)

    def cost(self, values: Collection[Value], instead: Mapping[Value, Value] | None = None) -> float:
        """What some values cost together, those that are `instead` of others as much as these. Of pairs half, while one
        half alone is asked for."""
        for new, old in (instead or {}).items():
            self._costs[new] = self._costs[old]
        halves = {x.detail for x in values if x.kind == "part"}
        share = 1.0 if not self.pairs or len(halves) == 2 else 0.5
        return fsum(self._costs[x] * (share if x.kind == "call" and x.bits == self.pairs else 1.0) for x in values)

    def _is_read(self, lane: Lane, width: int) -> bool:
        return lane[0].op == "bits" and int(lane[0].attr[1]) == width

    def _operand(self, operand: LaneOperand, x: Demand | Node) -> Solution | None:
        if isinstance(x, Node):
            return self._leaf("scalar", operand.bits, (operand.bits, (x,)), 0.0)
        if operand.role != "scalar":
            return self.find(x)
        # What does not matter is as the rest, so that both halves of a pair ask for the same.
        rest = x.terms[0] if len(x.terms) == 1 else build.ZERO
        terms = tuple(y[0] if y is not None else rest for y in x.lanes)
        if not all(self.body.is_invariant(y) for y in terms):
            return None
        return self._leaf("scalar", x.bits, (x.width, terms), CONSTANT)
