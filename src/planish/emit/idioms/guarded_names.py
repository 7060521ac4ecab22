"""Names for what is read of guarded arrays give way to what they stand for, which is read where it is used.

Of a guarded array nothing may be read where conditions on data do not hold; the value of a name is evaluated in any
case, an element that one side of a choice reads only where that is taken.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { let b0 = select(p[i] > 0:i32, 1:i32, b[i]) b[i] = b0 }"
>>> kernel = parse_kernel(f"kernel k(n; p: i32[n], b: i32[n]) {{ {text} }}")
>>> print(print_stmt(spell_out(kernel, {"b"}).body), end="")
{
  for i in 0 .. n {
    b[i] = select(p[i] > 0:i32, 1:i32, b[i])
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from planish.ir.expr import Expr, Load, Var, type_of
from planish.ir.nest import Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import (
    bindings,
    blocks_of,
    expressions,
    loads,
    stored_arrays,
    substitute_stmt,
    variables,
    walk,
    walk_expr,
    with_blocks,
    with_body,
)

MOST = 2_000
"""The nodes of an expression in which names are spelt out: each use has a copy."""


class _Kept(Exception):
    """A name has to stay."""


def spell_out(kernel: Kernel, guarded: Collection[str]) -> Kernel:
    """The kernel without names for what is read of guarded arrays; itself where one of them is used when an element
    that it stands for may have changed."""
    try:
        return replace(kernel, body=_inside(kernel.body, {}, guarded))
    except _Kept:
        return kernel


def _inside(block: Block, known: Mapping[str, Expr], guarded: Collection[str]) -> Block:
    names, gone, out = dict(known), set[str](), list[Stmt]()
    for stmt in block.body:
        made = _spelt(stmt, names, gone, guarded)
        if isinstance(made, Let) and any(x.array in guarded for x in loads(made.value)):
            names[made.var] = made.value
            continue
        out.append(made)
        stored = stored_arrays(made)
        over = {x for x, y in names.items() if any(z.array in stored for z in loads(y))}
        names = {x: y for x, y in names.items() if x not in over}
        match stmt:
            # What was stored is there now.
            case Assign(value=Var(name=name)) if name in over and not any(loads(x) for x in stmt.index):
                names[name] = Load(stmt.array, stmt.index, type_of(stmt.value))
            case _:
                pass
        gone |= over - names.keys()
    return with_body(block, out)


def _spelt(stmt: Stmt, names: Mapping[str, Expr], gone: Collection[str], guarded: Collection[str]) -> Stmt:
    """A statement with what names stand for; raises _Kept where they stand for something else in it."""
    used = {x for part in walk(stmt) for e in expressions(part) for x in variables(e)}
    met = {x: y for x, y in names.items() if x in used}
    if used & {*gone}:
        raise _Kept
    if met and not isinstance(stmt, Assign | Reduce | Let):
        # A name stands for what was read in front of the whole statement.
        stored, bound = stored_arrays(stmt), {*bindings(stmt)}
        read = {x.array for y in met.values() for x in loads(y)}
        if stored & read or bound & {z for y in met.values() for z in variables(y)}:
            raise _Kept
    if isinstance(stmt, For) and stmt.facts.masked:
        if met:
            raise _Kept
        return stmt
    made = substitute_stmt(stmt, met)
    if any(sum(1 for _ in walk_expr(x)) > MOST for x in expressions(made)):
        raise _Kept
    return with_blocks(made, [_inside(x, met, guarded) for x in blocks_of(made)])
