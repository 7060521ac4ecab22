"""Structures, unions and names of types: what stands behind a declaration, and what its members are.

>>> from pycparser.c_parser import CParser
>>> text = "typedef struct { struct { int n : 3; }; float x, v[2]; volatile int k; } row; row a;"
>>> tree = CParser().parse(text)
>>> records = Records(tree)
>>> [records.number(records.member(tree.ext[1], name), {}) for name in ("x", "v", "k")]
[CScalar(type=Type(kind='float', bits=32), family='float', spelling='float'), None, None]
>>> records.number(records.member(tree.ext[1], "n"), {}).spelling
'int'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pycparser import c_ast

from planish.frontend.c.text.gnu_syntax import UNREAD
from planish.frontend.c.types.constants import fold, walk_tree
from planish.frontend.c.types.declarations import CScalar, CType, resolve, scalar_named, text_of

_INT = 32
"""A bit-field that is narrower is an `int` wherever it is read."""
BY_MEMBERS = " by members"
BY_ELEMENTS = " by elements"
"""What the name of a function ends with that takes the members of structures, or the elements of tables, in their
place; users never see it."""
_UNDECLARED = re.compile(r"\bstruct planish_unknown_(\w+)")
_GNU = "GNU C that is not read"
_TAKEN = re.compile(f"{BY_MEMBERS}_*|{BY_ELEMENTS}_*")


def as_written(message: str) -> str:
    """A message with the names of functions and types as the text has them.

    >>> as_written("a call of f by members by elements_, which sets c")
    'a call of f, which sets c'
    >>> as_written("a has the type struct planish_unknown_real"), as_written("a call of planish_unread")
    ('a has the type real, which no header declares', 'GNU C that is not read')
    """
    if "planish_un" in message:
        message = _UNDECLARED.sub(r"\1, which no header declares", message.replace(f"a call of {UNREAD}", _GNU))
    return _TAKEN.sub("", message)


class Records:
    """The types that a file defines, by their names."""

    def __init__(self, tree: c_ast.Node | None = None) -> None:
        self._known: dict[str, c_ast.Node] = {}
        self._twice: set[str] = set()
        # What a function defines for itself never hides what is defined outside.
        for node in () if tree is None else (*walk_outside(tree), *walk_tree(tree)):
            for key in _defined(node):
                first = self._known.setdefault(key, node)
                if first is not node and text_of(first) != text_of(node):
                    self._twice.add(key)
        self._outer = {key for node in (() if tree is None else walk_outside(tree)) for key in _defined(node)}

    def is_local(self, name: str) -> bool:
        """Whether only functions define a type: by its own name, or by its tag (`tag_of`)."""
        return name in self._known and name not in self._outer

    def is_ambiguous(self, node: c_ast.Node) -> bool:
        """Whether a declaration names a type by a name that means several in the file."""
        return bool(self._twice & {*_named(node)})

    def is_const(self, node: c_ast.Node) -> bool:
        """Whether what a declaration is of must not be written."""
        while True:
            match node:
                case c_ast.IdentifierType(names=[name]) if name in self._known:
                    node = self._known[name]
                case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl() | c_ast.Typedef():
                    if "const" in (node.quals or ()):
                        return True
                    node = node.type
                case c_ast.ArrayDecl():
                    node = node.type
                case _:
                    return False

    def plain(self, node: c_ast.Node | None) -> c_ast.Node:
        """The type behind declarators' names and typedefs."""
        while True:
            match node:
                case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl() | c_ast.Typedef():
                    node = node.type
                case c_ast.IdentifierType(names=[name]) if name in self._known:
                    node = self._known[name]
                case c_ast.Struct(name=name) | c_ast.Union(name=name) if name and not node.decls:
                    return self._known.get(tag_of(node), node)
                case None:
                    return c_ast.IdentifierType(["void"])
                case _:
                    return node

    def alias(self, name: str) -> c_ast.Node | None:
        """What a name of a type stands for; None where it is none."""
        found = self._known.get(name)
        return None if found is None else found.type

    def members(self, node: c_ast.Node) -> list[c_ast.Node] | None:
        """The members of a structure that a declaration is of; None where it is none of which all is known: its name
        means one type in all of the file, and nothing else changes what is `volatile`."""
        while True:
            match node:
                case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl() | c_ast.Typedef():
                    if {"volatile", "_Atomic"} & {*(node.quals or ())}:
                        return None
                    node = node.type
                case c_ast.IdentifierType(names=[name]) if name in self._known and name not in self._twice:
                    node = self._known[name]
                case c_ast.Struct():
                    return self._listed(node)
                case _:
                    return None

    def _listed(self, node: c_ast.Struct | c_ast.Union) -> list[c_ast.Node] | None:
        if node.name and tag_of(node) in self._twice:
            return None
        own = node if node.decls or not node.name else self._known.get(tag_of(node), node)
        return list(own.decls) if own.decls else None

    def alternatives(self, node: c_ast.Node) -> list[c_ast.Node] | None:
        """The members of a union that a declaration is of, as `members` gives those of a structure."""
        named = node
        while not isinstance(named, c_ast.Struct | c_ast.Union):
            if {"volatile", "_Atomic"} & {*(getattr(named, "quals", None) or ())}:
                return None
            match named:
                case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl() | c_ast.Typedef():
                    named = named.type
                case c_ast.IdentifierType(names=[name]) if name in self._known and name not in self._twice:
                    named = self._known[name]
                case _:
                    return None
        return self._listed(named) if isinstance(named, c_ast.Union) else None

    def overlaid(self, node: c_ast.Node, name: str) -> c_ast.Decl | None:
        """The declaration of a member that shares its place with others: of a union, or of one without a name in a
        structure."""
        within = self.alternatives(node)
        for member in self.members(node) or () if within is None else within:
            if not isinstance(member, c_ast.Decl):
                continue
            if member.name == name and within is not None:
                return member
            if member.name is None:
                inner = self.overlaid(member, name) or (self.member(member, name) if within is not None else None)
                if inner is not None:
                    return inner
        return None

    def member(self, node: c_ast.Node, name: str) -> c_ast.Decl | None:
        """The declaration of a member of what a declaration is of; those of members without a name are its own."""
        for member in self.members(node) or ():
            if not isinstance(member, c_ast.Decl):
                continue
            if member.name == name:
                return member
            if member.name is None and (found := self.member(member, name)) is not None:
                return found
        return None

    def is_last(self, node: c_ast.Node, name: str) -> bool:
        """Whether nothing lies behind a member of what a declaration is of, as far as is known."""
        match self.members(node):
            case [*_, c_ast.Decl(name=None) as last]:
                return self.member(last, name) is not None and self.is_last(last, name)
            case [*_, c_ast.Decl() as last]:
                return bool(last.name == name)
            case _:
                return True

    def number(
        self, member: c_ast.Decl, types: Mapping[str, CType], constants: Mapping[str, int] | None = None
    ) -> CScalar | None:
        """The type of a member that is a number; `types` and enumerators are those in scope. None where it is none, or
        not known."""
        if self.is_ambiguous(member):
            return None
        ctype = resolve(member, types)
        if not isinstance(ctype, CScalar) or member.bitsize is None:
            return ctype if isinstance(ctype, CScalar) else None
        width = fold(member.bitsize, constants or {}, types)
        if width is None or ctype.type.bits > _INT:
            return None
        return scalar_named("int") if width < _INT else ctype


def walk_outside(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """A file's nodes but for those in functions and in lists of parameters."""
    yield node
    for name, child in node.children():
        if not isinstance(child, c_ast.Compound | c_ast.ParamList) and not name.startswith("param_decls"):
            yield from walk_outside(child)


def _defined(node: c_ast.Node) -> Iterator[str]:
    """The name of the type that a node defines."""
    match node:
        case c_ast.Typedef(name=name):
            yield name
        case c_ast.Struct(name=name, decls=inside) | c_ast.Union(name=name, decls=inside) if name and inside:
            yield tag_of(node)
        case c_ast.Enum(name=name, values=inside) if name and inside is not None:
            yield tag_of(node)
        case _:
            pass


def _named(node: c_ast.Node) -> Iterator[str]:
    """The names of types below a node."""
    for part in walk_tree(node):
        match part:
            case c_ast.IdentifierType(names=names):
                yield from names
            case c_ast.Enum(name=name) | c_ast.Struct(name=name) | c_ast.Union(name=name) if name:
                yield tag_of(part)
            case _:
                pass


def tag_of(node: c_ast.Node) -> str:
    """How a type with a tag is called: no name of a type has a blank."""
    return f"{type(node).__name__.lower()} {node.name}"
