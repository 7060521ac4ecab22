"""Statements of a loop that is strip-mined and vectorised: what all scans have in common.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F64
>>> loop = parse_kernel("kernel k(n; x: f64[n]) { for j in 1 .. n { x[j] = 1.0 } }").body.body[0]
>>> lanes = LoopLanes(loop, F64, ValueRegisters("avx512", "zmm", 8), {"x", "n", "j"})
>>> print(print_stmt(lanes.copy("v", (), "x", (index("j"),))), end="")
for lane in 0 .. 8 {
  v[lane] = x[j + lane]
}
>>> lanes.given
[('lane', '')]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.core.names import take_name
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Array, Assign, Block, For, LoopFacts, Reduce, Stmt
from planish.ir.types import Type
from planish.schedule.auto.lower import place_expr

STRIP = 512
"""The values of a strip: what is made of them stays in the nearest cache."""


@dataclass(frozen=True, slots=True)
class ValueRegisters:
    """The registers of a vector extension, how many values one holds, and how many a strip has."""

    extension: str
    memory: str
    lanes: int
    strip: int = STRIP

    @property
    def moves(self) -> tuple[int, ...]:
        """By how many lanes values are moved, one after the other."""
        return tuple(1 << n for n in range(self.lanes.bit_length() - 1))

    def slide(self, lanes: int, type: str) -> str:
        """The instruction that moves lanes on by so many."""
        return f"{self.extension}_slide_{f'{lanes}_' if lanes > 1 else ''}{type}"

    def extremum(self, op: str, type: Type, kind: str = "") -> str:
        """The instruction for an extremum of floats with another register, or with a number (`scalar_`)."""
        return f"{self.extension}_{op}_{kind}{type}"


class LoopLanes:
    """A loop over values of a type, on its way to registers; names that are made are `taken` then. `given`: the loops
    over lanes that have to become instructions, with the names of those that are known; `facts`: what is known of
    loops, whatever conditions on data stand around them. `first` and `count` are the names of a strip's beginning and
    length."""

    def __init__(self, around: For, type: Type, registers: ValueRegisters, taken: set[str]) -> None:
        self.around, self.type, self.registers, self.taken = around, type, registers, taken
        self.lanes, self.given, self.facts = registers.lanes, list[tuple[str, str]](), dict[str, LoopFacts]()
        self.first, self.count = self.fresh("first"), self.fresh("count")

    @property
    def length(self) -> Expr:
        """The values of a strip."""
        return extremum("min", index(self.registers.strip), sub(self.around.upper, index(self.first)))

    @property
    def whole(self) -> Expr:
        """The values of a strip that fill registers."""
        return mul(index(self.lanes), floordiv(index(self.count), index(self.lanes)))

    def at(self, value: Expr, place: Expr) -> Expr:
        """A value at a place of a strip."""
        return place_expr(value, {self.around.var: add(index(self.first), place)})

    def target_at(self, target: Load, place: Expr) -> Load:
        """A cell at a place of a strip."""
        found = self.at(target, place)
        assert isinstance(found, Load)
        return found

    def over(self, place: str, count: Expr, *stmts: Stmt) -> Stmt:
        """Statements for so many places of a strip, which do not wait for each other."""
        self.facts[place] = LoopFacts(simd=True)
        return For(place, index(0), count, 1, Block(stmts))

    def copy(self, target: str, own: Sequence[Expr], source: str, other: Sequence[Expr]) -> Stmt:
        """Lanes from one row to another one; of both the place of the first one is given, of a register none."""
        lane = self.fresh("lane")

        def at(first: Sequence[Expr]) -> tuple[Expr, ...]:
            return (*first[:-1], add(first[-1], index(lane))) if first else (index(lane),)

        return self.loop(lane, Assign(target, at(own), Load(source, at(other), self.type)))

    def loop(self, lane: str, put: Assign | Reduce, instruction: str = "") -> Stmt:
        """A loop over lanes that becomes an instruction."""
        self.given.append((lane, instruction))
        return For(lane, index(0), index(self.lanes), 1, Block((put,)))

    def load(self, array: Array, *at: Expr) -> Load:
        """An element, or a cell."""
        return Load(array.name, at, array.type)

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        return take_name(name, self.taken)
