"""Addresses of elements: which expressions are addresses, steps from one element to others, and rows of arrays.

>>> from planish.frontend.c.analysis.scope import Symbol
>>> from planish.frontend.c.types.declarations import CVoid
>>> from planish.ir.expr import index
>>> symbol = Symbol("a", "a", CUnknown("struct s"), "parameter")
>>> moved(Address(symbol, (index(2),), symbol.ctype), index(3)).index[0].value
5
"""

from __future__ import annotations

import re

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.analysis.trip_counts import Distance
from planish.frontend.c.translate.state import Address, CTranslation, NotIndex, Refused
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, CUnknown, CVoid, resolve, scalar_of
from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, constant, neg, same, sub


def no_array(symbol: Symbol, node: c_ast.Node) -> Refused:
    """That a variable leads to no elements."""
    if isinstance(symbol.ctype, CUnknown):
        return Refused("scop-type", f"{symbol.name} {symbol.ctype.told}", node)
    return Refused("scop-pointer", f"{symbol.name} is not an array", node)


def no_number(address: Address, node: c_ast.Node) -> Refused:
    """That the elements at an address are no numbers."""
    what = f": it {address.target.told}" if isinstance(address.target, CUnknown) else ""
    return Refused("scop-type", f"an element of {address.symbol.name} is no number that Planish handles{what}", node)


def is_address(node: c_ast.Node, cx: CTranslation) -> bool:
    """Whether an expression is a pointer or an array by its form."""
    match node:
        case c_ast.ID():
            symbol = cx.bound.symbol(node)
            return symbol is not None and _leads(symbol.ctype)
        case c_ast.UnaryOp(op="&"):
            return True
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=operand):
            return is_address(operand, cx)
        case c_ast.BinaryOp(op="+" | "-", left=left, right=right):
            return is_address(left, cx) != is_address(right, cx)
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*") | c_ast.StructRef():
            return _leads(type_of_place(node, cx))
        case c_ast.Assignment(lvalue=target):
            return is_address(target, cx)
        case c_ast.TernaryOp(iftrue=then, iffalse=otherwise):
            return is_address(then, cx) or is_address(otherwise, cx)
        case c_ast.Cast(to_type=to_type):
            return isinstance(resolve(to_type, cx.bound.typedefs), CPointer)
        case _:
            return False


def _leads(ctype: CType | None) -> bool:
    """Whether something of a type is used as an address."""
    return isinstance(ctype, CPointer) or (isinstance(ctype, CArray) and not ctype.complex)


def type_of_place(node: c_ast.Node, cx: CTranslation) -> CType | None:
    """The type of what an lvalue names, by its form; None where that is not known."""
    match node:
        case c_ast.ID():
            symbol = cx.bound.symbol(node)
            return None if symbol is None else symbol.ctype
        case c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(op="*", expr=inner):
            return _behind(type_of_place(inner, cx))
        case c_ast.BinaryOp(op="+" | "-", left=inner) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=inner):
            return type_of_place(inner, cx)
        case c_ast.TernaryOp(iftrue=then, iffalse=otherwise):
            return type_of_place(then if is_address(then, cx) else otherwise, cx)
        case c_ast.UnaryOp(op="&", expr=inner):
            target = type_of_place(inner, cx)
            return None if target is None else CPointer(target)
        case c_ast.Cast(to_type=to_type):
            return resolve(to_type, cx.bound.typedefs)
        case c_ast.StructRef(name=inner, type=how):
            whole = type_of_place(inner, cx)
            whole = _behind(whole) if how == "->" else whole
            if not isinstance(whole, CUnknown) or whole.record is None:
                return None
            found = cx.bound.file.records.member(whole.record, node.field.name)
            return None if found is None else resolve(found.type, cx.bound.typedefs)
        case _:
            return None


def _behind(ctype: CType | None) -> CType | None:
    """The type of an element."""
    match ctype:
        case CPointer(target=inner) | CArray(element=inner):
            return inner
        case _:
            return None


def distance(a: Address, b: Address, node: c_ast.Node, cx: CTranslation, back: bool = False) -> Expr:
    """The number of elements from `b` to `a` in one row of one array, or between what two pointer variables led to
    where the nest began: counted from that of `b`, or `back` from that of `a`, if not known yet. Raises NotIndex
    otherwise."""
    if isinstance(a.target, CVoid) or isinstance(b.target, CVoid):
        raise NotIndex("the difference of pointers to nothing known", node, "scop-pointer")
    if a.symbol is not b.symbol and len(a.index) == len(b.index) == 1 and _may_be_apart(a, b, cx):
        cx.used.setdefault(a.symbol)
        cx.used.setdefault(b.symbol)
        return add(_apart(a.symbol, b.symbol, back, cx), sub(a.index[0], b.index[0]))
    if a.symbol is not b.symbol or len(a.index) != len(b.index):
        raise NotIndex("the difference of pointers into different arrays", node, "scop-pointer")
    if not all(same(x, y) for x, y in zip(a.index[:-1], b.index[:-1], strict=True)):
        raise NotIndex("the difference of pointers into different rows", node, "scop-pointer")
    return sub(a.index[-1], b.index[-1])


def _may_be_apart(a: Address, b: Address, cx: CTranslation) -> bool:
    """Whether the distance of what two pointer variables lead to is known where the nest begins."""
    alike = a.target == b.target and isinstance(a.target, CScalar | CUnknown)
    return alike and all(isinstance(x.symbol.ctype, CPointer) and x.symbol not in cx.local for x in (a, b))


def _apart(a: Symbol, b: Symbol, back: bool, cx: CTranslation) -> Expr:
    """The elements from where `b` led to where `a` led, as a size or its negative."""
    ahead, behind = Distance(b.name, a.name), Distance(a.name, b.name)
    turned = behind in cx.quotients.values() or (back and ahead not in cx.quotients.values())
    found, stem = (behind, f"{a.key}_to_{b.key}") if turned else (ahead, f"{b.key}_to_{a.key}")
    scalar = scalar_of(a.ctype)
    if scalar is None or scalar.type.size > 1:
        cx.layouts[found.condition] = None
    size = index(cx.name_quotient(stem, found))
    return neg(size) if turned else size


def moved(address: Address, offset: Expr) -> Address:
    """The address `offset` elements further. Raises Refused where it is not known what the elements are."""
    if isinstance(address.target, CVoid) and constant(offset) != 0:
        raise Refused("scop-pointer", f"bytes behind {address.symbol.name}, a pointer to nothing known")
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


def form_of(node: c_ast.Node) -> str:
    """What a construct is called: the parser's name of it in words.

    >>> form_of(c_ast.StructRef(None, ".", None))
    'struct ref'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()


def call_name(node: c_ast.FuncCall) -> str:
    """The name of the called function, for messages."""
    return str(node.name.name) if isinstance(node.name, c_ast.ID) else "a function pointer"
