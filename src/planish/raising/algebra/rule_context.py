"""The context of a rewrite rule, and its result: a raised kernel with the cost model and the floating-point mode.

>>> from planish.ir.types import F32, I32
>>> from planish.target.load import load_target
>>> strict = Setting(Model(load_target("generic"), ({},)), "strict")
>>> strict.may_reorder(F32), strict.may_reorder(I32)
(False, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from planish.core.diagnostic import Remark
from planish.core.span import Span
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import normal
from planish.ir.nest import Array
from planish.ir.types import Floats, Type
from planish.raising.algebra.cost import Model, shape_of
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.product import Product
from planish.raising.algebra.product_writer import origin_of, write_product
from planish.raising.raised import (
    Apply,
    Choice,
    Loops,
    Raised,
    Repeat,
    Reshape,
    Step,
    arrays_of,
    bound_names,
    walk_steps,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """The cost model, what may be done to floats, and names that are taken besides those of the kernel. `direct`:
    convolutions may be left to a library that does them where the image lies; `narrow`: arrays of elements that are
    narrower in memory than they are seen here; `woven`: convolutions of these may be left, too."""

    model: Model
    floats: Floats
    names: frozenset[str] = frozenset()
    direct: bool = False
    narrow: frozenset[str] = frozenset()
    woven: bool = False

    def taken(self, raised: Raised) -> set[str]:
        """Every name in use."""
        return taken_names(raised) | self.names

    def may_reorder(self, type: Type) -> bool:
        """Whether sums of elements may be added, and products multiplied, in another order."""
        return not type.is_float or self.floats == "reassociate"

    def may_rewrite(self, product: Product, type: Type) -> bool:
        """Whether a product may be written anew: its elements are rounded alike, or need not be."""
        return product.exact or self.may_reorder(type)

    def wins(self, fresh: Iterable[Product], old: Iterable[Product], type: Type) -> bool:
        """Whether products of a type cost less than others."""
        return self.model.wins([(shape_of(x), type) for x in fresh], [(shape_of(x), type) for x in old])


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a rule made of a raised kernel (None: nothing), and its account. `ways`: the names of the ways in which it
    did convolutions, or left them to be done."""

    raised: Raised | None
    remarks: tuple[Remark, ...] = ()
    ways: frozenset[str] = frozenset()


def done(raised: Raised, id: str, message: str, span: Span | None = None) -> RuleResult:
    """A rewrite that was done."""
    return RuleResult(raised, (Remark(id, "done", message, span),))


def refused(id: str, message: str, span: Span | None = None) -> Remark:
    """A rewrite that was not done, and why."""
    return Remark(id, "refused", message, span)


def replaced(raised: Raised, place: int, steps: tuple[Step, ...], without: Iterable[int] = ()) -> Raised:
    """The kernel with other steps at a place, and some steps left out; what those asked of the sizes is kept."""
    gone = set(without)
    asked = dict.fromkeys(c for n in gone for c in conditions_of(raised.steps[n]))
    asked |= dict.fromkeys(conditions_of(raised.steps[place]))
    named = dict.fromkeys(s for n in sorted(gone | {place}) for s in statements_of(raised.steps[n]))
    out: list[Step] = []
    for n, step in enumerate(raised.steps):
        if n == place:
            out += [with_origin(x, tuple(asked), tuple(named)) for x in steps]
        elif n not in gone:
            out.append(step)
    kernel = raised.kernel
    if not any(isinstance(x, Apply) for x in walk_steps(steps)):
        # Loops ask nothing by themselves.
        kernel = replace(kernel, assumptions=tuple(dict.fromkeys((*kernel.assumptions, *asked))))
    return replace(raised, kernel=kernel, steps=tuple(out))


def conditions_of(step: Step) -> tuple[Expr, ...]:
    """What has to hold of the sizes for a step to mean what it stands for."""
    match step:
        case Apply(conditions=conditions):
            return conditions
        case Choice(cases=cases):
            return tuple(dict.fromkeys(c for case in cases for x in case.steps for c in conditions_of(x)))
        case Repeat(steps=steps):
            return tuple(dict.fromkeys(c for x in steps for c in conditions_of(x)))
        case Loops():
            return ()
        case _:
            assert_never(step)


def statements_of(step: Step) -> tuple[str, ...]:
    """The statements that a step stands for."""
    match step:
        case Apply(statements=statements):
            return statements
        case Choice(cases=cases):
            return tuple(dict.fromkeys(s for case in cases for x in case.steps for s in statements_of(x)))
        case Repeat(steps=steps):
            return tuple(dict.fromkeys(s for x in steps for s in statements_of(x)))
        case Loops(reasons=reasons):
            return tuple(reasons)
        case _:
            assert_never(step)


def with_origin(step: Step, conditions: tuple[Expr, ...], statements: tuple[str, ...]) -> Step:
    """The step with further conditions and statements."""
    match step:
        case Apply():
            return replace(
                step,
                conditions=tuple(dict.fromkeys((*step.conditions, *conditions))),
                statements=tuple(dict.fromkeys((*step.statements, *statements))),
            )
        case Choice(cases=cases):
            fresh = (replace(x, steps=tuple(with_origin(y, conditions, statements) for y in x.steps)) for x in cases)
            return Choice(tuple(fresh))
        case Repeat(steps=steps):
            return replace(step, steps=tuple(with_origin(x, conditions, statements) for x in steps))
        case Loops():
            return step
        case _:
            assert_never(step)


def taken_names(raised: Raised) -> set[str]:
    """Every name in use in a kernel."""
    kernel = raised.kernel
    names = {*kernel.sizes, *(x.name for x in kernel.scalars)}
    return names.union(arrays_of(raised), bound_names((Loops(kernel.body), *raised.steps)))


def asked_of(extents: Iterable[Expr], facts: Facts) -> tuple[Expr, ...]:
    """Conditions under which an array may have these extents, as far as they are not proven."""
    wanted = [Compare("ge", normal(x), index(0)) for x in extents]
    return tuple(dict.fromkeys(x for x in wanted if not facts.proves(x)))


def with_locals(raised: Raised, arrays: Iterable[Array], reshapes: Iterable[Reshape] = ()) -> Raised:
    """The kernel with further arrays."""
    return replace(raised, locals=(*raised.locals, *arrays), reshapes=(*raised.reshapes, *reshapes))


def rewritten(facts: Facts, place: int, product: Product) -> Apply:
    """The step at a place as the application of another product."""
    step = facts.raised.steps[place]
    assert isinstance(step, Apply)
    return write_product(product, origin_of(step))


