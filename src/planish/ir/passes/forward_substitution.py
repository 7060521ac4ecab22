"""Forward substitution: values that have a name but are used once become part of the statement that uses them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "let a = x[0] let b = x[1] y[0] = a * x[2] y[1] = b + b let c = y[1] y[2] += c"
>>> kernel = substitute_forward(parse_kernel(f"kernel k(x: f32[4], y: f32[4]) {{ {text} }}"))
>>> [print_stmt(x) for x in kernel.body.body]
['let b = x[1]', 'y[0] = x[0] * x[2]', 'y[1] = b + b', 'y[2] += y[1]']
>>> chain = parse_kernel("kernel k(x: f32[4], y: f32[4]) { let a = x[0] * x[1] let b = a + x[2] y[0] = b }")
>>> [print_stmt(x) for x in substitute_forward(chain).body.body]
['y[0] = x[0] * x[1] + x[2]']
>>> loop = "for l in 0 .. 4 as _mm_add_ps { let a = x[l] y[l] = a + y[l] }"
>>> own = parse_kernel(f"kernel k(x: f32[4], y: f32[4]) {{ {loop} }}")
>>> substitute_forward(own) == own
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from planish.ir.expr import Binary, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import (
    blocks_of,
    expressions,
    map_exprs,
    substitute,
    variables,
    walk,
    walk_expr,
    with_blocks,
)
from planish.ir.types import BOOL, F32, F64, I32

_LARGEST = 40
"""Expressions of a statement; a larger one is hard to read."""
_ARITHMETIC = frozenset({"add", "sub", "mul", "div", "min", "max"})
_TYPES = (F32, F64, I32)
"""Types that C computes in: narrower integers are wider there until they are stored."""


def substitute_forward(kernel: Kernel) -> Kernel:
    """The kernel with elements, and sums, products and extrema, in place of their names where these are used once, and
    nothing is stored before that. What is computed is the same, in the same order of operands."""
    uses, bound = _count(walk(kernel.body))
    return replace(kernel, body=_inlined(kernel.body, {x for x in uses if uses[x] <= bound[x]}))


def _count(stmts: Iterable[Stmt]) -> tuple[Counter[str], Counter[str]]:
    """How often names are used, and how often they are given to values."""
    every = tuple(stmts)
    parts = (y for s in every for x in expressions(s) for y in walk_expr(x))
    uses = Counter(x.name for x in parts if isinstance(x, Var))
    return uses, Counter(x.var for x in every if isinstance(x, Let))


def _inlined(block: Block, once: set[str]) -> Block:
    body = [x if _is_call(x) else with_blocks(x, [_inlined(y, once) for y in blocks_of(x)]) for x in block.body]
    for at in range(len(body) - 1, -1, -1):
        let = body[at]
        if not isinstance(let, Let) or let.var not in once:
            continue
        if not isinstance(let.value, Load) and not _is_arithmetic(let.value):
            continue
        user = _user(body, at + 1, let)
        if user is not None and _is_last(body[user:], let.var):
            body[user] = map_exprs(partial(substitute, values={let.var: let.value}), body[user])
            del body[at]
    return Block(tuple(body))


def _is_call(stmt: Stmt) -> bool:
    """Whether a loop is what an instruction does, whose statements are those of the definition."""
    return isinstance(stmt, For) and bool(stmt.facts.instruction or stmt.facts.stream)


def _is_last(rest: Sequence[Stmt], name: str) -> bool:
    """Whether the first of some statements uses a name once, and no other one has it: it may be that of other values in
    other blocks."""
    uses, bound = _count(y for x in rest for y in walk(x))
    return uses[name] == 1 and not bound[name]


def _is_arithmetic(value: Expr) -> bool:
    """Whether a value is made of numbers by few kinds of operations."""
    match value:
        case Load() | Var() | Const():
            return type_of(value) in _TYPES
        case Unary(op="neg", operand=operand):
            return _is_arithmetic(operand)
        case Binary(op=op, left=left, right=right):
            return op in _ARITHMETIC and _is_arithmetic(left) and _is_arithmetic(right)
        case _:
            return False


def _user(body: list[Stmt], at: int, let: Let) -> int | None:
    """The statement that uses the name of a value, with nothing but other such names before it; None where there is
    none."""
    needed = variables(let.value)
    for i, stmt in enumerate(body[at:], at):
        if not isinstance(stmt, Let | Assign | Reduce):
            return None
        parts = [y for x in expressions(stmt) for y in walk_expr(x)]
        if any(isinstance(x, Var) and x.name == let.var for x in parts):
            # What is loaded under a condition is not loaded in lanes.
            chosen = any(isinstance(x, Select) or (isinstance(x, Binary) and type_of(x) == BOOL) for x in parts)
            added = 0 if isinstance(let.value, Load) else sum(1 for _ in walk_expr(let.value))
            return i if len(parts) + added <= _LARGEST and not chosen else None
        if not isinstance(stmt, Let) or stmt.var in needed:
            return None
    return None


__all__ = ["substitute_forward"]
