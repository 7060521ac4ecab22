"""Inlining: a call of a function of the file becomes its body, whose variables are apart from the caller's.

Numbers are bound to parameters as expressions, or kept in a local cell where they are long and used often; integers on
which subscripts and loops depend as index expressions; addresses as places in the caller's arrays.

>>> from planish.ir.types import I32
>>> weigh(Const(1, I32))
1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pycparser import c_ast

from planish.frontend.c.analysis.callees import Frame, Frames
from planish.frontend.c.analysis.early_return import NotSingleExit
from planish.frontend.c.analysis.escape import called_name
from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer
from planish.frontend.c.analysis.steady_reads import computed_from_data
from planish.frontend.c.assumed.granted_conditions import NOWHERE, is_nowhere
from planish.frontend.c.idioms.recast_views import recast
from planish.frontend.c.translate.arithmetic import convert, plain_index
from planish.frontend.c.translate.assignments import start_cell
from planish.frontend.c.translate.expressions import value_of
from planish.frontend.c.translate.state import (
    CTranslation,
    KnownInteger,
    KnownNumber,
    NotIndex,
    Refused,
    Value,
)
from planish.frontend.c.translate.subscripts import address_of, fitted, index_of
from planish.frontend.c.types.constants import is_null
from planish.frontend.c.types.declarations import CPointer, CScalar, CVoid, resolve
from planish.frontend.c.types.records import as_written
from planish.ir.expr import Cast, Const, Expr, Var
from planish.ir.traverse import loads, walk_expr
from planish.ir.types import I32, Type

Read = TypeVar("Read")
_DEEPEST = 40
"""Calls within calls that are inlined."""
_LARGEST = 32
"""Nodes of an expression, times how often it is used: more of them are kept in a local cell."""


def inline_call(
    node: c_ast.FuncCall,
    cx: CTranslation,
    read: Callable[[c_ast.Node | None, CTranslation], Read],
    *,
    frames: Frames,
) -> Read:
    """Translate the body of the function that is called, and `read` what it returns (None: nothing), within it.

    Raises Refused where the body is no part of a kernel, what `read` raises, and Again.
    """
    name = called_name(node)
    frame = _enter(node, name, frames, cx)
    bindings = [_bind(symbol, argument, frame, cx) for symbol, argument in _arguments(node, frame)]
    cx.written |= frame.written
    data = [symbol for symbol, value in bindings if isinstance(value, KnownNumber) and _is_data(value.expr)]
    parts = [*frame.exit.statements, *([frame.exit.value] if frame.exit.value is not None else [])]
    cx.cells |= computed_from_data(parts, frame.bound, data)
    if frame.exit.result is not None and data:
        cx.cells |= {x for x in [frame.bound.symbol(frame.exit.result)] if x is not None}
    values, caller, whole = set(cx.values), cx.bound, cx.whole
    cx.bound = frame.bound
    cx.calls.append((id(node), name))
    try:
        for symbol, value in bindings:
            _give(symbol, value, frame, node, cx)
        for stmt in frame.exit.statements:
            cx.execute(stmt, cx)
        cx.whole = frame.exit.value if whole is node else None
        return read(frame.exit.value, cx)
    except (Refused, NotIndex) as reason:
        if not reason.within and not _is_shown(reason.node):
            reason.node = node
        if not reason.within:
            reason.message += f" (in {as_written(name)}, which is called in line {_line(node)})"
            reason.within = True
        raise
    finally:
        cx.calls.pop()
        cx.bound, cx.whole = caller, whole
        # What the caller's own variables hold may have changed; those of what is called are gone.
        own = {*frame.bound.by_node.values(), *frame.bound.parameters} - values
        cx.values = {s: v for s, v in cx.values.items() if s not in own or s.storage == "global"}


def _is_shown(node: c_ast.Node | None) -> bool:
    return node is not None and node.coord is not None


def _line(node: c_ast.Node) -> str:
    return str(node.coord.line) if node.coord is not None else "?"


def _enter(node: c_ast.FuncCall, name: str, frames: Frames, cx: CTranslation) -> Frame:
    if any(name == x for _, x in cx.calls) or name == cx.bound.function.decl.name:
        raise Refused("scop-call", f"a call of {name}, which calls itself", node)
    if _is_early(name, cx.bound):
        raise Refused("scop-unknown", f"a call of {name}, which is declared only behind it", node)
    if len(cx.calls) >= _DEEPEST:
        raise Refused("scop-call", f"a call of {name}, {_DEEPEST} calls deep", node)
    try:
        frame = frames.enter((*(x for x, _ in cx.calls), id(node)), cx.bound.file.functions[name])
    except NotSingleExit as reason:
        where = reason.node if reason.node.coord is not None else node
        raise Refused("scop-call", f"a call of {name}, which has {reason.message}", where) from None
    if frame.fault is not None:
        raise Refused("scop-call", f"a call of {name}, which sets {frame.fault.name}", node)
    if frame.stores and node is not cx.whole:
        raise Refused("scop-call", f"a call of {name}, which stores to memory, inside an expression", node)
    if cx.searches is not None and frame.exit.statements and frame.stores:
        raise Refused("scop-call", f"a call of {name}, which does more than return an expression", node)
    return frame


def _is_early(name: str, bound: BoundNames) -> bool:
    """Whether a function of the file is declared only behind the call, and not as what C takes it to be then: one that
    returns an int."""
    made = bound.file.functions[name].decl
    result = resolve(made.type.type, bound.file.typedefs)
    taken = isinstance(result, CScalar) and result.type == I32 and "static" not in made.storage
    known = taken or name in bound.announced
    return not known and bound.file.order.is_behind(name, bound.function.decl.name)


def _arguments(node: c_ast.FuncCall, frame: Frame) -> list[tuple[Symbol, c_ast.Node]]:
    arguments = list(node.args.exprs) if node.args is not None else []
    parameters = frame.bound.parameters
    if len(parameters) != len(arguments):
        raise Refused("scop-call", f"a call of {called_name(node)} with another number of arguments", node)
    return list(zip(parameters, arguments, strict=True))


def _bind(symbol: Symbol, argument: c_ast.Node, frame: Frame, cx: CTranslation) -> tuple[Symbol, Value]:
    """What a parameter holds at first; read where the call stands."""
    outer, cx.whole = cx.whole, None
    try:
        match symbol.ctype:
            case CPointer() if is_null(argument) or is_nowhere(argument, cx):
                return symbol, NOWHERE
            case CPointer(target=target):
                value = address_of(argument, cx)
                if isinstance(target, CVoid) != isinstance(value.target, CVoid):
                    value = recast(value, symbol.ctype, argument, cx)
                if value.target != target:
                    raise Refused("scop-cast", f"{symbol.name} points to another type than what it is given", argument)
                return symbol, value
            case CScalar(type=type):
                if symbol in frame.steering and is_integer(symbol):
                    known = _as_index(argument, type, cx)
                    if known is not None:
                        return symbol, known
                return symbol, KnownNumber(convert(value_of(argument, cx), type))
            case _:
                raise Refused(
                    "scop-call", f"a call that passes {symbol.name}, which is no number and no address", argument
                )
    finally:
        cx.whole = outer


def _as_index(argument: c_ast.Node, type: Type, cx: CTranslation) -> KnownInteger | None:
    undo = cx.remember()
    try:
        return KnownInteger(fitted(index_of(argument, cx), type, argument, cx))
    except NotIndex:
        undo()
        return None


def _give(symbol: Symbol, value: Value, frame: Frame, node: c_ast.Node, cx: CTranslation) -> None:
    """Bind a parameter, within the callee."""
    cx.local.add(symbol)
    if not isinstance(value, KnownNumber):
        if isinstance(value, KnownInteger) and cx.is_cell(symbol):
            value = KnownNumber(_number(value.expr, cx.element(symbol)))
        else:
            cx.values[symbol] = value
            return
    changed = symbol in frame.written
    if changed and is_integer(symbol) and symbol not in cx.cells:
        index = plain_index(value.expr)
        if index is not None:
            cx.values[symbol] = KnownInteger(index)
            return
        cx.cells |= {symbol}
    uses = frame.uses.get(symbol, 0)
    long = uses > 1 and weigh(value.expr) * uses > _LARGEST
    # What is read from memory may be stored to before it is used.
    if changed or long or (frame.stores and any(True for _ in loads(value.expr))):
        cx.written |= {symbol}
        cx.cells |= {symbol}
        start_cell(symbol, cx.element(symbol), value.expr, node, cx)
    else:
        cx.values[symbol] = value


def _number(expr: Expr, type: Type) -> Expr:
    return Const(expr.value, type) if isinstance(expr, Const) else Cast(expr, type)


def _is_data(value: Expr) -> bool:
    return not isinstance(value, Const) and plain_index(value) is None


def weigh(value: Expr) -> int:
    """How many operations and reads an expression has."""
    return sum(1 for x in walk_expr(value) if not isinstance(x, Cast | Var))
