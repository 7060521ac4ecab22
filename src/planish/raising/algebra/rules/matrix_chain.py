"""Matrix-chain ordering: chains are multiplied in the cheapest order; where it depends on the sizes, the kernel
chooses.

Before: T = A * B; U = T * C            (T: a local array, not read again)
After:  T1 = B * C; U = A * T1          where that takes less time

A vector is a matrix of one column, so that (A * B) * x becomes two products of a matrix and a vector.

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.text.printer import print_expr
>>> print_expr(at_most([[parse_expr("n"), parse_expr("m")]], [[parse_expr("n"), parse_expr("n")]]))
'f64(n) * f64(m) <= f64(n) * f64(n)'
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.core.span import Span
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import constant, normal
from planish.ir.nest import Array
from planish.ir.traverse import variables
from planish.ir.types import BOOL, F64
from planish.raising.algebra.contraction_path import (
    FactorChain,
    Order,
    Price,
    as_chain,
    best_order,
    cost_of,
    multiplications,
    reach,
    show,
)
from planish.raising.algebra.cost import CostShape, shape_of
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.product import Product, ProductOperand
from planish.raising.algebra.product_kinds import kind_of_matrices
from planish.raising.algebra.product_writer import whole_term, write_product
from planish.raising.algebra.rule_context import (
    RuleResult,
    Setting,
    asked_of,
    refused,
    replaced,
    with_locals,
    with_origin,
)
from planish.raising.algebra.rules.identity_elements import span
from planish.raising.algebra.rules.product_flattening import gather
from planish.raising.raised import Apply, Case, Choice, Raised, Step

_SAMPLES = (4, 30, 200, 1500)
"""What sizes may be, small to large; smaller ones take no time that matters."""
_MOST_SAMPLES = 4096
_MOST_CASES = 6
_MUCH = 1.1
"""An order has a case of its own where all others take so many times as long."""


def order_chains(facts: Facts, setting: Setting) -> RuleResult:
    """Multiply the first chain that is not in its cheapest order in that order."""
    remarks: list[Remark] = []
    inner: set[int] = set()
    for place in reversed(range(len(facts.products))):
        product = facts.products[place]
        if product is None or not product.factors or place in inner:
            continue
        gathered = gather(facts, setting, place)
        step = facts.raised.steps[place]
        if len(product.factors) == 2:
            kept = (f"the order of products stays: {x}" for x in gathered.kept)
            remarks += [refused("algebra-chain", x, span(step)) for x in kept]
        chain = as_chain(gathered.product)
        if len(gathered.product.factors) < 3:
            continue
        if chain is None:
            message = "the products are no chain: their operands share dimensions"
            remarks.append(refused("algebra-chain", message, span(step)))
            continue
        inner.update(gathered.places)
        found = _Ordering(facts, setting, gathered.product, chain, gathered.places).change()
        if found.raised is not None:
            return replace(found, remarks=(*remarks, *found.remarks))
        remarks += found.remarks
    return RuleResult(None, tuple(remarks))


@dataclass(frozen=True, slots=True)
class _Ordering:
    """A chain, and the steps that compute it now."""

    facts: Facts
    setting: Setting
    product: Product
    chain: FactorChain
    places: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        return [x.view.array for x in self.chain.factors]

    @property
    def sizes(self) -> tuple[Expr, ...]:
        """The rows of each matrix, and the columns of the last."""
        return tuple(self.extent(x) for x in self.chain.between)

    def rows(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The sizes as numbers."""
        return tuple(max(0, evaluate(x, values)) for x in self.sizes)

    def extent(self, letter: str) -> Expr:
        return self.product.extents[letter] if letter else index(1)

    def change(self) -> RuleResult:
        """The chain in its cheapest order, or in several with a choice between them."""
        known = [constant(x) for x in self.sizes]
        place = self.places[-1]
        where = span(self.facts.raised.steps[place])
        if all(x is not None for x in known):
            numbers = [max(0, x) for x in known if x is not None]
            orders: list[Order] = [best_order(numbers, self.price)]
            if not self.is_cheaper(orders[0]):
                return RuleResult(None, (self.stays(where),))
        else:
            points = self.setting.model.points
            usual = [self.rows(points[0])] if len(points) == 1 else []
            orders, dropped = winners(self.sizes, _multiplications, _MOST_CASES, usual)
            old = self.present()
            if len(orders) == 1 and (orders[0] == old or not self.is_cheaper(orders[0])):
                return RuleResult(None, (self.stays(where),))
            if dropped and old is not None and old not in orders:
                orders[-1] = old
        steps, raised = self.written(orders)
        fresh = replaced(raised, place, steps, self.places[:-1])
        texts = " or ".join(show(x, self.names) for x in orders)
        what = f"{texts}, as the sizes are" if len(orders) > 1 else f"{texts}, which takes the fewest operations"
        return RuleResult(fresh, (Remark("algebra-chain", "done", f"the chain is multiplied as {what}", where),))

    def stays(self, where: Span | None) -> Remark:
        """That there is no better order."""
        return Remark("algebra-chain", "note", f"the chain {' '.join(self.names)} is in its cheapest order", where)

    def price(self, rows: int, depth: int, columns: int) -> float:
        """Cycles of one multiplication, for known sizes."""
        batch = self.chain.batch
        kind = kind_of_matrices(rows != 1, columns != 1, depth != 1, bool(batch))
        numbers = {"1": index(rows), "2": index(depth), "3": index(columns)}
        extents = {x: self.product.extents[x] for x in batch} | numbers
        operands = ((f"{batch}12", 1), (f"{batch}23", 1), (f"{batch}13", 1))
        shape = CostShape(kind, operands, extents)
        points = self.setting.model.points if batch else self.setting.model.points[:1]
        type = self.facts.type_of(self.product)
        return sum(self.setting.model.cycles(shape, type, x) for x in points)

    def is_cheaper(self, order: Order) -> bool:
        """Whether the model says that an order takes less time than the steps that there are."""
        type = self.facts.type_of(self.product)
        old = [shape_of(x) for n in self.places if (x := self.facts.products[n]) is not None]
        fresh = [shape_of(x) for x in self.products(order, set(), [])[0]]
        return self.setting.model.wins([(x, type) for x in fresh], [(x, type) for x in old])

    def present(self) -> Order | None:
        """The order in which the steps multiply now, where every one multiplies two operands."""
        numbers = {self.key(x): n for n, x in enumerate(self.chain.factors)}
        if len(numbers) < len(self.chain.factors):
            return None
        made: dict[str, Order] = {}
        for place in self.places:
            product = self.facts.products[place]
            assert product is not None
            parts: list[Order] = []
            for x in product.factors:
                part = made.get(x.view.array, numbers.get(self.key(x)))
                if part is None:
                    return None
                parts.append(part)
            if len(parts) != 2:
                return None
            first, second = sorted(parts, key=lambda x: reach(x)[0])
            made[product.output.view.array] = first, second
        return made[self.product.output.view.array]

    def key(self, term: ProductOperand) -> tuple[object, ...]:
        return term.view.array, term.view.start, tuple(sorted(term.view.steps))

    def products(self, order: Order, taken: set[str], known: list[Array]) -> tuple[list[Product], list[Array]]:
        """The multiplications of an order, and the arrays between them: `known` ones of other orders, or new ones."""
        left_over = list(known)
        type = self.facts.type_of(self.product)
        terms: dict[tuple[int, int], ProductOperand] = {(n, n + 1): x for n, x in enumerate(self.chain.factors)}
        arrays: list[Array] = []
        out: list[Product] = []
        for left, right in multiplications(order):
            (first, middle), (_, last) = reach(left), reach(right)
            ends = self.chain.between[first], self.chain.between[last]
            inner = self.chain.between[middle]
            factors = terms[first, middle], terms[middle, last]
            used = set(factors[0].letters + factors[1].letters)
            if (first, last) == (0, len(self.chain.factors)):
                used |= set(self.product.output.letters)
                extents = {x: y for x, y in self.product.extents.items() if x in used}
                out.append(replace(self.product, factors=factors, sums=inner, extents=extents))
                continue
            letters = self.chain.batch + ends[0] + ends[1]
            shape = tuple(self.product.extents[x] for x in letters)
            array = next((x for x in left_over if (x.type, x.shape) == (type, shape)), None)
            if array is None:
                array = Array(take_name("product", taken), type, shape)
                known.append(array)
            else:
                left_over.remove(array)
            arrays.append(array)
            terms[first, last] = whole_term(array, letters)
            extents = {x: y for x, y in self.product.extents.items() if x in used}
            out.append(Product(terms[first, last], factors, extents, inner, exact=False))
        return out, arrays

    def written(self, orders: Sequence[Order]) -> tuple[tuple[Step, ...], Raised]:
        """The steps, and the kernel with the arrays that they need."""
        raised = self.facts.raised
        ways: list[tuple[tuple[Step, ...], list[Array]]] = []
        taken, known = self.setting.taken(raised), list[Array]()
        for order in orders:
            products, arrays = self.products(order, taken, known)
            asked = asked_of((x for a in arrays for x in a.shape if x is not None), self.facts)
            steps = tuple(with_origin(self.apply(x), asked, ()) for x in products)
            ways.append((steps, arrays))
        if len(ways) == 1:
            return ways[0][0], with_locals(raised, ways[0][1])
        costs = [_monomials(x, self.sizes) for x in orders]
        cases = []
        for n, (steps, arrays) in enumerate(ways):
            condition: Expr = Const(True, BOOL)
            for m in range(n + 1, len(ways)):
                condition = _both(condition, at_most(costs[n], costs[m]))
            cases.append(Case(condition, steps, tuple(arrays)))
        return (Choice(tuple(cases)),), raised

    def apply(self, product: Product) -> Apply:
        step = self.facts.raised.steps[self.places[-1]]
        assert isinstance(step, Apply)
        return replace(write_product(product), span=step.span)


def _multiplications(rows: int, depth: int, columns: int) -> float:
    """Multiplications of numbers in a product of matrices."""
    return float(rows * depth * columns)


def winners(
    sizes: Sequence[Expr], price: Price, most: int, usual: Sequence[tuple[int, ...]] = ()
) -> tuple[list[Order], bool]:
    """Orders of which one is the cheapest, or nearly so, whatever the sizes; whether others were dropped.

    They are found by trying sizes that are equal, smaller and larger than each other; those for the `usual` sizes are
    always among them.
    """
    names = sorted({x for size in sizes for x in variables(size)})
    if len(_SAMPLES) ** len(names) <= _MOST_SAMPLES:
        tries = [dict(zip(names, x, strict=True)) for x in combinations(_SAMPLES, repeat=len(names))]
    else:
        source = random.Random(0)
        tries = [{x: source.choice(_SAMPLES) for x in names} for _ in range(_MOST_SAMPLES)]
    rows = [tuple(max(0, evaluate(x, values)) for x in sizes) for values in tries]
    rows = list(dict.fromkeys(rows))
    best = [best_order(x, price) for x in rows]
    orders = list(dict.fromkeys(best))
    lowest = [cost_of(order, x, price) for order, x in zip(best, rows, strict=True)]
    good = {x: {n for n, row in enumerate(rows) if cost_of(x, row, price) <= _MUCH * lowest[n]} for x in orders}
    # The fewest orders that serve all sizes, taken greedily.
    out = list(dict.fromkeys(best_order(x, price) for x in usual))
    left = set(range(len(rows))).difference(*(good.get(x, set()) for x in out))
    while left and len(out) < most:
        order = max(orders, key=lambda x: len(good[x] & left))
        out.append(order)
        left -= good[order]
    return out, bool(left)


def _monomials(order: Order, sizes: Sequence[Expr]) -> list[list[Expr]]:
    """The multiplications that an order takes, as a sum of products of sizes."""
    out = []
    for left, right in multiplications(order):
        (first, middle), (_, last) = reach(left), reach(right)
        out.append([normal(sizes[x]) for x in (first, middle, last)])
    return out


def at_most(left: Sequence[Sequence[Expr]], right: Sequence[Sequence[Expr]]) -> Expr:
    """Whether a sum of products is at most another; in floats, whose range no product of sizes leaves."""
    return Compare("le", _sum(left), _sum(right))


def _sum(terms: Sequence[Sequence[Expr]]) -> Expr:
    out: Expr | None = None
    for term in terms:
        value: Expr | None = None
        for size in term:
            factor = Cast(size, F64)
            value = factor if value is None else Binary("mul", value, factor)
        assert value is not None
        out = value if out is None else Binary("add", out, value)
    assert out is not None
    return out


def _both(a: Expr, b: Expr) -> Expr:
    return b if a == Const(True, BOOL) else Binary("and", a, b)
