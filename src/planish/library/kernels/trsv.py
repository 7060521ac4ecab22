"""Small triangular solves (TRSV) whose equations lie along rows, transposed so that they lie in lanes.

What is solved for one after the other is beside each other in memory there, and neighbouring equations, which do not
wait for each other, lie rows apart. Some of these at a time are copied, with neighbours side by side, and copied back.

>>> from planish.ir.types import F64
>>> from planish.raising.raised import whole
>>> arrays = {x: Array(x, F64, (index("m"), index(4))) for x in "AB"}
>>> views = {x: whole(y) for x, y in arrays.items()}
>>> name = "trsm_right_upper_transposed_nonunit"
>>> step = Apply(operation_of(name), views, {"m": index("m"), "n": index(4)})
>>> repeat, array = turn_solve(step, arrays, 4, {"m"})
>>> [x.operation.name for x in repeat.steps], array.shape == (index(4), index(EQUATIONS))
(['copy', 'trsm_left_lower_plain_nonunit', 'copy'], True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import index
from planish.ir.index.polynomial import extremum, sub
from planish.ir.nest import Array
from planish.raising.algebra.product import Product, ProductOperand, stepped
from planish.raising.algebra.product_writer import origin_of, write_product
from planish.raising.match.operation_index import operations_by_name
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Repeat, View

EQUATIONS = 64
"""So many are solved at a time: with the triangle they are still near the processor."""
_OTHER = {"upper": "lower", "lower": "upper", "plain": "transposed", "transposed": "plain"}


def operation_of(name: str) -> Operation:
    """The operation that has a name among the tactics; KeyError where none has it."""
    return operations_by_name()[name]


def turn_solve(
    step: Apply, arrays: Mapping[str, Array], width: int, taken: set[str]
) -> tuple[Repeat, Array] | None:
    """The solve by a triangle of at most `width` rows, and the array of the copies; None where the equations do not
    lie along memory. `taken`: names that neither may have, and theirs afterwards."""
    _, side, uplo, trans, unit = step.operation.name.split("_")
    a, b = step.operands["A"], step.operands["B"]
    along, across = (0, 1) if side == "left" else (1, 0)
    *others, last = b.steps[along]
    if any(others) or last != 1 or b.steps[across][-1]:
        return None
    size, extent = (step.sizes[x] for x in (("m", "n") if side == "left" else ("n", "m")))
    var, name = take_name("equation", taken), take_name("turned", taken)
    here = index(var)
    count = extremum("min", index(EQUATIONS), sub(extent, here))
    lines = View(
        b.array, stepped(b.start, b.steps[across], here), (b.steps[along], b.steps[across]), (size, count)
    )
    array = Array(name, arrays[b.array].type, (index(width), index(EQUATIONS)))
    lanes = View(name, (index(0), index(0)), ((1, 0), (0, 1)), (size, count))
    if side == "right":
        uplo, trans = _OTHER[uplo], _OTHER[trans]
    solve = replace(
        step, operation=operation_of("_".join(("trsm_left", uplo, trans, unit))), operands={"A": a, "B": lanes},
        sizes={"m": size, "n": count},
    )  # fmt: skip
    steps = (_copy(step, lanes, lines), solve, _copy(step, lines, lanes))
    return Repeat(var, index(0), extent, EQUATIONS, steps), array


def _copy(step: Apply, target: View, source: View) -> Apply:
    extents = dict(zip("ab", target.shape, strict=True))
    return write_product(
        Product(ProductOperand(target, "ab"), (ProductOperand(source, "ab"),), extents, ""), origin_of(step)
    )
