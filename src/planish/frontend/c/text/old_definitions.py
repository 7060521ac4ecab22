"""Definitions of functions as C had them before 1989, whose parameters are declared behind the parentheses.

>>> from pycparser.c_parser import CParser
>>> from pycparser.c_generator import CGenerator
>>> tree = CParser().parse("int add(a, b) int a; { return a + b; }")
>>> declare_parameters(tree)
>>> CGenerator().visit(tree.ext[0].decl)
'int add(int a, int b)'
"""

from __future__ import annotations

from collections.abc import Mapping

from pycparser import c_ast

from planish.frontend.c.types.declarations import CScalar, CType, resolve
from planish.ir.types import F32


def declare_parameters(tree: c_ast.FileAST) -> None:
    """Put the declarations of parameters where a prototype has them. One that is not declared is an int.
    `param_decls` stays, as the mark of such definitions."""
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef) and node.decl.type.args is not None:
            later = {x.name: x for x in node.param_decls or []}
            given = node.decl.type.args.params
            params = [later.get(x.name) or _integer(x) if isinstance(x, c_ast.ID) else x for x in given]
            node.decl.type.args = c_ast.ParamList(params, node.decl.type.args.coord)


def _integer(name: c_ast.ID) -> c_ast.Decl:
    declared = c_ast.TypeDecl(name.name, [], None, c_ast.IdentifierType(["int"]), name.coord)
    return c_ast.Decl(name.name, [], [], [], [], declared, None, None, name.coord)


def is_promoted(node: c_ast.FuncDef, typedefs: Mapping[str, CType]) -> bool:
    """Whether calls pass a parameter of such a definition as another type than it has, of which a prototype cannot
    tell."""
    types = [resolve(x.type, typedefs) for x in node.param_decls or []]
    return any(isinstance(x, CScalar) and (x.type.bits < 32 or x.type == F32) for x in types)
