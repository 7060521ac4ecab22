"""Flattens a product of products into one product of all operands, where the intermediate is not needed elsewhere.

Before: T = A * B; U = T * C        (T: a local array, not read again)
After:  U = A * B * C

>>> from planish.ir.expr import Const, Var
>>> from planish.ir.types import F32
>>> times(Const(1, F32), Var("a", F32), F32), times(None, None, F32)
(Var(name='a', type=Type(kind='float', bits=32)), None)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from string import ascii_letters

from planish.ir.expr import Binary, Const, Expr
from planish.ir.types import Type
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.product import Product, ProductOperand, is_number, view_letters
from planish.raising.algebra.rule_context import Setting


@dataclass(frozen=True, slots=True)
class Gathered:
    """A product and the steps that it is made of, in order."""

    product: Product
    places: tuple[int, ...]
    kept: tuple[str, ...] = ()


def gather(facts: Facts, setting: Setting, place: int, deep: bool = True) -> Gathered:
    """The product at a place with every factor replaced that a product before it computed for it alone.

    `deep`: also the factors that come in so. `kept` says for those that products computed why they stay.
    """
    product = facts.products[place]
    assert product is not None
    places = [place]
    kept: list[str] = []
    # The step at which each factor is read.
    done: list[tuple[ProductOperand, int]] = []
    rest = [(x, place) for x in product.factors]
    while rest:
        term, reader = rest.pop(0)
        found = _source(facts, setting, term, reader, place)
        if isinstance(found, int) and _overwritten(facts, found, place):
            found = f"what {term.view.array} is made of is overwritten by what it is used for"
        if not isinstance(found, int):
            if found:
                kept.append(found)
            done.append((term, reader))
            continue
        source = facts.products[found]
        assert source is not None
        merged = _inlined(product, source, term, facts)
        if merged is None:
            kept.append(f"{term.view.array} is read in another form than it was computed in")
            done.append((term, reader))
            continue
        product, fresh = merged
        places.append(found)
        if deep:
            rest = [(x, found) for x in fresh] + rest
        else:
            done += [(x, found) for x in fresh]
    factors = tuple(x for x, _ in done)
    return Gathered(replace(product, factors=factors), tuple(sorted(places)), tuple(dict.fromkeys(kept)))


def _source(facts: Facts, setting: Setting, term: ProductOperand, reader: int, last: int) -> int | str:
    """The step that computed a factor and may be moved into the product; why not, "" for what no product computed."""
    array = term.view.array
    place = facts.definition_of(term.view, reader)
    if place is None:
        return ""
    source = facts.products[place]
    if source is None or not source.factors:
        return ""
    if not facts.is_local(array):
        return f"{array} is seen after the kernel, so it is computed as it stands"
    if not source.overwrites:
        return f"{array} is added to more than once"
    if facts.users(array, place) != [reader] or not facts.is_dead(array, reader + 1):
        return f"{array} is read more than once"
    product = facts.products[reader]
    if product is not None and [x.view.array for x in product.factors].count(array) > 1:
        return f"{array} is read more than once"
    changed = facts.touched(range(place + 1, last), facts.needs(place))
    if changed is not None:
        return f"what {array} is made of changes before {array} is used"
    if not setting.may_reorder(facts.type_of(source)):
        return f"{array} is a sum that would be added up in another order, which --fp {setting.floats} does not allow"
    return place


def _overwritten(facts: Facts, source: int, place: int) -> bool:
    """Whether a step writes what a step before it reads."""
    return facts.touched(range(place, place + 1), facts.needs(source)) is not None


def _inlined(
    product: Product, source: Product, term: ProductOperand, facts: Facts
) -> tuple[Product, tuple[ProductOperand, ...]] | None:
    """The product with a factor replaced by those that it is the product of."""
    free = [x for x in ascii_letters if x not in product.letters]
    if len(free) < len(source.letters):
        return None
    source = source.with_letters(product.letters)
    names = view_letters(source.output, term)
    if names is None:
        return None
    source = source.renamed(names)
    alpha = times(product.alpha, source.alpha, facts.type_of(source))
    extents = {**source.extents, **product.extents}
    fresh = replace(product, alpha=alpha, extents=extents, sums=product.sums + source.sums, exact=False)
    return fresh, source.factors


def times(a: Expr | None, b: Expr | None, type: Type) -> Expr | None:
    """The product of two scalars, None standing for one."""
    if a is None or is_number(a, 1):
        return None if is_number(b, 1) else b
    if b is None or is_number(b, 1):
        return a
    if isinstance(a, Const) and isinstance(b, Const) and type.is_float:
        return Const(float(a.value) * float(b.value), type)
    return Binary("mul", a, b)
