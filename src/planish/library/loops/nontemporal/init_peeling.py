"""Undoes init peeling of min and max reductions: the loop runs from the start of the row, in whole cache lines; the
first value, loaded again, does not change the result.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; x: f64[n], m: f64[]) { m[] = x[0] for i in 1 .. n { m[] max= x[i] } }"
>>> print(print_stmt(from_first(parse_kernel(text)).body.body[1]), end="")
for i in 0 .. n {
  m[] max= x[i]
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.accesses import reads
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import place, same, sub
from planish.ir.nest import Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import walk


def from_first(kernel: Kernel) -> Kernel:
    """The kernel whose min or max reductions run one iteration earlier, where their initial value is that iteration's
    (the peeling undone)."""
    stored = frozenset(x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce))
    return replace(kernel, body=_extended(kernel.body, stored))


def _extended(block: Block, stored: frozenset[str]) -> Block:
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case For(body=Block(body=(Reduce(op="min" | "max") as update,))):
                earlier = sub(stmt.lower, index(1))
                known = _known(out, update)
                begun = known is not None and stmt.step == 1 and _is_at(update, stmt.var, earlier, known, stored)
                out.append(replace(stmt, lower=earlier) if begun else stmt)
            case For():
                out.append(replace(stmt, body=_extended(stmt.body, stored)))
            case If():
                then, otherwise = _extended(stmt.then, stored), _extended(stmt.otherwise, stored)
                out.append(replace(stmt, then=then, otherwise=otherwise))
            case Block():
                out.append(_extended(stmt, stored))
            case _:
                out.append(stmt)
    return Block(tuple(out))


def _known(before: list[Stmt], update: Reduce) -> Load | None:
    """What the target of an update is when a block has come so far, where that is an element of an array."""
    for stmt in reversed(before):
        if isinstance(stmt, Assign) and stmt.array == update.array:
            alike = len(stmt.index) == len(update.index) and all(map(same, stmt.index, update.index))
            return stmt.value if alike and isinstance(stmt.value, Load) else None
        if any(isinstance(x, Assign | Reduce) and x.array == update.array for x in walk(stmt)):
            return None
    return None


def _is_at(update: Reduce, var: str, value: Expr, known: Load, stored: frozenset[str]) -> bool:
    """Whether an iteration takes what is known, an element of an array to which nothing is stored."""
    taken = update.value
    if not isinstance(taken, Load) or taken.array != known.array or known.array in stored:
        return False
    moves = any(x.array == update.array for x in reads(update))
    return not moves and all(same(place(x, {var: value}), y) for x, y in zip(taken.index, known.index, strict=True))
