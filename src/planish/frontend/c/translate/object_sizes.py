"""What `sizeof` gives: the bytes of numbers, addresses, arrays of known extents and structures.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "struct s { int n; double x; }; int f(void) { float a[3][4]; return sizeof a / sizeof(struct s); }"
>>> tree = CParser().parse(text)
>>> bound = bind_function(tree.ext[1], bind_file(tree))
>>> cx = CTranslation(bound, "strict", frozenset(), lambda _: None)
>>> value = tree.ext[1].body.block_items[1].expr
>>> [size_of(x.expr, cx, None) for x in (value.left, value.right)], list(cx.layouts)
([48, 16], ['sizeof(struct s) == 16'])
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.translate.state import Address, CTranslation, NotIndex, Refused
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, CUnknown, resolve, text_of
from planish.frontend.c.types.layouts import extent_of

ReadPlace = Callable[[c_ast.Node, CTranslation], Address]


def size_of(operand: c_ast.Node, cx: CTranslation, place_of: ReadPlace | None) -> int:
    """The bytes of what `sizeof` is asked of. Of a structure, a condition in C asks whether it is as large. Raises
    NotIndex where that is not known."""
    ctype = _type_of(operand, cx, place_of)
    file = cx.bound.file
    found = None if ctype is None else extent_of(ctype, file.records, cx.bound.typedefs, cx.bound.enumerator)
    if ctype is None or found is None:
        raise NotIndex("sizeof of something that is not a number", operand)
    if _holds_records(ctype):
        _ask(operand, found[0], cx)
    return found[0]


def _type_of(operand: c_ast.Node, cx: CTranslation, place_of: ReadPlace | None) -> CType | None:
    match operand:
        case c_ast.Typename():
            return resolve(operand, cx.bound.typedefs)
        case c_ast.ID():
            symbol = cx.bound.symbol(operand)
            return None if symbol is None else _counted(symbol)
        case c_ast.ArrayRef() | c_ast.UnaryOp() | c_ast.StructRef() if place_of is not None:
            # Nothing of it is evaluated: `sizeof *p` says of what p points to.
            with cx.trial():
                try:
                    return place_of(operand, cx).target
                except (Refused, NotIndex):
                    return None
        case _:
            return None


def _counted(symbol: Symbol) -> CType:
    """The type of a variable: an array without an extent has as many elements as it is given at first."""
    match symbol.ctype:
        case CArray(element=element, extent=None) if (count := listed_elements(symbol)) is not None:
            return CArray(element, c_ast.Constant("int", str(count)))
        case _:
            return symbol.ctype


def listed_elements(symbol: Symbol) -> int | None:
    """How many elements an array is given at first, where each part of the list is one: an element that consists of
    others has braces of its own, and a string is one address or one row of characters."""
    match symbol.ctype, symbol.init:
        case CArray(element=element), c_ast.InitList(exprs=listed):
            return len(listed) if all(_is_element(x, element) for x in listed) else None
        case _:
            return None


def _is_element(node: c_ast.Node, element: CType) -> bool:
    string = isinstance(node, c_ast.Constant) and node.type.endswith("string")
    match element:
        case CScalar():
            return not string and not isinstance(node, c_ast.InitList | c_ast.NamedInitializer)
        case CPointer():
            return not isinstance(node, c_ast.InitList | c_ast.NamedInitializer)
        case CArray(element=CScalar()):
            return string or isinstance(node, c_ast.InitList)
        case _:
            return isinstance(node, c_ast.InitList)


def _holds_records(ctype: CType) -> bool:
    while isinstance(ctype, CArray):
        ctype = ctype.element
    return not isinstance(ctype, CPointer) and isinstance(ctype, CUnknown)


def _ask(operand: c_ast.Node, size: int, cx: CTranslation) -> None:
    """Have C ask for a size where the nest begins. Raises NotIndex where the names mean something else there."""
    named = {cx.bound.symbol(x) for x in walk_tree(operand) if isinstance(x, c_ast.ID)}
    if cx.calls or named & cx.local:
        raise NotIndex("sizeof of a structure, whose name means nothing in front of the loop", operand)
    cx.layouts |= {f"sizeof({text_of(operand)}) == {size}": None}
