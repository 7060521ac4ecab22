"""Declaration sinking: a local cell is declared where it is used, if each use follows a store there.

>>> from planish.ir.expr import Const
>>> from planish.ir.types import F32
>>> body = Block((Assign("t", (), Const(1.0, F32)), Assign("A", (), Load("t", (), F32))))
>>> type(sink("t", F32, body).body[0]).__name__
'Alloc'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from planish.ir.accesses import map_values
from planish.ir.expr import Const, Expr, Load, Select, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.traverse import blocks_of, chained, expressions, loads, map_block, walk, walk_expr
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


def forget(name: str, type: Type, block: Block) -> Block:
    """The block with a cell that is set only if a condition holds set to zero if not, where nobody then reads it.

    Before: t = x != 0;  s = t ? x : s;  A[i] = t ? s : A[i]
    After:  t = x != 0;  s = t ? x : 0;  A[i] = t ? s : A[i]
    """
    sets = [x for x in walk(block) if isinstance(x, Assign) and x.array == name]
    tests = [x.value.condition for x in sets if isinstance(x.value, Select) and x.value.otherwise == _before(x)]
    test = min(tests, key=lambda x: len([*chained(x, "and")]), default=None)
    if test is None or not _is_kept(test, name, block):
        return block
    held = map_values(lambda y: _decided(y, test, True), block)
    lost = map_values(lambda y: _decided(y, test, False), block)
    kept = (x for x in walk(lost) if not (isinstance(x, Assign) and x.array == name and x.value == _before(x)))
    if exposed(held, name) or any(_reads(e, name) for x in kept for e in expressions(x)):
        return block
    zero = Const(0.0 if type.is_float else 0, type)

    def settled(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(array=array, value=Select(condition=condition) as value) if array == name and condition == test:
                return replace(stmt, value=replace(value, otherwise=zero)) if value.otherwise == _before(stmt) else stmt
            case _:
                return stmt

    return map_block(settled, block)


def _before(stmt: Assign) -> Load:
    """What an assignment changes, as it was."""
    return Load(stmt.array, stmt.index, type_of(stmt.value))


def _decided(expr: Expr, test: Expr, holds: bool) -> Expr:
    """A choice where a condition is known to hold, or not to, on which it depends with others or alone."""
    if isinstance(expr, Select) and expr.condition == test:
        return expr.then if holds else expr.otherwise
    parts = [*chained(test, "and")]
    if isinstance(expr, Select) and not holds and [*chained(expr.condition, "and")][: len(parts)] == parts:
        return expr.otherwise
    return expr


def _is_kept(test: Expr, name: str, block: Block) -> bool:
    """Whether a condition is made of cells that are set once, right in a block in which all that a cell is used for
    comes after them."""
    cells = loads(test)
    if not cells or any(x.index for x in cells):
        return False
    for cell in {x.array for x in cells}:
        setting = [x for x in walk(block) if isinstance(x, Assign | Reduce) and x.array == cell]
        if len(setting) != 1:
            return False
        home = next((x for x in _lists(block) if any(y is setting[0] for y in x)), ())
        at = next((n for n, x in enumerate(home) if x is setting[0]), 0)
        after = sum(_mentions(x, name) for stmt in home[at + 1 :] for x in walk(stmt) if not blocks_of(x))
        if after != sum(_mentions(x, name) for x in walk(block) if not blocks_of(x)):
            return False
    return True


def _lists(block: Block) -> Iterator[tuple[Stmt, ...]]:
    """The statements of each block in a block."""
    yield block.body
    for stmt in block.body:
        for inner in blocks_of(stmt):
            yield from _lists(inner)
