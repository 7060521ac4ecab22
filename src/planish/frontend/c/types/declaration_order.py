"""Which names of a file stand behind which of its functions: C knows none of them there.

>>> from pycparser.c_parser import CParser
>>> order = order_of(CParser().parse("int a; void f(void); void g(void) {} float b; enum { c }; void f(void) {}"))
>>> [x for x in "abcfg" if order.is_behind(x, "g")], [x for x in "abcfg" if order.is_behind(x, "f")]
(['b', 'c'], [])
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pycparser import c_ast

from planish.frontend.c.types.constants import walk_tree


@dataclass(frozen=True, slots=True)
class DeclarationOrder:
    """By name, which of a file's declarations is its first one; and which one is a function's body."""

    first: dict[str, int] = field(default_factory=dict)
    bodies: dict[str, int] = field(default_factory=dict)

    def is_behind(self, name: str, function: str) -> bool:
        """Whether the file declares a name, but only behind a function's body."""
        body = self.bodies.get(function)
        return body is not None and self.first.get(name, -1) > body


def order_of(tree: c_ast.FileAST) -> DeclarationOrder:
    """The order of the variables, functions and enumerators of a file."""
    order = DeclarationOrder()
    for place, node in enumerate(tree.ext):
        match node:
            case c_ast.FuncDef(decl=c_ast.Decl(name=name) as whole):
                order.bodies[name] = place
            case c_ast.Decl(name=name) | c_ast.Typedef(name=name) as whole:
                pass
            case _:
                continue
        if name is not None and not isinstance(node, c_ast.Typedef):
            order.first.setdefault(name, place)
        for part in walk_tree(whole):
            if isinstance(part, c_ast.Enumerator):
                order.first.setdefault(part.name, place)
    return order
