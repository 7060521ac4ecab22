"""Loop-invariant bounds: bounds that take work are hoisted where several entries share them, or tested beforehand.

>>> from planish.ir.expr import Binary, Var, index
>>> from planish.ir.types import INDEX
>>> inner = For("j", index(0), Binary("min", Var("n", INDEX), Var("m", INDEX)), 1, Block(()))
>>> nest = Block((For("i", index(0), index("n"), 1, Block((inner,))),))
>>> moved = move_bounds(nest, frozenset({"n", "m"}))
>>> moved.body[0].var, moved.body[1].body.body[0].upper.name
('j_end', 'j_end')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.ir.expr import Binary, Expr, Var
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import loads, map_expr, takes_work, variables, walk, walk_expr
from planish.ir.types import INDEX


def move_bounds(block: Block, taken: frozenset[str]) -> Block:
    """The block with such bounds named before the outermost loop in which they are the same; `taken` are the names
    that are in use outside of it."""
    names = {x.var for x in walk(block) if isinstance(x, For | Let)}
    mover = _Mover(set(taken | names))
    body = mover.block(block, None)
    return Block((*mover.place(mover.pending), *body.body))


def find_shared(body: Block) -> frozenset[Expr]:
    """The bounds that take work and occur more than once in a loop's body, loops within it left out."""
    bounds: Counter[Expr] = Counter()
    tested: Counter[Expr] = Counter()
    rest: list[Stmt] = list(body.body)
    while rest:
        match rest.pop():
            case Block(body=inner):
                rest += inner
            case If(condition=condition, then=then, otherwise=otherwise):
                tested.update(x for x in walk_expr(condition) if isinstance(x, Binary))
                rest += (then, otherwise)
            case For(lower=lower, upper=upper):
                bounds.update(x for x in (lower, upper) if _takes_work(x))
            case _:
                pass
    return frozenset(x for x, count in bounds.items() if count + tested[x] > 1)


def _takes_work(expr: Expr) -> bool:
    # What is read from memory may change in between.
    return takes_work(expr) and not loads(expr)


Pending = dict[Expr, str]
"""Bounds that are to be named further out, and their names."""


@dataclass(slots=True)
class _Mover:
    """One walk: `pending` is what the code so far needs named outside of it, `shared` what is needed more than once in
    the body of the innermost loop around."""

    taken: set[str]
    pending: Pending = field(default_factory=dict)
    shared: frozenset[Expr] = frozenset()

    def block(self, block: Block, bound: frozenset[str] | None) -> Block:
        """A block; `bound` are the names that the innermost loop around binds (None: there is none)."""
        out: list[Stmt] = []
        for stmt in block.body:
            out.append(self.statement(stmt, bound))
            if isinstance(stmt, Let):
                bound = None if bound is None else bound | {stmt.var}
        return self.settle(out)

    def settle(self, body: list[Stmt]) -> Block:
        """The statements, with what depends on a `Let` among them named right after it."""
        out: list[Stmt] = []
        for stmt in body:
            out.append(stmt)
            if isinstance(stmt, Let):
                out += self.place(self.taking({stmt.var}))
        return Block(tuple(out))

    def taking(self, names: set[str]) -> Pending:
        """What is pending and uses one of the names; it is pending no more."""
        found = {x: name for x, name in self.pending.items() if not names.isdisjoint(variables(x))}
        self.pending = {x: name for x, name in self.pending.items() if x not in found}
        return found

    def place(self, found: Mapping[Expr, str]) -> list[Stmt]:
        """The definitions."""
        return [Let(name, x) for x, name in found.items()]

    def statement(self, stmt: Stmt, bound: frozenset[str] | None) -> Stmt:
        """A statement; its bounds move out of the loop that binds `bound` where they use none of that."""
        match stmt:
            case Block():
                return self.block(stmt, bound)
            case If(then=then, otherwise=otherwise):
                condition = map_expr(lambda x: self.known(x, bound), stmt.condition)
                return If(condition, self.block(then, bound), self.block(otherwise, bound), stmt.span)
            case For():
                outside, self.shared = self.shared, find_shared(stmt.body)
                body = self.block(stmt.body, frozenset({stmt.var}))
                self.shared = outside
                body = Block((*self.place(self.taking({stmt.var})), *body.body))
                lower = self.named(stmt.lower, f"{stmt.var}_begin", bound)
                upper = self.named(stmt.upper, f"{stmt.var}_end", bound)
                return replace(stmt, lower=lower, upper=upper, body=body)
            case Assign() | Reduce() | Alloc() | Let():
                return stmt
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)

    def named(self, expr: Expr, hint: str, bound: frozenset[str] | None) -> Expr:
        """A name for a bound that takes work and can move or is shared; else the bound."""
        if bound is None or not _takes_work(expr):
            return expr
        if not bound.isdisjoint(variables(expr)) and expr not in self.shared:
            return expr
        if expr not in self.pending:
            self.pending[expr] = self.fresh(hint)
        return Var(self.pending[expr], INDEX)

    def known(self, expr: Expr, bound: frozenset[str] | None) -> Expr:
        """A name for part of a condition that is the bound of a loop, too."""
        return self.named(expr, "bound", bound) if expr in self.shared else expr

    def fresh(self, hint: str) -> str:
        """A name that nothing has."""
        name, number = hint, 1
        while name in self.taken:
            number += 1
            name = f"{hint}{number}"
        self.taken.add(name)
        return name
