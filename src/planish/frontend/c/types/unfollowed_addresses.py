"""Names of arrays of addresses of which a function copies, clears and compares elements, and follows none: any integers
do for these in a check.

>>> from pycparser.c_parser import CParser
>>> text = "void f(int n, char **a, char **b, char **c) { while (n--) { a[n] = b[n]; if (!a[n]) *c[n] = 0; } }"
>>> sorted(unfollowed_addresses(CParser().parse(text).ext[0].body))
['a', 'b']
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.types.constants import is_null

_COMPARED = frozenset({"==", "!=", "&&", "||"})


def unfollowed_addresses(body: c_ast.Node) -> frozenset[str]:
    """The names of variables and members, of which elements are read or set, and all stay what they are."""
    found, followed = set[str](), set[str]()
    alias: list[tuple[str, str]] = []
    _visit(body, None, found, followed, alias)
    while more := {x for pair in alias for x in pair if followed & {*pair}} - followed:
        followed |= more
    while more := {x for pair in alias for x in pair if found & {*pair}} - found:
        found |= more
    return frozenset(found - followed)


def _visit(
    node: c_ast.Node, around: c_ast.Node | None, found: set[str], followed: set[str], alias: list[tuple[str, str]]
) -> None:
    match node:
        case c_ast.ArrayRef(name=row) | c_ast.UnaryOp(op="*", expr=row) if (name := _row_name(row)):
            found.add(name)
            if not _stays(node, around):
                followed.add(name)
        case c_ast.Decl(name=str(own), init=c_ast.Node() as row) if name := _row_name(row):
            alias.append((own, name))
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=own), rvalue=row) if name := _row_name(row):
            alias.append((str(own), name))
        case c_ast.FuncCall(args=c_ast.ExprList(exprs=given)):
            followed |= {_row_name(x) for x in given}
        case _:
            pass
    for _, child in node.children():
        _visit(child, node, found, followed, alias)


def _row_name(node: c_ast.Node) -> str:
    """The variable or member that an address is made of; "" where it is made of none."""
    match node:
        case c_ast.ID(name=name):
            return str(name)
        case c_ast.StructRef(field=c_ast.ID(name=name)):
            return str(name)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" | "&", expr=inner) | c_ast.Cast(expr=inner):
            return _row_name(inner)
        case c_ast.ArrayRef(name=inner) | c_ast.BinaryOp(op="+" | "-", left=inner):
            return _row_name(inner)
        case _:
            return ""


def _stays(node: c_ast.Node, around: c_ast.Node | None) -> bool:
    """Whether an element is copied to another one, set, or compared there."""
    match around:
        case c_ast.Assignment(op="=", lvalue=target, rvalue=value) if target is node:
            # The address of a parameter is another one in each call.
            return is_null(value) or isinstance(value, c_ast.ArrayRef | c_ast.UnaryOp)
        case c_ast.Assignment(op="=", lvalue=target):
            return isinstance(target, c_ast.ArrayRef | c_ast.UnaryOp)
        case c_ast.BinaryOp(op=op):
            return str(op) in _COMPARED
        case c_ast.UnaryOp(op=op):
            return str(op) == "!"
        case c_ast.If(cond=cond) | c_ast.TernaryOp(cond=cond) | c_ast.While(cond=cond) | c_ast.For(cond=cond):
            return bool(cond is node)
        case _:
            return False
