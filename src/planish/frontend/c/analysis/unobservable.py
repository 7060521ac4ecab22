"""Variables that a nest changes and no check compares, since their value cannot be told.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("float *rows[8]; void f(float *a) { float *p = rows[2], *q = a; p[0] = q[1]; }")
>>> bound = bind_function(tree.ext[1], bind_file(tree))
>>> [name for name in ("p", "q") if may_change([name], bound, frozenset({"rows"}))]
['p']
"""

from __future__ import annotations

from collections.abc import Iterable

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_pointer, settings
from planish.frontend.c.translation_unit import Region
from planish.frontend.c.types.constants import walk_tree
from planish.ir.nest import Assign, Reduce
from planish.ir.traverse import walk


def unseen_in(region: Region, bound: BoundNames, unseen: frozenset[str]) -> tuple[str, ...]:
    """Those of the variables `unseen` that a region of a function may change."""
    stored = {x.array for x in walk(region.kernel.body) if isinstance(x, Assign | Reduce)}
    return may_change(sorted(stored), bound, unseen)


def may_change(arrays: Iterable[str], bound: BoundNames, unseen: frozenset[str]) -> tuple[str, ...]:
    """Those of the variables `unseen` that are changed where `arrays` (keys of symbols) are, or what these point to."""
    symbols = {**bound.file.symbols, **{x.key: x for x in bound.symbols}}
    found = set[str]()
    for symbol in _reached([symbols[x] for x in arrays if x in symbols], bound):
        if symbol is None:
            return tuple(sorted(unseen))
        if symbol.storage == "global" or symbol.static:
            found |= {symbol.name} & unseen
    return tuple(sorted(found))


def _reached(symbols: Iterable[Symbol], bound: BoundNames) -> set[Symbol | None]:
    """Variables, and what their addresses may be made of; None for what a function of the file gives."""
    values: dict[Symbol, list[c_ast.Node]] = {}
    for symbol, value in settings(bound.function.body, bound):
        if is_pointer(symbol):
            values.setdefault(symbol, []).append(value)
    found: set[Symbol | None] = set()
    left: set[Symbol | None] = {*symbols}
    while left - found:
        found |= left
        given = [value for symbol in left if symbol is not None for value in values.get(symbol, ())]
        parts = [x for value in given for x in walk_tree(value)]
        left = {bound.symbol(x) for x in parts if bound.symbol(x) is not None}
        left |= {symbol.whole for symbol in found if symbol is not None and symbol.whole is not None}
        if any(isinstance(x, c_ast.FuncCall) and _name(x) in bound.file.functions for x in parts):
            left.add(None)
    return found


def _name(call: c_ast.FuncCall) -> str:
    return str(call.name.name) if isinstance(call.name, c_ast.ID) else ""
