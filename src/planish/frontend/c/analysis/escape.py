"""Escape analysis: whether a function may keep the address that it is passed, or only reads and writes behind it.

>>> from pycparser.c_parser import CParser
>>> text = "void put(int *p, int v) { *p = v; } int *keep(int *p) { return p; } void pass(int *q) { put(q, 1); }"
>>> text += " void later(int *q) { pass(q + 1); pass(&q[2]); }"
>>> functions = {x.decl.name: x for x in CParser().parse(text).ext}
>>> [keeps_address(name, 0, functions) for name in ("put", "keep", "pass", "later")]
[False, True, False, False]
"""

from __future__ import annotations

from collections.abc import Mapping

from pycparser import c_ast


def called_name(node: c_ast.FuncCall) -> str:
    """The name of what is called; "" where it is an address."""
    return str(node.name.name) if isinstance(node.name, c_ast.ID) else ""


def keeps_address(
    callee: str, position: int, functions: Mapping[str, c_ast.FuncDef], seen: frozenset[tuple[str, int]] = frozenset()
) -> bool:
    """Whether a function of the file may keep its argument at a position, an address, or pass it to others."""
    if (callee, position) in seen:
        return False
    function = functions.get(callee)
    arguments = function.decl.type.args if function is not None else None
    parameters = arguments.params if arguments is not None else []
    if function is None or position >= len(parameters) or not isinstance(parameters[position], c_ast.Decl):
        return True
    return _keeps(function.body, parameters[position].name, functions, seen | {(callee, position)})


def keeps(node: c_ast.Node, name: str, functions: Mapping[str, c_ast.FuncDef]) -> bool:
    """Whether something may keep the address in a variable, or that of an array, of that name."""
    return _keeps(node, name, functions, frozenset())


def _keeps(
    node: c_ast.Node, name: str, functions: Mapping[str, c_ast.FuncDef], seen: frozenset[tuple[str, int]]
) -> bool:
    match node:
        case c_ast.ID():
            return bool(node.name == name)
        case c_ast.Decl() if node.name == name:
            return True  # another variable of that name: they are not told apart here
        case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=used)) if used == name:
            return False
        case c_ast.UnaryOp(op="*", expr=c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=used), right=offset)) if (
            used == name
        ):
            return _keeps(offset, name, functions, seen)
        case c_ast.ArrayRef(name=c_ast.ID(name=used), subscript=subscript) if used == name:
            return _keeps(subscript, name, functions, seen)
        case c_ast.FuncCall(name=c_ast.ID(name=callee), args=c_ast.ExprList(exprs=arguments)):
            return any(
                _keeps(x, name, functions, seen)
                if (offset := _offset(x, name)) is None
                else keeps_address(callee, n, functions, seen) or _keeps(offset, name, functions, seen)
                for n, x in enumerate(arguments)
            )
        case _:
            return any(_keeps(child, name, functions, seen) for _, child in node.children())


def _offset(node: c_ast.Node, name: str) -> c_ast.Node | None:
    """How far an address lies behind the one in a variable; None where it is no such address."""
    match node:
        case c_ast.ID(name=used) if used == name:
            return c_ast.Constant("int", "0")
        case c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=used), right=offset) if used == name:
            return offset
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=c_ast.ID(name=used), subscript=offset)) if used == name:
            return offset
        case _:
            return None
