"""Elements of one type read as another, `*(const uint32_t *)&data[4 * i]`: what lies there is an array of that type.

Before: const unsigned char *data;  *(const unsigned *)&data[8 + 4 * i]
After:  ((unsigned *)data)[2 + i], an array of its own

A `void *` that leads to a structure is one of that structure: `((struct part *)whole->content)->n`.

C leaves it open what is read at an address that is no multiple of an element's size: that it is one is asked where the
nest begins.

>>> from planish.ir.expr import Var
>>> from planish.ir.types import INDEX
>>> split_bytes(add(index(10), mul(index(4), Var("i", INDEX))), 4)
(Binary(op='add', left=Var(name='i', type=Type(kind='int', bits=64)), right=Const(value=2, type=Type(kind='int', \
bits=64))), 2)
"""

from __future__ import annotations

import re

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.translate.state import Address, CTranslation, Refused
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, CUnknown, CVoid
from planish.frontend.c.types.type_names import spell
from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, build, constant, mul, polynomial


def recast(inner: Address, target: CPointer, node: c_ast.Node, cx: CTranslation) -> Address:
    """The address as one of elements of another type. Raises Refused where these do not lie in rows of their own."""
    root, old, new = inner.symbol, inner.target, target.target
    if old == new:
        return inner
    if isinstance(new, CVoid):
        return _without_type(inner, node)
    if isinstance(new, CUnknown):
        return _as_structure(inner, target, node, cx)
    if isinstance(old, CVoid):
        return _with_type(inner, target, node, cx)
    row = isinstance(root.ctype, CPointer | CArray) and len(inner.index) == 1 and root not in cx.local
    if not (row and isinstance(old, CScalar) and isinstance(new, CScalar) and new.spelling) or root.recast is not None:
        raise Refused("scop-cast", "a conversion between pointers to different types", node)
    found = split_bytes(mul(inner.index[0], index(old.type.size)), new.type.size)
    if found is None:
        raise Refused("scop-cast", f"elements of {root.name} that are read as others, between these", node)
    at, offset = found
    return Address(_view(root, new, offset, cx), (at,), new)


def _view(root: Symbol, new: CScalar, offset: int, cx: CTranslation) -> Symbol:
    """The array of elements of another type that begins so many bytes behind an address."""
    known = f"({new.spelling}){offset}"
    if known not in root.members:
        start = root.name if not offset else f"((char *){root.name} + {offset})"
        key = cx.fresh(re.sub(r"\W+", "_", f"{root.key}_as_{new.spelling}"))
        text = f"(({new.spelling} *){start})"
        root.members[known] = Symbol(text, key, CPointer(new), "global", whole=root, through=True, recast=offset)
        cx.bound.symbols.append(root.members[known])
    view = root.members[known]
    if new.type.size > 1:
        cx.layouts[f"(uintptr_t){view.name} % {new.type.size} == 0"] = None
    return view


def _as_structure(inner: Address, target: CPointer, node: c_ast.Node, cx: CTranslation) -> Address:
    """The structure that a `void *`, or the address of another one, leads to: `((struct part *)whole->content)->n`. The
    nest does not change that address."""
    root, old, new = inner.symbol, inner.target, target.target
    held = element_of_root(root)
    if isinstance(old, CVoid) and held == new:
        return Address(root, inner.index, new)
    begins = len(inner.index) == 1 and constant(inner.index[0]) == 0 and root.recast is None and held is not None
    spelled = _spelled_pointer(node, new)
    if not (begins and spelled and isinstance(root.ctype, CPointer) and isinstance(held, CVoid | CUnknown)):
        raise Refused("scop-cast", "a conversion between pointers to different types", node)
    if root in cx.local or root in cx.written or not isinstance(new, CUnknown) or new.record is None:
        raise Refused("scop-cast", "a conversion between pointers to different types", node)
    known = f"({spelled})"
    if known not in root.members:
        text = f"(({spelled}){root.name})"
        key = cx.fresh(re.sub(r"\W+", "_", f"{root.key}_as_{spelled}").strip("_"))
        root.members[known] = Symbol(text, key, CPointer(new), "global", whole=root, through=True, recast=0)
        cx.bound.symbols.append(root.members[known])
    return Address(root.members[known], (index(0),), new)


def _spelled_pointer(node: c_ast.Node, new: CType) -> str:
    """What C calls an address that is converted to one of a structure; "" where it has no name for that."""
    match node:
        case c_ast.Cast(to_type=c_ast.Typename(type=found)) | c_ast.Decl(type=found):
            return spell(found)
        case _:
            pass
    named = isinstance(new, CUnknown) and re.fullmatch(r"struct \w+", new.text)
    return f"{new.text} *" if named and isinstance(new, CUnknown) else ""


def _without_type(inner: Address, node: c_ast.Node) -> Address:
    """The address of an element as a `void *`, of which the array is known, and what it holds."""
    if len(inner.index) != 1 or inner.target != element_of_root(inner.symbol):
        raise Refused("scop-cast", f"a part of {inner.symbol.name} as an address of nothing known", node)
    return Address(inner.symbol, inner.index, CVoid())


def _with_type(inner: Address, target: CPointer, node: c_ast.Node, cx: CTranslation) -> Address:
    """What a `void *` leads to: elements of the array that it was made of, or of a parameter of that type."""
    root, new = inner.symbol, target.target
    held = element_of_root(root)
    if held is not None and not isinstance(held, CVoid):
        return recast(Address(root, inner.index, held), target, node, cx)
    begins = len(inner.index) == 1 and constant(inner.index[0]) == 0 and root not in cx.local
    if not (begins and isinstance(root.ctype, CPointer) and isinstance(new, CScalar) and new.spelling):
        raise Refused("scop-cast", "a conversion between pointers to different types", node)
    return Address(_view(root, new, 0, cx), (index(0),), new)


def element_of_root(root: Symbol) -> CType | None:
    """The type of the elements of a symbol that is an array or leads to one."""
    match root.ctype:
        case CPointer(target=element) | CArray(element=element):
            return element
        case _:
            return None


def split_bytes(expr: Expr, size: int) -> tuple[Expr, int] | None:
    """Of a number of bytes, the whole elements in it and the bytes left over; None where these are no constant."""
    whole: Expr = index(0)
    rest = 0
    for monomial, factor in polynomial(expr).items():
        if factor % size and monomial:
            return None
        whole = add(whole, mul(index(factor // size), build({monomial: 1})))
        rest += factor % size
    return whole, rest
