"""Branches that all store to one place, once each: a single store of a value that is chosen.

Before: if (c) a[i] = x; else if (d) a[i] += y; else a[i] = z;
After:  a[i] = c ? x : d ? a[i] + y : z;

Such a store is made in every case by the user's program, too.

>>> from pycparser.c_parser import CParser
>>> text = "void f() { if (c) a[i] = 1; else if (d) { a[i] += 2; } else a[i] = 3; }"
>>> node = CParser().parse(text).ext[0].body.block_items[0]
>>> [x.op for x in stores_of(node)]
['=', '+=', '=']
>>> stores_of(CParser().parse("void f() { if (c) a[i] = 1; else if (d) a[i] = 2; }").ext[0].body.block_items[0])
[]
>>> len(stores_of(CParser().parse("void f() { if (x < 0) x = 0; else if (x > 9) x = 9; }").ext[0].body.block_items[0]))
2
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.frontend.c.types.constants import walk_tree

MOST = 8
"""The branches of which one value is chosen."""


def flat(node: c_ast.Node | None) -> list[c_ast.Node]:
    """The statements of a branch."""
    match node:
        case None | c_ast.EmptyStatement():
            return []
        case c_ast.Compound(block_items=items):
            return [x for item in items or [] for x in flat(item)]
        case _:
            return [node]


def stores_of(node: c_ast.If) -> list[c_ast.Assignment]:
    """The assignments of all branches, each the only statement of its own, to places that are spelt alike; none where
    they are not so, or store anything else on the way. A variable that several branches set without reading it may be
    left as it is by others, which are not there."""
    found = [x for x in _leaves(node) if not isinstance(x, c_ast.EmptyStatement)]
    stores = [x for x in found if isinstance(x, c_ast.Assignment)]
    if len(stores) != len(found) or len(found) > MOST:
        return []
    if not sets_always(node) and not _may_keep(stores):
        return []
    parts = [y for x in stores for z in (x.lvalue, x.rvalue) for y in walk_tree(z)]
    steps = [x for x in parts if isinstance(x, c_ast.UnaryOp) and ("++" in x.op or "--" in x.op)]
    if steps or any(isinstance(x, c_ast.Assignment) for x in parts):
        return []
    generator = CGenerator()
    return stores if len({str(generator.visit(x.lvalue)) for x in stores}) == 1 else []


def sets_always(node: c_ast.If) -> bool:
    """Whether no branch is missing: whichever is taken stores."""
    return not any(isinstance(x, c_ast.EmptyStatement) for x in _leaves(node))


def _may_keep(stores: list[c_ast.Assignment]) -> bool:
    """Whether several assignments set a variable, and none reads it: sums and extrema are told by each of theirs."""
    names = {x.lvalue.name for x in stores if isinstance(x.lvalue, c_ast.ID) and x.op == "="}
    read = (y for x in stores for y in walk_tree(x.rvalue) if isinstance(y, c_ast.ID))
    return len(stores) > 1 and len(names) == 1 and not any(x.name in names for x in read)


def _leaves(node: c_ast.If) -> Iterator[c_ast.Node | None]:
    """The statement of each branch, None for one that is no single one."""
    for branch in (node.iftrue, node.iffalse):
        match flat(branch):
            case [c_ast.If() as inner]:
                yield from _leaves(inner)
            case [one]:
                yield one
            case []:
                yield c_ast.EmptyStatement()
            case _:
                yield None
