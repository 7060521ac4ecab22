"""Assignments that are a part of an expression, `b[i] = (t = a[i]) + t` and `(x = y, x + 1)`: carried out before it.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("int f(int *a) { return a[0] = 1; }")
>>> cx = CTranslation(bind_function(tree.ext[0], bind_file(tree)), "strict", frozenset(), lambda _: None)
>>> assign_inside(tree.ext[0].body.block_items[0].expr, cx)
Traceback (most recent call last):
planish.frontend.c.translate.state.Refused: an assignment inside an expression
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.translate.state import CTranslation, Refused


def assign_inside(node: c_ast.Assignment, cx: CTranslation) -> None:
    """Carry out an assignment that is a part of an expression. Raises Refused where that may not be evaluated, or
    stores to memory, of which other parts may read."""
    if not isinstance(node.lvalue, c_ast.ID):
        raise Refused("scop-assignment", "an assignment inside an expression", node)
    run_inside(node, cx)


def run_inside(node: c_ast.Node, cx: CTranslation) -> None:
    """Carry out what comes before a value in an expression. Raises Refused where that may not be evaluated."""
    if cx.operands:
        raise Refused("scop-assignment", "an assignment in an operand that may not be evaluated", node)
    cx.execute(node, cx)
