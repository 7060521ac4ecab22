"""Rows through pointers, `a[i][j]` of a `double **a` or `p->rows[y][x]`: where a nest reads one row alone, the address
of that row is read where the nest begins, once.

A row becomes a symbol of its own, whose name is its text in C. No nest stores addresses; that a store of characters
does not change them is a condition of the call.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("double f(int i, double **a) { return a[i][0]; }")
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> row = tree.ext[0].body.block_items[0].expr.name
>>> cx = CTranslation(bound, "strict", frozenset(), lambda _: None, addresses=frozenset({id(row)}))
>>> rows = cx.value(bound.parameters[1])
>>> follow(rows, row, cx).symbol.name
'a[i]'
"""

from __future__ import annotations

import re

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.translate.addresses import row
from planish.frontend.c.translate.state import Address, CTranslation, Refused
from planish.frontend.c.types.declarations import CArray, CPointer
from planish.ir.expr import index


def follow(place: Address, node: c_ast.Node, cx: CTranslation) -> Address:
    """The place of the element `node`, used as an address: where the address in it leads, or the row that it is. Raises
    Refused where it is not known to stay what it is."""
    if not isinstance(place.target, CPointer) or id(node) not in cx.addresses:
        return row(place, node)
    root, text = place.symbol, str(CGenerator().visit(node))
    if root in cx.local:
        raise Refused("scop-pointer", f"{root.name}, an array of addresses that is declared in the nest", node)
    if f"&{text}" not in root.members:
        spelled = text if isinstance(node, c_ast.ArrayRef) else f"({text})"
        found = Symbol(spelled, cx.fresh(_stem(text)), place.target, "global", whole=root, through=True)
        root.members[text] = found
        # What the address leads to may be read under conditions alone; the address itself may not.
        root.members[f"&{text}"] = Symbol(f"&{text}", found.key, place.target, "global", whole=root, through=True)
        cx.bound.symbols.append(found)
    cx.reach(root.members[f"&{text}"], node)
    return Address(root.members[text], (index(0),), place.target.target)


def is_row(symbol: Symbol) -> bool:
    """Whether a symbol is such a row."""
    if symbol.whole is None or not isinstance(symbol.ctype, CPointer):
        return False
    holds = symbol.whole.ctype
    holds = holds.target if isinstance(holds, CPointer) else holds
    while isinstance(holds, CArray):
        holds = holds.element
    return isinstance(holds, CPointer)


def _stem(text: str) -> str:
    """A name made of some text."""
    return re.sub(r"\W+", "_", text.replace("->", "_")).strip("_") or "row"
