"""Vectors and scalars of an e-graph as the rules see them: what classes are, and new ones.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.saturation.lanes import lane_moves
>>> from planish.vliw.saturation.straight import write_out
>>> straight = write_out(parse_kernel("kernel f(a: f32[2], b: f32[2]) { b[0] = a[0] * a[1] - a[1] }"))
>>> made = VectorTerms(straight, lane_moves(load_machine("ftmatrix"), F32))
>>> [(x.negative, x.is_product) for x in map(made.term, made.terms(straight.outputs["b"][0]))]
[(False, True), (True, False)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from planish.ir.expr import Binary, Unary, Var
from planish.vliw.saturation.columns import Addend
from planish.vliw.saturation.egraph import EGraph, ENode
from planish.vliw.saturation.lanes import FixedMove, LaneMoves, fixed_by_lane
from planish.vliw.saturation.straight import Straight
from planish.vliw.saturation.terms import (
    AnyTerm,
    ApplyTerm,
    ConstantsTerm,
    ElementTerm,
    LanesTerm,
    NumberTerm,
    PermuteTerm,
    SumTerm,
    TermHead,
    head_of,
)

_LEAVES = (ElementTerm, NumberTerm)


@dataclass(slots=True)
class VectorTerms:
    """The e-graph of a kernel, and the moves between lanes that its machine has. `alignment`: vectors in memory start
    at multiples of so many elements."""

    straight: Straight
    moves: LaneMoves
    alignment: int = 1
    _any: int = field(init=False)
    _fixed: dict[tuple[int, int], tuple[FixedMove, ...]] = field(init=False)
    families: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._any = self.graph.add(AnyTerm())
        self._fixed = fixed_by_lane(self.moves.fixed)
        self.graph.opaque = (LanesTerm, SumTerm)
        for family in self.straight.families:
            for start in range(0, len(family), self.moves.lanes or len(family)):
                own = family[start : start + self.moves.lanes]
                for x in own:
                    self.families.setdefault(self.graph.find(x), []).append(own)

    @property
    def outputs(self) -> int:
        """How many elements are stored."""
        return sum(len(x) for x in self.straight.outputs.values())

    @property
    def is_short(self) -> bool:
        """Whether so few vectors are made that the latency of sums counts."""
        return self.outputs <= 4 * self.moves.lanes

    @property
    def is_thin(self) -> bool:
        """Whether all that is stored does not fill a vector."""
        return self.outputs < self.moves.lanes

    @property
    def graph(self) -> EGraph:
        """The e-graph."""
        return self.straight.graph

    def leaf(self, number: int) -> ElementTerm | NumberTerm | None:
        """The element or number that a class is."""
        return next((x.op for x in self.graph.view(number) if isinstance(x.op, _LEAVES)), None)

    def is_any(self, number: int) -> bool:
        """Whether nobody asks for a lane."""
        return number == self._any

    def anything(self) -> int:
        """The class of lanes that nobody asks for: nothing else is ever equal to it."""
        return self._any

    def number(self, value: float) -> int:
        """The class of a constant."""
        found = self.graph.add(NumberTerm(value, self.moves.type))
        self.straight.types[found] = self.moves.type
        return found

    def lanes(self, scalars: Sequence[int]) -> int:
        """The class of a vector of scalars."""
        own = list(scalars)
        while own and self.is_any(own[-1]):
            own.pop()
        return self.graph.add(LanesTerm(), own)

    def real(self, node: ENode) -> list[tuple[int, int]]:
        """The lanes that are asked for, and their scalars."""
        find, nobody = self.graph.find, self._any
        return [(n, find(x)) for n, x in enumerate(node.children) if x != nobody]

    def apply(self, text: str, operands: Sequence[int], lanes: bool) -> int:
        """An operation on scalars or lanes of the kernel's type."""
        kind = self.moves.type
        found = self.graph.add(ApplyTerm(head_of(text, kind), lanes), operands)
        if not lanes:
            self.straight.types[found] = kind
        return found

    def heads(self, number: int) -> dict[TermHead, tuple[int, ...]]:
        """The operations that make a scalar."""
        found: dict[TermHead, tuple[int, ...]] = {}
        for x in self.graph.view(number):
            if isinstance(x.op, ApplyTerm) and not x.op.lanes:
                head = x.op.head
                if len(head.operands) < 3 or not isinstance(head.value, Binary):  # what was fused is known otherwise
                    found[head] = x.children
        return found

    def terms(self, number: int) -> tuple[int, ...] | None:
        """The terms of a sum; None where a scalar is none."""
        return next((x.children for x in self.graph.view(number) if isinstance(x.op, SumTerm)), None)

    def term(self, number: int) -> Addend:
        """A term of a sum: its sign, and the factors of a product."""
        negative = False
        while (inner := self.operand(number, "neg")) is not None:
            negative, number = not negative, inner[0]
        factors = self.operand(number, "mul")
        return Addend(self.graph.find(number), negative, tuple(self.graph.find(x) for x in factors or ()))

    def operand(self, number: int, op: str) -> tuple[int, ...] | None:
        """The operands of a product or negation."""
        for head, children in self.heads(number).items():
            if isinstance(head.value, Binary | Unary) and head.value.op == op:
                return children
        return None

    def is_product(self, number: int) -> bool:
        """Whether a value is a product, of scalars or in lanes."""
        heads = [x.op.head.value for x in self.graph.view(number) if isinstance(x.op, ApplyTerm)]
        return any(isinstance(x, Binary) and x.op == "mul" for x in heads)

    def products(self, number: int, lanes: bool) -> Iterator[tuple[int, ...]]:
        """The factors of a product."""
        for x in self.graph.nodes(number):
            if isinstance(x.op, ApplyTerm) and x.op.lanes == lanes and len(x.children) == 2:
                value = x.op.head.value
                if isinstance(value, Binary) and value.op == "mul" and isinstance(value.left, Var):
                    yield x.children

    def part(self, part: Sequence[tuple[int, int]], count: int) -> int:
        """A vector of some scalars in their lanes."""
        own = [self.anything()] * count
        for lane, x in part:
            own[lane] = x
        return self.lanes(own)

    def fixed(self, asked: Sequence[int], single: bool) -> Iterator[FixedMove]:
        """The moves without a table that have what is asked for in all lanes; `single`: of one vector, given twice."""
        wanted = [(n, x) for n, x in enumerate(asked) if x >= 0]
        width, known = self.moves.lanes, self._fixed
        lane, first = wanted[0]
        for source in (first, first + width) if single else (first,):
            for x in known.get((lane, source), ()):
                own = x.lanes
                if all(own[n] == y or single and own[n] == y + width for n, y in wanted):
                    yield x

    def permuted(self, asked: Sequence[int], sources: Sequence[int]) -> Iterator[int]:
        """The vectors whose lane l is lane `asked[l]` of some vectors (-1: anything)."""
        width, moves = self.moves.lanes, self.moves
        given = [*asked, *[-1] * (width - len(asked))]
        if len(sources) == 1 and all(x in (-1, n) for n, x in enumerate(given)):
            yield sources[0]
            return
        for x in self.fixed(given, len(sources) == 1):
            if len(x.sources) >= len(sources):
                operands = sources if len(sources) == len(x.sources) else [sources[0]] * len(x.sources)
                yield self.graph.add(PermuteTerm(x.lanes, x.operation, x.immediate), operands)
                return
        name = moves.permute2 if len(sources) == 2 else moves.permute1
        operands = list(sources)
        if not name and moves.permute2 and len(sources) == 1:
            name, operands = moves.permute2, [*sources, *sources]
        if name and moves.table is not None:
            full = tuple(max(x, 0) for x in given)
            numbers = self.graph.add(ConstantsTerm(tuple(float(x) for x in full), moves.table))
            yield self.graph.add(PermuteTerm(full, name, None, True), (*operands, numbers))
