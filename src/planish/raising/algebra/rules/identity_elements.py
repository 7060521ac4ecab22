"""Zeros, ones and identity matrices: known factors and addends are simplified away.

Before: C = 0; C += A * B           After: C = A * B
Before: Z = 0; C += Z * B           After: C as it is
Before: I = 0; I[i, i] = 1; C = I * B      After: C = copy(B)

>>> from planish.ir.expr import Const
>>> from planish.ir.types import F64
>>> is_zero_product(Product(ProductOperand(View("C", (), (), ()), ""), (), {}, "", Const(0.0, F64)))
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations

from planish.core.diagnostic import Remark
from planish.core.span import Span
from planish.ir.expr import Const, Expr, Var
from planish.ir.index.polynomial import same
from planish.raising.algebra.effects import Effect, Facts
from planish.raising.algebra.product import Product, ProductOperand, is_number, same_view, view_letters
from planish.raising.algebra.rule_context import RuleResult, Setting, done, refused, replaced, rewritten
from planish.raising.algebra.rules.dce import describe
from planish.raising.algebra.rules.product_flattening import times
from planish.raising.raised import Apply, View


def is_zero_product(product: Product) -> bool:
    """Whether nothing is added: the output becomes zero, or a multiple of itself."""
    return not product.factors and is_number(product.alpha, 0)


def merge_starts(facts: Facts, setting: Setting) -> RuleResult:
    """Let a sum begin with the zero, or the multiple of its output, that a step before it stores."""
    for place, product in enumerate(facts.products):
        if product is None or not product.accumulates or is_zero_product(product):
            continue
        output = product.output.view
        start = facts.definition_of(output, place)
        first = facts.products[start] if start is not None else None
        if start is None or first is None or not is_zero_product(first):
            continue
        if view_letters(first.output, product.output) is None:
            continue
        between = range(start + 1, place)
        if facts.touched(between, [Effect(output.array, output)], also_reads=True) is not None:
            continue
        if facts.touched(between, facts.needs(start)) is not None:
            continue
        type = facts.type_of(product)
        if not setting.may_rewrite(product, type) or (not product.sums and not setting.may_reorder(type)):
            continue
        fresh = replaced(facts.raised, place, (rewritten(facts, place, replace(product, beta=first.beta)),), [start])
        step = facts.raised.steps[start]
        message = f"the sum in {output.array} is accumulated onto what {describe(step)} stored"
        return done(fresh, "algebra-accumulate", message, span(step))
    return RuleResult(None)


def span(step: object) -> Span | None:
    """Where a step stood."""
    return step.span if isinstance(step, Apply) else None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A product made simpler, and what was known."""

    product: Product
    why: str
    rounds: bool = True


def simplify_numbers(facts: Facts, setting: Setting) -> RuleResult:
    """Carry out what is known of the numbers and of the factors of the first product where it helps."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None:
            continue
        step = facts.raised.steps[place]
        for rule in _RULES:
            found = rule(facts, place, product)
            if found is None:
                continue
            if found.rounds and not setting.may_reorder(facts.type_of(product)):
                why = f"--fp {setting.floats} keeps infinities and signs of zero"
                message = f"{describe(step)} stays although {found.why}: {why}"
                remarks.append(refused("algebra-identity", message, span(step)))
                continue
            if not setting.may_rewrite(product, facts.type_of(product)):
                continue
            fresh = replaced(facts.raised, place, (rewritten(facts, place, found.product),))
            change = done(fresh, "algebra-identity", f"{describe(step)} is simpler, since {found.why}", span(step))
            return replace(change, remarks=(*remarks, *change.remarks))
    return RuleResult(None, tuple(remarks))


def _one(facts: Facts, place: int, product: Product) -> Rewrite | None:
    """1 * x is x."""
    if not product.factors or not is_number(product.alpha, 1):
        return None
    return Rewrite(replace(product, alpha=None), "its scalar is one", rounds=False)


def _zero(facts: Facts, place: int, product: Product) -> Rewrite | None:
    """0 * x is 0."""
    if not product.factors or not is_number(product.alpha, 0):
        return None
    return Rewrite(_nothing(facts, product), "its scalar is zero")


def _forgotten(facts: Facts, place: int, product: Product) -> Rewrite | None:
    """0 * C + x is x."""
    if not is_number(product.beta, 0):
        return None
    return Rewrite(replace(product, beta=None, exact=False), "its output is multiplied by zero")


def _nothing(facts: Facts, product: Product) -> Product:
    """The product with nothing added."""
    extents = {x: product.extents[x] for x in product.output.letters}
    type = facts.type_of(product)
    return Product(product.output, (), extents, "", Const(0.0 if type.is_float else 0, type), product.beta, False)


def _constant_factor(facts: Facts, place: int, product: Product) -> Rewrite | None:
    """A factor all of whose elements are one number."""
    for n, factor in enumerate(product.factors):
        value = _filled(facts, factor, place)
        if value is None:
            continue
        name = factor.view.array
        if is_number(value, 0):
            return Rewrite(_nothing(facts, product), f"{name} is zero")
        rest = product.factors[:n] + product.factors[n + 1 :]
        if not rest or not set(product.sums) <= set("".join(x.letters for x in rest)):
            continue
        alpha = times(product.alpha, value, facts.type_of(product))
        return Rewrite(replace(product, factors=rest, alpha=alpha, exact=False), f"all of {name} is one number")
    return None


def _filled(facts: Facts, term: ProductOperand, place: int) -> Expr | None:
    """The number that all elements of a factor are."""
    start = facts.definition_of(term.view, place)
    first = facts.products[start] if start is not None else None
    if first is None or first.factors or first.sums or not first.overwrites:
        return None
    if not (facts.covers(first.output.view) or view_letters(first.output, term) is not None):
        return None
    return first.alpha if isinstance(first.alpha, Const | Var) else None


def _identity_factor(facts: Facts, place: int, product: Product) -> Rewrite | None:
    """A factor that is one where its two letters are equal, and zero elsewhere: one letter takes the other's place."""
    for n, factor in enumerate(product.factors):
        if not _is_identity(facts, factor, place):
            continue
        rest = product.factors[:n] + product.factors[n + 1 :]
        for old, new in permutations(factor.letters):
            if old not in product.sums or any(old in x.letters and new in x.letters for x in rest):
                continue
            terms = tuple(x.renamed({old: new}) for x in rest)
            left = product.sums.replace(old, "")
            if not terms or not set(left) <= set("".join(x.letters for x in terms)):
                continue
            extents = {x: y for x, y in product.extents.items() if x != old}
            fresh = replace(product, factors=terms, sums=left, extents=extents, exact=False)
            return Rewrite(fresh, f"{factor.view.array} is the identity")
    return None


def _is_identity(facts: Facts, term: ProductOperand, place: int) -> bool:
    """Whether a factor is all of a square array that was filled with zeros, and its diagonal with ones."""
    view = term.view
    if len(term.letters) != 2 or not facts.covers(view) or not same(*view.shape):
        return False
    second = facts.definition_of(view, place)
    diagonal = facts.products[second] if second is not None else None
    if second is None or diagonal is None or diagonal.factors or diagonal.sums or not diagonal.overwrites:
        return False
    wanted = View(view.array, view.start, ((1, 1),), view.shape[:1])
    if not same_view(diagonal.output.view, wanted) or not (diagonal.alpha is None or is_number(diagonal.alpha, 1)):
        return False
    return is_number(_filled(facts, term, second), 0)


_RULES: tuple[Callable[[Facts, int, Product], Rewrite | None], ...] = (
    _one, _zero, _forgotten, _constant_factor, _identity_factor,
)  # fmt: skip
