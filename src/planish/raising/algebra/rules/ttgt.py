"""TTGT: contractions as transposes and matrix products; groups of dimensions are folded.

Before: C[a, b, c] = sum over d of A[a, c, d] * B[d, b]
After:  C[a] = (A[a] * B)' for each a: a batched product of matrices, whose output is seen transposed

Every choice of what is folded, looped over and transposed that can be cheapest is priced; the cheapest is taken.

>>> sorted(subsets("ab", 1), key=len)
['', 'a', 'b']
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations
from itertools import product as cross

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import normal
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array
from planish.ir.text.printer import print_expr
from planish.ir.types import BOOL, Type
from planish.raising.algebra.cost import CostShape, shape_of
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.fold_dims import fold
from planish.raising.algebra.product import Product, ProductOperand, is_number, volume
from planish.raising.algebra.product_kinds import Groups, arranged, groups_of, kind_of, kind_of_matrices
from planish.raising.algebra.product_writer import Origin, whole_term, write_product
from planish.raising.algebra.rule_context import (
    RuleResult,
    Setting,
    asked_of,
    refused,
    replaced,
    with_locals,
)
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.identity_elements import span
from planish.raising.raised import Apply, Case, Choice, Reshape, Step, View, repeated

_MOST_LOOPED = 2
"""Of the dimensions of the output at most so many are looped over besides the batches."""
_MOST_POINTS = 12


@dataclass(frozen=True, slots=True)
class TtgtPlan:
    """How a contraction becomes products of matrices: the letters looped over, the orders of the groups, and the
    operands (0 and 1: factors, 2: the output) that are transposed. `parts`: the letters of what is summed of which each
    place has a product of its own, added to the output."""

    loops: str
    rows: str
    columns: str
    depth: str
    turned: tuple[int, ...]
    parts: str = ""

    @property
    def around(self) -> str:
        """The letters that a product of matrices is at one place of."""
        return self.parts + self.loops

    @property
    def kind(self) -> str:
        """The name of its products."""
        return kind_of_matrices(bool(self.rows), bool(self.columns), bool(self.depth), bool(self.loops))

    def groups(self, operand: int, term: ProductOperand) -> tuple[str, ...]:
        """The groups of an operand, slowest first: loops one by one, then the two of the matrix."""
        inner = ((self.rows, self.depth), (self.depth, self.columns), (self.rows, self.columns))[operand]
        return (*(x for x in self.around if x in term.letters), *inner)


def use_matrices(facts: Facts, setting: Setting) -> RuleResult:
    """Turn the first contraction that has no name of its own into products of matrices."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None or len(product.factors) != 2:
            continue
        step = facts.raised.steps[place]
        product = arranged(product)
        kind = kind_of(product)
        if kind == "product":
            message = f"{describe(step)} stays: a dimension of one operand is in no other operand"
            remarks.append(refused("algebra-contraction", message, span(step)))
        if kind != "contraction":
            continue
        if not setting.may_rewrite(product, facts.type_of(product)):
            message = f"{describe(step)} stays: --fp {setting.floats} keeps how its elements are rounded"
            remarks.append(refused("algebra-contraction", message, span(step)))
            continue
        plan, cost = _Search(facts, setting, product).best()
        filled, condition = _filled(facts, product)
        better, less = _Search(facts, setting, filled).best() if condition is not None else (None, cost)
        if plan is None and better is None:
            message = f"{describe(step)} stays: transposing its operands would take longer than its loops"
            remarks.append(refused("algebra-contraction", message, span(step)))
            continue
        assert isinstance(step, Apply)
        rewrite = _Rewrite(facts, step, setting.taken(facts.raised))
        if better is not None and less < cost and condition is not None:
            otherwise = rewrite.steps(product, plan) if plan is not None else (step,)
            cases = (Case(condition, rewrite.steps(filled, better)), Case(Const(True, BOOL), otherwise))
            return rewrite.change(place, (Choice(cases),), filled, better, remarks)
        assert plan is not None
        return rewrite.change(place, rewrite.steps(product, plan), product, plan, remarks)
    return RuleResult(None, tuple(remarks))


def _filled(facts: Facts, product: Product) -> tuple[Product, Expr | None]:
    """The product if its rows lie without gaps, so that they are one dimension with those around them, and the
    condition on the sizes for it; None where nothing has to be asked, or cannot be."""
    terms = (*product.factors, product.output)
    declared = [_declared(facts, x) for x in terms]
    pairs = [(product.extents[x], y) for found in declared for x, y in found.items()]
    asked: list[Expr] = [Compare("eq", normal(x), normal(y)) for x, y in pairs]
    asked = [x for x in asked if simplify(x) != Const(True, BOOL)]
    if not asked or any(simplify(x) == Const(False, BOOL) for x in asked):
        return product, None

    def fill(term: ProductOperand, own: Mapping[str, Expr]) -> ProductOperand:
        shape = tuple(own.get(x, product.extents[x]) for x in term.letters)
        return ProductOperand(View(term.view.array, term.view.start, term.view.steps, shape), term.letters)

    first, second, output = (fill(x, own) for x, own in zip(terms, declared, strict=True))
    extents = {**product.extents, **{x: y for found in declared for x, y in found.items()}}
    condition = reduce(partial(Binary, "and"), dict.fromkeys(asked))
    return replace(product, output=output, factors=(first, second), extents=extents), condition


def _declared(facts: Facts, term: ProductOperand) -> dict[str, Expr]:
    """How many elements rows of an operand's array have in memory, by the letters that step along them."""
    out: dict[str, Expr] = {}
    shape = facts.arrays[term.view.array].shape
    for letter, step in zip(term.letters, term.view.steps, strict=True):
        dims = [d for d, x in enumerate(step) if x]
        extent = shape[dims[0]] if len(dims) == 1 and dims[0] > 0 and step[dims[0]] == 1 else None
        if extent is not None and is_number(normal(term.view.start[dims[0]]), 0):
            out[letter] = extent
    return out


@dataclass(frozen=True, slots=True)
class _Search:
    """A contraction, and what its plans cost."""

    facts: Facts
    setting: Setting
    product: Product

    @property
    def groups(self) -> Groups:
        found = groups_of(self.product)
        assert found is not None
        return found

    @property
    def operands(self) -> tuple[ProductOperand, ProductOperand, ProductOperand]:
        first, second = self.product.factors
        return first, second, self.product.output

    def points(self) -> list[dict[str, int]]:
        """The extents of all letters at some of the model's points."""
        points = self.setting.model.points
        chosen = points if len(points) <= _MOST_POINTS else random.Random(0).sample(points, _MOST_POINTS)
        return [{x: max(0, evaluate(y, p)) for x, y in self.product.extents.items()} for p in chosen]

    def best(self) -> tuple[TtgtPlan | None, float]:
        """The cheapest plan and what it costs; None where the loops as they are cost less."""
        model, type = self.setting.model, self.facts.type_of(self.product)
        points = self.points()
        lowest = sum(model.time(shape_of(self.product), type, x) for x in points)
        found: TtgtPlan | None = None
        for plan in self.plans():
            shapes = list(self.shapes(plan))
            total = sum(model.time(shape, type, x) for x in points for shape in shapes)
            # What needs no transpose is taken where it costs the same: it has a name.
            if total < lowest or (found is None and total == lowest and not plan.turned):
                lowest, found = total, plan
        return found, lowest

    def plans(self) -> Iterator[TtgtPlan]:
        """Every plan that may be the cheapest: groups in an order that one of their operands has in memory."""
        groups = self.groups
        first, second, output = self.operands
        strict = not self.setting.may_reorder(self.facts.type_of(self.product))
        for extra in subsets(groups.rows + groups.columns, _MOST_LOOPED):
            loops = "".join(x for x in self.product.output.letters if x in groups.batch + extra)
            depths = {("", self.product.sums)} if strict else self.depths()
            rows = _orders("".join(x for x in groups.rows if x not in extra), first, output)
            columns = _orders("".join(x for x in groups.columns if x not in extra), second, output)
            for row, column, (parts, depth) in cross(sorted(rows), sorted(columns), sorted(depths)):
                plan = TtgtPlan(loops, row, column, depth, (), parts)
                turned = tuple(n for n, x in enumerate(self.operands) if self.must_turn(plan, n, x))
                # What is added to is not rounded as before when it is added at once.
                if not (strict and 2 in turned and not self.product.overwrites):
                    yield replace(plan, turned=turned)

    def depths(self) -> set[tuple[str, str]]:
        """What is summed, as the letter that has products of its own, or none, and the orders of the others."""
        first, second, _ = self.operands
        letters = self.groups.depth
        parts = subsets(letters, 1) if len(letters) > 1 else ("",)
        return {(x, order) for x in parts for order in _orders(letters.replace(x, ""), first, second)}

    def must_turn(self, plan: TtgtPlan, operand: int, term: ProductOperand) -> bool:
        """Whether an operand's groups do not fold, or its neighbours in memory belong to different matrices, for which
        there is no kernel."""
        near, looped = set(term.nearest), set(plan.around)
        scattered = bool(near) and near <= looped < {*looped, *term.letters}
        return scattered or fold(term, plan.groups(operand, term), self.facts.arrays[term.view.array], "") is None

    def shapes(self, plan: TtgtPlan) -> Iterator[CostShape]:
        """The steps of a plan."""
        moved: list[tuple[str, float]] = []
        for n, term in enumerate(self.operands):
            times = 2.0 if n == 2 and (plan.parts or not self.product.overwrites) else 1.0
            # An operand without a looped letter is moved for each of its values.
            letters = plan.around + "".join(x for x in term.letters if x not in plan.around)
            if n in plan.turned:
                yield CostShape("transpose", ((term.letters, 1.0), (term.letters, times)), self.product.extents)
                moved.append((letters, 1.0))
            else:
                moved.append((letters, times))
        kind = kind_of_matrices(bool(plan.rows), bool(plan.columns), bool(plan.depth), bool(plan.around))
        yield CostShape(kind, tuple(moved), self.product.extents)


def _orders(letters: str, *terms: ProductOperand) -> set[str]:
    """The orders that letters have in the memory of operands, the slowest first."""
    return {"".join(sorted(letters, key=lambda x: _place(term, x))) for term in terms}


def _place(term: ProductOperand, letter: str) -> tuple[int, str]:
    """The dimension of the array that a letter steps along."""
    step = term.view.steps[term.letters.index(letter)]
    return next((d for d, x in enumerate(step) if x), -1), letter


def subsets(letters: str, most: int) -> Iterator[str]:
    """All choices of up to so many letters, small ones first."""
    for count in range(min(most, len(letters)) + 1):
        yield from ("".join(x) for x in combinations(letters, count))


@dataclass(slots=True)
class _Rewrite:
    """A contraction on its way: names that are taken, and the arrays that its plans need."""

    facts: Facts
    step: Apply
    taken: set[str]
    arrays: list[Array] = field(default_factory=list)
    reshapes: list[Reshape] = field(default_factory=list)

    def change(
        self, place: int, steps: tuple[Step, ...], product: Product, plan: TtgtPlan, remarks: Sequence[Remark]
    ) -> RuleResult:
        """The kernel with some steps in the contraction's place."""
        fresh = replaced(with_locals(self.facts.raised, self.arrays, self.reshapes), place, steps)
        parts = [(*product.factors, product.output)[n].view.array for n in plan.turned]
        what = f"with {' and '.join(parts)} transposed" if parts else "with no operand transposed"
        message = f"{describe(self.step)} is computed as {'a sum of ' * bool(plan.parts)}`{plan.kind}`, {what}"
        if isinstance(steps[0], Choice):
            message += f" where {print_expr(steps[0].cases[0].condition)}"
        return RuleResult(fresh, (*remarks, Remark("algebra-contraction", "done", message, self.step.span)))

    def steps(self, product: Product, plan: TtgtPlan) -> tuple[Step, ...]:
        """The steps of a plan."""
        type = self.facts.type_of(product)
        asked: list[Expr] = []
        before: list[Product] = []
        after: list[Product] = []
        folded: list[ProductOperand] = []
        for n, term in enumerate((*product.factors, product.output)):
            groups = plan.groups(n, term)
            array = self.facts.arrays[term.view.array]
            if n in plan.turned:
                letters = "".join(groups)
                shape = tuple(product.extents[x] for x in letters)
                array = Array(take_name("turned", self.taken), type, shape)
                self.arrays.append(array)
                asked += shape
                local = whole_term(array, letters)
                extents = {x: product.extents[x] for x in letters}
                if n == 2:
                    after.append(Product(term, (local,), extents, "", None, product.beta))
                else:
                    before.append(Product(local, (term,), extents, ""))
                term = local
            found = fold(term, groups, array, take_name(f"{array.name}_flat", self.taken))
            assert found is not None
            if found.array is not None:
                self.reshapes.append(Reshape(found.array, self.facts.base(array.name)))
                # Two extents below zero would make one above it.
                asked += (product.extents[x] for group in groups if len(group) > 1 for x in group)
            folded.append(_spread(found.term, plan.loops, product.extents))
        extents = {x: product.extents[x] for x in plan.loops}
        for group in (plan.rows, plan.columns, plan.depth):
            if group:
                extents[group[0]] = volume(product.extents, group)
        beta = None if 2 in plan.turned else product.beta
        main = Product(folded[2], (folded[0], folded[1]), extents, plan.depth[:1], product.alpha, beta, product.exact)
        origin = Origin(asked_of(asked, self.facts), (), self.step.span)
        first, last = (tuple(write_product(x, origin) for x in found) for found in (before, after))
        if not plan.parts:
            return (*first, write_product(main, origin), *last)
        return (*first, *self.parts(main, {x: product.extents[x] for x in plan.parts}, type, origin), *last)

    def parts(self, main: Product, extents: Mapping[str, Expr], type: Type, origin: Origin) -> Iterator[Step]:
        """What the output begins with, and a product for each place of what is summed apart, which is added to it."""
        if not main.accumulates:
            inner = {x: main.extents[x] for x in main.output.letters}
            yield write_product(Product(main.output, (), inner, "", Const(0.0, type), main.beta), origin)
        names = {x: take_name(f"at_{x}", self.taken) for x in extents}
        one = replace(main, factors=tuple(x.at(names) for x in main.factors), beta=Const(1.0, type))
        yield from repeated({names[x]: y for x, y in extents.items()}, (write_product(one, origin),))


def _spread(term: ProductOperand, loops: str, extents: Mapping[str, Expr]) -> ProductOperand:
    """The operand with a dimension for each loop: one that it does not have stays in its place."""
    missing = "".join(x for x in loops if x not in term.letters)
    view = term.view
    steps = tuple((0,) * len(view.start) for _ in missing)
    shape = tuple(extents[x] for x in missing)
    return ProductOperand(View(view.array, view.start, steps + view.steps, shape + view.shape), missing + term.letters)
