"""Elements of one type read as another, `*(const uint32_t *)&data[4 * i]`: what lies there is an array of that type.

Before: const unsigned char *data;  *(const unsigned *)&data[8 + 4 * i]
After:  ((unsigned *)data)[2 + i], an array of its own

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
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar
from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, build, mul, polynomial


def recast(inner: Address, target: CPointer, node: c_ast.Node, cx: CTranslation) -> Address:
    """The address as one of elements of another type. Raises Refused where these do not lie in rows of their own."""
    root, old, new = inner.symbol, inner.target, target.target
    if old == new:
        return inner
    row = isinstance(root.ctype, CPointer | CArray) and len(inner.index) == 1 and root not in cx.local
    if not (row and isinstance(old, CScalar) and isinstance(new, CScalar) and new.spelling) or root.recast is not None:
        raise Refused("scop-cast", "a conversion between pointers to different types", node)
    found = split_bytes(mul(inner.index[0], index(old.type.size)), new.type.size)
    if found is None:
        raise Refused("scop-cast", f"elements of {root.name} that are read as others, between these", node)
    at, offset = found
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
    return Address(view, (at,), new)


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
