"""Stores under conditions on data, which become stores of chosen values: what has to be known of each later on.

>>> from pycparser import c_ast
>>> from planish.ir.expr import Const, Load, Select, Var
>>> from planish.ir.types import BOOL, I32
>>> own, test = Load("a", (), I32), Var("c", BOOL)
>>> store = Assign("a", (), Select(test, Const(1, I32), own))
>>> found = GuardedStore(store, (test,), Const(1, I32), unread=True, node=c_ast.EmptyStatement())
>>> stored_conditionally([found]), list(left_unread([found]))
({'a'}, ['a'])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from planish.ir.expr import Expr
from planish.ir.nest import Assign, Reduce


@dataclass(frozen=True, slots=True, eq=False)
class GuardedStore:
    """A store of a value that is chosen where all `guards` hold. Where not, the original, `node`, stores nothing, and
    reads nothing there if it is `unread`."""

    stmt: Assign | Reduce
    guards: tuple[Expr, ...]
    value: Expr
    unread: bool
    node: c_ast.Node


def stored_conditionally(stores: Iterable[GuardedStore]) -> set[str]:
    """The arrays to which the original does not store in every case."""
    return {x.stmt.array for x in stores}


def left_unread(stores: Iterable[GuardedStore]) -> Mapping[str, c_ast.Node]:
    """The arrays of which nothing may be read where nothing is stored, and a statement that stores to each."""
    found: dict[str, c_ast.Node] = {}
    for x in stores:
        if x.unread:
            found.setdefault(x.stmt.array, x.node)
    return found
