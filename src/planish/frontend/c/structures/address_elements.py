"""Addresses as elements, `table[i] = table[i - 1]`, `slots[i].start == NULL`: they are copied, cleared and compared as
the integers that they are to the machine; nothing is read where they lead.

Before: struct box **a;  a[i] = a[i + 1]      After: u64 a_addresses[?];  a_addresses[i] = a_addresses[i + 1]

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("int f(struct box **a) { return a[2] == 0; }")
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> cx = CTranslation(bound, "strict", frozenset(), lambda _: None)
>>> address_element(tree.ext[0].body.block_items[0].expr.left, cx).array
'a_addresses'
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.idioms.recast_views import element_of_root
from planish.frontend.c.translate.addresses import type_of_place
from planish.frontend.c.translate.state import Address, CTranslation, Refused
from planish.frontend.c.translate.subscripts import element_place, place_of
from planish.frontend.c.types.constants import is_null
from planish.frontend.c.types.declarations import ADDRESS, CPointer
from planish.ir.expr import Const, Expr, Load


def is_address_place(node: c_ast.Node, cx: CTranslation) -> bool:
    """Whether an lvalue is an address in memory, by its form."""
    read = isinstance(node, c_ast.ArrayRef | c_ast.StructRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*")
    return read and isinstance(type_of_place(node, cx), CPointer)


def address_place(node: c_ast.Node, cx: CTranslation) -> Load:
    """The element that is an address, as an integer. Raises Refused where it is not known to be one of a row."""
    place = place_of(node, cx)
    root = place.symbol
    if not root.rows:
        begins = len(place.index) == 1 and root not in cx.local and root.recast is None and root not in cx.flat
        if not begins or element_of_root(root) != place.target:
            raise Refused("scop-type", f"{root.name} holds elements that Planish does not handle", node)
        root = _view(root, cx)
        cx.layouts[f"sizeof(void *) == {ADDRESS.type.size}"] = None
    array, subscripts, type = element_place(Address(root, place.index, ADDRESS), node, cx)
    return Load(array, subscripts, type)


def address_element(node: c_ast.Node, cx: CTranslation) -> Load | None:
    """The element that is an address, as an integer; None where it is none, or the same one in all iterations."""
    if id(node) in cx.addresses or not is_address_place(node, cx):
        return None
    try:
        with cx.attempt():
            return address_place(node, cx)
    except Refused:
        return None


def address_value(node: c_ast.Node, cx: CTranslation) -> Expr:
    """An address that is stored: one that is read from memory, or none. Raises Refused."""
    match node:
        case _ if is_null(node):
            return Const(0, ADDRESS.type)
        case c_ast.Cast(expr=operand) if is_address_place(operand, cx):
            return address_place(operand, cx)
        case _ if is_address_place(node, cx):
            return address_place(node, cx)
        case _:
            raise Refused("scop-pointer", "an address used as a value", node)


def _view(root: Symbol, cx: CTranslation) -> Symbol:
    """The addresses in an array as integers."""
    known = f"({ADDRESS.spelling})"
    if known not in root.members:
        key = cx.fresh(f"{root.key}_addresses")
        text = f"((void **){root.name})"
        root.members[known] = Symbol(text, key, CPointer(ADDRESS), "global", whole=root, through=True, recast=0)
        cx.bound.symbols.append(root.members[known])
    return root.members[known]
