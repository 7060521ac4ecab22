"""Elements of constant arrays whose subscripts are numbers: the numbers that their initial values say.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.ir.text.printer import print_stmt
>>> tables = "static const int w[3] = {1, 2, 1}; static const float g[2][2] = {{0.5f}, {1, 2}};"
>>> loop = "for (int i = 0; i < n; i++) x[i] = w[1] * x[i] + g[0][1] + g[1][i & 1];"
>>> text = f"{tables} void f(int n, float *x) {{ {loop} }}"
>>> region, = read_c(Source("f.c", text)).functions[0].regions
>>> print(print_stmt(region.kernel.body.body[0].body.body[0]))
x[i] = 2.0:f32 * x[i] + 0.0:f32 + g[1, i % 2]
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.translate.arithmetic import convert
from planish.frontend.c.translate.state import Address, Again, CTranslation, NotIndex, Refused
from planish.frontend.c.types.declarations import CArray, CScalar, CType
from planish.ir.expr import Const, Expr
from planish.ir.index.polynomial import constant


def constant_element(
    address: Address, cx: CTranslation, value_of: Callable[[c_ast.Node, CTranslation], Expr]
) -> Const | None:
    """What an element holds in every call; None where that may change, or is not said by a number."""
    symbol = address.symbol
    lasting = symbol.storage == "global" or symbol.static
    if not (symbol.const and lasting and isinstance(symbol.init, c_ast.InitList)):
        return None
    numbers = [constant(x) for x in address.index]
    if not isinstance(address.target, CScalar) or any(x is None for x in numbers):
        return None
    item = _item(symbol.init, symbol.ctype, [x for x in numbers if x is not None])
    if item is None:
        return None
    if isinstance(item, _Missing):
        return Const(0.0 if address.target.type.is_float else 0, address.target.type)
    try:
        value = convert(value_of(item, cx), address.target.type)
    except (Refused, NotIndex, Again):
        return None
    return value if isinstance(value, Const) else None


def table_number(
    node: c_ast.ArrayRef, cx: CTranslation, place_of: Callable[[c_ast.Node, CTranslation], Address],
    number_of: Callable[[c_ast.Node, CTranslation], Expr],
) -> Const | None:  # fmt: skip
    """The integer that a constant table holds at a subscript that is a number; None where it is none, or not known."""
    try:
        with cx.trial():
            found = constant_element(place_of(node, cx), cx, number_of)
    except (Refused, NotIndex):
        return None
    return found if found is not None and found.type.is_int else None


def constant_values(
    symbol: Symbol, cx: CTranslation, value_of: Callable[[c_ast.Node, CTranslation], Expr]
) -> tuple[float, ...]:
    """The numbers that a constant array of one dimension holds in every call; none where they may change, or are not
    said one by one."""
    lasting = symbol.storage == "global" or symbol.static
    if not (symbol.const and lasting and isinstance(symbol.init, c_ast.InitList)):
        return ()
    if not isinstance(symbol.ctype, CArray) or not isinstance(symbol.ctype.element, CScalar):
        return ()
    found: list[float] = []
    for x in symbol.init.exprs:
        try:
            value = convert(value_of(x, cx), symbol.ctype.element.type)
        except (Refused, NotIndex, Again):
            return ()
        if not isinstance(value, Const):
            return ()
        found.append(value.value)
    return tuple(found)


class _Missing:
    """An element that no initial value is given for: a zero."""


def _item(init: c_ast.Node, ctype: CType, at: list[int]) -> c_ast.Node | _Missing | None:
    """The initial value of an element; None where it cannot be told which it is."""
    for number in at:
        if not isinstance(ctype, CArray) or not isinstance(init, c_ast.InitList) or number < 0:
            return None
        inner, nested = ctype.element, [isinstance(x, c_ast.InitList) for x in init.exprs]
        if any(isinstance(x, c_ast.NamedInitializer) for x in init.exprs) or any(nested) != isinstance(inner, CArray):
            return None
        if isinstance(inner, CArray) and not all(nested):
            return None
        if number >= len(init.exprs):
            return _Missing() if ctype.extent is not None else None
        init, ctype = init.exprs[number], inner
    return None if isinstance(init, c_ast.InitList) else init
