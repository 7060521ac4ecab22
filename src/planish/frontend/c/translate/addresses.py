"""Addresses of elements: which expressions are addresses, steps from one element to others, and rows of arrays.

>>> from planish.frontend.c.analysis.scope import Symbol
>>> from planish.frontend.c.types.declarations import CVoid
>>> from planish.ir.expr import index
>>> symbol = Symbol("a", "a", CVoid(), "parameter")
>>> moved(Address(symbol, (index(2),), CVoid()), index(3)).index[0].value
5
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.translate.state import Address, CTranslation, NotIndex, Refused
from planish.frontend.c.types.declarations import CArray, CPointer, resolve
from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, same, sub


def is_address(node: c_ast.Node, cx: CTranslation) -> bool:
    """Whether an expression is a pointer or an array by its form."""
    match node:
        case c_ast.ID():
            symbol = cx.bound.symbol(node)
            return symbol is not None and isinstance(symbol.ctype, (CPointer, CArray))
        case c_ast.UnaryOp(op="&"):
            return True
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=operand):
            return is_address(operand, cx)
        case c_ast.BinaryOp(op="+" | "-", left=left, right=right):
            return is_address(left, cx) != is_address(right, cx)
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
            depth, base = 0, node
            while isinstance(base, c_ast.ArrayRef) or (isinstance(base, c_ast.UnaryOp) and base.op == "*"):
                base, depth = base.name if isinstance(base, c_ast.ArrayRef) else base.expr, depth + 1
            symbol = cx.bound.symbol(base) if isinstance(base, c_ast.ID) else None
            ctype = symbol.ctype if symbol is not None else None
            for _ in range(depth):
                ctype = ctype.target if isinstance(ctype, CPointer) else getattr(ctype, "element", None)
            return isinstance(ctype, (CPointer, CArray))
        case c_ast.Cast(to_type=to_type):
            return isinstance(resolve(to_type, cx.bound.typedefs), CPointer)
        case _:
            return False


def distance(a: Address, b: Address, node: c_ast.Node) -> Expr:
    """The number of elements between two addresses in one row of one array. Raises NotIndex otherwise."""
    if a.symbol is not b.symbol or len(a.index) != len(b.index):
        raise NotIndex("the difference of pointers into different arrays", node, "scop-pointer")
    if not all(same(x, y) for x, y in zip(a.index[:-1], b.index[:-1], strict=True)):
        raise NotIndex("the difference of pointers into different rows", node, "scop-pointer")
    return sub(a.index[-1], b.index[-1])


def moved(address: Address, offset: Expr) -> Address:
    """The address `offset` elements further."""
    return Address(address.symbol, (*address.index[:-1], add(address.index[-1], offset)), address.target)


def row(address: Address, node: c_ast.Node) -> Address:
    """The thing at an address, used as an address: an array stands for its first element."""
    match address.target:
        case CArray(element=element):
            return Address(address.symbol, (*address.index, index(0)), element)
        case CPointer():
            raise Refused("scop-pointer", "a pointer that is itself read from memory", node)
        case _:
            raise Refused("scop-pointer", "an element used as an array", node)


def call_name(node: c_ast.FuncCall) -> str:
    """The name of the called function, for messages."""
    return str(node.name.name) if isinstance(node.name, c_ast.ID) else "a function pointer"
