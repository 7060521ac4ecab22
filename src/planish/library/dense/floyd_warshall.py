"""All-pairs shortest paths (Floyd-Warshall) by blocks of intermediate vertices: min-plus matrix products.

Where no distance is negative, the way through a stop may be tried more often than it has to be, and in another order:
the result is the least one over all ways. So a block of stops is finished first, then the rest is one product.

>>> from planish.ir.types import I32
>>> from planish.raising.raised import whole
>>> operation = operations_by_name()[NAME]
>>> arrays = {"D": Array("D", I32, (index("n"), index("n")))}
>>> cut = cut_paths(Apply(operation, {"D": whole(arrays["D"])}, {"n": index("n")}), arrays, {"D", "n"})
>>> cut.var, [x.name for x in cut.buffers], len(cut.stops), len(cut.rest)
('first', ['columns', 'rows'], 5, 2)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from planish.core.names import take_name
from planish.ir.expr import Const, Expr, index
from planish.ir.index.polynomial import add, extremum, sub
from planish.ir.nest import Array, Block
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import variables
from planish.ir.types import F32, F64, I16, I32, I64, Type
from planish.raising.expansion import inline
from planish.raising.match.operation_index import operations_by_name
from planish.raising.operation import Operation
from planish.raising.raised import Apply, View

NAME = "floyd_warshall"
WIDTH = 64
"""The intermediate vertices of a block."""

_HEAD = "kernel part(n, first, w, after; limit: f64; D: f64[n, n], columns: f64[n, w], rows: f64[w, n], wrong: i32[])"
_STEP = "alloc a: f64[] register a[] = D[{0}, first + k] for j in {1} simd {{ D[{0}, j] min= a[] + D[first + k, j] }}"
_ON = "for c in {0} step 256 parallel {{ for k in 0 .. w {{ for i in 0 .. w {{ {1} }} }} }}"
_STOPS = (
    # Between the stops of the block; on to those before, and after.
    "for k in 0 .. w { for i in 0 .. w { " + _STEP.format("first + i", "first .. first + w") + " } }",
    _ON.format("0 .. first", _STEP.format("first + i", "c .. min(c + 256, first)")),
    _ON.format("after .. n", _STEP.format("first + i", "c .. min(c + 256, n)")),
    # From all others to the stops of the block.
    "for i in 0 .. first parallel { for k in 0 .. w { " + _STEP.format("i", "first .. first + w") + " } }",
    "for i in after .. n parallel { for k in 0 .. w { " + _STEP.format("i", "first .. first + w") + " } }",
)
_REST = (
    "for i in 0 .. n { for k in 0 .. w { columns[i, k] = D[i, first + k] } }"
    " for k in 0 .. w { for j in 0 .. n { rows[k, j] = D[first + k, j] } }",
    # From all to all, over the stops of the block.
    "for i in 0 .. n { for k in 0 .. w { for j in 0 .. n { D[i, j] min= columns[i, k] + rows[k, j] } } }",
)
_CHECK = (
    "wrong[] = 0:i32 for i in 0 .. n {{ alloc bad: i32[] register bad[] = 0:i32"
    " for j in 0 .. n simd reduce(or: bad) {{ bad[] |= select({0}, 0:i32, 1:i32) }} wrong[] |= bad[] }}"
)


@dataclass(frozen=True, slots=True)
class Paths:
    """The work by blocks: `check` sets `wrong` to 0 where it may be done so; then for each `var` up to `extent`, in
    steps of `WIDTH`, what is done of a block's stops, and after that the `rest`, of which each part may be scheduled by
    itself. `buffers`: the arrays that these need."""

    check: Block
    wrong: Array
    var: str
    extent: Expr
    stops: tuple[Block, ...]
    rest: tuple[Block, ...]
    buffers: tuple[Array, ...]


def is_paths(step: Apply, arrays: Mapping[str, Array], sizes: Collection[str]) -> bool:
    """Whether an operation is one that these blocks are for: of floats, or integers that leave room for a sum. What it
    needs besides is as large as the kernel's `sizes` say."""
    if step.operation.name != NAME or step.operation != operations_by_name()[NAME]:
        return False
    if not variables(step.sizes["n"]) <= {*sizes}:
        return False
    return arrays[step.operands["D"].array].type in (F32, F64, I16, I32, I64)


def cut_paths(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> Paths:
    """An operation by blocks; names that loops may not have are `taken`, those of its arrays are so afterwards."""
    n, type = step.sizes["n"], arrays[step.operands["D"].array].type
    var = take_name("first", taken)
    here = index(var)
    count = extremum("min", index(WIDTH), sub(n, here))
    buffers = (
        Array(take_name("columns", taken), type, (n, index(WIDTH)), True),
        Array(take_name("rows", taken), type, (index(WIDTH), n), True),
    )
    wrong = Array(take_name("wrong", taken), I32, (), True, "register")
    own = {x: _whole(y) for x, y in zip(("columns", "rows", "wrong"), (*buffers, wrong), strict=True)}
    sizes = {"n": n, "first": here, "w": count, "after": add(here, count)}
    limit = {} if type.is_float else {"limit": Const((1 << type.bits - 2) - 1, type)}

    def write(text: str) -> Block:
        operation = Operation("part", parse_kernel(f"{_HEAD} {{ {text} }}"))
        part = Apply(operation, {**step.operands, **own}, sizes, limit)
        return inline(part, {**arrays, **{x.name: x for x in (*buffers, wrong)}}, {*taken})

    check = write(_CHECK.format(_allowed(type)))
    return Paths(check, wrong, var, n, tuple(map(write, _STOPS)), tuple(map(write, _REST)), buffers)


def _allowed(type: Type) -> str:
    """What a distance has to be; sums of two are then no larger than the type allows."""
    return "D[i, j] >= 0.0" + ("" if type.is_float else " && D[i, j] <= limit:f64")


def _whole(array: Array) -> View:
    rank = len(array.shape)
    steps = tuple(tuple(int(i == d) for d in range(rank)) for i in range(rank))
    return View(array.name, (index(0),) * rank, steps, ())
