"""Elements that have a name but are used once become part of the statement that uses them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "let a = x[0] let b = x[1] y[0] = a * x[2] y[1] = b + b let c = y[1] y[2] += c"
>>> kernel = inline_loads(parse_kernel(f"kernel k(x: f32[4], y: f32[4]) {{ {text} }}"))
>>> [print_stmt(x) for x in kernel.body.body]
['let b = x[1]', 'y[0] = x[0] * x[2]', 'y[1] = b + b', 'y[2] += y[1]']
>>> loop = "for l in 0 .. 4 as _mm_add_ps { let a = x[l] y[l] = a + y[l] }"
>>> own = parse_kernel(f"kernel k(x: f32[4], y: f32[4]) {{ {loop} }}")
>>> inline_loads(own) == own
True
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from planish.ir.expr import Binary, Load, Select, Var, type_of
from planish.ir.nest import Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, map_exprs, substitute, walk, walk_expr, with_blocks
from planish.ir.types import BOOL

_LARGEST = 40
"""Expressions of a statement; a larger one is hard to read."""


def inline_loads(kernel: Kernel) -> Kernel:
    """The kernel with elements in place of their names where these are used once, and nothing is stored before that."""
    parts = (y for s in walk(kernel.body) for x in expressions(s) for y in walk_expr(x))
    uses = Counter(x.name for x in parts if isinstance(x, Var))
    bound = Counter(x.var for x in walk(kernel.body) if isinstance(x, Let))
    return replace(kernel, body=_inlined(kernel.body, {x for x in uses if uses[x] == bound[x] == 1}))


def _inlined(block: Block, once: set[str]) -> Block:
    body = [x if _is_call(x) else with_blocks(x, [_inlined(y, once) for y in blocks_of(x)]) for x in block.body]
    for at in range(len(body) - 1, -1, -1):
        let = body[at]
        if not isinstance(let, Let) or let.var not in once or not isinstance(let.value, Load):
            continue
        user = _user(body, at + 1, let.var)
        if user is not None:
            body[user] = map_exprs(partial(substitute, values={let.var: let.value}), body[user])
            del body[at]
    return Block(tuple(body))


def _is_call(stmt: Stmt) -> bool:
    """Whether a loop is what an instruction does, whose statements are those of the definition."""
    return isinstance(stmt, For) and bool(stmt.facts.instruction or stmt.facts.stream)


def _user(body: list[Stmt], at: int, name: str) -> int | None:
    """The statement that uses a name, with nothing but names of values before it; None where there is none such."""
    for i, stmt in enumerate(body[at:], at):
        if not isinstance(stmt, Let | Assign | Reduce):
            return None
        parts = [y for x in expressions(stmt) for y in walk_expr(x)]
        if any(isinstance(x, Var) and x.name == name for x in parts):
            # What is loaded under a condition is not loaded in lanes.
            chosen = any(isinstance(x, Select) or (isinstance(x, Binary) and type_of(x) == BOOL) for x in parts)
            return i if len(parts) <= _LARGEST and not chosen else None
        if not isinstance(stmt, Let):
            return None
    return None


__all__ = ["inline_loads"]
