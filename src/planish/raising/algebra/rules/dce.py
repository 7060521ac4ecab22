"""Dead code elimination (DCE) of steps: results that nothing reads are not computed, unused arrays not kept.

Before: T = A * B; C = A * D        (T: a local array, not read again)
After:  C = A * D

>>> from planish.ir.nest import Array, Kernel
>>> from planish.ir.types import F32
>>> from planish.raising.raised import Raised
>>> len(without_unused(Raised(Kernel("k"), (), (Array("T", F32),))).locals)
0
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from planish.core.diagnostic import Remark
from planish.ir.traverse import variables
from planish.raising.algebra.effects import Effect, Facts, reads, writes
from planish.raising.algebra.product import is_number
from planish.raising.algebra.rule_context import (
    RuleResult,
    Setting,
    conditions_of,
    done,
    refused,
    statements_of,
    with_origin,
)
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Step


def remove_dead(facts: Facts, setting: Setting) -> RuleResult:
    """Leave out the first step whose results are not read, or that changes nothing."""
    remarks: list[Remark] = []
    for place, step in enumerate(facts.raised.steps):
        arrays = sorted({x.array for x in writes(step)})
        product = facts.products[place]
        idle = product is not None and not product.factors and is_number(product.alpha, 0) and product.accumulates
        if not idle and not all(facts.is_dead(x, place + 1) for x in arrays):
            continue
        fresh = without(facts.raised, place)
        span = step.span if isinstance(step, Apply) else None
        if fresh is None:
            message = f"{describe(step)} stays although its result is dead: no other step can check its sizes"
            remarks.append(refused("algebra-dce", message, span))
            continue
        what = "changes nothing" if idle else f"is dead code: nothing reads {', '.join(arrays) or 'its result'}"
        return done(fresh, "algebra-dce", f"{describe(step)} {what}", span)
    return RuleResult(None, tuple(remarks))


def describe(step: Step) -> str:
    """A step, for messages."""
    match step:
        case Apply(operation=operation):
            return f"`{operation.name}`"
        case Loops():
            return "a nest without a name"
        case Repeat():
            return "a repetition"
        case Choice():
            return "a choice"
        case _:
            assert_never(step)


def without(raised: Raised, place: int) -> Raised | None:
    """The kernel without a step; what it asked of the sizes is asked by its neighbour (None where there is none)."""
    gone = raised.steps[place]
    rest = raised.steps[:place] + raised.steps[place + 1 :]
    conditions = conditions_of(gone)
    if isinstance(gone, Repeat) and any(gone.var in variables(x) for x in conditions):
        # Nothing else can ask what is asked of each iteration.
        return None
    if conditions:
        heirs = [n for n, x in enumerate(rest) if isinstance(x, Apply | Choice)]
        if not heirs:
            return None
        heir = min(heirs, key=lambda n: abs(n - place))
        changed = with_origin(rest[heir], conditions, statements_of(gone))
        rest = rest[:heir] + (changed,) + rest[heir + 1 :]
    return without_unused(replace(raised, steps=rest))


def without_unused(raised: Raised) -> Raised:
    """The kernel without local arrays, and second names of arrays, that no step touches."""
    accesses: list[Effect] = [x for step in raised.steps for x in (*reads(step), *writes(step))]
    named = {x.array for x in accesses}
    reshapes = tuple(x for x in raised.reshapes if x.array.name in named)
    named |= {x.of for x in reshapes}
    return replace(raised, locals=tuple(x for x in raised.locals if x.name in named), reshapes=reshapes)
