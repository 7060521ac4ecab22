"""Common subexpression elimination (CSE) of products: the second is a copy of the first, or its transpose.

Before: C = A * B; D = B' * A'          (A' is A transposed)
After:  C = A * B; D = transpose(C)

>>> from planish.ir.expr import index
>>> from planish.raising.raised import View
>>> n = index("n")
>>> square = lambda x: View(x, (index(0),) * 2, ((1, 0), (0, 1)), (n, n))
>>> A, C, D = (ProductOperand(square(x), y) for x, y in zip("ACD", ("ij", "ij", "ji")))
>>> sizes = {"i": n, "j": n}
>>> matched_letters(Product(C, (A, A), sizes, ""), Product(D, (A, A), sizes, ""), True)
{'i': 'i', 'j': 'j'}
"""

from __future__ import annotations

from itertools import permutations

from planish.core.diagnostic import Remark
from planish.ir.index.polynomial import same
from planish.raising.algebra.effects import Effect, Facts
from planish.raising.algebra.product import Product, ProductOperand, view_letters
from planish.raising.algebra.rule_context import RuleResult, Setting, done, refused, replaced, rewritten
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.identity_elements import span

_MOST_FACTORS = 5


def share_products(facts: Facts, setting: Setting) -> RuleResult:
    """Make the first product that was computed before a copy of the earlier result, where that takes less time."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None or not product.overwrites or len(product.factors) < 2:
            continue
        for earlier in range(place):
            first = facts.products[earlier]
            if first is None or not first.overwrites or first.alpha != product.alpha:
                continue
            type = facts.type_of(product)
            if type != facts.type_of(first):
                continue
            loose = setting.may_reorder(type)
            if not loose and not (first.exact and product.exact):
                continue
            names = matched_letters(first, product, loose)
            if names is None:
                continue
            step = facts.raised.steps[place]
            output = Effect(first.output.view.array, first.output.view)
            if facts.touched(range(earlier, place), facts.needs(earlier)) is not None:
                message = f"{describe(step)} is computed again: its operands change"
                remarks.append(refused("algebra-cse", message, span(step)))
                continue
            if facts.touched(range(earlier + 1, place), [output]) is not None:
                message = f"{describe(step)} is computed again: {output.array} changes before it"
                remarks.append(refused("algebra-cse", message, span(step)))
                continue
            if facts.overlap(output, Effect(product.output.view.array, product.output.view)):
                continue
            source = first.output.renamed(names)
            copy = Product(product.output, (source,), {x: product.extents[x] for x in source.letters}, "")
            if not setting.wins([copy], [product], type):
                message = f"{describe(step)} is computed again: a copy takes longer"
                remarks.append(refused("algebra-cse", message, span(step)))
                continue
            fresh = replaced(facts.raised, place, (rewritten(facts, place, copy),))
            message = f"{product.output.view.array} equals {first.output.view.array}, and is not computed again"
            change = done(fresh, "algebra-cse", message, span(step))
            return RuleResult(change.raised, (*remarks, *change.remarks))
    return RuleResult(None, tuple(remarks))


def matched_letters(first: Product, second: Product, loose: bool) -> dict[str, str] | None:
    """For each letter of a product the other's, where they are equal; `loose`: with factors and sums in any order."""
    if len(first.factors) != len(second.factors) or len(first.letters) != len(second.letters):
        return None
    count = len(second.factors)
    # Two factors commute without rounding otherwise, unless a scalar is multiplied first.
    any_order = loose or (count == 2 and first.alpha is None)
    orders = permutations(second.factors) if any_order and count <= _MOST_FACTORS else [second.factors]
    for order in orders:
        names = _paired(first.factors, tuple(order))
        if names is None or names.keys() != set(first.letters):
            continue
        if {names[x] for x in first.output.letters} != set(second.output.letters):
            continue
        if not all(same(first.extents[x], second.extents[names[x]]) for x in names):
            continue
        if not loose and "".join(names[x] for x in first.sums) != second.sums:
            continue
        return names
    return None


def _paired(first: tuple[ProductOperand, ...], second: tuple[ProductOperand, ...]) -> dict[str, str] | None:
    names: dict[str, str] = {}
    for a, b in zip(first, second, strict=True):
        found = view_letters(a, b)
        if found is None or any(names.get(x, y) != y for x, y in found.items()):
            return None
        names |= found
    return names if len(set(names.values())) == len(names) else None
