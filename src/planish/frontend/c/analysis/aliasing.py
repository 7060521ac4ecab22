"""Alias analysis: the variables that a store through a pointer may change, by C's type rules and the known origins of
addresses.

>>> from planish.ir.types import F32, I32, U8, U32
>>> changes(CScalar(U8), CScalar(F32, "float")), changes(CScalar(U32, "int"), CScalar(I32, "int"))
(True, True)
>>> changes(CScalar(I32, "int"), CPointer(CScalar(F32, "float")))
False
>>> changes(ADDRESS, CPointer(CScalar(F32, "float")))
True
>>> sorted(find_exposed("int a, b; int *f(void) { return b && a ? &(b) : 0; }"))
['b']
"""

from __future__ import annotations

import re

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.types.declarations import ADDRESS, CPointer, CScalar, CType

_ADDRESS = re.compile(r"(?<!&)&(?!&)[\s(]*([A-Za-z_]\w*)")


def find_exposed(text: str) -> frozenset[str]:
    """The names in preprocessed C of which an address may be taken; names behind an "and" of bits are among them."""
    return frozenset(_ADDRESS.findall(text))


def changes(stored: CScalar, held: CType) -> bool:
    """Whether storing an element of one type may change a variable of another: characters are a part of everything,
    a number may stand for itself with or without a sign, and an address for any other."""
    if isinstance(held, CPointer):
        return stored.family in ("", ADDRESS.family)
    return not stored.family or (isinstance(held, CScalar) and stored.family == held.family)


def is_reached(symbol: Symbol, exposed: frozenset[str]) -> bool:
    """Whether a pointer may hold the address of a variable; `exposed`: the file's names of which one may be taken."""
    if symbol.through:
        return True
    if symbol.storage == "global" and symbol.static:
        return symbol.name in exposed
    return symbol.address_taken or symbol.storage == "global"


def is_alone(symbol: Symbol) -> bool:
    """Whether what a pointer leads to is changed through it alone."""
    restrict = isinstance(symbol.ctype, CPointer) and symbol.ctype.restrict
    return restrict and symbol.storage == "parameter" and not symbol.reassigned
