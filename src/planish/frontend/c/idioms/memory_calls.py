"""`memset`, `memcpy` and `memmove` as loops.

>>> repeated(0x3F, F32).value, repeated(-1, I16).value, repeated(257, U8).value
(0.7470588088035583, -1, 1)
"""

from __future__ import annotations

import math
import struct

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames
from planish.frontend.c.numbers.library_calls import BUILT_IN
from planish.frontend.c.translate.addresses import call_name, moved, row
from planish.frontend.c.translate.arithmetic import convert
from planish.frontend.c.translate.expressions import load, value_of
from planish.frontend.c.translate.state import Address, Again, CTranslation, Enclosing, NotIndex, Refused
from planish.frontend.c.translate.subscripts import address_of, element_place, index_of
from planish.frontend.c.types.declarations import CArray
from planish.ir.expr import Const, Expr, Load, Var, index
from planish.ir.index.polynomial import constant, exact_quotient
from planish.ir.nest import Assign, Block, For
from planish.ir.traverse import loads
from planish.ir.types import BOOL, F32, F64, I8, I16, I32, I64, INDEX, U8, U16, U32, U64, Type

BLOCK_FUNCTIONS = frozenset({"memset", "memcpy", "memmove"})
_FORMATS = {
    I8: "b", U8: "B", I16: "h", U16: "H", I32: "i", U32: "I", I64: "q", U64: "Q", F32: "f", F64: "d",
}  # fmt: skip
"""How numbers lie in memory."""


def is_block_call(node: c_ast.FuncCall, bound: BoundNames) -> bool:
    """Whether it is a call of the library's `memset`, `memcpy` or `memmove`."""
    known = call_name(node).removeprefix(BUILT_IN) in BLOCK_FUNCTIONS - bound.file.defined
    return known and len(_operands(node)) == 3


def run_block_call(node: c_ast.FuncCall, cx: CTranslation) -> None:
    """Translate a call as a loop over elements. Raises Refused where these cannot be told."""
    name = call_name(node).removeprefix(BUILT_IN)
    if cx.guards:
        raise Refused("scop-condition", f"a call of {name} under a condition that depends on data", node)
    target, value, size = _operands(node)
    to = _first(target, cx)
    start = _first(value, cx) if name != "memset" else None
    if name == "memmove" and start is not None and start.symbol is to.symbol:
        raise Refused("scop-call", "a call of memmove within one array, whose parts may overlap", node)
    filling = _filling(value, cx.element(to.symbol), node, cx) if start is None else None
    loop = Enclosing(cx.fresh("at"), index(0), _count(node, size, to, cx))
    cx.iterators.append(loop)
    at = Var(loop.name, INDEX)
    array, subscripts, type = element_place(moved(to, at), node, cx)
    stored = filling or load(moved(start or to, at), node, cx)
    if start is not None and cx.element(start.symbol) != type:
        raise Refused("scop-call", f"a call of {name} between arrays of different types", node)
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


def _filling(node: c_ast.Node, type: Type, call: c_ast.Node, cx: CTranslation) -> Expr:
    """The number all bytes of which are the value that `memset` is given; one that is read from memory is read once,
    before anything is stored."""
    if type.size == 1 and type != BOOL:
        byte = convert(value_of(node, cx), type)
        return Load(cx.temporary("filling", type, byte, call), (), type) if loads(byte) else byte
    try:
        value = constant(index_of(node, cx).expr)
    except NotIndex:
        value = None
    if value is None or (value and type not in _FORMATS):
        raise Refused("scop-call", "a call of memset with a value that is not known", node)
    if value and type.is_float and math.isnan(repeated(value, type).value):
        raise Refused("scop-call", "a call of memset that leaves no numbers", node)
    return repeated(value, type) if value else Const(0.0 if type.is_float else 0, type)


def repeated(byte: int, type: Type) -> Const:
    """The number all bytes of which are the last one of an integer."""
    (value,) = struct.unpack(f"={_FORMATS[type]}", bytes([byte & 255]) * type.size)
    return Const(value, type)
