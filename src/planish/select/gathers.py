"""Lanes that lie in several registers brought into one, by shuffles that an operand steers.

>>> from planish.select.program import RegisterProgram
>>> gatherer = Gatherer("arm", ("v7", "A64"), lambda name: 0.5)
>>> program = RegisterProgram()
>>> rows = [program.make("load", 128, ("p", 128 * at)) for at in range(3)]
>>> third = [(3 * lane // 16, 8 * (3 * lane % 16)) for lane in range(16)]
>>> made = gatherer.gather(program, rows, third, 8)
>>> [x.detail[0] for x, cost in made if x.kind == "call"]
['vqtbl1q_s8', 'vqtbx1q_s8', 'vqtbx1q_s8']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from planish.isa.collection import load_collection
from planish.isa.semantics import build
from planish.isa.semantics.build import ZERO
from planish.isa.semantics.node import Node
from planish.select.body import LaneBody
from planish.select.demand import Demand, Lane
from planish.select.factored.lane_functions import Place, had
from planish.select.factored.variable_shuffles import VariableShuffle, usable_shuffles
from planish.select.lane_cover import CONSTANT
from planish.select.lane_table import is_of_floats
from planish.select.program import RegisterProgram, Value

Source = Demand | tuple[str, int]
"""A register: what it is to hold, or the row and the bit offset from where it is loaded."""
_MOST_SOURCES = 8
NOWHERE: Place = (-1, 0)
"""Where a lane comes from that is 0."""
Wanted = Sequence[Place | None]
"""For each lane the number of a register and the bit there, or that it is 0; None where it does not matter."""
Made = list[tuple[Value, float]]
"""Values and what each of them costs."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A shuffle of so many registers; `masked`: the name of what it is called with a mask, where lanes without a bit
    stay as in a register before it (`keeps`), or become 0."""

    shuffle: VariableShuffle
    registers: int
    cost: float
    masked: str = ""
    keeps: bool = False


@dataclass(slots=True)
class Gatherer:
    """Gathers lanes with the shuffles of an architecture that some features have; `cost_of` an instruction by name."""

    isa: str = ""
    features: tuple[str, ...] = ()
    cost_of: Callable[[str], float] = lambda name: 1.0
    _known: dict[int, list[_Form]] = field(default_factory=dict)

    def gather(
        self, program: RegisterProgram, registers: Sequence[Value], lanes: Wanted, width: int
    ) -> Made | None:  # fmt: skip
        """What brings lanes of a width into one register: each value with its cost, the last one is the register; None
        where the shuffles do not do it. All registers have the same bits."""
        left = list(dict.fromkeys(x[0] for x in lanes if x is not None and x != NOWHERE))
        # Two registers at once, or one after the other; or pairs of four first, which another register has a part in.
        found = [(made, _cost(made)) for most in (1, 2)
                 if (made := self._folded(program, registers, lanes, (width, most), left)) is not None]  # fmt: skip
        for pairs, wanted in halved(lanes, width):
            made = self._paired(program, registers, pairs, wanted, width)
            if made is not None:
                found.append((made, _cost(made[:-1]) / 2 + made[-1][1]))
        return min(found, key=lambda x: x[1])[0] if found else None

    def _paired(
        self, program: RegisterProgram, registers: Sequence[Value], pairs: Sequence[Wanted], wanted: Wanted, width: int
    ) -> Made | None:  # fmt: skip
        """Two registers, each of two, and one of these."""
        made = Made()
        halves = []
        for lanes in pairs:
            numbers = list(dict.fromkeys(x[0] for x in lanes if x is not None))
            inner = [x and (numbers.index(x[0]), x[1]) for x in lanes]
            step = self._step(program, [registers[x] for x in numbers], inner, width)
            if step is None:
                return None
            made += step
            halves.append(step[-1][0])
        last = self._step(program, halves, wanted, width)
        return None if last is None else [*made, *last]

    def _folded(
        self, program: RegisterProgram, registers: Sequence[Value], lanes: Wanted, by: tuple[int, int],
        left: Sequence[int],
    ) -> Made | None:  # fmt: skip
        (width, most), made = by, Made()
        done: list[bool] = [False] * len(lanes)
        while left:
            taken = left[: 1 if made else most]
            held = [made[-1][0]] if made else []
            numbers = {number: len(held) + at for at, number in enumerate(taken)}
            wanted = [
                None if x is None else (0, at * width) if done[at] else (numbers[x[0]], x[1]) if x[0] in numbers
                else NOWHERE if x == NOWHERE and not held else None
                for at, x in enumerate(lanes)
            ]  # fmt: skip
            step = self._step(program, [*held, *(registers[x] for x in taken)], wanted, width)
            if step is None:
                return None
            made += step
            done = [y or (x is not None and x[0] in (*numbers, NOWHERE[0])) for x, y in zip(lanes, done, strict=True)]
            left = left[len(taken) :]
        return made or None

    def _step(self, program: RegisterProgram, operands: Sequence[Value], wanted: Wanted, width: int) -> Made | None:
        """One shuffle of one or two registers, the cheapest."""
        bits = operands[0].bits
        for form in self._forms(bits):
            own = regrouped(wanted, width, form.shuffle.width)
            if form.registers + form.keeps != len(operands) or own is None:
                continue
            made = self._steered(program, form, operands, own)
            if made is not None:
                return made
        return None

    def _steered(
        self, program: RegisterProgram, form: _Form, operands: Sequence[Value], wanted: Wanted
    ) -> Made | None:  # fmt: skip
        shuffle, bits = form.shuffle, operands[0].bits
        data = [at for at in range(len(shuffle.operands)) if at != shuffle.index]
        places: list[Place | None] = []
        mask = 0
        for at, x in enumerate(wanted):
            if form.masked and (x == NOWHERE or (form.keeps and x is not None and x[0] == 0)):
                if form.keeps == (x == NOWHERE) or (x != NOWHERE and x != (0, at * shuffle.width)):
                    return None
                x = None
            elif x is not None:
                mask |= 1 << at
            # Lanes that do not matter come from wherever nothing is asked for.
            places.append(
                shuffle.places(at)[0] if x is None else None if x == NOWHERE else (data[x[0] - form.keeps], x[1])
            )
        number = shuffle.control(places)
        if number is None:
            return None
        control = program.make("constant", bits, (bits, (number,)))
        made = [(control, CONSTANT)]
        args = {shuffle.index: control, **dict(zip(data, operands[form.keeps :], strict=True))}
        given = [args[at] for at in range(len(args))]
        if form.masked:
            count = len(wanted)
            chosen = program.make("constant", count, (count, (mask,)))
            made.append((chosen, CONSTANT))
            given = [*operands[: form.keeps], chosen, *given]
        return [*made, (program.make("call", bits, (form.masked or shuffle.entry, ()), given), form.cost)]

    def _forms(self, bits: int) -> list[_Form]:
        if bits not in self._known:
            found = [y for x in self._shuffles(bits) for y in self._forms_of(x)]
            self._known[bits] = sorted(found, key=_rank)
        return self._known[bits]

    def _shuffles(self, bits: int) -> Iterator[VariableShuffle]:
        for x in usable_shuffles(self.isa, self.features) if self.isa else ():
            alike = all(y.role == "register" and y.bits == bits for y in x.operands)
            if x.result == bits and alike and not x.fixed and not is_of_floats(x.result_type):
                yield x

    def _forms_of(self, x: VariableShuffle) -> Iterator[_Form]:
        count = len(x.operands) - 1
        yield _Form(x, count, self.cost_of(x.entry))
        for word, keeps in (("mask", True), ("maskz", False)) if count == 1 else ():
            name = re.sub(r"^(_mm\d*)_", rf"\1_{word}_", x.entry)
            parts = x.result // x.width
            if name != x.entry and parts >= 8 and self._has(name):
                yield _Form(x, 1, self.cost_of(name), name, keeps)

    def _has(self, name: str) -> bool:
        try:
            load_collection(self.isa).entry(name)
        except KeyError:
            return False
        return bool(had(self.isa, self.features, [name]))


def _rank(x: _Form) -> tuple[object, ...]:
    """The cheapest first, of these plain ones, and such with wide lanes and short names."""
    return x.cost, bool(x.masked), -x.shuffle.width, len(x.shuffle.entry), x.shuffle.entry, x.masked


def _cost(made: Made) -> float:
    return sum(cost for _, cost in made)


def halved(lanes: Wanted, width: int) -> Iterator[tuple[tuple[Wanted, Wanted], Wanted]]:
    """Lanes of four registers by way of two, each of two of these, whose other half is what the next register needs (or
    the one before): what each of the two holds, and where the lanes lie in them.

    Lanes that are woven from four registers are pairs of what is woven from two; every fourth lane of four registers,
    one after the other, are halves of what has two of these in turn.

    >>> woven = [(at % 4, 8 * (at // 4)) for at in range(8)]
    >>> ((first, second), wanted), = halved(woven, 8)
    >>> first[:3], second[:3], wanted[:6]
    ([(0, 0), (1, 0), (0, 8)], [(2, 0), (3, 0), (2, 8)], [(0, 0), (0, 8), (1, 0), (1, 8), (0, 16), (0, 24)])
    >>> apart = [(at // 2, 32 * (at % 2) + 8) for at in range(8)]
    >>> ((first, second), wanted), = halved(apart, 8)
    >>> first[:5], second[:2], wanted[2:5]
    ([(0, 0), (0, 32), (1, 0), (1, 32), (0, 8)], [(2, 0), (2, 32)], [(0, 48), (0, 56), (1, 32)])
    """
    count = len(lanes)
    given = [x for x in lanes if x is not None and x != NOWHERE]
    numbers = list(dict.fromkeys(x[0] for x in given))
    if len(given) < count or len(numbers) != 4 or count % 8:
        return
    half, start = count // 2, given[0][1] // width
    if all(x == (numbers[at % 4], (start + at // 4) * width) for at, x in enumerate(given)):
        first = start // half * half
        woven = tuple(
            [(numbers[2 * pair + at % 2], (first + at // 2) * width) for at in range(count)] for pair in range(2)
        )
        wanted = [(at % 4 // 2, (2 * (start - first + at // 4) + at % 2) * width) for at in range(count)]
        yield (woven[0], woven[1]), wanted
    quarter, step = count // 4, given[1][1] - given[0][1]
    apart = [(numbers[at // quarter], given[0][1] + at % quarter * step) for at in range(count)]
    if given == apart and step == 4 * width and given[0][1] < step:
        back = given[0][1] // width % 2
        held = []
        for side in range(2):
            own = given[side * half : (side + 1) * half]
            held.append([(x, bit + (turn - back) * width) for turn in range(2) for x, bit in own])
        yield (held[0], held[1]), [(at // half, (back * half + at % half) * width) for at in range(count)]


def regrouped(lanes: Wanted, width: int, to: int) -> list[Place | None] | None:
    """The same lanes as such of another width; None where wider ones are of parts that are not beside one another.

    >>> regrouped([(0, 16), None], 16, 8), regrouped([(1, 0), (1, 8), None, (0, 24)], 8, 16)
    ([(0, 16), (0, 24), None, None], [(1, 0), (0, 16)])
    >>> regrouped([(1, 0), (0, 8)], 8, 16) is None
    True
    """
    if to <= width:
        parts = range(0, width, to)
        return [x if x is None or x == NOWHERE else (x[0], x[1] + part) for x in lanes for part in parts]
    made: list[Place | None] = []
    times = to // width
    for at in range(0, len(lanes), times):
        group = {x if x == NOWHERE else (x[0], x[1] - width * n)
                 for n, x in enumerate(lanes[at : at + times]) if x is not None}  # fmt: skip
        if len(group) > 1 or any(x[1] % to for x in group):
            return None
        made.append(group.pop() if group else None)
    return made


def find_sources(demand: Demand, body: LaneBody, wide: int) -> tuple[list[Source], list[Place | None]] | None:
    """The registers that the lanes of a demand are to be had from, and where they lie in these: memory from the
    beginning of a row on, what is computed, in lanes of `wide` bits, from the first iteration on. None where there are
    too many, or it is such a register itself."""
    numbers: dict[Source, int] = {}
    places: list[Place | None] = []
    for at, lane in enumerate(demand.lanes):
        if lane is None or lane[0] is ZERO:
            places.append(None if lane is None else NOWHERE)
            continue
        found = _source(lane, at, demand, body, wide)
        if found is None:
            return None
        places.append((numbers.setdefault(found[0], len(numbers)), found[1]))
        if len(numbers) > _MOST_SOURCES:
            return None
    return None if demand in numbers else ([*numbers], places)


def _cut_inside(x: Node, width: int, wide: int) -> Node:
    """Another number whose low bits, so many, are the same, where that takes no more than a wide lane on the way: bits
    that are shifted down come from a lane's own."""
    if x.op != "shr" or x.args[1].op != "const" or wide - x.args[1].low < width:
        return x
    return build.shift_right(build.wrap(x.args[0], wide, True), x.args[1])


def _source(
    lane: Lane, at: int, demand: Demand, body: LaneBody, wide: int
) -> tuple[Source, int] | None:  # fmt: skip
    (term, iteration), bits, width = lane, demand.bits, demand.width
    if body.is_invariant(term):
        return Demand.of(bits, width, [(term, 0)] * (bits // width)), at * width
    address = body.address(term)
    if address is None or address.step == width:
        # What is stored are low bits, whatever there is above these.
        while wide > width and term.op == "wrap" and int(term.attr[0]) >= width:
            term = term.args[0]
        term = _cut_inside(term, width, wide)
        count = bits // wide
        first = iteration // count * count
        natural = Demand.of(bits, wide, [(term, first + n) for n in range(count)])
        return (natural, (iteration - first) * wide) if first + count <= body.lanes else None
    offset = address.at(iteration)
    start = min(offset // bits * bits, body.extents[address.row] - bits)
    if int(term.attr[1]) < width or start < 0 or offset + width > start + bits:
        return None
    return (address.row, start), offset - start
