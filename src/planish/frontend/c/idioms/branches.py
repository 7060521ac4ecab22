"""Branches on loop variables and sizes: what only one side loads is then not loaded elsewhere.

>>> from planish.ir.expr import Binary, Const, Load, index
>>> from planish.ir.types import F32
>>> far = Select(Compare("gt", index("i"), index(0)), Load("x", (index("i"),), F32), Const(0.0, F32))
>>> find_choice(Binary("add", Load("y", (), F32), far), lambda test: True) == far.condition
True
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from planish.frontend.c.translate.expressions import only_sizes
from planish.frontend.c.translate.state import CTranslation
from planish.frontend.c.types.constants import walk_tree
from planish.ir.expr import Compare, Expr, Select
from planish.ir.index.polynomial import affine_over
from planish.ir.traverse import conditions, loads, walk_expr

MOST_CHOICES = 4
"""With more of them in a value, there would be too many branches."""


def is_static(test: Expr, cx: CTranslation) -> bool:
    """Whether a condition speaks of nothing but loop variables and sizes, and is affine in the variables."""
    if not only_sizes(test):
        return False
    its = [it.name for it in cx.iterators]
    sides = [side for x in walk_expr(test) if isinstance(x, Compare) for side in (x.left, x.right)]
    return bool(cx.dry) or all(affine_over(side, its, False) for side in sides)


def find_choice(value: Expr, static: Callable[[Expr], bool]) -> Expr | None:
    """The condition of the outermost choice in a value by which something is loaded or not; None where there is none,
    or there are too many."""
    if len(conditions(value)) > MOST_CHOICES:
        return None
    for x in walk_expr(value):
        if isinstance(x, Select) and static(x.condition) and set(loads(x.then)) != set(loads(x.otherwise)):
            return x.condition
    return None


def as_statement(node: c_ast.TernaryOp | c_ast.BinaryOp) -> c_ast.If:
    """A choice between expressions, or what `&&` and `||` evaluate, as a statement of its own: `c ? f() : g();`.

    >>> from pycparser.c_parser import CParser
    >>> from pycparser.c_generator import CGenerator
    >>> items = CParser().parse("void f() { c ? x = 1 : 0; c || x++; }").ext[0].body.block_items
    >>> [" ".join(CGenerator().visit(as_statement(x)).split()) for x in items]
    ['if (c) x = 1;', 'if (!c) x++;']
    """
    if isinstance(node, c_ast.TernaryOp):
        # A name alone may be volatile.
        sides = (node.iftrue, node.iffalse)
        branches = [x if any(isinstance(y, c_ast.ID) for y in walk_tree(x)) else None for x in sides]
        return c_ast.If(node.cond, branches[0] or c_ast.EmptyStatement(node.coord), branches[1], node.coord)
    test = node.left if node.op == "&&" else c_ast.UnaryOp("!", node.left, node.coord)
    return c_ast.If(test, node.right, None, node.coord)
