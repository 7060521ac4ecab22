"""Covering terms with lane functions, whatever the order of lanes: what each lane costs at least, and the best ways.

The first of two stages. A term in lanes of a width is answered by a lane function and terms in its slots; terms of
slots are smaller, so that equal ones are answered once, and what is found is the cheapest tree. The second stage (see
`cover`) lays these functions out in registers.

>>> from planish.select.body import read_body
>>> from planish.select.factored.lane_functions import usable
>>> from planish.select.lane_table import LaneTable
>>> table = LaneTable(usable("arm", ("v7",)), lambda name: 1.0)
>>> body = read_body("(p: 136) -> out: 128 { for i < 16 { out.u8[i] = p.u8[i] + p.u8[i + 1] + 1 >> 1 } }")
>>> found = LaneCover(table, (128, 64), body).best(body.outputs[0].value, 8)
>>> found.ways[0].function.op, found.cost == 1 / 16 + 2 * LOAD / 16
('shr', True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, walk
from planish.select.body import LaneBody
from planish.select.demand import computed, needed_width, widest_read
from planish.select.forms.difference_masks import masks_by_difference
from planish.select.forms.split_products import HALF, WORD, half_of, multiplies_halves, split_products
from planish.select.forms.wide_halves import halves_of
from planish.select.lane_table import LaneRow, LaneTable
from planish.select.rules import COMPARED, alternatives, canonical, is_condition, is_mask
from planish.select.sharing import count_uses
from planish.select.unify import Binding, fits, unify

LOAD = 0.5
"""Cycles of a load, two of which start in each."""
CONSTANT = 0.05
"""Cycles of a register that is made once, before the loop: of ways that cost the same the one with fewer is taken."""
MOST_TERMS = 3_000
"""So many terms are looked at for one strip."""
_BINDINGS = 16
_KEPT, _SLACK = 10, 2.0
"""How many ways of a term are kept, and how much dearer than the best one they may be."""
_NOTHING = float("inf")


@dataclass(frozen=True, slots=True)
class LaneClass:
    """Rows that have the same function, whose slots read the same operands: what one lane of a result costs. `halves`:
    of each slot whether it reads the high halves of words (True), the low ones (False), or none (None)."""

    function: Node
    operands: tuple[int, ...]
    halves: tuple[bool | None, ...]
    cost: float
    rows: tuple[LaneRow, ...]

    def takes(self, name: str) -> bool:
        """Whether a parameter may be what is the same in all lanes, and known at run time only."""
        return any(y.name == name and y.role == "scalar" for x in self.rows for y in x.instruction.operands)


@dataclass(frozen=True, slots=True)
class Way:
    """A function for a term: what lies in its slots, and what a lane costs with all that is in them."""

    lanes: LaneClass
    binding: Mapping[str, Node]
    cost: float

    @property
    def function(self) -> Node:
        """The function."""
        return self.lanes.function


@dataclass(frozen=True, slots=True)
class LaneAnswer:
    """The cheapest ways of a term, the cheapest first; none where it is a leaf, or where nothing is found."""

    cost: float
    ways: tuple[Way, ...] = ()


@dataclass(slots=True)
class LaneCover:
    """Answers for terms of a strip with the instructions of a table in registers of some widths, the widest first.
    `shared`: how often a term is asked for that others may share, so that each pays a part of it."""

    table: LaneTable
    registers: Sequence[int]
    body: LaneBody
    asked: int = 0
    shared: Mapping[Node, int] = field(init=False)
    _known: dict[tuple[Node, int], LaneAnswer] = field(default_factory=dict)
    _sizes: dict[Node, float] = field(default_factory=dict)
    _open: set[tuple[Node, int]] = field(default_factory=set)
    _bound: dict[tuple[Node, Node, int, bool], list[Binding]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shared = count_uses([x.value for x in self.body.outputs])

    def best(self, term: Node, width: int) -> LaneAnswer:
        """The best ways to have a term in lanes of a width, modulo 2^width."""
        key = self.form(term, width), width
        found = self._known.get(key)
        if found is None:
            if key in self._open:
                return LaneAnswer(_NOTHING)
            self._open.add(key)
            found = self._known[key] = self._found(*key)
            self._open.discard(key)
        return found

    def form(self, term: Node, width: int) -> Node:
        """The form in which a term is looked for in lanes of a width: reads of whole elements, but where a part of one
        fills the lane; masks as such."""
        if term.op == "bits" and int(term.attr[1]) == width:
            return term
        return canonical(self.body.whole(term), width)

    def _found(self, term: Node, width: int) -> LaneAnswer:
        if term.op == "const":
            return LaneAnswer(CONSTANT * width / self.registers[0])
        cost = self._read(term, width)
        whole = self.body.whole(term)
        if cost < _NOTHING and whole is term:
            return LaneAnswer(cost)
        found = self._computed(whole, width, False)
        if not found.ways and cost == _NOTHING and _uncut(whole, 1).op in _WIDENED:
            found = self._computed(whole, width, True)
        return LaneAnswer(min(cost, found.cost, self._halved(whole, width)), found.ways)

    def _halved(self, term: Node, width: int) -> float:
        """What a lane costs where even and odd ones are computed by themselves, in wider lanes, and put together."""
        halves = halves_of(term, width)
        if halves is None:
            return _NOTHING
        return sum(self.best(x, 2 * width).cost for x in halves) / 2 + width / self.registers[0]

    def _read(self, term: Node, width: int) -> float:
        """What it costs to have a term that nothing is computed for; a part of elements takes two loads
        and a shuffle."""
        if self.body.is_invariant(term):
            return LOAD * width / self.registers[0]
        if not self.body.is_leaf(term) or (term.op == "bits" and int(term.attr[1]) < width):
            return _NOTHING
        address = self.body.address(term)
        split = address is not None and self.body.elements.get(address.row, 0) > int(term.attr[1])
        return (2 * LOAD + 1 if split else LOAD) * width / self.registers[0]

    def _computed(self, whole: Node, width: int, widens: bool) -> LaneAnswer:
        """The cheapest ways to compute a term; `widens`: also in lanes that are wider than it needs."""
        if self.asked >= MOST_TERMS:
            return LaneAnswer(_NOTHING)
        self.asked += 1
        best = _NOTHING
        ways: list[Way] = []
        others = () if self._compares(width) else masks_by_difference(whole, width)
        split = split_products(_uncut(whole, width), width) if self._splits(width) else ()
        for term in (whole, *alternatives(whole, width), *others, *split):
            for lanes in self._classes(term, width):
                if lanes.cost >= best * _SLACK:
                    continue
                for binding in self._bindings(lanes.function, term, width, widens):
                    cost = self._cost(lanes, whole, width, binding, best * _SLACK, widens)
                    if cost < best * _SLACK:
                        ways.append(Way(lanes, binding, cost))
                        best = min(best, cost)
        ways = sorted((x for x in ways if x.cost <= best * _SLACK), key=lambda x: x.cost)[:_KEPT]
        return LaneAnswer(best, tuple(ways))

    def _compares(self, width: int) -> bool:
        """Whether there are instructions that compare lanes of a width."""
        known = classes_of(self.table, tuple(self.registers), width)
        return "select" in known or any(x in known for x in COMPARED)

    def _splits(self, width: int) -> bool:
        """Whether there are instructions that multiply words by halves of words."""
        return width == WORD and _multiplies_halves(self.table, tuple(self.registers))

    def _cost(
        self, lanes: LaneClass, term: Node, width: int, binding: Binding, limit: float, widens: bool
    ) -> float:  # fmt: skip
        """What a lane costs with this function; infinite where a slot asks for no less than the term itself."""
        widths = slot_widths(lanes.function)
        own = self._size(term, width), width
        cost = lanes.cost
        if not all(y.op == "const" or lanes.takes(x) for x, y in binding.items() if not x.isdigit()):
            return _NOTHING
        asked = [_asked(binding[x], widths[x], lanes.halves[int(x)]) for x in sorted(filter(str.isdigit, binding))]
        for inner, wide in asked:
            if not _descends(inner, wide, self._size(inner, wide), term, own, widens):
                return _NOTHING
        cost += self._woven(lanes, width, binding, widths)
        for inner, wide in dict.fromkeys(asked):
            if cost >= limit:
                return _NOTHING
            cost += self.best(inner, wide).cost / self.shared.get(inner, 1)
        return cost

    def _woven(self, lanes: LaneClass, width: int, binding: Binding, widths: Mapping[str, int]) -> float:
        """What it costs to bring terms to lie beside each other, where several slots read one operand: nothing for
        constants, and for neighbours in memory."""
        cost = 0.0
        for operand in dict.fromkeys(lanes.operands):
            slots = [str(at) for at, x in enumerate(lanes.operands) if x == operand]
            if len(slots) > 1:
                terms = [binding.get(x) for x in slots]
                if not self._are_neighbours(terms, widths[slots[0]]):
                    cost += (len(slots) - 1) * width / self.registers[0]
        return cost

    def _are_neighbours(self, terms: Sequence[Node | None], width: int) -> bool:
        given = [(at, x) for at, x in enumerate(terms) if x is not None]
        if all(self.body.is_invariant(x) for _, x in given):
            return True
        places = [(at, self.body.address(x)) for at, x in given]
        starts = {(x.row, x.offset - at * width, x.step) for at, x in places if x is not None}
        return len(starts) == 1 and None not in [x for _, x in places] and starts.pop()[2] == width * len(terms)

    def _size(self, term: Node, width: int) -> float:
        size = self._sizes.get(term)
        if size is None:
            varying = (x for x in computed(term) if not self.body.is_invariant(x))
            size = self._sizes[term] = 0.0 if self.body.is_leaf(term) else sum(map(_work, varying))
        # A condition as a number is made of a mask.
        return size + 2 if width > 1 and is_condition(term) else size

    def _bindings(self, function: Node, term: Node, width: int, widens: bool) -> list[Binding]:
        """The first few ways in which a function is a term; the classes of one function have the same ones."""
        key = function, term, width, widens
        found = self._bound.get(key)
        if found is None:
            found = self._bound[key] = self._unified(*key)
        return found

    def _unified(self, function: Node, term: Node, width: int, widens: bool) -> list[Binding]:
        most = max(needed_width(term), (2 if widens else 1) * width, widest_read(term))
        widths = slot_widths(function)
        wide = [name for name, x in widths.items() if x > most and name.isdigit()]
        if wide and function.op != "select":  # the amount of a shift may be in a wider lane, where it does not vary
            return []
        found = islice(unify(function, term, width), _BINDINGS)
        made = ({x: self.form(y, widths[x]) for x, y in b.items()} for b in found)
        return [
            x for x in made
            if all(y not in x or self.body.is_invariant(x[y]) for y in wide)
            and all(self.body.is_invariant(y) for name, y in x.items() if not name.isdigit())
        ]  # fmt: skip

    def _classes(self, term: Node, width: int) -> Iterator[LaneClass]:
        """Those whose functions may be the term, the cheapest first."""
        known = classes_of(self.table, tuple(self.registers), width)
        for op in _operators(term):
            yield from known.get(op, ())


_MORE_WORK = {"abs": 8, "select": 10, "lt": 6, "le": 9, "eq": 2}
"""What operators count for beside their arguments, so that rules make terms smaller."""


_WORDS = 10
"""What a product of words counts for beside, so that those of halves of words are less."""


def _work(x: Node) -> float:
    """What an operator counts for: the more it shifts, and the more narrowly it saturates, the more."""
    if is_mask(x):
        return 1
    if x.op == "wrap" and int(x.attr[0]) == 1:
        return 1 + _MORE_WORK["lt"]
    if x.op == "add":
        return sum(1.0 if y.op != "const" else 0.5 for y in x.args)
    if x.op == "mul" and (x.args[1].constant or 1) % (1 << HALF) and not any(map(_is_half, x.args)):
        return len(x.args) + _WORDS
    amount = x.args[1].constant if x.op == "shr" else 128 - int(x.attr[0]) if x.op == "sat" else 0
    return len(x.args) + _MORE_WORK.get(x.op, 0) + _unrounded(x) + _numbered(x) + (amount or 0) / 256


def _is_half(x: Node) -> bool:
    return fits(x, HALF, False) or fits(x, HALF, True)


_WIDENED = ("shr", "shl", "mul")
"""What there may be in wider lanes alone, though narrow ones hold it."""


def _uncut(x: Node, width: int) -> Node:
    """What a term is before it is cut, to so many bits at least."""
    while x.op == "wrap" and int(x.attr[0]) >= width:
        x = x.args[0]
    return x


def _asked(x: Node, width: int, half: bool | None) -> tuple[Node, int]:
    """What is asked for to have a term in a slot: the word that it is a half of, where the slot reads halves."""
    word = half_of(x, half) if half is not None else None
    return (x, width) if word is None else (word, WORD)


def _numbered(x: Node) -> int:
    """What conditions count for that are numbers, of whose bits others have some: a mask, and its last bit."""
    return 0 if x.is_truth or x.op not in ("or", "xor") else 3 * sum(map(is_condition, x.args))


def _unrounded(x: Node) -> int:
    """What the half of a sum counts for beside: those of unsigned numbers that round up are simple."""
    if x.op != "shr" or x.args[0].op != "add" or x.args[1].op != "const":
        return 0
    constant = sum(y.low for y in x.args[0].args if y.op == "const")
    return 2 * (not constant >> (x.args[1].low - 1) & 1) + 4 * (x.low < 0)


def _descends(
    inner: Node, wide: int, size: float, term: Node, own: tuple[float, int], widens: bool
) -> bool:  # fmt: skip
    """Whether what lies in a slot asks for less than its term: it is smaller; or the same in narrower lanes, in which
    all of it can be computed; or the same in wider ones, since its own are too narrow, or `widens`."""
    if size < own[0] or inner.op == "const":
        return True
    uncut = inner.args[0] if inner.op == "wrap" else inner
    if uncut is not term and inner is not term and size > own[0]:
        return False
    needed = max(needed_width(inner), needed_width(term), widest_read(inner))
    return needed <= wide < own[1] if wide < own[1] else (widens or own[1] < needed) and wide > own[1]


def _operators(term: Node) -> tuple[str, ...]:
    """The operators that a function may begin with, to be a term."""
    cut = term.op == "wrap"
    while term.op in ("wrap", "sat"):
        if term.op == "sat":
            return ("sat", *_operators(term.args[0]), "bits")
        term = term.args[0]
    own = {
        "mul": ("mul", "shl", "add"), "add": ("add", "mul", "shl"), "shl": ("shl", "mul"), "min": ("min", "sat"),
        "max": ("max", "sat"), "invert": ("invert", "xor"),
    }  # fmt: skip
    if term.op in ("shl", "shr") and term.args[1].op != "const":
        own[term.op] = (*own.get(term.op, (term.op,)), "select")
    more = (*(("and",) if cut else ()), *(("bits",) if term.op != "bits" else ()))
    return (*own.get(term.op, (term.op,)), *more)


@cache
def classes_of(table: LaneTable, registers: tuple[int, ...], width: int) -> Mapping[str, tuple[LaneClass, ...]]:
    """The lane classes of a width by the operators that they begin with, the cheapest first."""
    found: dict[tuple[Node, tuple[int, ...], tuple[bool | None, ...]], list[LaneRow]] = {}
    # A mask has a bit for each lane.
    sizes = registers if width > 1 else tuple(x for x in (64, 32, 16, 8) if x <= registers[0] // 8)
    for bits in sizes:
        for row in table.computing(bits, width):
            functions = {x for x in row.functions if x is not None and x is not build.ZERO}
            if len(functions) == 2:
                # Lanes that are made beside lanes that stay as they are.
                functions -= {x for x in functions if is_kept(x, width)}
            if len(functions) != 1 or not all(map(_has_lanes, functions)):
                continue
            function = functions.pop()
            at = row.functions.index(function)
            operands = tuple(place[0] for place in row.slots[at])
            found.setdefault((function, operands, _halves_of(row, at, width)), []).append(row)
    classes: dict[str, list[LaneClass]] = {}
    for (function, operands, halves), rows in found.items():
        cost = min(x.cost / max(1, sum(y is function for y in x.functions)) for x in rows)
        for op in _beginnings(function):
            classes.setdefault(op, []).append(LaneClass(function, operands, halves, cost, tuple(rows)))
    return {op: tuple(sorted(x, key=lambda y: (y.cost, _plainness(y.function)))) for op, x in classes.items()}


@cache
def _multiplies_halves(table: LaneTable, registers: tuple[int, ...]) -> bool:
    return multiplies_halves(x.function for y in classes_of(table, registers, WORD).values() for x in y)


def _halves_of(row: LaneRow, at: int, width: int) -> tuple[bool | None, ...]:
    """Which halves of words the slots of a lane read, in lanes of words."""
    widths = slot_widths(function) if width == WORD and (function := row.functions[at]) is not None else {}
    return tuple(
        offset % WORD == HALF if widths.get(str(slot)) == HALF else None
        for slot, (_, offset) in enumerate(row.slots[at])
    )  # fmt: skip


def is_kept(function: Node, width: int) -> bool:
    """Whether a lane is one of an operand as it is."""
    return function.op == "bits" and str(function.attr[0]).isdigit() and int(function.attr[1]) == width


def _plainness(function: Node) -> int:
    """What a function is made of: of those that cost the same the one that does less is meant."""
    return sum(1 for _ in walk([function]))


def _has_lanes(function: Node) -> bool:
    """Whether all slots are as wide as lanes are, or as those of masks."""
    return all(x in (1, 8, 16, 32, 64) for name, x in slot_widths(function).items() if name.isdigit())


def _beginnings(function: Node) -> set[str]:
    """What a term begins with that a function can be, but for what is cut."""
    x = function
    while x.op in ("wrap", "sat"):
        x = x.args[0]
    return {x.op, "sat"} if function.op == "sat" else {x.op}


@cache
def slot_widths(function: Node) -> Mapping[str, int]:
    """The widths of what a lane function reads, by the names of slots."""
    return {str(x.attr[0]): int(x.attr[1]) for x in walk([function]) if x.op == "bits"}
