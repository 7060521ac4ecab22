"""Applies tactic builders: operations that can be built from matrix products are.

Before: C = symm(A, B)   (one triangle of A is read)
After:  S = A, both of its triangles;  C += S * B

>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Array, Kernel
>>> from planish.ir.types import F32
>>> from planish.raising.algebra.cost import Model
>>> from planish.raising.algebra.effects import study
>>> from planish.raising.raised import whole
>>> from planish.raising.tdl.reader import tactics_by_name
>>> from planish.target.load import load_target
>>> symm = tactics_by_name()["symm_left_lower"].operation
>>> arrays = tuple(Array(x, F32, (index(500), index(500))) for x in "CAB")
>>> sizes, scalars = {"m": index(500), "n": index(500)}, {"alpha": Const(1.0, F32)}
>>> step = Apply(symm, {x.name: whole(x) for x in arrays}, sizes, scalars)
>>> setting = Setting(Model(load_target("x86-avx512"), ({},)), "reassociate")
>>> change = use_builders(study(Raised(Kernel("k", arrays=arrays), (step,))), setting)
>>> print(change.remarks[0].message)
`symm_left_lower` is built as its tactic says: `elementwise`, `elementwise`, `gemm`
"""

from __future__ import annotations

from planish.ir.types import Type
from planish.raising.algebra.effects import Facts
from planish.raising.algebra.product_kinds import kind_of
from planish.raising.algebra.product_reader import read_product
from planish.raising.algebra.rule_context import RuleResult, Setting, done, replaced, with_locals
from planish.raising.algebra.rules.identity_elements import span
from planish.raising.expansion import apply_builder
from planish.raising.match.operation_index import builders_for
from planish.raising.raised import Apply, Raised, Step


def use_builders(facts: Facts, setting: Setting) -> RuleResult:
    """Build the first operation that is no product itself from steps of which one is a product of matrices."""
    for place, step in enumerate(facts.raised.steps):
        if not isinstance(step, Apply) or facts.products[place] is not None:
            continue
        output = step.operands[step.operation.output].array
        others = {facts.base(y.array) for x, y in step.operands.items() if x != step.operation.output}
        type = facts.arrays[output].type
        if facts.base(output) in others or not setting.may_reorder(type):
            continue
        builder = _find_builder(step, type)
        if builder is None:
            continue
        steps, locals = apply_builder(step, builder, facts.arrays, setting.taken(facts.raised))
        names = ", ".join(f"`{x.operation.name}`" for x in steps)
        message = f"`{step.operation.name}` is built as its tactic says: {names}"
        return done(replaced(with_locals(facts.raised, locals), place, steps), "algebra-tactic", message, span(step))
    return RuleResult(None)


def _find_builder(step: Apply, type: Type) -> Raised | None:
    """The first builder with a product of matrices whose arrays all have memory of their own."""
    known = builders_for(step.operation)
    builders = (x for x in known if not x.reshapes and all(isinstance(y, Apply) for y in x.steps))
    return next((x for x in builders if any(_is_matrix_product(y, type) for y in x.steps)), None)


def _is_matrix_product(step: Step, type: Type) -> bool:
    product = read_product(step, type) if isinstance(step, Apply) else ""
    return not isinstance(product, str) and kind_of(product) == "gemm"
