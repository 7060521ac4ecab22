"""Before a nest becomes a stream: named values are cells, and what is computed from sizes alone is a size.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> made = without_names(parse_kernel("kernel k(n; y: i32[n]) { for i in 0 .. n { let t = y[i]\\n y[i] = t + t } }"))
>>> print(print_stmt(made.body.body[0]), end="")
for i in 0 .. n {
  alloc t: i32[] distinct register
  t[] = y[i]
  y[i] = t[] + t[]
}
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from planish.ir.expr import Binary, Expr, Load, Select, Var, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Stmt
from planish.ir.traverse import (
    WORK,
    blocks_of,
    children,
    loads,
    map_block,
    map_expr,
    map_exprs,
    variables,
    walk,
    walk_expr,
    with_blocks,
    with_children,
)  # fmt: skip
from planish.ir.types import INDEX, Type


def without_names(kernel: Kernel, programs: Collection[str] = ()) -> Kernel:
    """The kernel with a scalar cell for each named value, but for those in loops that are done by programs."""
    lets: dict[str, Type] = {}

    def celled(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Let):
            lets[stmt.var] = type_of(stmt.value)
            cell = Array(stmt.var, lets[stmt.var], (), True, "register")
            return Alloc(cell, stmt.span), Assign(stmt.var, (), stmt.value, stmt.span)
        if isinstance(stmt, For) and stmt.facts.instruction in programs:
            return (stmt,)
        return (with_blocks(stmt, [with_cells(x) for x in blocks_of(stmt)]),)

    def with_cells(block: Block) -> Block:
        return replace(block, body=tuple(y for x in block.body for y in celled(x)))

    def loaded(stmt: Stmt, own: frozenset[str]) -> Stmt:
        if isinstance(stmt, For) and stmt.facts.instruction in programs:
            own = frozenset(x.var for x in walk(stmt) if isinstance(x, Let))

        def load(x: Expr) -> Expr:
            known = isinstance(x, Var) and x.name in lets and x.name not in own
            return Load(x.name, (), lets[x.name]) if known and isinstance(x, Var) else x

        blocks = [replace(x, body=tuple(loaded(y, own) for y in x.body)) for x in blocks_of(stmt)]
        return map_exprs(lambda e: map_expr(load, e), with_blocks(stmt, blocks))

    body = with_cells(kernel.body)
    if not lets:
        return kernel
    return replace(kernel, body=replace(body, body=tuple(loaded(x, frozenset()) for x in body.body)))


def derive_sizes(kernel: Kernel) -> tuple[Kernel, dict[str, Expr]]:
    """The kernel with a size for what takes more than sums and products of sizes, which its caller computes once; not
    for what shifts by sizes, which may be meant where a condition holds only."""
    found: dict[Expr, str] = {}
    sizes = set(kernel.sizes)

    def visit(x: Expr) -> Expr:
        own = variables(x)
        is_work = isinstance(x, Binary | Select) and type_of(x) == INDEX and own and own <= sizes and not loads(x)
        works = any(isinstance(y, Select) or isinstance(y, Binary) and y.op in WORK for y in walk_expr(x))
        if is_work and works and not _shifts(x):
            name = found.setdefault(x, f"size.{len(found)}")
            return Var(name, INDEX)
        return with_children(x, tuple(visit(y) for y in children(x)))

    body = map_block(lambda s: map_exprs(visit, s), kernel.body)
    fresh = tuple(found.values())
    return replace(kernel, sizes=(*kernel.sizes, *fresh), body=body), {name: x for x, name in found.items()}


def _shifts(x: Expr) -> bool:
    return any(isinstance(y, Binary) and y.op in ("shl", "shr") and variables(y.right) for y in walk_expr(x))
