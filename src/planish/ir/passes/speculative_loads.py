"""Speculative loads: names, before a statement, for what it reads under conditions, where that may be read anyway.

Compilers make lanes of `const int v = x[i]; s += m[i] ? v : 0;` where they make none of `s += m[i] ? x[i] : 0`.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> body = "for i in 0 .. n { s[] += select(m[i] != 0:u8, x[i], 0:i32) }"
>>> kernel = parse_kernel("kernel k(n; m: u8[n], x: i32[n], s: i32[]) { %s }" % body)
>>> print(print_stmt(speculate(kernel, {"x"}).body), end="")
{
  for i in 0 .. n {
    let x_read = x[i]
    s[] += select(m[i] != 0:u8, x_read, 0:i32)
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from planish.core.names import take_name
from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Expr, Load, Var
from planish.ir.nest import Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import (
    bindings,
    blocks_of,
    loads,
    map_expr,
    map_exprs,
    may_fail,
    used_names,
    with_blocks,
    with_body,
)


def speculate(kernel: Kernel, arrays: Collection[str]) -> Kernel:
    """The kernel that reads elements of some arrays, all of which exist, before it is known whether it needs them; what
    an instruction does stays as it is, and so does what is read to be stored back."""
    if not arrays:
        return kernel
    taken = {*used_names(kernel), *bindings(kernel.body)}
    return replace(kernel, body=speculate_block(kernel.body, arrays, taken))


def speculate_block(block: Block, arrays: Collection[str], taken: set[str]) -> Block:
    """The same of statements; `taken`: names that are none of the new ones, which become so."""
    return with_body(block, [y for x in block.body for y in _speculated(x, arrays, taken)])


def _speculated(stmt: Stmt, arrays: Collection[str], taken: set[str]) -> Iterator[Stmt]:
    match stmt:
        case For() if stmt.facts.instruction or stmt.facts.stream or stmt.facts.fetch:
            yield stmt
        case Assign() | Reduce() | Let():
            names = {x: take_name(f"{x.array}_read", taken) for x in chosen_loads(stmt) if x.array in arrays}
            yield from (Let(name, x, stmt.span) for x, name in names.items())

            def named(x: Expr) -> Expr:
                return Var(names[x], x.type) if isinstance(x, Load) and x in names else x

            yield map_exprs(partial(map_expr, named), stmt) if names else stmt
        case _:
            yield with_blocks(stmt, [speculate_block(x, arrays, taken) for x in blocks_of(stmt)])


def chosen_loads(stmt: Assign | Reduce | Let) -> list[Load]:
    """What a statement reads under conditions only, at places that are no data, but for the element that it stores."""
    own = None if isinstance(stmt, Let) else (stmt.array, stmt.index)
    always = {*read_always(stmt.value)}
    found = dict.fromkeys(x for x in loads(stmt.value) if x not in always and (x.array, x.index) != own)
    return [x for x in found if not any(loads(y) or may_fail(y) for y in x.index)]
