"""Operand layouts in linalg's terms: orders of dimensions, windows, indexing maps.

>>> from planish.ir.expr import index
>>> n = index("n")
>>> view = View("A", (index(0), index(0)), ((0, 1), (2, 0)), (n, n))
>>> access = in_order(ViewAccess(("j", "i"), view))
>>> access.loops, dimensions_of(access), map_text(access.loops, ("i", "j"))
(('i', 'j'), [(('i', 2),), (('j', 1),)], 'affine_map<(d0, d1) -> (d0, d1)>')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planish.emit.formats.mlir.linalg import Dimension, name_loops
from planish.emit.formats.numpy.array_statements import Bulk, ViewAccess
from planish.ir.index.polynomial import add, constant, same
from planish.ir.nest import Array, Assign, Block, For, Reduce, ReduceOp, Stmt
from planish.ir.types import Type
from planish.raising.raised import View


def as_loops(bulk: Bulk) -> Stmt:
    """The statement in its loops, one by one."""
    target = bulk.target
    out: Stmt = Assign(target.array, target.index, bulk.value)
    if bulk.op is not None:
        out = Reduce(target.array, target.index, bulk.op, bulk.value)
    for loop in reversed(bulk.loops):
        out = For(loop.var, loop.lower, add(loop.lower, loop.extent), 1, Block((out,)))
    return out


def in_order(access: ViewAccess) -> ViewAccess:
    """An access whose dimensions are in the order of the array's."""
    view = access.view
    order = sorted(range(len(access.loops)), key=lambda i: [step == 0 for step in view.steps[i]])
    steps, shape = tuple(view.steps[i] for i in order), tuple(view.shape[i] for i in order)
    return ViewAccess(tuple(access.loops[i] for i in order), replace(view, steps=steps, shape=shape))


def turned_around(access: ViewAccess) -> ViewAccess:
    """An access whose dimensions are in the other order."""
    view = access.view
    return ViewAccess(access.loops[::-1], replace(view, steps=view.steps[::-1], shape=view.shape[::-1]))


def spec_of(left: ViewAccess, right: ViewAccess, target: ViewAccess) -> str:
    """A product in the notation of einsum: the target's dimensions are a, b, .., then come those that are summed."""
    names = name_loops(target.loops, left.loops, right.loops)
    inputs = ",".join("".join(names[y] for y in x.loops) for x in (left, right))
    return f"{inputs}->{''.join(names[x] for x in target.loops)}"


def is_plain(view: View) -> bool:
    """Whether each dimension of a view is one of the array's."""
    used = [[d for d, step in enumerate(steps) if step] for steps in view.steps]
    return all(len(x) == 1 for x in used) and len({x[0] for x in used}) == len(used)


def is_whole(view: View, array: Array) -> bool:
    """Whether a view is all of an array."""
    rank = len(array.shape)
    if view.steps != tuple(tuple(int(i == d) for d in range(rank)) for i in range(rank)):
        return False
    if any(constant(x) != 0 for x in view.start):
        return False
    return all(b is not None and same(a, b) for a, b in zip(view.shape, array.shape, strict=True))


def dimensions_of(access: ViewAccess) -> list[Dimension] | None:
    """The loops that step forwards through each dimension of an array; None where a loop steps through several."""
    view = access.view
    if any(sum(step != 0 for step in steps) != 1 or min(steps) < 0 for steps in view.steps):
        return None
    out = []
    for d in range(len(view.start)):
        moving = tuple((access.loops[i], steps[d]) for i, steps in enumerate(view.steps) if steps[d])
        if moving:
            out.append(moving)
    return out


def window_of(dimensions: Sequence[Dimension], target: ViewAccess) -> tuple[list[int], list[int]] | None:
    """The strides and the dilations of windows; None where another dimension has a step."""
    strides: list[int] = []
    dilations: list[int] = []
    for moving in dimensions:
        if len(moving) == 1:
            if moving[0][1] != 1:
                return None
            continue
        for loop, step in moving:
            (strides if loop in target.loops else dilations).append(step)
    return (strides, dilations) if len(strides) == len(dilations) else None


def attributes(strides: Sequence[int], dilations: Sequence[int]) -> str:
    """The steps of windows, as a convolution is told."""

    def dense(values: Sequence[int]) -> str:
        return f"dense<{list(values)}> : tensor<{len(values)}xi64>"

    return f" {{dilations = {dense(dilations)}, strides = {dense(strides)}}}"


def map_text(loops: Sequence[str], order: Sequence[str]) -> str:
    """The affine map from all loops to those of an operand."""
    names = {x: f"d{i}" for i, x in enumerate(order)}
    return f"affine_map<({', '.join(names.values())}) -> ({', '.join(names[x] for x in loops)})>"


def fold_of(op: ReduceOp, type: Type) -> str:
    """The operation that sums, and its like."""
    signed = "ui" if type.kind == "uint" else "si"
    if type.is_float:
        return {"add": "arith.addf", "mul": "arith.mulf", "min": "arith.minimumf", "max": "arith.maximumf"}[op]
    return f"arith.{op}i" if op in ("add", "mul", "and", "or", "xor") else f"arith.{op}{signed}"
