"""Collapses dimensions that are contiguous in both arrays of a copy; a matrix transpose, or a few, is left.

Before: B[n, h, w, c] = A[n, c, h, w]
After:  B[n, hw, c] = A[n, c, hw], both under another shape

>>> from planish.ir.expr import index
>>> from planish.raising.raised import View
>>> view = View("A", (index(0),) * 4, ((0,) * 4,) * 4, (index(3),) * 4)
>>> _runs(Product(ProductOperand(view, "nhwc"), (ProductOperand(view, "nchw"),), {}, ""))
('n', 'hw', 'c')
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.names import take_name
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.fold_dims import Folded, fold
from planish.raising.algebra.product import Product, ProductOperand, volume
from planish.raising.algebra.product_writer import origin_of, write_product
from planish.raising.algebra.rule_context import RuleResult, Setting, asked_of, done, replaced, with_locals
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.view_forwarding import is_linear
from planish.raising.raised import Apply, Reshape


def join_dimensions(facts: Facts, setting: Setting) -> RuleResult:
    """Join the dimensions of the first copy that has some which follow each other."""
    for place, product in enumerate(facts.products):
        step = facts.raised.steps[place]
        if product is None or not isinstance(step, Apply) or not is_linear(product):
            continue
        runs, letters = _runs(product), product.output.letters
        if len(runs) in (1, len(letters)):
            continue
        taken = setting.taken(facts.raised)
        folded = [_folded(x, runs, facts, taken) for x in (product.output, *product.factors)]
        output, source = folded
        if output is None or source is None:
            continue
        extents = {x[0]: volume(product.extents, x) for x in runs}
        joined = replace(product, output=output.term, factors=(source.term,), extents=extents)
        bases = (product.output.view.array, product.factors[0].view.array)
        reshapes = [
            Reshape(x.array, facts.base(y)) for x, y in zip((output, source), bases, strict=True) if x.array is not None
        ]
        # Two extents below zero would make one above it.
        asked = asked_of((product.extents[x] for run in runs if len(run) > 1 for x in run), facts)
        origin = origin_of(step)
        whole = write_product(joined, replace(origin, conditions=(*origin.conditions, *asked)))
        made = replaced(with_locals(facts.raised, (), reshapes), place, (whole,))
        message = f"{describe(step)} has {len(runs)} dimensions after adjacent ones are collapsed"
        return done(made, "algebra-join", message, step.span)
    return RuleResult(None)


def _runs(product: Product) -> tuple[str, ...]:
    """The letters of the output in runs that the source has as well."""
    source = product.factors[0].letters
    runs: list[str] = []
    for letter in product.output.letters:
        if runs and runs[-1] + letter in source:
            runs[-1] += letter
        else:
            runs.append(letter)
    return tuple(runs)


def _folded(term: ProductOperand, runs: tuple[str, ...], facts: Facts, taken: set[str]) -> Folded | None:
    array = facts.arrays[term.view.array]
    own = sorted(runs, key=term.letters.index)
    return fold(term, own, array, take_name(f"{array.name}_flat", taken))
