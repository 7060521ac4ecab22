"""Prunes a nest to some of its statements, with the loops, tests and bindings that they need.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { x[i] = 0.0 for j in 0 .. n { x[i] += y[j] } }"
>>> print(print_stmt(only(parse_kernel("kernel k(n; x: f64[n], y: f64[n]) { " + text + " }").body, [0]).body[0]))
for i in 0 .. n {
  x[i] = 0.0:f64
}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import assert_never

from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import expressions, variables, walk


def only(block: Block, kept: Collection[int]) -> Block:
    """The block with those statements only whose number (in textual order) is kept, and what these need."""
    return _pruned(block, frozenset(kept), count())


def _pruned(block: Block, kept: frozenset[int], numbers: Iterator[int]) -> Block:
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Block():
                out.append(_pruned(stmt, kept, numbers))
            case For():
                out.append(replace(stmt, body=_pruned(stmt.body, kept, numbers)))
            case If():
                then = _pruned(stmt.then, kept, numbers)
                out.append(replace(stmt, then=then, otherwise=_pruned(stmt.otherwise, kept, numbers)))
            case Assign() | Reduce():
                if next(numbers) in kept:
                    out.append(stmt)
            case Let():
                out.append(stmt)
            case Alloc():
                pass
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)
    return Block(tuple(_needed(out)))


def _needed(stmts: Sequence[Stmt]) -> list[Stmt]:
    """Statements without loops over nothing, and without bindings that nothing uses."""
    out: list[Stmt] = []
    used: set[str] = set()
    for stmt in reversed(stmts):
        works = any(isinstance(x, Assign | Reduce) for x in walk(stmt))
        if not works and not (isinstance(stmt, Let) and stmt.var in used):
            continue
        used |= {name for x in walk(stmt) for e in expressions(x) for name in variables(e)}
        out.append(stmt)
    return out[::-1]
