"""What an instruction is to give: its definition as the interpreter runs it, and how near a result has to be to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from operands import Values
from wrapping import visible

from planish.ir.expr import Binary, Call, Expr, Load, type_of
from planish.ir.nest import Assign, Kernel, Reduce, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.traverse import expressions, map_block, walk, walk_expr
from planish.ir.types import F64
from planish.isa.instruction import Instruction
from planish.run.sizes.random_arguments import epsilon

LOOSE = {
    "avx512_dpbf16_word": "two products are added to a lane in an order and with roundings that processors differ in, "
    "and denormals are taken for zero",
}
"""Instructions whose results are only near what the definition says, with the reason.

Products of two bf16 are exact in f32, so that a lane's error comes from at most three sums, of which each is rounded by
at most 2^-24 of what the absolute values add up to; the definition's own two sums add theirs. `near` allows 2^-21, and
the least normal number for denormals.
"""


SUMS_OF_LANES = {
    "avx512_scaled_sum_to_f32", "avx512_scaled_sums_to_f32", "avx512_scaled_sums_apart_f32",
    *(f"{x}_{y}_to_{z}" for x in ("avx512", "avx2", "neon") for y in ("sum", "sums") for z in ("f32", "f64")),
}  # fmt: skip
"""Instructions that sum up to 16 lanes in an order of their own, and may multiply the sum: `near` allows two units in
the last place for each of them; numbers so large that sums overflow on the way are left out."""
LARGEST_SUMMED = 2.0**60


def results(definition: Kernel, sizes: Mapping[str, int], values: Values) -> Values:
    """The arrays after the interpreter ran a definition; the given ones stay as they are."""
    after = {x.name: values[x.name].copy() for x in visible(definition)}
    nowhere = {x.name: np.zeros((), x.type.numpy) for x in definition.arrays if x.memory == "nowhere"}
    run_kernel(definition, {**sizes, **values, **after, **nowhere})
    return after


def meanings(instruction: Instruction) -> list[Kernel]:
    """The definition; of a fused instruction, with a product and a sum rounded once, in each way that there is."""
    definition = instruction.definition
    if not instruction.fused or instruction.name in LOOSE:
        return [definition]
    left, right = (_fused(definition, first) for first in (True, False))
    found = [x for x in (left, right) if x != definition]
    assert found, f"nothing can be fused in {instruction.name}"
    return found[:1] if left == right else found


def _fused(definition: Kernel, first: bool) -> Kernel:
    """A definition with the first or the last product of each sum fused into it."""

    def fused(stmt: Stmt) -> Stmt:
        match stmt:
            case Reduce(array=array, index=at, op="add", value=value):
                return Assign(array, at, _sum(Load(array, at, type_of(value)), value, first))
            case Assign(value=Binary(op="add", left=a, right=b)):
                return replace(stmt, value=_sum(a, b, first))
            case _:
                return stmt

    return replace(definition, body=map_block(fused, definition.body))


def _sum(a: Expr, b: Expr, first: bool) -> Expr:
    for product, rest in ((a, b), (b, a)) if first else ((b, a), (a, b)):
        if isinstance(product, Binary) and product.op == "mul":
            return Call("fma", (product.left, product.right, rest))
    return Binary("add", a, b)


def calculates(definition: Kernel) -> bool:
    """Whether a definition does arithmetic on floats; where not, bits are copied, those of a NaN as well."""
    found = [x for stmt in walk(definition.body) for e in expressions(stmt) for x in walk_expr(e)]
    reduces = any(isinstance(x, Reduce) and type_of(x.value).is_float for x in walk(definition.body))
    return reduces or any(isinstance(x, Binary) and type_of(x).is_float for x in found)


def canonical(values: npt.NDArray[Any]) -> bytes:
    """The bytes of an array, with all NaNs alike: which one arithmetic gives is nobody's promise."""
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return values.tobytes()


def near(instruction: Instruction, sizes: Mapping[str, int], values: Values, found: Values, room: float = 4) -> str:
    """Which float operand is further from the definition than one rounding more or less can do, empty where none is:
    further than `room` units in the last place of what the absolute values add up to."""
    definition = instruction.definition
    wanted = results(definition, sizes, values)
    scale = results(definition, sizes, {name: np.abs(x) for name, x in values.items()})
    loose = instruction.name in LOOSE
    for array in visible(definition):
        if not array.type.is_float:
            continue
        name = array.name
        exact = np.isfinite(wanted[name]) & np.isfinite(scale[name])
        if loose and canonical(found[name][~exact]) != canonical(wanted[name][~exact]):
            return name
        allowed = room * epsilon(array.type) * scale[name][exact].astype(F64.numpy)
        allowed += np.finfo(array.type.numpy).tiny if loose else np.finfo(array.type.numpy).smallest_subnormal
        difference = found[name][exact].astype(F64.numpy) - wanted[name][exact].astype(F64.numpy)
        if not (np.abs(difference) <= allowed).all():
            return name
    return ""
