"""What tactics build from other operations computes what they define, on any views of any arrays.

>>> "symm_left_lower" in NAMES
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planish.ir.expr import Const, Expr, index
from planish.ir.index.polynomial import add, sub
from planish.ir.nest import Array, Block, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.types import F64, Floats
from planish.poly.scop.extents import evaluate_extent
from planish.raising.algebra.cost import Model
from planish.raising.algebra.effects import study
from planish.raising.algebra.rewrite import improve
from planish.raising.algebra.rule_context import Setting
from planish.raising.algebra.rules.apply_builder import use_builders
from planish.raising.expansion import apply_builder, expand
from planish.raising.raised import Apply, Raised, View, whole
from planish.raising.tdl.reader import tactics_by_name
from planish.target.load import load_target

TACTICS = {x: y for x, y in tactics_by_name().items() if y.builders}
NAMES = sorted(x for x, y in TACTICS.items() if not y.builders[0].reshapes)


def framed(array: Array) -> tuple[Array, View]:
    """A larger array, and its inside."""
    shape = tuple(add(x, index(3)) for x in array.shape if x is not None)
    view = whole(array)
    return replace(array, shape=shape), replace(view, start=(index(1),) * len(shape))


def turned(array: Array) -> tuple[Array, View]:
    """An array whose dimensions have the other order, seen from its last elements on."""
    shape = tuple(x for x in array.shape if x is not None)
    view = whole(array)
    start = tuple(sub(x, index(1)) for x in shape[::-1])
    steps = tuple(tuple(-y for y in x[::-1]) for x in view.steps)
    return replace(array, shape=shape[::-1]), View(array.name, start, steps, shape)


@pytest.mark.parametrize("seen", [framed, turned])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_built_computes_what_is_defined(name: str, seen: Callable[[Array], tuple[Array, View]]) -> None:
    tactic = TACTICS[name]
    definition = tactic.operation.definition
    found = [seen(x) for x in definition.arrays]
    kernel = replace(definition, arrays=tuple(x for x, _ in found), body=Block(()))
    scalars: dict[str, Expr] = {x.name: Const(0.5 + n, F64) for n, x in enumerate(definition.scalars)}
    step = Apply(
        tactic.operation, {x.name: y for x, (_, y) in zip(definition.arrays, found, strict=True)},
        {x: index(x) for x in definition.sizes}, scalars,
    )  # fmt: skip
    arrays = {x.name: x for x in kernel.arrays}
    steps, locals = apply_builder(step, tactic.builders[0], arrays, {*arrays, *kernel.sizes})
    assert not {x.name for x in locals} & {*arrays}
    sizes = {x: 2 + n % 2 for n, x in enumerate(kernel.sizes)}
    wanted, made = contents(kernel, sizes), contents(kernel, sizes)
    values = {**sizes, **{x.name: 1.0 for x in kernel.scalars}}
    run_kernel(expand(Raised(kernel, (step,))), {**values, **wanted})
    run_kernel(expand(Raised(kernel, steps, locals)), {**values, **made})
    for array in wanted:
        np.testing.assert_allclose(made[array], wanted[array], rtol=1e-12, err_msg=array)


def contents(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """Random elements, the same for the same arrays."""
    generator = np.random.default_rng(7)
    shapes = {x.name: [evaluate_extent(y, sizes) for y in x.shape if y is not None] for x in kernel.arrays}
    return {name: generator.random([y for y in shape if y is not None]) for name, shape in shapes.items()}


def symmetric(**changed: Any) -> Apply:
    """A product with a symmetric matrix."""
    operation = TACTICS["symm_left_lower"].operation
    operands = {x.name: whole(x) for x in operation.definition.arrays}
    alpha: dict[str, Expr] = {"alpha": Const(2.0, F64)}
    return replace(Apply(operation, operands, {x: index(x) for x in operation.definition.sizes}, alpha), **changed)


def use(step: Apply, floats: Floats = "reassociate") -> Raised | None:
    """What the rule makes of a kernel of one step."""
    kernel = replace(TACTICS["symm_left_lower"].operation.definition, body=Block(()))
    setting = Setting(Model(load_target("x86-avx512"), ({},)), floats)
    return use_builders(study(Raised(kernel, (step,))), setting).raised


def test_a_product_with_a_symmetric_matrix_is_built() -> None:
    found = use(symmetric())
    assert found is not None and [x.name for x in found.locals] == ["S"]
    assert [x.operation.name for x in found.steps if isinstance(x, Apply)] == ["elementwise", "elementwise", "gemm"]


def test_what_the_rule_leaves() -> None:
    operands = symmetric().operands
    assert use(symmetric(), "strict") is None
    assert use(symmetric(operands={**operands, "C": operands["B"]})) is None
    operation = symmetric().operation
    assert use(symmetric(operation=replace(operation, definition=replace(operation.definition, name="own")))) is None


def test_a_blas_has_the_routine_itself() -> None:
    kernel = replace(TACTICS["symm_left_lower"].operation.definition, body=Block(()))
    raised, target = Raised(kernel, (symmetric(),)), load_target("x86-avx512")
    assert improve(raised, target, "reassociate", blas=True)[0].steps == raised.steps
    assert improve(raised, target, "reassociate")[0].steps != raised.steps
