"""Rows through pointers, `a[i][j]` of a `double **a` or `p->rows[y][x]`: where a nest reads one row alone, the address
of that row is read where the nest begins, once. Where it reads several, these are rows of one array, evenly spaced,
which is found out where the nest begins: else the original runs.

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

from planish.frontend.c.analysis.scope import Symbol, is_pointer
from planish.frontend.c.translate.addresses import row
from planish.frontend.c.translate.state import Address, Again, CTranslation, Refused
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, text_of
from planish.ir.expr import index
from planish.ir.index.polynomial import names, sub
from planish.ir.types import I64

_SPACED = "[spaced]"
"""The member that stands for all rows."""


def follow(place: Address, node: c_ast.Node, cx: CTranslation) -> Address:
    """The place of the element `node`, used as an address: where the address in it leads, or the row that it is. Raises
    Refused where it is not known to stay what it is."""
    if not isinstance(place.target, CPointer):
        return row(place, node)
    root = place.symbol
    if root in cx.flat:
        return _spaced(place, place.target, node, cx)
    if id(node) not in cx.addresses:
        if not isinstance(place.target.target, CScalar) or not is_pointer(root) or root in cx.local:
            return row(place, node)
        raise Again(flat=root)
    return Address(held_address(root, place.target, node, cx), (index(0),), place.target.target)


def held_address(root: Symbol, pointer: CPointer, node: c_ast.Node, cx: CTranslation) -> Symbol:
    """The address in an element or member `node`, behind `root`, as a pointer variable of its own that is read where
    the nest begins. Raises Refused where it is not there yet."""
    text = text_of(node)
    if root in cx.local:
        raise Refused("scop-pointer", f"{root.name}, an array of addresses that is declared in the nest", node)
    if f"&{text}" not in root.members:
        spelled = text if isinstance(node, c_ast.ArrayRef | c_ast.StructRef) else f"({text})"
        found = Symbol(spelled, cx.fresh(_stem(text)), pointer, "global", whole=root, through=True)
        root.members[text] = found
        # What the address leads to may be read under conditions alone; the address itself may not.
        root.members[f"&{text}"] = Symbol(f"&{text}", found.key, pointer, "global", whole=root, through=True)
        cx.bound.symbols.append(found)
    cx.reach(root.members[f"&{text}"], node)
    return root.members[text]


def is_row(symbol: Symbol) -> bool:
    """Whether a symbol is such a row."""
    if symbol.whole is None or not isinstance(symbol.ctype, CPointer):
        return False
    holds = symbol.whole.ctype
    holds = holds.target if isinstance(holds, CPointer) else holds
    while isinstance(holds, CArray):
        holds = holds.element
    return isinstance(holds, CPointer)


def _spaced(place: Address, pointer: CPointer, node: c_ast.Node, cx: CTranslation) -> Address:
    """The place of the first element of one of the rows that are evenly spaced. Raises Refused where the addresses of
    some of them might not be read by the original."""
    root, around = place.symbol, {it.name for it in cx.iterators}
    if len(place.index) != 1 or not isinstance(pointer.target, CScalar) or root in cx.local or root in cx.written:
        raise Refused("scop-pointer", "a pointer that is itself read from memory", node)
    if any(names(x) & around for it in cx.iterators for x in (it.lower, it.upper)):
        raise Refused("scop-pointer", f"rows through {root.name}, of which some may not be read", node)
    if _SPACED not in root.members:
        key = cx.fresh(f"{_stem(root.name)}_rows")
        apart = Symbol(f"planish_{key}", cx.fresh(f"{key}_apart"), CScalar(I64, "long"), "global", const=True)
        ctype = CPointer(CArray(pointer.target, cx.bound.mention(apart)))
        found = Symbol(f"{apart.name}_first", key, ctype, "global", whole=root, through=True, apart=apart)
        root.members[_SPACED] = found
        cx.bound.symbols += (apart, found)
    cx.reach(root.members[_SPACED], node)
    return Address(root.members[_SPACED], (place.index[0], index(0)), pointer.target)


def stay_in_row(address: Address, node: c_ast.Node, cx: CTranslation) -> None:
    """Ask that an element lies in its row, where rows are evenly spaced: these do not overlap. Raises Refused where
    that cannot be asked."""
    apart = address.symbol.apart
    if apart is None or cx.dry:
        return
    cx.used.setdefault(apart)
    column = address.index[1]
    low, high = cx.lowest(column), cx.highest(column)
    if low is None or high is None or not (cx.assume(low) and cx.assume(sub(sub(index(apart.key), high), index(1)))):
        raise Refused("scop-pointer", "an element of which it is not known in which row through pointers it is", node)


def _stem(text: str) -> str:
    """A name made of some text."""
    return re.sub(r"\W+", "_", text.replace("->", "_")).strip("_") or "row"
