"""Extrema by `fmax` and `fmin`: where what they begin with is a number, `t = fmax(t, x)` is an update like any other.

The functions pass over a NaN, as a comparison that keeps what is there does; only where that is a NaN itself they
take the other one.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n; x: f32[n], t: f32[]) { t[] = 0.0:f32 for i in 0 .. n { t[] = fmax(t[], x[i]) } }'''
>>> print(print_stmt(with_float_extrema(parse_kernel(text)).body.body[1]), end="")
for i in 0 .. n {
  t[] max= x[i]
}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from math import isnan

from planish.ir.expr import Call, Const, Expr, Load, Unary
from planish.ir.nest import Assign, Block, For, Kernel, Reduce, ReduceOp, Stmt
from planish.ir.traverse import blocks_of, map_block, stored_arrays, variables, walk, with_blocks

_OPERATIONS: Mapping[str, ReduceOp] = {"fmax": "max", "fmin": "min"}
_Cell = tuple[str, tuple[Expr, ...]]


def with_float_extrema(kernel: Kernel, numbers: Collection[str] = ()) -> Kernel:
    """The kernel with updates in the place of such calls; of zeros another one may come out. `numbers`: scalars among
    its arrays that hold no NaN when it begins."""
    return replace(kernel, body=_in_block(kernel.body, {(x, ()) for x in numbers}))


def updated_scalars(kernel: Kernel) -> list[str]:
    """The scalars among a kernel's arrays that would be updated if these held no NaN when it begins."""
    scalars = [x.name for x in kernel.arrays if not x.shape and x.type.is_float]
    plain = with_float_extrema(kernel)
    return [x for x in scalars if with_float_extrema(kernel, [x]) != plain]


def _in_block(block: Block, known: Collection[_Cell] = ()) -> Block:
    """A block in whose loops cells that begin with a number, or are `known` to, are updated."""
    numbers: set[_Cell] = {*known}
    made: list[Stmt] = []
    for x in block.body:
        inner = with_blocks(x, [_in_block(y) for y in blocks_of(x)]) if blocks_of(x) else x
        if isinstance(inner, For):
            for cell in [y for y in numbers if inner.var not in {z for e in y[1] for z in variables(e)}]:
                inner = _updated(inner, cell) or inner
        numbers -= {y for y in numbers if y[0] in stored_arrays(x)}
        if isinstance(x, Assign) and _is_number(x.value):
            numbers.add((x.array, x.index))
        made.append(inner)
    return Block(tuple(made))


def _is_number(x: Expr) -> bool:
    if isinstance(x, Unary) and x.op == "neg":
        x = x.operand
    return isinstance(x, Const) and x.type.is_float and not isnan(float(x.value))


def _updated(loop: For, cell: _Cell) -> For | None:
    """The loop with updates of a cell; None where it does something else to it."""
    stores = [x for x in walk(loop) if isinstance(x, Assign | Reduce) and x.array == cell[0]]
    if not stores or any(_term(x, cell) is None for x in stores):
        return None
    (made,) = map_block(partial(_update, cell), Block((loop,))).body
    assert isinstance(made, For)
    return made


def _update(cell: _Cell, x: Stmt) -> Stmt:
    if not isinstance(x, Assign | Reduce) or x.array != cell[0]:
        return x
    found = _term(x, cell)
    return x if found is None else Reduce(*cell, *found, x.span, x.label)


def _term(x: Stmt, cell: _Cell) -> tuple[ReduceOp, Expr] | None:
    """The operation, and what a cell is updated with."""
    if not isinstance(x, Assign) or (x.array, x.index) != cell:
        return None
    call = x.value
    if not isinstance(call, Call) or call.function not in _OPERATIONS:
        return None
    own = [y for y in call.arguments if isinstance(y, Load) and (y.array, y.index) == cell]
    rest = [y for y in call.arguments if y not in own]
    return (_OPERATIONS[call.function], rest[0]) if len(own) == len(rest) == 1 else None
