"""Choices between addresses by sizes: one of them is granted, with the other one the original runs.

Before: p = planar ? left : mixed;  for i { y[i] = p[i] }
After:  for i { y[i] = left[i] }    under the condition that planar is not 0

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> from planish.frontend.c.translate.state import Enclosing
>>> from planish.ir.expr import index
>>> tree = CParser().parse("float f(int k, float *a, float *b) { return *(k > 3 ? a : b); }")
>>> cx = CTranslation(bind_function(tree.ext[0], bind_file(tree)), "strict", frozenset(), lambda _: None)
>>> cx.iterators.append(Enclosing("i", index(0), index(9)))
>>> choose_address(tree.ext[0].body.block_items[0].expr.expr, cx).symbol.name, len(cx.assumptions)
('a', 1)
"""

from __future__ import annotations

from functools import partial

from pycparser import c_ast

from planish.frontend.c.assumed.granted_conditions import granted_side
from planish.frontend.c.idioms.branches import is_static
from planish.frontend.c.translate.expressions import condition_of
from planish.frontend.c.translate.state import Address, CTranslation, Refused
from planish.frontend.c.translate.subscripts import address_of
from planish.ir.traverse import variables


def choose_address(node: c_ast.TernaryOp, cx: CTranslation) -> Address:
    """The first of two addresses that can be read, under the condition that it is chosen. Raises Refused where data, or
    loop variables, choose."""
    refusal = Refused("scop-pointer", "a choice between two addresses", node)
    if not cx.repeats:
        raise refusal  # the pointer itself is known where the nest begins
    test = condition_of(node.cond, cx)
    if not is_static(test, cx) or variables(test) & {it.name for it in cx.iterators}:
        raise refusal  # what holds in all iterations of a loop whose counter chooses is that it has one of them
    sides = {True: node.iftrue, False: node.iffalse}
    found = granted_side(test, {x: partial(address_of, side, cx) for x, side in sides.items()}, cx)
    if found is None:
        raise refusal
    return found
