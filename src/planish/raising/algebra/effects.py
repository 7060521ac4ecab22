"""Effects: what the steps of a raised kernel read and write, and what of it is live afterwards.

>>> from planish.ir.nest import Kernel
>>> from planish.raising.algebra.product import ProductOperand
>>> from planish.ir.expr import index
>>> from planish.ir.types import F32
>>> from planish.raising.raised import whole
>>> from planish.raising.algebra.product_writer import write_product
>>> A, T = Array("A", F32, (index(4),)), Array("T", F32, (index(4),))
>>> copy = write_product(Product(ProductOperand(whole(T), "i"), (ProductOperand(whole(A), "i"),), {"i": index(4)}, ""))
>>> facts = study(Raised(Kernel("k", arrays=(A,)), (copy,), (T,)))
>>> facts.products[0].einsum, facts.is_dead("T", 1), facts.is_dead("A", 1)
('a->a', True, False)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from planish.ir.expr import Binary, Compare, Expr, index, type_of
from planish.ir.index.polynomial import constant, mul, normal, same, sub
from planish.ir.index.simplify import Known, simplify
from planish.ir.index.sums import sum_of
from planish.ir.nest import Array, Assign, Reduce
from planish.ir.traverse import expressions, loads, walk
from planish.ir.types import Type
from planish.raising.algebra.product import Product, is_number, same_view
from planish.raising.algebra.product_reader import read_product
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Step, View


@dataclass(frozen=True, slots=True)
class Effect:
    """Elements of an array that a step reads or writes: those of a view, or any where `view` is None."""

    array: str
    view: View | None = None


def reads(step: Step) -> Iterator[Effect]:
    """What a step may read."""
    match step:
        case Apply():
            for name in (*step.operation.inputs, *_read_output(step)):
                yield Effect(step.operands[name].array, step.operands[name])
            for scalar in step.scalars.values():
                for load in loads(scalar):
                    yield Effect(load.array)
        case Loops():
            for stmt in walk(step.body):
                for expr in expressions(stmt):
                    yield from (Effect(x.array) for x in loads(expr))
                if isinstance(stmt, Reduce):
                    yield Effect(stmt.array)
        case Choice():
            for case in step.cases:
                for inner in case.steps:
                    yield from reads(inner)
        case Repeat():
            # Which elements depends on the iteration.
            yield from (Effect(x.array) for inner in step.steps for x in reads(inner))
        case _:
            assert_never(step)


def _read_output(step: Apply) -> Iterator[str]:
    """The output, if the definition reads it at all (it may have written it before)."""
    output = step.operation.output
    for stmt in walk(step.operation.definition.body):
        if isinstance(stmt, Reduce) or any(x.array == output for e in expressions(stmt) for x in loads(e)):
            yield output
            return


def writes(step: Step) -> Iterator[Effect]:
    """What a step may write."""
    match step:
        case Apply():
            view = step.operands[step.operation.output]
            yield Effect(view.array, view)
        case Loops():
            yield from (Effect(x.array) for x in walk(step.body) if isinstance(x, Assign | Reduce))
        case Choice():
            for case in step.cases:
                for inner in case.steps:
                    yield from writes(inner)
        case Repeat():
            yield from (Effect(x.array) for inner in step.steps for x in writes(inner))
        case _:
            assert_never(step)


@dataclass(frozen=True, slots=True)
class Facts:
    """A raised kernel, its arrays by name, and each step as the product that it is (None where it is none)."""

    raised: Raised
    arrays: Mapping[str, Array]
    known: Known
    products: tuple[Product | None, ...] = ()
    reasons: tuple[str, ...] = ()

    def read(self, step: Step) -> Product | str:
        """The product that a step is, or why it is none."""
        if not isinstance(step, Apply):
            return "has no name"
        types = {self.arrays[x.array].type for x in step.operands.values()}
        if len(types) > 1:
            return f"`{step.operation.name}` has operands of the types {', '.join(sorted(map(str, types)))}"
        if any(type_of(x) not in types for x in step.scalars.values()):
            return f"`{step.operation.name}` has a scalar of another type than its operands"
        read = read_product(step, next(iter(types)))
        if isinstance(read, str):
            return read
        if not distinct_elements(read.output.view):
            return f"`{step.operation.name}` may write an element twice"
        if any(may_overlap(self, read.output.view, x.view) for x in read.factors):
            return f"`{step.operation.name}` writes an operand that it reads"
        return read

    def type_of(self, product: Product) -> Type:
        """The type of a product's elements."""
        return self.arrays[product.output.view.array].type

    def base(self, array: str) -> str:
        """The array whose memory a name stands for."""
        return next((x.of for x in self.raised.reshapes if x.array.name == array), array)

    def is_local(self, array: str) -> bool:
        """Whether nothing of an array is seen after the kernel."""
        return any(x.name == self.base(array) for x in self.raised.locals)

    def covers(self, view: View) -> bool:
        """Whether a view has every element of its array, each once."""
        shape = self.arrays[view.array].shape
        used: set[int] = set()
        if len(view.steps) != len(shape) or not all(is_number(normal(x), 0) for x in view.start):
            return False
        for step, extent in zip(view.steps, view.shape, strict=True):
            dims = [d for d, x in enumerate(step) if x]
            if len(dims) != 1 or step[dims[0]] != 1 or dims[0] in used:
                return False
            declared = shape[dims[0]]
            if declared is None or not same(declared, extent):
                return False
            used.add(dims[0])
        return True

    def overlap(self, a: Effect, b: Effect) -> bool:
        """Whether two accesses may touch the same element."""
        if self.base(a.array) != self.base(b.array):
            return False
        return a.view is None or b.view is None or may_overlap(self, a.view, b.view)

    def touched(self, steps: range, accesses: list[Effect], also_reads: bool = False) -> int | None:
        """The first of some steps that writes (or reads) what accesses touch."""
        for n in steps:
            step = self.raised.steps[n]
            found = [*writes(step), *(reads(step) if also_reads else ())]
            if any(self.overlap(x, y) for x in found for y in accesses):
                return n
        return None

    def is_dead(self, array: str, place: int) -> bool:
        """Whether no element of an array is read from a step on before all of it is written anew."""
        name = self.base(array)
        for n in range(place, len(self.raised.steps)):
            if any(self.base(x.array) == name for x in reads(self.raised.steps[n])):
                product = self.products[n]
                # A sum that starts from nothing reads its output, but only what it wrote.
                if product is None or not product.overwrites or self.base(product.output.view.array) != name:
                    return False
                if any(self.base(x.view.array) == name for x in product.factors) or self._scalars_read(n, name):
                    return False
            product = self.products[n]
            if product is not None and product.overwrites and self.base(product.output.view.array) == name:
                if self.covers(product.output.view):
                    return True
        return self.is_local(name)

    def _scalars_read(self, place: int, name: str) -> bool:
        step = self.raised.steps[place]
        return isinstance(step, Apply) and any(
            self.base(load.array) == name for x in step.scalars.values() for load in loads(x)
        )

    def needs(self, place: int) -> list[Effect]:
        """What a step that is a product reads, its own output left out."""
        step, product = self.raised.steps[place], self.products[place]
        assert product is not None and isinstance(step, Apply)
        out = [Effect(x.view.array, x.view) for x in product.factors]
        return out + [Effect(load.array) for x in step.scalars.values() for load in loads(x)]

    def definition_of(self, view: View, place: int) -> int | None:
        """The last step before a place that may write what a view has; None where no step does."""
        access = Effect(view.array, view)
        for n in range(place - 1, -1, -1):
            if any(self.overlap(x, access) for x in writes(self.raised.steps[n])):
                return n
        return None

    def users(self, array: str, place: int) -> list[int]:
        """The steps after a place that read any element of an array, until all of it is written anew."""
        name = self.base(array)
        found = []
        for n in range(place + 1, len(self.raised.steps)):
            product = self.products[n]
            overwrites = product is not None and product.overwrites
            accesses = self.needs(n) if overwrites else list(reads(self.raised.steps[n]))
            if any(self.base(x.array) == name for x in accesses):
                found.append(n)
            if product is not None and overwrites and self.base(product.output.view.array) == name:
                if self.covers(product.output.view):
                    break
        return found

    def proves(self, condition: Expr) -> bool:
        """Whether a condition over the sizes follows from what is assumed of them."""
        if condition in self.raised.kernel.assumptions:
            return True
        match simplify(condition):
            case Compare(op="ge", left=left, right=right):
                return least(sub(left, right), self.known) >= 0
            case decided:
                return is_number(decided, 1)


def study(raised: Raised) -> Facts:
    """What is known of a raised kernel."""
    arrays = {x.name: x for x in (*raised.kernel.arrays, *raised.locals, *(x.array for x in raised.reshapes))}
    known = Known()
    for condition in raised.kernel.assumptions:
        known = known.where(condition)
    facts = Facts(raised, arrays, known)
    found = [facts.read(x) for x in raised.steps]
    products = tuple(x if isinstance(x, Product) else None for x in found)
    return replace(facts, products=products, reasons=tuple(x if isinstance(x, str) else "" for x in found))


def least(expr: Expr, known: Known) -> int:
    """A lower bound of an index expression."""
    return known.range(sum_of(normal(expr)))[0]


def may_overlap(facts: Facts, a: View, b: View) -> bool:
    """Whether two views may have a common element: they do not where their subscripts in one dimension lie apart."""
    if facts.base(a.array) != facts.base(b.array):
        return False
    if a.array != b.array or same_view(a, b):
        return True
    known = facts.known
    for extent in (*a.shape, *b.shape):
        # Where a view is empty it has no element in common with any other.
        known = known.where(Compare("ge", extent, index(1)))
    for d in range(len(a.start)):
        first, second = _reach(a, d), _reach(b, d)
        if least(sub(second[0], first[1]), known) >= 1 or least(sub(first[0], second[1]), known) >= 1:
            return False
    return True


def _reach(view: View, d: int) -> tuple[Expr, Expr]:
    """The least and the greatest subscript in a dimension."""
    low = high = view.start[d]
    for step, extent in zip(view.steps, view.shape, strict=True):
        far = mul(index(step[d]), sub(extent, index(1)))
        if step[d] > 0:
            high = normal(Binary("add", high, far))
        elif step[d] < 0:
            low = normal(Binary("add", low, far))
    return low, high


def distinct_elements(view: View) -> bool:
    """Whether no two places of a view are the same element, as far as its steps show it."""
    used: set[int] = set()
    for step, extent in zip(view.steps, view.shape, strict=True):
        dims = {d for d, x in enumerate(step) if x}
        if not dims - used and constant(extent) != 1:
            return False
        used |= dims
    return True


