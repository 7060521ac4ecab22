"""A kernel of fixed sizes as scalars: what each element of its arrays holds in the end, in terms of what they held.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel dot(a: f32[3], b: f32[3], c: f32[1]) { c[0] = 0.0 for i in 0 .. 3 { c[0] += a[i] * b[i] } }"
>>> made = write_out(parse_kernel(text))
>>> [str(x.op) for x in made.graph.nodes(made.outputs["c"][0])], len(made.graph)
(['x + y', "SumTerm(type=Type(kind='float', bits=32))"], 13)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import assert_never

from planish.ir.expr import Binary, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import children, variables, with_children
from planish.ir.types import INDEX, Type
from planish.vliw.saturation.egraph import EGraph
from planish.vliw.saturation.terms import ApplyTerm, ElementTerm, NumberTerm, ScalarTerm, SumTerm, TermHead
from planish.vliw.streams.stream import RefusedError

MOST_NODES = 9_000
"""Scalars of the largest kernel that is written out."""


@dataclass(slots=True)
class Straight:
    """Classes of the values of array elements by their places: `outputs` in the end, `families` as arrays were after
    each part of the kernel. `types`: of scalar classes."""

    graph: EGraph
    outputs: dict[str, dict[int, int]]
    families: list[tuple[int, ...]]
    types: dict[int, Type]
    arrays: dict[str, Array]
    reassociate: bool = True


def write_out(kernel: Kernel, reassociate: bool = True) -> Straight:
    """The scalars of a kernel; RefusedError where it has sizes, subscripts that depend on data, or too many scalars."""
    if kernel.sizes:
        raise RefusedError(f"`{kernel.sizes[0]}` is not known: what has no fixed size is not written out", kernel.span)
    writer = _Straightener(kernel, Straight(EGraph(), {}, [], {}, {x.name: x for x in kernel.arrays}, reassociate))
    return writer.written()


@dataclass(slots=True)
class _Straightener:
    kernel: Kernel
    made: Straight
    numbers: dict[str, int] = field(default_factory=dict)
    held: dict[str, dict[int, int]] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    stored: dict[str, dict[int, None]] = field(default_factory=dict)

    def written(self) -> Straight:
        for scalar in self.kernel.scalars:
            self.named[scalar.name] = self.leaf(ScalarTerm(scalar.name, scalar.type), scalar.type)
        for stmt in self.kernel.body.body:
            before = {name: dict(x) for name, x in self.held.items()}
            self.statement(stmt)
            self.note_families(before)
        own = {x.name for x in self.kernel.arrays}
        stored = {x: sorted(places) for x, places in self.stored.items() if x in own}
        self.made.outputs = {x: {n: self.held[x][n] for n in places} for x, places in stored.items()}
        if self.made.reassociate:
            self.flatten()
        return self.made

    def note_families(self, before: Mapping[str, Mapping[int, int]]) -> None:
        """What has become of each array."""
        for name, values in self.held.items():
            old, stored = before.get(name, {}), self.stored.get(name, {})
            places = sorted(n for n, x in values.items() if old.get(n) != x and n in stored)
            if len(places) > 1:
                self.made.families.append(tuple(dict.fromkeys(values[n] for n in places)))

    # Statements

    def statement(self, stmt: Stmt) -> None:
        if len(self.made.graph) > MOST_NODES:
            raise RefusedError("it is too large to be written out", self.kernel.span)
        match stmt:
            case Block(body=body):
                for x in body:
                    self.statement(x)
            case For(var=var, lower=lower, upper=upper, step=step, body=body):
                for n in range(self.number(lower), self.number(upper), step):
                    self.numbers[var] = n
                    self.statement(body)
                self.numbers.pop(var, None)
            case If():
                self.branch(stmt)
            case Assign(array=name, index=index, value=value):
                self.store(name, index, self.value(value))
            case Reduce(array=name, index=index):
                self.store(name, index, self.value(updated(stmt)))
            case Alloc(array=array):
                self.made.arrays[array.name] = array
                self.held[array.name] = {}
            case Let(var=var, value=value):
                kind = type_of(value)
                if kind == INDEX and self.is_known(value):
                    self.numbers[var] = self.number(value)
                else:
                    self.named[var] = self.value(value)
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)

    def branch(self, stmt: If) -> None:
        """A condition on data: what it changes is chosen."""
        if self.is_known(stmt.condition):
            self.statement(stmt.then if self.test(stmt.condition) else stmt.otherwise)
            return
        condition = self.value(stmt.condition)
        before = {name: dict(x) for name, x in self.held.items()}
        self.statement(stmt.then)
        then = self.held
        self.held = before
        self.statement(stmt.otherwise)
        for name in dict.fromkeys((*then, *self.held)):
            own, other = self.held.setdefault(name, {}), then.get(name, {})
            for place in dict.fromkeys((*other, *own)):
                one = other.get(place, self.initial(name, place) if place not in other else 0)
                two = own.get(place, self.initial(name, place) if place not in own else 0)
                if one != two:
                    kind = self.made.types[one]
                    chosen = Select(Var("c", self.made.types[condition]), Var("x", kind), Var("y", kind))
                    own[place] = self.apply(TermHead(chosen, ("c", "x", "y")), (condition, one, two), kind)

    def store(self, name: str, index: tuple[Expr, ...], value: int) -> None:
        place = self.place(name, index)
        self.held.setdefault(name, {})[place] = value
        self.stored.setdefault(name, {})[place] = None

    def place(self, name: str, index: tuple[Expr, ...]) -> int:
        """The number of an element in its array."""
        shape = self.made.arrays[name].shape
        place = 0
        for subscript, extent in zip(index, shape, strict=True):
            own = self.number(subscript)
            size = self.number(extent) if extent is not None else None
            if own < 0 or size is not None and own >= size:
                raise RefusedError(f"a subscript of `{name}` leaves it", self.kernel.span)
            place = place * (size or 0) + own if size is not None else own
        return place

    # Values

    def is_known(self, x: Expr) -> bool:
        """Whether an expression has only loop counters in it."""
        return variables(x) <= self.numbers.keys() and not _has_load(x)

    def test(self, x: Expr) -> bool:
        return bool(evaluate(Select(x, Const(1, INDEX), Const(0, INDEX)), self.numbers))

    def number(self, x: Expr) -> int:
        if not self.is_known(x):
            raise RefusedError("a subscript or bound depends on data", self.kernel.span)
        return evaluate(x, self.numbers)

    def leaf(self, op: ElementTerm | NumberTerm | ScalarTerm, kind: Type) -> int:
        found = self.made.graph.add(op)
        self.made.types[found] = kind
        return found

    def initial(self, name: str, place: int) -> int:
        array = self.made.arrays[name]
        if array.values:
            return self.leaf(NumberTerm(array.values[place], array.type), array.type)
        if name not in {x.name for x in self.kernel.arrays}:
            return self.leaf(NumberTerm(0, array.type), array.type)  # never written: any value
        return self.leaf(ElementTerm(name, place, array.type), array.type)

    def value(self, x: Expr) -> int:
        """The class of an expression's value."""
        match x:
            case Const(value=value, type=kind):
                return self.leaf(NumberTerm(value, kind), kind)
            case Var(name=name) if name in self.named:
                return self.named[name]
            case Var(name=name, type=kind):
                return self.leaf(NumberTerm(self.number(x), kind), kind)
            case Load(array=name, index=index):
                place = self.place(name, index)
                found = self.held.get(name, {}).get(place)
                return found if found is not None else self.initial(name, place)
            case _ if type_of(x) == INDEX and self.is_known(x):
                return self.leaf(NumberTerm(self.number(x), INDEX), INDEX)
            case Select(condition=c, then=a, otherwise=b) if self.is_known(c):
                return self.value(a if self.test(c) else b)
            case _:
                return self.operation(x)

    def operation(self, x: Expr) -> int:
        parts = tuple(self.value(y) for y in children(x))
        kind = type_of(x)
        simpler = self.simplified(x, parts)
        if simpler is not None:
            return simpler
        if isinstance(x, Binary) and x.op in ("add", "mul", "min", "max") and self.made.reassociate:
            parts = tuple(sorted(parts, key=self.rank)) if x.op == "mul" else parts
        names = ("x", "y", "z")[: len(parts)]
        given = tuple(Var(n, self.made.types[p]) for n, p in zip(names, parts, strict=True))
        return self.apply(TermHead(with_children(x, given), names), parts, kind)

    def apply(self, head: TermHead, parts: tuple[int, ...], kind: Type) -> int:
        found = self.made.graph.add(ApplyTerm(head), parts)
        self.made.types[found] = kind
        return found

    def rank(self, number: int) -> tuple[int, str, int]:
        """Operands of a product stand in an order, so that lanes have the same: elements by array and place first."""
        op = self.made.graph.nodes(number)[0].op
        return (0, op.array, op.place) if isinstance(op, ElementTerm) else (1, "", number)

    def simplified(self, x: Expr, parts: tuple[int, ...]) -> int | None:
        """Sums with 0 and products with 1 are what is left; where signs of zeros and NaNs do not count."""
        if not isinstance(x, Binary) or not self.made.reassociate and type_of(x).is_float:
            return None
        values = [op.value if isinstance(op := self.made.graph.nodes(p)[0].op, NumberTerm) else None for p in parts]
        match x.op, values:
            case "add", [0, _]:
                return parts[1]
            case "add" | "sub", [_, 0]:
                return parts[0]
            case "mul", [1, _]:
                return parts[1]
            case "mul" | "div", [_, 1]:
                return parts[0]
            case "mul", [0, _]:
                return parts[0]
            case "mul", [_, 0]:
                return parts[1]
            case _:
                return None

    # Sums

    def flatten(self) -> None:
        """Sums of sums that nothing else uses are one sum of all their terms."""
        graph = self.made.graph
        roots = [x for places in self.made.outputs.values() for x in places.values()]
        order = graph.reached(roots)
        uses: dict[int, int] = {}
        for x in roots:
            uses[x] = uses.get(x, 0) + 1
        for number in order:
            for child in graph.nodes(number)[0].children:
                uses[child] = uses.get(child, 0) + 1
        terms: dict[int, tuple[int, ...]] = {}
        inner: set[int] = set()
        for number in order:
            found = self.terms(number, terms, uses, inner)
            if found is not None:
                terms[number] = found
        for number, found in terms.items():
            if number not in inner:
                kind = self.made.types[number]
                total = graph.add(SumTerm(kind), found)
                self.made.types[total] = kind
                graph.merge(number, total)
        graph.rebuild()

    def terms(
        self, number: int, known: Mapping[int, tuple[int, ...]], uses: Mapping[int, int], inner: set[int]
    ) -> tuple[int, ...] | None:
        """The terms of a sum; None where it is none."""
        node = self.made.graph.nodes(number)[0]
        if not isinstance(node.op, ApplyTerm):
            return None
        value = node.op.head.value
        if not isinstance(value, Binary) or value.op not in ("add", "sub"):
            return None
        left, right = (self.part(x, known, uses, inner) for x in node.children)
        if value.op == "sub":
            right = tuple(self.negative(x) for x in right)
        return (*left, *right)

    def part(
        self, number: int, known: Mapping[int, tuple[int, ...]], uses: Mapping[int, int], inner: set[int]
    ) -> tuple[int, ...]:
        if number in known and uses.get(number, 0) <= 1:
            inner.add(number)
            return known[number]
        return (number,)

    def negative(self, number: int) -> int:
        kind = self.made.types[number]
        node = self.made.graph.nodes(number)[0]
        if node.op == ApplyTerm(_negation(kind)):
            return node.children[0]
        return self.apply(_negation(kind), (number,), kind)


def _negation(kind: Type) -> TermHead:
    return TermHead(Unary("neg", Var("x", kind)), ("x",))


def _has_load(x: Expr) -> bool:
    return isinstance(x, Load) or any(_has_load(y) for y in children(x))


def hull(array: Array, places: Mapping[int, int]) -> range:
    """The places of an array from the first to the last of some."""
    return range(min(places), max(places) + 1)


def extent(array: Array) -> int | None:
    """How many elements an array has; None where that is not known."""
    if any(x is None for x in array.shape):
        return None
    return prod(evaluate(x, {}) for x in array.shape if x is not None)
