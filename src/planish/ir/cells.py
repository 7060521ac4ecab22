"""Cells that hold one value after the other: declared where they are used, if each use is after a store there.

>>> from planish.ir.expr import Const
>>> from planish.ir.types import F32
>>> body = Block((Assign("t", (), Const(1.0, F32)), Assign("A", (), Load("t", (), F32))))
>>> type(sink("t", F32, body).body[0]).__name__
'Alloc'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from planish.ir.expr import Expr, Load
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.traverse import expressions, walk, walk_expr
from planish.ir.types import Type


def _reads(expr: Expr, name: str) -> bool:
    return any(isinstance(x, Load) and x.array == name for x in walk_expr(expr))


def exposed(block: Block, name: str) -> bool:
    """Whether a cell may be read in the block before the block has written it."""
    return _exposed(block.body, name, False)[0]


def _exposed(stmts: Iterable[Stmt], name: str, written: bool) -> tuple[bool, bool]:
    """(may be read unwritten, is written afterwards)."""
    for stmt in stmts:
        match stmt:
            case Assign():
                if not written and any(_reads(e, name) for e in expressions(stmt)):
                    return True, False
                written = written or stmt.array == name
            case Reduce():
                if not written and (stmt.array == name or any(_reads(e, name) for e in expressions(stmt))):
                    return True, False
            case For():
                if not written and (any(_reads(e, name) for e in expressions(stmt))):
                    return True, False
                if _exposed(stmt.body.body, name, written)[0]:
                    return True, False
            case If():
                if not written and _reads(stmt.condition, name):
                    return True, False
                a, b = _exposed(stmt.then.body, name, written), _exposed(stmt.otherwise.body, name, written)
                if a[0] or b[0]:
                    return True, False
                written = a[1] and b[1]
            case Block():
                bad, written = _exposed(stmt.body, name, written)
                if bad:
                    return True, False
            case Alloc() | Let():
                if not written and any(_reads(e, name) for e in expressions(stmt)):
                    return True, False
    return False, written


def _mentions(stmt: Stmt, name: str) -> bool:
    for part in walk(stmt):
        if isinstance(part, (Assign, Reduce)) and part.array == name:
            return True
        if any(_reads(e, name) for e in expressions(part)):
            return True
    return False


def sink(name: str, type: Type, block: Block) -> Block:
    """Declare a cell in the innermost block that holds all its uses and always writes it first."""
    users = [n for n, stmt in enumerate(block.body) if _mentions(stmt, name)]
    if len(users) == 1:
        n = users[0]
        stmt = block.body[n]
        match stmt:
            case For(body=inner) if not any(_reads(e, name) for e in expressions(stmt)) and not exposed(inner, name):
                fresh: Stmt = replace(stmt, body=sink(name, type, inner))
                return Block((*block.body[:n], fresh, *block.body[n + 1 :]))
            case _:
                pass
    first = users[0] if users else 0
    alloc = Alloc(Array(name, type, (), True, "register"))
    return Block((*block.body[:first], alloc, *block.body[first:]))
