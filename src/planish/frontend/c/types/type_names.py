"""Types as C can write them behind all of a file: by their names at file scope, and else in full, without a name.

>>> from pycparser.c_parser import CParser
>>> tree = CParser().parse("typedef struct node { struct node *next; float v; } *nodes; void f(nodes all);")
>>> names = TypeNames(Records(tree), {})
>>> spell(names.rewrite(tree.ext[0])), spell(names.rewrite(tree.ext[1].type.args.params[0]))
('struct node *', 'nodes')
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy

from pycparser import c_ast

from planish.frontend.c.types.declarations import CScalar, CType, resolve, text_of
from planish.frontend.c.types.records import Records, tag_of


class TypeNames:
    """The names of the types of one file; `types` are those that stand for numbers."""

    def __init__(self, records: Records, types: Mapping[str, CType]) -> None:
        self._records, self._types = records, types

    def rewrite(self, node: c_ast.Node, within: frozenset[str] = frozenset()) -> c_ast.Node:
        """A copy of a type that defines no type with a name, and names none that a function has for itself. `within`:
        the types that it is a part of, in which only an address of them can be."""
        match node:
            case c_ast.TypeDecl(type=c_ast.IdentifierType(names=[name])) if self._records.is_local(name):
                made = self.rewrite(self._records.alias(name), within)
                rename(made, node.declname)
                return made
            case c_ast.FuncDecl(args=arguments):
                made = copy(node)
                made.type = self.rewrite(node.type, within)
                if arguments is not None:
                    made.args = c_ast.ParamList([self.rewrite(x, within) for x in arguments.params])
                return made
            case (
                c_ast.TypeDecl() | c_ast.PtrDecl() | c_ast.ArrayDecl() | c_ast.Typename() | c_ast.Decl()
                | c_ast.Typedef()
            ):  # fmt: skip
                made = copy(node)
                made.type = self.rewrite(node.type, within)
                return made
            case c_ast.Struct() | c_ast.Union():
                return self._record(node, within)
            case c_ast.Enum(name=name):
                if name and not self._records.is_local(tag_of(node)):
                    return c_ast.Enum(name, None, None)
                found = resolve(node, self._types)
                return c_ast.IdentifierType([found.spelling if isinstance(found, CScalar) else "int"])
            case _:
                return node

    def _record(self, node: c_ast.Struct | c_ast.Union, within: frozenset[str]) -> c_ast.Node:
        tag = tag_of(node)
        if tag in within:
            return c_ast.IdentifierType(["void"])
        if node.name and not self._records.is_local(tag):
            return type(node)(node.name, None)
        inside = within | {tag} if node.name else within
        members = [self.rewrite(x, inside) for x in self._records.plain(node).decls or ()]
        return type(node)(None, members)


def spell(node: c_ast.Node) -> str:
    """The C text of the type of a declaration, without a name and without the qualifiers of the object itself.

    >>> from pycparser.c_parser import CParser
    >>> spell(CParser().parse("const char *const names[4];").ext[0].type)
    'const char * const [4]'
    """
    made = deepcopy(node)
    while isinstance(made, c_ast.Decl | c_ast.Typename | c_ast.Typedef):
        made = made.type
    rename(made, None)
    if isinstance(made, c_ast.TypeDecl | c_ast.PtrDecl):
        made.quals = []
    return text_of(c_ast.Typename(None, [], None, made))


def spell_declaration(node: c_ast.Node) -> str:
    """The C text of a declaration whose name stands in its type."""
    return text_of(c_ast.Decl(None, [], [], [], [], node, None, None))


def rename(node: c_ast.Node, name: str | None) -> None:
    """Sets the name in a declarator."""
    while not isinstance(node, c_ast.TypeDecl):
        node = node.type
    node.declname = name
