"""Raised kernels are improved by rules of algebra until none applies; every rule gives its reasons.

>>> from planish.ir.nest import Kernel
>>> from planish.target.load import load_target
>>> improve(Raised(Kernel("empty"), ()), load_target("generic"), "reassociate")[1]
()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.expr import Compare, index
from planish.ir.traverse import variables
from planish.ir.types import Floats
from planish.raising.algebra.cost import Model, sample
from planish.raising.algebra.effects import Facts, reads, study, writes
from planish.raising.algebra.rule_context import RuleResult, Setting
from planish.raising.algebra.rules.apply_builder import use_builders
from planish.raising.algebra.rules.collapse_dims import join_dimensions
from planish.raising.algebra.rules.cse import share_products
from planish.raising.algebra.rules.dce import remove_dead, without_unused
from planish.raising.algebra.rules.epilogue_fusion import fuse_epilogues
from planish.raising.algebra.rules.identity_elements import merge_starts, simplify_numbers
from planish.raising.algebra.rules.im2col import use_columns
from planish.raising.algebra.rules.matrix_chain import order_chains
from planish.raising.algebra.rules.symmetric_product import use_symmetry
from planish.raising.algebra.rules.ttgt import use_matrices
from planish.raising.algebra.rules.view_forwarding import forward_copies, store_directly
from planish.raising.raised import Choice, Raised, Repeat
from planish.target.machine import Target

Rule = Callable[[Facts, Setting], RuleResult]

_RULES: tuple[Rule, ...] = (
    remove_dead, use_builders, merge_starts, simplify_numbers, share_products, forward_copies, store_directly,
    order_chains, use_symmetry, use_matrices, use_columns, join_dimensions, fuse_epilogues,
)  # fmt: skip
"""In the order in which they are tried; after a change the first one is tried again."""

_MOST_CHANGES = 20
"""Changes for each step of a kernel; rules make it smaller or cheaper, so that few are needed."""


def improve(
    raised: Raised, target: Target, fp: Floats, typical: Mapping[str, int] | None = None, *, blas: bool = False,
    direct: bool = False, narrow: Collection[str] = (), convolve: Rule | None = None, woven: bool = False,
) -> tuple[Raised, tuple[Remark, ...]]:  # fmt: skip
    """The kernel with its operations rewritten where that is cheaper on the target, and what was done or refused.

    `fp` says what may happen to floats; `typical` are sizes at which costs are compared, where they are known.
    `blas`: operations stay what a BLAS has routines for; `direct`: and convolutions what the library has kernels for;
    `narrow`: arrays whose elements are narrower than they are seen; `convolve`: a rule for convolutions, which is tried
    before they become products of what their windows see; `woven`: the library has convolutions of narrow ones, too.
    """
    model = Model(target, sample(raised.kernel, typical or {}))
    setting = Setting(model, fp, direct=direct, narrow=frozenset(narrow), woven=woven)
    rules = tuple(x for x in _RULES if x not in (use_builders, join_dimensions, fuse_epilogues)) if blas else _RULES
    if convolve is not None:
        place = rules.index(use_columns)
        rules = (*rules[:place], convolve, *rules[place:])
    raised, remarks = _settle(raised, setting, rules)
    for place, step in enumerate(raised.steps):
        if isinstance(step, Repeat):
            raised, more = _improve_inside(raised, place, step, setting, rules, typical or {})
            remarks += more
    return without_unused(raised), tuple(dict.fromkeys(remarks))


def _settle(raised: Raised, setting: Setting, rules: Sequence[Rule]) -> tuple[Raised, list[Remark]]:
    """The kernel when no rule applies to its steps any more."""
    made: list[Remark] = []
    left: list[Remark] = []
    for _ in range(_MOST_CHANGES * (1 + len(raised.steps))):
        facts = study(raised)
        kept: list[Remark] = []
        ways = raised.ways
        for rule in rules:
            change = rule(facts, setting)
            if change.raised is not None:
                made += (x for x in change.remarks if x.kind == "done")
                raised = replace(change.raised, ways=raised.ways | change.ways)
                if rule is fuse_epilogues:
                    # All others were done with what is joined now.
                    left += kept
                break
            kept += change.remarks
            ways |= change.ways
        else:
            return replace(raised, ways=ways), [*made, *left, *kept]
    made.append(Remark("algebra-stopped", "note", "the rules were stopped before none applied any more"))
    return raised, made


def _improve_inside(
    raised: Raised, place: int, step: Repeat, setting: Setting, rules: Sequence[Rule], typical: Mapping[str, int]
) -> tuple[Raised, list[Remark]]:
    """The kernel with the steps that are repeated improved as those of a kernel with one more size."""
    whole = raised.kernel
    var = index(step.var)
    bounds = (Compare("ge", var, step.lower), Compare("lt", var, step.upper))
    others = study(replace(raised, steps=raised.steps[:place] + raised.steps[place + 1 :]))
    outside = {others.base(x.array) for y in others.raised.steps for x in (*reads(y), *writes(y))}
    private = tuple(x for x in raised.locals if x.name not in outside)
    once = replace(whole, sizes=(*whole.sizes, step.var), assumptions=(*whole.assumptions, *bounds))
    # What one iteration leaves is not read by the next: all of it is written before it is read.
    seen = replace(once, arrays=(*whole.arrays, *(x for x in raised.locals if x not in private)))
    inner = study(Raised(seen, step.steps, private, raised.reshapes))
    fresh = tuple(x for x in private if inner.is_dead(x.name, 0))
    shared = tuple(x for x in raised.locals if x not in fresh)
    kernel = replace(once, arrays=(*whole.arrays, *shared))
    model = replace(setting.model, points=sample(kernel, typical))
    within = replace(setting, model=model, names=frozenset(setting.taken(raised)))
    found, remarks = _settle(Raised(kernel, step.steps, fresh, raised.reshapes), within, rules)
    arrays = (*found.locals, *(x for y in found.steps if isinstance(y, Choice) for c in y.cases for x in c.locals))
    if any(step.var in variables(y) for x in arrays for y in x.shape if y is not None):
        message = "loop-invariant operations stay in their loop: arrays that they need change between iterations"
        return raised, [Remark("algebra-licm", "refused", message)]
    steps = (*raised.steps[:place], replace(step, steps=found.steps), *raised.steps[place + 1 :])
    locals = tuple(dict.fromkeys((*raised.locals, *found.locals)))
    reshapes = tuple(dict.fromkeys((*raised.reshapes, *found.reshapes)))
    ways = raised.ways | found.ways
    return replace(raised, steps=steps, locals=locals, reshapes=reshapes, ways=ways), remarks
