"""The one call in an expression beside which nothing is read that it may change: it may store to memory.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("int g, *p, f(int); void h(int x) { x = -f(1) + x; x = f(2) * g; x = (char)f(x) - x; }")
>>> bound = bind_function(tree.ext[-1], bind_file(tree))
>>> [type(sole_call(x.rvalue, bound)).__name__ for x in tree.ext[-1].body.block_items]
['FuncCall', 'BinaryOp', 'BinaryOp']
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames
from planish.frontend.c.types.constants import walk_tree


def sole_call(node: c_ast.Node, bound: BoundNames) -> c_ast.Node:
    """That call; the expression itself where there is none."""
    found = _inside(node, bound)
    return node if found is None else found


def _inside(node: c_ast.Node, bound: BoundNames) -> c_ast.FuncCall | None:
    match node:
        case c_ast.FuncCall():
            return node
        case c_ast.Cast(expr=inner) | c_ast.UnaryOp(op="+" | "-" | "~" | "!", expr=inner):
            return _inside(inner, bound)
        case c_ast.BinaryOp(op=op, left=left, right=right) if op not in ("&&", "||"):
            for part, other in ((left, right), (right, left)):
                found = _inside(part, bound)
                if found is not None and _is_apart(other, found, bound):
                    return found
            return None
        case _:
            return None


def _is_apart(node: c_ast.Node, call: c_ast.FuncCall, bound: BoundNames) -> bool:
    """Whether a call leaves an operand beside it as it is: a number, or a variable that is not passed."""
    match node:
        case c_ast.Constant():
            return True
        case c_ast.ID():
            return id(node) in bound.constants or is_unseen(node, call, bound)
        case _:
            return False


def is_unseen(node: c_ast.Node, call: c_ast.Node, bound: BoundNames) -> bool:
    """Whether a call neither reads nor sets a variable."""
    symbol = bound.symbol(node) if isinstance(node, c_ast.ID) else None
    if symbol is None or symbol.lasting:
        return False
    return all(bound.symbol(x) is not symbol for x in walk_tree(call))
