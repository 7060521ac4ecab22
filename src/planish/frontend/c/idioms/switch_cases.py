"""Switches as branches: `switch` is the same as comparisons one after the other, where each case ends with `break`.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> text = "void f() { switch (k) { case 1: case 2: x = 1; break; default: x = 3; } }"
>>> node = CParser().parse(text).ext[0].body.block_items[0]
>>> print(" ".join(CGenerator().visit(as_branches(node)).split()))
if ((k == 1) || (k == 2)) { x = 1; } else { x = 3; }
>>> text = "int f() { switch (-k) { case 1: return 3; default: case 2: return 4; } }"
>>> node = CParser().parse(text).ext[0].body.block_items[0]
>>> print(" ".join(CGenerator().visit(as_branches(node, returns=True)).split()))
if ((-k) == 1) { return 3; } else { return 4; }
"""

from __future__ import annotations

from functools import reduce

from pycparser import c_ast

from planish.frontend.c.types.constants import has_effects, walk_tree

_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Case, c_ast.Default)
MOST = 16
"""The cases of a switch that are worth as many comparisons."""


def as_branches(node: c_ast.Switch, returns: bool = False) -> c_ast.Node | None:
    """The same as an `if` with an `else if` for each further case; None where a case goes on into the next one, holds
    another jump, or where what is looked at is more than a value. If `returns`, cases may return from the
    function."""
    jumps = _JUMPS if returns else (*_JUMPS, c_ast.Return)
    if has_effects(node.cond):
        return None
    items = list(node.stmt.block_items or []) if isinstance(node.stmt, c_ast.Compound) else []
    cases: list[tuple[list[c_ast.Node], c_ast.Node]] = []
    otherwise: c_ast.Node | None = None
    labels: list[c_ast.Node] = []
    usual = False
    for n, item in enumerate(items):
        if not isinstance(item, c_ast.Case | c_ast.Default):
            return None
        stmts = list(item.stmts or [])
        labels += [item.expr] if isinstance(item, c_ast.Case) else []
        usual = usual or isinstance(item, c_ast.Default)
        if not stmts and n + 1 < len(items):
            continue
        breaks = bool(stmts) and isinstance(stmts[-1], c_ast.Break)
        ends = breaks or (returns and bool(stmts) and isinstance(stmts[-1], c_ast.Return))
        body = stmts[:-1] if breaks else stmts
        if not (ends or n + 1 == len(items)) or any(isinstance(y, jumps) for x in body for y in walk_tree(x)):
            return None
        block = c_ast.Compound(body, item.coord)
        if usual:
            otherwise = block  # what has labels besides is one of all others
        else:
            cases.append((labels, block))
        labels, usual = [], False
    if not cases or sum(len(x) for x, _ in cases) > MOST:
        return None
    for labels, block in reversed(cases):
        tests = [c_ast.BinaryOp("==", node.cond, x, node.coord) for x in labels]
        test = reduce(lambda a, b: c_ast.BinaryOp("||", a, b, node.coord), tests)
        otherwise = c_ast.If(test, block, otherwise, node.coord)
    return otherwise
