"""Subscripts that stay in range: index expressions with the least and greatest value over all sizes, and arrays.

>>> Index("i", 0, 9).plus(-1)
Index(text='i - 1', low=-1, high=8, unsigned=False, tight=False)
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

LARGEST = 67
"""The largest value of a size."""

FURTHEST = 6000
"""How far a subscript of a flat array may lie from its start."""


@dataclass(frozen=True, slots=True)
class Index:
    """The text of an index expression, its least and greatest value, and whether C computes it without a sign."""

    text: str
    low: int
    high: int
    unsigned: bool = False
    tight: bool = True

    @property
    def operand(self) -> str:
        """The text as it stands beside an operator."""
        return self.text if self.tight else f"({self.text})"

    @property
    def term(self) -> str:
        """The text as it stands beside + and -."""
        return self.operand if any(x in self.text for x in "&?<") else self.text

    def plus(self, number: int) -> Index:
        """The expression and a constant; what has no sign stays above 0."""
        if number == 0 or (self.unsigned and self.low + number < 0):
            return self
        sign, size = ("+", number) if number > 0 else ("-", -number)
        return Index(f"{self.term} {sign} {size}", self.low + number, self.high + number, self.unsigned, False)

    def times(self, factor: int) -> Index:
        """The expression times a constant."""
        if factor == 1 or (self.unsigned and factor < 0):
            return self
        ends = (self.low * factor, self.high * factor)
        return Index(f"{factor} * {self.operand}", min(ends), max(ends), self.unsigned, False)

    def joined(self, op: str, other: Index) -> Index:
        """The sum, difference or product of two expressions; a sum where the difference needs a sign that C drops."""
        unsigned = self.unsigned or other.unsigned
        a, b = self, other
        if unsigned and (a.low < 0 or b.low < 0):
            return a
        if op == "-":
            if unsigned and a.low - b.high < 0:
                op = "+"
            else:
                return Index(f"{a.term} - {b.operand}", a.low - b.high, a.high - b.low, unsigned, False)
        if op == "+":
            return Index(f"{a.term} + {b.term}", a.low + b.low, a.high + b.high, unsigned, False)
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return Index(f"{a.operand} * {b.operand}", min(ends), max(ends), unsigned, False)

    def divided(self, op: str, by: int) -> Index:
        """Quotient or remainder by a positive constant, as C rounds."""
        if op == "/":
            ends = [int(self.low / by), int(self.high / by)]
        else:
            ends = [0 if self.low >= 0 else 1 - by, by - 1 if self.high > 0 else 0]
        return Index(f"{self.operand} {op} {by}", ends[0], ends[1], self.unsigned, False)


@dataclass(frozen=True, slots=True)
class Iterator:
    """A loop's variable: its values lie in [`start`, `size` + `past`), where there is a size, and in the index's."""

    index: Index
    start: int = 0
    size: str = ""
    past: int = 0


@dataclass(slots=True, eq=False)
class Array:
    """An array, or a pointer, in reach of a function.

    `shape`: constants and names of sizes; a flat array has the shape () and any subscript; `low` and `high` are those
    that were used. `parent`: what a pointer points into, at `offset`. `bound`: no value lies further from 0.
    """

    name: str
    type: str
    shape: tuple[int | str, ...]
    const: bool = False
    restrict: bool = False
    bound: float = 0
    low: int = 0
    high: int = 0
    parent: Array | None = None
    offset: tuple[int, int] = (0, 0)
    spelling: str = ""
    used: list[Index] = field(default_factory=list)

    def touch(self, low: int, high: int) -> None:
        """Notes that subscripts from `low` to `high` are used."""
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.parent is not None:
            self.parent.touch(low + self.offset[0], high + self.offset[1])


def clamp(rng: random.Random, index: Index, extent: int) -> Index:
    """A subscript of a dimension of `extent` elements made of any expression."""
    width = index.high - index.low
    if width < extent:
        if index.low >= 0 and index.high < extent and rng.random() < 0.8:
            return index
        moved = index.plus(-index.low)
        moved = moved.plus(rng.randint(0, extent - 1 - width))
        if moved.low >= 0 and moved.high < extent:
            return moved
    if index.low >= 0:
        if extent & (extent - 1) == 0 and rng.random() < 0.4:
            return Index(f"{index.operand} & {extent - 1}", 0, extent - 1, index.unsigned, False)
        return Index(f"{index.operand} % {extent}", 0, extent - 1, index.unsigned, False)
    if rng.random() < 0.5:
        return Index(f"(({index.operand} % {extent}) + {extent}) % {extent}", 0, extent - 1, index.unsigned, False)
    text = f"{index.operand} < 0 ? 0 : {index.operand} >= {extent} ? {extent - 1} : {index.text}"
    return Index(text, 0, extent - 1, index.unsigned, False)


def subscript_size(rng: random.Random, iterators: list[Iterator], size: str) -> str:
    """A subscript of a dimension of as many elements as a size says; only inside of loops over that size."""
    fitting = [x for x in iterators if x.size == size]
    if not fitting:
        return ""
    it = fitting[-1] if rng.random() < 0.6 else rng.choice(fitting)
    moves = [d for d in (-2, -1, 1, 2) if it.start + d >= 0 and it.past + d <= 0]
    roll = rng.random()
    if moves and roll < 0.6:
        return it.index.plus(rng.choice(moves)).text
    if roll < 0.85 or it.past > 0 or it.start < 0:
        if it.past <= 0 and it.start >= 0:
            return it.index.text
        return f"{it.index.operand} % {size}" if it.start >= 0 and it.index.low >= 0 else "0"
    if roll < 0.92:
        return f"{size} - 1 - {it.index.operand}"
    return "0" if roll < 0.96 else f"{size} - 1"
