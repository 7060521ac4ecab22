"""View forwarding: reads of a copy or transpose go to its source, as a view.

Before: T = transpose(A); C = T * B        (T: a local array, not read otherwise)
After:  C = A' * B, where A' is A seen with its dimensions turned

Before: T = A * B; C = copy(T)
After:  C = A * B

>>> from planish.ir.expr import index
>>> n, m = index("n"), index("m")
>>> A = View("A", (index(0), index(0)), ((1, 0), (0, 1)), (n, m))
>>> T = View("T", (index(0), index(0)), ((1, 0), (0, 1)), (m, n))
>>> row = View("T", (index(2), index(3)), ((0, 1),), (n,))
>>> print(through(ProductOperand(T, "ji"), ProductOperand(A, "ij"), row)[0])
A[3 + x0, 2 | x0 < n]
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.index.polynomial import sub
from planish.ir.traverse import loads
from planish.raising.algebra.effects import Effect, Facts, may_overlap, study
from planish.raising.algebra.product import Product, ProductOperand, is_number, stepped, view_letters
from planish.raising.algebra.rule_context import (
    RuleResult,
    Setting,
    refused,
    replaced,
    rewritten,
)
from planish.raising.algebra.rules.dce import describe, without
from planish.raising.algebra.rules.product_flattening import gather, times
from planish.raising.raised import Apply, Raised, View


def is_linear(product: Product | None) -> bool:
    """Whether a product copies: every element of one operand, perhaps times a number, to a place of its own."""
    return (
        product is not None
        and product.overwrites
        and len(product.factors) == 1
        and not product.sums
        and sorted(product.factors[0].letters) == sorted(product.output.letters)
    )


def forward_copies(facts: Facts, setting: Setting) -> RuleResult:
    """Let the readers of the first copy or transpose read the original, where the copy is then needed no more."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None or not is_linear(product):
            continue
        outcome = _forward(facts, setting, place, product)
        if isinstance(outcome, Raised):
            step = facts.raised.steps[place]
            assert isinstance(step, Apply)
            names = product.output.view.array, product.factors[0].view.array
            message = f"{names[0]} is a view of {names[1]} through {describe(step)}, and is not stored"
            return RuleResult(outcome, (*remarks, Remark("algebra-forward", "done", message, step.span)))
        if outcome:
            remarks.append(outcome)
    return RuleResult(None, tuple(remarks))


def _forward(facts: Facts, setting: Setting, place: int, product: Product) -> Raised | Remark | None:
    raised, array = facts.raised, product.output.view.array
    step = raised.steps[place]
    assert isinstance(step, Apply)
    if not facts.is_local(array) or any(x.of == array or x.array.name == array for x in raised.reshapes):
        return None
    readers = facts.users(array, place)
    if not readers:
        return None
    source = Effect(product.factors[0].view.array, product.factors[0].view)
    last = readers[-1]

    def refuse(why: str) -> Remark:
        return refused("algebra-forward", f"{describe(step)} stays: {why}", step.span)

    # What writes the copy besides, or the original, until the last reader is done.
    if facts.touched(range(place + 1, last), [source, Effect(array)]) is not None:
        return refuse(f"{array} or {source.array} changes before the last use of {array}")
    for reader in readers:
        fresh = _reading_through(facts, setting, reader, product)
        if isinstance(fresh, str):
            return refuse(fresh)
        raised = replaced(raised, reader, (fresh,))
    return without(raised, place)


def _reading_through(facts: Facts, setting: Setting, reader: int, copy: Product) -> Apply | str:
    """The step with the original in the place of its copy, or why it cannot be."""
    step, product = facts.raised.steps[reader], facts.products[reader]
    array = copy.output.view.array
    if not isinstance(step, Apply):
        return f"{array} is read by a nest without a name"
    if copy.alpha is not None and not is_number(copy.alpha, 1):
        if product is None or not setting.may_reorder(facts.type_of(copy)):
            return f"{array} is a multiple, which is rounded before {describe(step)} reads it"
    output = step.operands[step.operation.output]
    turned = copy.output.letters != copy.factors[0].letters
    operands = dict(step.operands)
    count = 0
    for name in step.operation.inputs:
        view = operands[name]
        if view.array != array:
            continue
        found = through(copy.output, copy.factors[0], view, facts.covers(copy.output.view))
        if found is None:
            return f"{describe(step)} reads other elements of {array} than were copied"
        if may_overlap(facts, found[0], output):
            return f"{describe(step)} overwrites the original"
        if turned and product is None:
            return f"{describe(step)} may read a transposed operand more slowly"
        if product is not None and _scatters(product, view, found[0]):
            return f"{describe(step)} would read matrices whose elements lie apart from each other"
        operands[name] = found[0]
        count += 1
    if output.array == array or not count:
        return f"{describe(step)} changes {array}"
    if any(load.array == array for x in step.scalars.values() for load in loads(x)):
        return f"{describe(step)} has an element of {array} as a scalar"
    if product is None or copy.alpha is None:
        return replace(step, operands=operands)
    alpha = product.alpha
    for _ in range(count):
        alpha = times(alpha, copy.alpha, facts.type_of(copy))
    moved = replace(step, operands=operands)
    again = study(replace(facts.raised, steps=(moved,))).products[0]
    assert again is not None
    return rewritten(facts, reader, replace(again, alpha=alpha, exact=False))


def _scatters(product: Product, view: View, fresh: View) -> bool:
    """Whether a factor of a product has neighbours in memory within its matrices, and as another view of an array would
    have none."""
    term = next((x for x in product.factors if x.view == view), None)
    if term is None or len(product.factors) != 2:
        return False
    matrix = {x for x in term.letters if not all(x in y.letters for y in (*product.factors, product.output))}
    return bool(matrix & set(term.nearest)) and not matrix & set(ProductOperand(fresh, term.letters).nearest)


def through(output: ProductOperand, source: ProductOperand, view: View, covers: bool = True) -> tuple[View] | None:
    """The elements of the source that a view of the output's array has, where `output` has a copy of each.

    `covers`: the output is all of its array. None where the view has elements that are not copied.
    """
    names = view_letters(output, ProductOperand(view, "".join(chr(ord("a") + x) for x in range(len(view.shape)))))
    if names is not None:
        turned = ProductOperand(source.view, "".join(names[x] for x in source.letters))
        return (turned.ordered("".join(sorted(names.values()))).view,)
    if not covers:
        return None
    start = source.view.start
    steps = [(0,) * len(start)] * len(view.steps)
    for letter, step in zip(output.letters, output.view.steps, strict=True):
        d = next(x for x, y in enumerate(step) if y)
        along = source.view.steps[source.letters.index(letter)]
        start = stepped(start, along, sub(view.start[d], output.view.start[d]))
        for n, own in enumerate(view.steps):
            steps[n] = tuple(a + own[d] * b for a, b in zip(steps[n], along, strict=True))
    return (View(source.view.array, start, tuple(steps), view.shape),)


def store_directly(facts: Facts, setting: Setting) -> RuleResult:
    """Let the product that a copy copies store its result where the copy puts it."""
    remarks: list[Remark] = []
    for place, product in enumerate(facts.products):
        if product is None or len(product.factors) != 1 or product.sums:
            continue
        found = _stored(facts, setting, place, product)
        if isinstance(found, Raised):
            step = facts.raised.steps[place]
            assert isinstance(step, Apply)
            array = product.factors[0].view.array
            message = f"{array} is computed where {describe(step)} would copy it to"
            return RuleResult(found, (*remarks, Remark("algebra-store", "done", message, step.span)))
        if found is not None:
            remarks.append(found)
    return RuleResult(None, tuple(remarks))


def _stored(facts: Facts, setting: Setting, place: int, product: Product) -> Raised | Remark | None:
    """A product whose only reader passes it on, written by that reader."""
    plain = is_linear(product) and (product.alpha is None or is_number(product.alpha, 1))
    loose = replace(setting, floats="reassociate") if plain else setting
    gathered = gather(facts, loose, place, deep=False)
    if len(gathered.places) != 2:
        return None
    source = facts.products[gathered.places[0]]
    assert source is not None
    if not setting.may_rewrite(source, facts.type_of(source)):
        message = f"{source.output.view.array} stays: its elements would be rounded in another way"
        return refused("algebra-store", message)
    merged = replace(gathered.product, exact=plain and source.exact)
    fresh = replaced(facts.raised, place, (rewritten(facts, place, merged),), gathered.places[:1])
    return fresh
