"""Branches under the same condition, one after the other, become one branch, where it cannot change in between.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> branches = "if n > 4 { x[0] = 0.0 } if n > 4 { x[1] = 0.0 } if x[0] > 1.0 { x[2] = 0.0 }"
>>> for stmt in merge_conditions(parse_kernel(f"kernel k(n; x: f64[n]) {{ {branches} }}")).body.body:
...     print(print_stmt(stmt))
if n > 4 {
  x[0] = 0.0:f64
  x[1] = 0.0:f64
}
if x[0] > 1.0:f64 {
  x[2] = 0.0:f64
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.nest import Alloc, Block, For, If, Kernel, Let, Stmt
from planish.ir.traverse import blocks_of, loads, with_blocks


def merge_conditions(kernel: Kernel) -> Kernel:
    """The kernel with neighbouring branches of equal conditions merged, which read no memory; loops in lanes stay."""
    return replace(kernel, body=_merged(kernel.body))


def _merged(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block.body:
        if not isinstance(stmt, For) or not (stmt.facts.simd or stmt.facts.instruction or stmt.facts.stream):
            stmt = with_blocks(stmt, [_merged(x) for x in blocks_of(stmt)])
        before = out[-1] if out else None
        if isinstance(stmt, If) and isinstance(before, If) and _is_same(before, stmt):
            out[-1] = _merged_pair(before, stmt)
        else:
            out.append(stmt)
    return Block(tuple(out))


def _is_same(first: If, second: If) -> bool:
    """Whether two branches may be one: names of values are constant, and none is bound twice in one block."""
    own = [x for y in (first, second) for z in blocks_of(y) for x in z.body]
    if first.condition != second.condition or any(isinstance(x, Let | Alloc) for x in own):
        return False
    return not loads(first.condition)


def _merged_pair(first: If, second: If) -> If:
    then, otherwise = (
        Block((*x.body, *y.body)) for x, y in ((first.then, second.then), (first.otherwise, second.otherwise))
    )
    return replace(first, then=then, otherwise=otherwise)
