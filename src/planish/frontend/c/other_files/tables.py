"""Constants of other files whose values are known, as definitions that stand alone.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file
>>> text = "enum { K = 3 }; static const short t[2][2] = {{1, K}, {-2, 4}}; static int n; static const int k = 5;"
>>> scope = bind_file(CParser().parse(text))
>>> table_text(scope.symbols["t"], scope)
'static const short @[2][2] = {{1, (3)}, {-2, 4}};'
>>> table_text(scope.symbols["n"], scope) is None, table_text(scope.symbols["k"], scope)
(True, 'static const int @ = 5;')
"""

from __future__ import annotations

from copy import deepcopy

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.frontend.c.analysis.scope import FileScope, Symbol
from planish.frontend.c.types.constants import fold, walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType


def table_text(symbol: Symbol, scope: FileScope) -> str | None:
    """The definition of a constant, or of an array of such, whose name is `@`; "" where only its own file can spell it;
    None where it may change."""
    if not symbol.const or symbol.init is None:
        return None
    dims = ""
    inner: CType = symbol.ctype
    while isinstance(inner, CArray):
        extent = None if inner.extent is None else fold(inner.extent, scope.constants)
        if extent is None and (dims or inner.extent is not None):
            return ""
        dims, inner = f"{dims}[{'' if extent is None else extent}]", inner.element
    if isinstance(inner, CPointer):
        return None
    initial = _spelt(symbol.init, scope)
    if not isinstance(inner, CScalar) or not inner.spelling or initial is None:
        return ""
    return f"static const {inner.spelling} @{dims} = {initial};"


_BUILT_IN = frozenset({"char", "short", "int", "long", "signed", "unsigned", "float", "double"})


def _spelt(node: c_ast.Node, scope: FileScope) -> str | None:
    """An initial value without names; None where it has others than those of enumerators."""
    if any(not _is_spelt(x, scope) for x in walk_tree(node)):
        return None
    plain = deepcopy(node)
    for x in walk_tree(plain):
        for label, child in x.children():
            if isinstance(child, c_ast.ID):
                _replace(x, label, c_ast.Constant("int", f"({scope.constants[child.name]})"))
    if isinstance(plain, c_ast.ID):
        return f"({scope.constants[plain.name]})"
    text: str = CGenerator().visit(c_ast.Assignment("=", c_ast.ID("x"), plain))
    return text.removeprefix("x = ")


def _is_spelt(node: c_ast.Node, scope: FileScope) -> bool:
    """Whether a part of an initial value says the same in any file."""
    match node:
        case c_ast.ID(name=name):
            return name in scope.constants
        case c_ast.Constant(type=type):
            return str(type) != "string"
        case c_ast.IdentifierType(names=names):
            return _BUILT_IN.issuperset(names)
        case c_ast.UnaryOp(op=op):
            return str(op) in ("+", "-", "~", "!")
        case _:
            return isinstance(
                node, c_ast.InitList | c_ast.NamedInitializer | c_ast.BinaryOp | c_ast.TernaryOp | c_ast.Cast
                | c_ast.Typename | c_ast.TypeDecl
            )  # fmt: skip


def _replace(parent: c_ast.Node, label: str, child: c_ast.Node) -> None:
    """Put a node in the place that `children` calls so (`left`, `exprs[2]`)."""
    name, _, place = label.partition("[")
    if place:
        getattr(parent, name)[int(place[:-1])] = child
    else:
        setattr(parent, name, child)
