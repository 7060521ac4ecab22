"""`memset` to zero and `memcpy` as loops.

>>> sorted(BLOCK_FUNCTIONS)
['memcpy', 'memset']
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.translate.addresses import call_name, moved, row
from planish.frontend.c.translate.expressions import load
from planish.frontend.c.translate.state import Address, Again, CTranslation, Enclosing, NotIndex, Refused
from planish.frontend.c.translate.subscripts import address_of, element_place, index_of
from planish.frontend.c.types.declarations import CArray
from planish.ir.expr import Const, Expr, Var, index
from planish.ir.index.polynomial import exact_quotient
from planish.ir.nest import Assign, Block, For
from planish.ir.types import INDEX

BLOCK_FUNCTIONS = frozenset({"memset", "memcpy"})


def is_block_call(node: c_ast.FuncCall, cx: CTranslation) -> bool:
    """Whether it is a call of the library's `memset` or `memcpy`."""
    return call_name(node) in BLOCK_FUNCTIONS - cx.bound.file.defined and len(_operands(node)) == 3


def run_block_call(node: c_ast.FuncCall, cx: CTranslation) -> None:
    """Translate a call as a loop over elements. Raises Refused where these cannot be told."""
    name = call_name(node)
    if cx.guards:
        raise Refused("scop-condition", f"a call of {name} under a condition that depends on data", node)
    target, value, size = _operands(node)
    to = _first(target, cx)
    start = _first(value, cx) if name == "memcpy" else None
    loop = Enclosing(cx.fresh("at"), index(0), _count(node, size, to, cx))
    cx.iterators.append(loop)
    at = Var(loop.name, INDEX)
    array, subscripts, type = element_place(moved(to, at), node, cx)
    if start is not None:
        stored: Expr = load(moved(start, at), node, cx)
        if cx.element(start.symbol) != type:
            raise Refused("scop-call", "a call of memcpy between arrays of different types", node)
    else:
        if not _is_zero(value, cx):
            raise Refused("scop-call", "a call of memset with something else than 0", node)
        stored = Const(0.0 if type.is_float else 0, type)
    cx.iterators.pop()
    body = Block((Assign(array, subscripts, stored, cx.span_of(node)),))
    cx.emit(For(loop.name, loop.lower, loop.upper, 1, body, span=cx.span_of(node)))


def _operands(node: c_ast.FuncCall) -> list[c_ast.Node]:
    return list(node.args.exprs) if node.args is not None else []


def _first(node: c_ast.Node, cx: CTranslation) -> Address:
    """The first element at an address; what holds rows is seen as one row, since all of them may be meant."""
    address = address_of(node, cx)
    if not isinstance(address.target, CArray):
        return address
    if address.symbol not in cx.flat:
        raise Again(flat=address.symbol)
    while isinstance(address.target, CArray):
        address = row(address, node)
    return address


def _count(node: c_ast.FuncCall, size: c_ast.Node, to: Address, cx: CTranslation) -> Expr:
    """How many elements a number of bytes is."""
    try:
        count = exact_quotient(index_of(size, cx).expr, index(cx.element(to.symbol).size))
    except NotIndex as reason:
        raise reason.refusal() from None
    if count is None:
        raise Refused("scop-call", f"a call of {call_name(node)} for a part of an element", node)
    return count


def _is_zero(node: c_ast.Node, cx: CTranslation) -> bool:
    try:
        return index_of(node, cx).expr == index(0)
    except NotIndex:
        return False
