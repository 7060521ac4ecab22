"""Contractions as products of matrices: operands are transposed where need be, and groups of dimensions folded.

Before: C[a, b, c] = sum over d of A[a, c, d] * B[d, b]
After:  C[a] = (A[a] * B)' for each a: a batched product of matrices, whose output is seen transposed

Every choice of what is folded, looped over and transposed that can be cheapest is priced; the cheapest is taken.

>>> sorted(subsets("ab", 1), key=len)
['', 'a', 'b']
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from itertools import product as cross

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.evaluate import evaluate
from planish.ir.expr import Expr
from planish.ir.nest import Array
from planish.raising.algebra.cost import Shape, shape_of
from planish.raising.algebra.dead import describe
from planish.raising.algebra.facts import Facts
from planish.raising.algebra.fold import Folded, fold
from planish.raising.algebra.identity import span
from planish.raising.algebra.kinds import Groups, arranged, groups_of, kind_of, kind_of_matrices
from planish.raising.algebra.product import Product, Term, volume
from planish.raising.algebra.setting import (
    Change,
    Setting,
    asked_of,
    refused,
    replaced,
    with_locals,
)
from planish.raising.algebra.writing import Origin, whole_term, write_product
from planish.raising.raised import Apply, Reshape, View

_MOST_LOOPED = 2
"""Of the dimensions of the output at most so many are looped over besides the batches."""
_MOST_POINTS = 12
_SCATTERED = 4.0
"""How much longer an operand takes whose neighbours in memory belong to different matrices."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a contraction becomes products of matrices: the letters looped over, the orders of the groups, and the
    operands (0 and 1: factors, 2: the output) that are transposed."""

    loops: str
    rows: str
    columns: str
    depth: str
    turned: tuple[int, ...]

    def groups(self, operand: int, term: Term) -> tuple[str, ...]:
        """The groups of an operand, slowest first: loops one by one, then the two of the matrix."""
        inner = ((self.rows, self.depth), (self.depth, self.columns), (self.rows, self.columns))[operand]
        return (*(x for x in self.loops if x in term.letters), *inner)


def use_matrices(facts: Facts, setting: Setting) -> Change:
    """Turn the first contraction that has no name of its own into products of matrices."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None or len(product.factors) != 2:
            continue
        step = facts.raised.steps[place]
        product = arranged(product)
        kind = kind_of(product)
        if kind == "product":
            message = f"{describe(step)} stays: a dimension of one operand is in no other, and is summed apart"
            remarks.append(refused("contraction", message, span(step)))
        if kind != "contraction":
            continue
        if not setting.may_rewrite(product, facts.type_of(product)):
            message = f"{describe(step)} stays: --fp {setting.floats} keeps how its elements are rounded"
            remarks.append(refused("contraction", message, span(step)))
            continue
        groups = groups_of(product)
        assert groups is not None
        search = _Search(facts, setting, product, groups)
        plan = search.best()
        if plan is None:
            message = f"{describe(step)} stays: transposing its operands would take longer than its loops"
            remarks.append(refused("contraction", message, span(step)))
            continue
        return _applied(facts, setting, place, product, plan, remarks)
    return Change(None, tuple(remarks))


@dataclass(frozen=True, slots=True)
class _Search:
    """A contraction, and what its plans cost."""

    facts: Facts
    setting: Setting
    product: Product
    groups: Groups

    @property
    def operands(self) -> tuple[Term, Term, Term]:
        first, second = self.product.factors
        return first, second, self.product.output

    def points(self) -> list[dict[str, int]]:
        """The extents of all letters at some of the model's points."""
        points = self.setting.model.points
        chosen = points if len(points) <= _MOST_POINTS else random.Random(0).sample(points, _MOST_POINTS)
        return [{x: max(0, evaluate(y, p)) for x, y in self.product.extents.items()} for p in chosen]

    def best(self) -> Plan | None:
        """The cheapest plan; None where the loops as they are cost less."""
        model, type = self.setting.model, self.facts.type_of(self.product)
        points = self.points()
        lowest = sum(model.time(shape_of(self.product), type, x) for x in points)
        found: Plan | None = None
        for plan in self.plans():
            shapes = list(self.shapes(plan))
            total = sum(model.time(shape, type, x) for x in points for shape in shapes)
            # What needs no transpose is taken where it costs the same: it has a name.
            if total < lowest or (found is None and total == lowest and not plan.turned):
                lowest, found = total, plan
        return found

    def plans(self) -> Iterator[Plan]:
        """Every plan that may be the cheapest: groups in an order that one of their operands has in memory."""
        groups = self.groups
        first, second, output = self.operands
        strict = not self.setting.may_reorder(self.facts.type_of(self.product))
        for extra in subsets(groups.rows + groups.columns, _MOST_LOOPED):
            loops = "".join(x for x in self.product.output.letters if x in groups.batch + extra)
            depths = {self.product.sums} if strict else _orders(groups.depth, first, second)
            rows = _orders("".join(x for x in groups.rows if x not in extra), first, output)
            columns = _orders("".join(x for x in groups.columns if x not in extra), second, output)
            for row, column, depth in cross(sorted(rows), sorted(columns), sorted(depths)):
                plan = Plan(loops, row, column, depth, ())
                turned = tuple(n for n, x in enumerate(self.operands) if self.folded(plan, n, x) is None)
                # What is added to is not rounded as before when it is added at once.
                if not (strict and 2 in turned and not self.product.overwrites):
                    yield replace(plan, turned=turned)

    def folded(self, plan: Plan, operand: int, term: Term) -> Folded | None:
        return fold(term, plan.groups(operand, term), self.facts.arrays[term.view.array], "")

    def shapes(self, plan: Plan) -> Iterator[Shape]:
        """The steps of a plan."""
        moved: list[tuple[str, float]] = []
        for n, term in enumerate(self.operands):
            times = 2.0 if n == 2 and not self.product.overwrites else 1.0
            # An operand without a looped letter is the same for each of its values.
            letters = plan.loops + "".join(x for x in term.letters if x not in plan.loops)
            if n in plan.turned:
                yield Shape("transpose", ((term.letters, 1.0), (term.letters, times)), self.product.extents)
                moved.append((letters, 1.0))
            else:
                fast = set(_fastest(term))
                moved.append((letters, times * _SCATTERED if fast and fast <= set(plan.loops) else times))
        kind = kind_of_matrices(bool(plan.rows), bool(plan.columns), bool(plan.depth), bool(plan.loops))
        yield Shape(kind, tuple(moved), self.product.extents)


def _orders(letters: str, *terms: Term) -> set[str]:
    """The orders that letters have in the memory of operands, the slowest first."""
    return {"".join(sorted(letters, key=lambda x: _place(term, x))) for term in terms}


def _place(term: Term, letter: str) -> tuple[int, str]:
    """The dimension of the array that a letter steps along."""
    step = term.view.steps[term.letters.index(letter)]
    return next((d for d, x in enumerate(step) if x), -1), letter


def _fastest(term: Term) -> str:
    """The letters that step along the array's last dimension."""
    return "".join(x for x, step in zip(term.letters, term.view.steps, strict=True) if step and step[-1])


def subsets(letters: str, most: int) -> Iterator[str]:
    """All choices of up to so many letters, small ones first."""
    for count in range(min(most, len(letters)) + 1):
        yield from ("".join(x) for x in combinations(letters, count))


def _applied(
    facts: Facts, setting: Setting, place: int, product: Product, plan: Plan, remarks: list[Remark]
) -> Change:
    """The kernel with the steps of a plan."""
    taken = setting.taken(facts.raised)
    type = facts.type_of(product)
    step = facts.raised.steps[place]
    assert isinstance(step, Apply)
    arrays: list[Array] = []
    reshapes: list[Reshape] = []
    before: list[Product] = []
    after: list[Product] = []
    folded: list[Term] = []
    for n, term in enumerate((*product.factors, product.output)):
        groups = plan.groups(n, term)
        array = facts.arrays[term.view.array]
        if n in plan.turned:
            letters = "".join(groups)
            shape = tuple(product.extents[x] for x in letters)
            array = Array(take_name("turned", taken), type, shape)
            arrays.append(array)
            local = whole_term(array, letters)
            extents = {x: product.extents[x] for x in letters}
            if n == 2:
                after.append(Product(term, (local,), extents, "", None, product.beta))
            else:
                before.append(Product(local, (term,), extents, ""))
            term = local
        found = fold(term, groups, array, take_name(f"{array.name}_flat", taken))
        assert found is not None
        if found.array is not None:
            reshapes.append(Reshape(found.array, facts.base(array.name)))
        folded.append(_spread(found.term, plan.loops, product.extents))
    extents = {x: product.extents[x] for x in plan.loops}
    for group in (plan.rows, plan.columns, plan.depth):
        if group:
            extents[group[0]] = volume(product.extents, group)
    beta = None if 2 in plan.turned else product.beta
    main = Product(folded[2], (folded[0], folded[1]), extents, plan.depth[:1], product.alpha, beta, product.exact)
    asked = asked_of((x for a in arrays for x in a.shape if x is not None), facts)
    origin = Origin(asked, (), step.span)
    steps = tuple(write_product(x, origin) for x in (*before, main, *after))
    fresh = replaced(with_locals(facts.raised, arrays, reshapes), place, steps)
    parts = [(*product.factors, product.output)[n].view.array for n in plan.turned]
    what = f"with {' and '.join(parts)} transposed" if parts else "with no operand transposed"
    message = f"{describe(step)} is computed as `{kind_of(arranged(main))}`, {what}"
    return Change(fresh, (*remarks, Remark("algebra-contraction", "done", message, step.span)))


def _spread(term: Term, loops: str, extents: Mapping[str, Expr]) -> Term:
    """The operand with a dimension for each loop: one that it does not have stays in its place."""
    missing = "".join(x for x in loops if x not in term.letters)
    view = term.view
    steps = tuple((0,) * len(view.start) for _ in missing)
    shape = tuple(extents[x] for x in missing)
    return Term(View(view.array, view.start, steps + view.steps, shape + view.shape), missing + term.letters)
