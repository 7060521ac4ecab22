"""What is known at a place of a nest: the iterations that get there, and conditions that hold in all of them.

>>> from planish.ir.parser import parse_expr, parse_kernel
>>> from planish.schedule.nodes import label_kernel, path_to
>>> text = "kernel z(n; A: f32[n]) assume n >= 8 { for i in 0 .. n { A[i] = 0.0:f32 } }"
>>> kernel = label_kernel(parse_kernel(text))
>>> path = path_to(kernel.body, 2)
>>> iterations(kernel, path[:1], 0)
Set("[n] -> { S0[i] : n >= 8 and 0 <= i < n }")
>>> always(kernel, path, parse_expr("i <= n - 1")), always(kernel, path, parse_expr("i < 7"))
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from planish.astgen.verify import record
from planish.ir.expr import Compare, Expr, index
from planish.ir.nest import Block, For, Kernel, Stmt
from planish.poly.affine import NotAffineError, condition_set
from planish.poly.scop import Scop, extract_scop
from planish.schedule.nodes import Node

PARAM, SET = isl.dim_type.param, isl.dim_type.set


def iterations(kernel: Kernel, path: Sequence[Node], free: int) -> isl.Set:
    """The iterations of the loops on a path, whatever its conditions say, with the first `free` loops' iterators as
    parameters. Raises NotAffineError."""
    names = [node.var for node in path if isinstance(node, For)]
    body: Stmt = record("S", tuple(map(index, names)))
    for node in reversed(path):
        if isinstance(node, For):
            body = replace(node, body=Block((body,)))
    domain = extract_scop(replace(kernel, body=Block((body,)))).statements[0].domain
    return domain.move_dims(PARAM, domain.dim(PARAM), SET, 0, free) if free else domain


def region(kernel: Kernel, outer: Sequence[Node], body: Block) -> Scop:
    """The polyhedral view of a part of a kernel that stands in some loops: their iterators are sizes of it. Raises
    NotAffineError."""
    loops = [node for node in outer if isinstance(node, For)]
    bounds = [bound for loop in loops for bound in _bounds(loop)]
    sizes = (*kernel.sizes, *(loop.var for loop in loops))
    return extract_scop(replace(kernel, sizes=sizes, assumptions=(*kernel.assumptions, *bounds), body=body))


def _bounds(loop: For) -> tuple[Expr, Expr]:
    return Compare("ge", index(loop.var), loop.lower), Compare("lt", index(loop.var), loop.upper)


def always(kernel: Kernel, path: Sequence[Node], condition: Expr) -> bool:
    """Whether a condition over sizes and iterators holds wherever a path leads; False where that is not affine."""
    try:
        domain = iterations(kernel, path, 0).reset_tuple_id()
        return bool(domain.is_subset(condition_set(condition, domain.get_space())))
    except NotAffineError:
        return False

