"""Loops that advance by more than one become loops by one, whose subscripts are multiples of the counter.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; A: u8[?], B: u8[?]) { for i in 2 .. n step 2 { A[i // 2] = B[i + 1] } }"
>>> print(print_stmt(count_by_one(parse_kernel(text)).body.body[0]), end="")
for i in 0 .. (n - 1) // 2 {
  A[i + 1] = B[2 * i + 3]
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.expr import Var, index
from planish.ir.index.polynomial import add, floordiv, mul, sub
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Block, For, Kernel, LoopFacts, Stmt
from planish.ir.traverse import map_block, substitute_block, walk
from planish.ir.types import INDEX


def count_by_one(kernel: Kernel) -> Kernel:
    """The kernel with loops by one in the place of those by more, about which nothing is known; a loop that does not
    run still does not."""
    return replace(kernel, body=map_block(_by_one, kernel.body)) if any(map(_is_wide, walk(kernel.body))) else kernel


def _is_wide(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.step > 1 and stmt.facts == LoopFacts()


def _by_one(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, For) or not _is_wide(stmt):
        return stmt
    step = index(stmt.step)
    count = floordiv(add(sub(stmt.upper, stmt.lower), index(stmt.step - 1)), step)
    place = add(stmt.lower, mul(step, Var(stmt.var, INDEX)))
    body = simplify_block(substitute_block(stmt.body, {stmt.var: place}))
    return replace(stmt, lower=index(0), upper=simplify(count), step=1, body=Block(body.body))
