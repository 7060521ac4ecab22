"""The rules of equality saturation: each tells other terms for a vector of scalars, or for a scalar.

A rule is a method of `Vectoriser` that yields classes equal to the one that it is given. What a machine cannot do is
not proposed: lanes are moved by the operations that `LaneMoves` knows.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> text = "kernel f(a: f32[32], b: f32[32]) { for i in 0 .. 32 { b[i] = a[i] * a[i] + a[i] } }"
>>> from planish.ir.types import F32
>>> from planish.vliw.saturation.lanes import lane_moves
>>> from planish.vliw.saturation.straight import write_out
>>> made = Vectoriser(write_out(parse_kernel(text)), lane_moves(load_machine("ftmatrix"), F32))
>>> root = made.graph.add(LanesTerm(), tuple(made.straight.outputs["b"].values()))
>>> made.saturate([root])
>>> [str(x.op) for x in made.graph.nodes(root)][1:]
['lanes x + y', 'lanes x + y', 'lanes x + y * z']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planish.ir.expr import Binary
from planish.vliw.saturation.columns import Addend, Column, columns_of
from planish.vliw.saturation.egraph import ENode
from planish.vliw.saturation.terms import (
    ApplyTerm,
    BroadcastTerm,
    ConstantsTerm,
    ElementTerm,
    ExtractTerm,
    InsertTerm,
    LanesTerm,
    NumberTerm,
    SpreadTerm,
    SumTerm,
    TakeTerm,
    TermHead,
    TotalTerm,
    WindowTerm,
    head_of,
)
from planish.vliw.saturation.vector_terms import VectorTerms

PARTS = (1, 2, 4)
"""In so many sums the terms of one are added up, before those are added."""

GROWTH, GROWTH_OF_EACH = 6_000, 8
"""So many nodes vectors may add to a graph of scalars, and so many for each node of it."""

MOST_KINDS = 4
"""Kinds of scalars in a vector that are made apart."""

FUSED = ("x + y * z", "x - y * z", "y * z - x")
"""What may be one operation: a product, and a sum or difference."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Which rules are used. `broadcast`: a scalar goes to all lanes; `fold`: halves of a vector are added, and all its
    lanes; `scalars`: values are computed one by one beside vectors; `contract`: products and sums are rounded once;
    `width`: so many lanes of a vector are used (0: all); `flat`: vectors are filled with what follows in memory,
    whatever the rows are."""

    broadcast: bool = True
    fold: bool = True
    scalars: bool = True
    contract: bool = True
    width: int = 0
    flat: bool = False


_Rule = Callable[[int, ENode], Iterator[int]]


@dataclass(slots=True)
class Vectoriser(VectorTerms):
    """The e-graph of a kernel, and the rules over it."""

    rules: RuleSet = RuleSet()

    @property
    def width(self) -> int:
        """How many lanes of a vector are stored at most."""
        return min(self.rules.width or self.moves.lanes, self.moves.lanes)

    def saturate(self, roots: Sequence[int]) -> None:
        """Apply all rules to what `roots` use: first what vectors are made of, then what may be one operation."""
        moves = (self.broadcast, self.constants, self.window, self.fold, self.family, self.repeated, self.blend)
        vectors: dict[type, tuple[_Rule, ...]] = {
            LanesTerm: (self.operation, self.sums, *(self.taken(x) for x in moves))
        }
        sums = (self.scalar_sum, self.reduction) if self.rules.scalars else ()
        scalars: dict[type, tuple[_Rule, ...]] = dict.fromkeys((ApplyTerm, ElementTerm), (self.extract,))
        scalars[SumTerm] = (*sums, self.extract)
        self.graph.saturate(roots, phase({**vectors, **scalars}), GROWTH + GROWTH_OF_EACH * len(self.graph))
        if self.rules.scalars and self.moves.insert:
            self.graph.saturate(roots, phase({LanesTerm: (self.insert,), **scalars}))
        if self.rules.contract:
            self.graph.saturate(roots, phase({ApplyTerm: (self.fused,)}))

    def taken(self, rule: _Rule) -> _Rule:
        """A rule whose vectors may hold more than is asked for: they are equal in the lanes that are."""

        def apply(number: int, node: ENode) -> Iterator[int]:
            if not isinstance(node.op, LanesTerm):
                return
            asked = tuple(n for n, _ in self.real(node))
            for x in rule(number, node):
                yield x if len(asked) == self.moves.lanes else self.graph.add(TakeTerm(asked), (x,))

        return apply

    # Vectors of one kind of scalars

    def broadcast(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a, a, ...) = Broadcast(a)"""
        real = self.real(node) if isinstance(node.op, LanesTerm) else []
        if not real or len({x for _, x in real}) > 1 or isinstance(leaf := self.leaf(real[0][1]), NumberTerm):
            return
        if self.rules.broadcast:
            yield self.graph.add(BroadcastTerm(), (real[0][1],))
            if isinstance(leaf, ElementTerm):
                yield self.graph.add(SpreadTerm(leaf.array, leaf.place, leaf.type))

    def constants(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(1, 2, ...) = Constants(1, 2, ...)"""
        if not isinstance(node.op, LanesTerm):
            return
        found = {n: op for n, x in self.real(node) if isinstance(op := self.leaf(x), NumberTerm)}
        if found and len(found) == len(self.real(node)):
            same = len({x.value for x in found.values()}) == 1
            other = next(iter(found.values())).value if same else 0
            values = [found[n].value if n in found else other for n in range(self.moves.lanes)]
            yield self.graph.add(ConstantsTerm(tuple(values), next(iter(found.values())).type))

    def operation(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(f(a, b), f(c, d), ...) = f(Lanes(a, c, ...), Lanes(b, d, ...)) in lanes: VecAdd, VecMul, ..."""
        if not isinstance(node.op, LanesTerm):
            return
        real = self.real(node)
        heads = [self.heads(x) for _, x in real]
        for head in (x for x in heads[0] if all(x in y for y in heads[1:])) if heads else ():
            operands = [[self.anything()] * len(node.children) for _ in head.operands]
            for (lane, _), found in zip(real, heads, strict=True):
                for place, x in enumerate(found[head]):
                    operands[place][lane] = x
            if all(self.is_own(x) for y in operands for x in y if not self.is_any(x)):
                yield self.graph.add(ApplyTerm(head, True), [self.lanes(x) for x in operands])

    def is_own(self, number: int) -> bool:
        """Whether a scalar is as wide as the elements of vectors."""
        kind = self.straight.types.get(self.graph.find(number), self.moves.type)
        return kind.bits == self.moves.type.bits or kind.kind == "bool"

    # Sums

    def sums(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a + b + ..., c + d + ...) = Lanes(a, c) + Lanes(b, d) + ..., in one chain of sums or in several"""
        if not isinstance(node.op, LanesTerm):
            return
        real = self.real(node)
        if not any(self.terms(x) for _, x in real):
            return
        rows = [(n, [self.term(y) for y in self.terms(x) or (x,)]) for n, x in real]
        if len({x.is_product for _, row in rows for x in row}) > 1 and len({_kinds(row) for _, row in rows}) > 1:
            return  # sums of several kinds: see `blend`
        columns = columns_of(rows, len(node.children))
        for parts in PARTS if self.is_short else PARTS[:1]:
            if parts == 1 or len(columns) >= 2 * parts:
                yield self.added([self.column(x) for x in columns], parts, True)

    def scalar_sum(self, number: int, node: ENode) -> Iterator[int]:
        """Sum(a, b, ...) = a + b + ..."""
        if isinstance(node.op, SumTerm):
            rows = [(0, [self.term(x) for x in node.children])]
            values = [self.factor(x) for x in columns_of(rows, 1)]
            for parts in PARTS[:2]:
                if parts == 1 or len(values) >= 2 * parts:
                    yield self.added(values, parts, False)

    def column(self, column: Column) -> tuple[int, bool]:
        """A vector of terms, one for each lane, and whether it is to be subtracted."""
        lanes = [self.anything()] * column.lanes
        zero = self.number(0)
        terms = [x for x in column.terms.values() if x is not None]
        if column.is_product:
            factors = [list(lanes), list(lanes)]
            shared = [len({x.factors[n] for x in terms}) == 1 for n in range(2)]
            for lane, x in column.terms.items():
                for n in range(2):
                    # 0 times what is there is 0; where that is the same in all lanes, it need not be cleared.
                    absent = terms[0].factors[n] if shared[n] and not all(shared) else zero
                    factors[n][lane] = x.factors[n] if x is not None else absent
            value = self.apply("x * y", [self.lanes(x) for x in factors], True)
        else:
            for lane, x in column.terms.items():
                lanes[lane] = x.value if x is not None else zero
            value = self.lanes(lanes)
        if column.is_mixed:
            signs = [self.number(-1 if x is not None and x.negative else 1) for x in column.terms.values()]
            own = [self.anything()] * column.lanes
            for lane, sign in zip(column.terms, signs, strict=True):
                own[lane] = sign
            return self.apply("x * y", (self.lanes(own), value), True), False
        return value, terms[0].negative

    def factor(self, column: Column) -> tuple[int, bool]:
        """The one term of a scalar's column."""
        (term,) = column.terms.values()
        assert term is not None
        return term.value, term.negative

    def added(self, values: Sequence[tuple[int, bool]], parts: int, lanes: bool) -> int:
        """A sum of signed values, made in some parts."""
        # What needs no product starts a chain; what is subtracted cannot.
        rest = sorted(values, key=lambda x: (x[1], self.is_product(x[0])))
        starts, chains = rest[:parts], []
        for n, (value, negative) in enumerate(starts):
            own = self.apply("-x", (value,), lanes) if negative else value
            for more, minus in rest[parts + n :: parts]:
                own = self.apply("x - y" if minus else "x + y", (own, more), lanes)
            chains.append(own)
        while len(chains) > 1:
            chains = [self.apply("x + y", chains[n : n + 2], lanes) if n + 1 < len(chains) else chains[n]
                      for n in range(0, len(chains), 2)]  # fmt: skip
        return chains[0]

    def fold(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a + b, c + d) = v + Shift(v, 2), where v = Lanes(a, c, b, d): halves of a vector are added"""
        count = len(node.children)
        if not isinstance(node.op, LanesTerm) or 2 * count > self.moves.lanes or not (self.rules.fold and self.is_thin):
            return
        rows = [self.terms(x) or () for x in node.children]
        if len({len(x) for x in rows}) != 1 or len(rows[0]) < 2:
            return
        half = len(rows[0]) // 2
        parts = [self.partial(x[start : start + half]) for start in (0, half) for x in rows]
        whole = self.lanes(parts)
        for shifted in self.permuted([*range(count, 2 * count)], (whole,)):
            total = self.apply("x + y", (whole, shifted), True)
            if len(rows[0]) % 2:
                total = self.apply("x + y", (total, self.lanes([x[-1] for x in rows])), True)
            yield total

    def partial(self, terms: Sequence[int]) -> int:
        """The sum of some of the terms of a sum."""
        if len(terms) == 1:
            return terms[0]
        found = self.graph.add(SumTerm(self.moves.type), terms)
        self.straight.types[found] = self.moves.type
        return found

    def reduction(self, number: int, node: ENode) -> Iterator[int]:
        """Sum(a, b, c, ...) = Total(Lanes(a, b, c, ...)), whose lanes are sums where there are more terms than lanes"""
        width = self.moves.lanes
        if not (isinstance(node.op, SumTerm) and self.rules.fold and self.moves.total):
            return
        if 2 * len(node.children) < width:
            return
        rows = [node.children[n::width] for n in range(width)]
        parts = [self.partial(x) if x else self.number(0) for x in rows]
        yield self.graph.add(TotalTerm(self.moves.total), (self.lanes(parts),))

    # Moves between lanes

    def window(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a[i], a[j], ...) = Window(a, i), or lanes of one or two such in another order"""
        if not isinstance(node.op, LanesTerm):
            return
        places = {n: op for n, x in self.real(node) if isinstance(op := self.leaf(x), ElementTerm)}
        if not places or len(places) != len(self.real(node)) or len({(x.array, x.type) for x in places.values()}) != 1:
            return
        array, kind = next((x.array, x.type) for x in places.values())
        starts = {x.place - n for n, x in places.items()}
        if len(starts) == 1 and (start := min(starts)) >= 0 and start % self.alignment == 0:
            yield self.graph.add(WindowTerm(array, start, kind))
            return
        low, high = min(x.place for x in places.values()), max(x.place for x in places.values())
        lanes = self.moves.lanes
        for base in dict.fromkeys((low // lanes * lanes, low // self.alignment * self.alignment)):
            if high - base < 2 * lanes:
                windows = [self.graph.add(WindowTerm(array, x, kind)) for x in (base, base + lanes)]
                asked = [places[n].place - base if n in places else -1 for n in range(len(node.children))]
                yield from self.permuted(asked, windows[: 1 + (high - base >= lanes)])

    def repeated(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a, a, b, ...) = Permute(Lanes(a, b, ...))"""
        if not isinstance(node.op, LanesTerm):
            return
        real = self.real(node)
        order = {x: n for n, x in enumerate(sorted({x for _, x in real}))}
        if len(order) < 2 or len(order) == len(real) or any(self.leaf(x) is not None for x in order):
            return
        asked = [-1] * len(node.children)
        for lane, x in real:
            asked[lane] = order[x]
        yield from self.permuted(asked, (self.lanes(list(order)),))

    def family(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a, c) = Permute(Lanes(a, b, c, d)): what was an array's is a vector, of which others are made"""
        if not isinstance(node.op, LanesTerm):
            return
        real = self.real(node)
        known = [self.families.get(x, []) for _, x in real]
        for own in known[0] if known else ():
            members = [self.graph.find(x) for x in own]
            if all(x in members for _, x in real) and members != [x for _, x in real]:
                asked = [-1] * len(node.children)
                for lane, x in real:
                    asked[lane] = members.index(x)
                yield from self.permuted(asked, (self.lanes(members),))

    def blend(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a, x, b, y) = a lane each of Lanes(a, -, b) and Lanes(-, x, -, y), where a and b are of one kind"""
        if not isinstance(node.op, LanesTerm):
            return
        for kind_of in (self.home_of, self.kind_of):
            groups: dict[object, list[tuple[int, int]]] = {}
            for lane, x in self.real(node):
                groups.setdefault(kind_of(x), []).append((lane, x))
            if 1 < len(groups) <= MOST_KINDS:
                yield from self.blended(list(groups.values()), len(node.children))

    def blended(self, parts: Sequence[Sequence[tuple[int, int]]], count: int) -> Iterator[int]:
        """Lanes of several vectors in one, each in its place."""
        made, taken = self.part(parts[0], count), {lane: lane for lane, _ in parts[0]}
        for part in parts[1:]:
            here = {lane: self.moves.lanes + lane for lane, _ in part}
            asked = [(taken | here).get(n, -1) for n in range(count)]
            both = next(self.permuted(asked, (made, self.part(part, count))), None)
            if both is None:
                return
            made, taken = both, taken | {lane: lane for lane, _ in part}
        yield made

    def home_of(self, number: int) -> object:
        """The array that a scalar is an element of, or was; else what makes it."""
        op = self.leaf(number)
        if isinstance(op, ElementTerm):
            return op.array, op.place // (2 * self.moves.lanes)
        homes = self.families.get(self.graph.find(number))
        return ("was", homes[0]) if homes else self.kind_of(number)

    def kind_of(self, number: int) -> object:
        """Scalars of one kind may become one vector: elements of an array, constants, sums of terms of the same kinds,
        one operation's results."""
        op = self.leaf(number)
        if isinstance(op, ElementTerm):
            return op.array, op.place // (2 * self.moves.lanes)
        if isinstance(op, NumberTerm):
            return "number"
        terms = self.terms(number)
        if terms is not None:
            return "sum", _kinds([self.term(x) for x in terms])
        return min((str(x) for x in self.heads(number)), default="")

    def insert(self, number: int, node: ENode) -> Iterator[int]:
        """Lanes(a, b, c), where nothing else makes it, = Broadcast(a) with the scalars b and c in lanes 1 and 2"""
        real = self.real(node) if isinstance(node.op, LanesTerm) else []
        if len(real) < 2 or len(self.graph.nodes(number)) > 1:
            return
        made = self.graph.add(BroadcastTerm(), (real[0][1],))
        for lane, scalar in real[1:]:
            made = self.graph.add(InsertTerm(lane, self.moves.insert), (made, scalar))
        yield made if len(real) == self.moves.lanes else self.graph.add(TakeTerm(tuple(n for n, _ in real)), (made,))

    def extract(self, number: int, node: ENode) -> Iterator[int]:
        """a scalar = Extract(Lanes(..., a, ...), lane): it may be one of a vector's lanes"""
        if not self.moves.extract or not isinstance(node.op, ApplyTerm | SumTerm | ElementTerm):
            return
        if isinstance(node.op, ApplyTerm) and node.op.lanes or self.straight.types.get(number) != self.moves.type:
            return
        if isinstance(node.op, ElementTerm):
            start = node.op.place // self.moves.lanes * self.moves.lanes
            window = self.graph.add(WindowTerm(node.op.array, start, node.op.type))
            yield self.graph.add(ExtractTerm(node.op.place - start, self.moves.extract), (window,))
            return
        for own in self.families.get(number, [])[:2]:
            lane = [self.graph.find(x) for x in own].index(number)
            yield self.graph.add(ExtractTerm(lane, self.moves.extract), (self.lanes(own),))

    # What may be one operation

    def fused(self, number: int, node: ENode) -> Iterator[int]:
        """x + y * z, and its like, in one operation: VecMAC"""
        if not isinstance(node.op, ApplyTerm) or not isinstance(node.op.head.value, Binary):
            return
        for text in FUSED:
            head = head_of(text, self.moves.type)
            assert isinstance(head.value, Binary)
            if head.value.op != node.op.head.value.op or len(node.children) != 2:
                continue
            product_first = isinstance(head.value.left, Binary)
            other, product = node.children[::-1] if product_first else node.children
            for x in self.products(product, node.op.lanes):
                yield self.apply(text, self.in_order(head, other, x), node.op.lanes)
            if node.op.head.value.op == "add":
                for x in self.products(other, node.op.lanes):
                    yield self.apply(text, self.in_order(head, product, x), node.op.lanes)

    def in_order(self, head: TermHead, other: int, factors: tuple[int, ...]) -> tuple[int, ...]:
        """The operands of a fused operation."""
        named = {"x": other, "y": factors[0], "z": factors[1]}
        return tuple(named[x] for x in head.operands)


def _kinds(terms: Sequence[Addend]) -> tuple[int, int]:
    """How many products are added up, and how many other terms."""
    products = sum(x.is_product for x in terms)
    return products, len(terms) - products


def phase(rules: Mapping[type, Sequence[_Rule]]) -> _Rule:
    """Rules that are applied together, by the kind of term that they are for."""

    def apply(number: int, node: ENode) -> Iterator[int]:
        for rule in rules.get(type(node.op), ()):
            yield from rule(number, node)

    return apply
