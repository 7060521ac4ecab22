"""Structures that functions of the file take by value, as their members.

Before: static float dot(vec a, vec b) { return a.x * b.x + a.y * b.y; }      s += dot(v[i], w);
After:  static float dot(float a_x, float a_y, float b_x, float b_y) { … }    s += dot(v[i].x, v[i].y, w.x, w.y);

Only what is inlined sees the second function, which the text does not have.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file
>>> head = "struct v { float x, y, z; }; float sum(struct v a) { return a.x + a.y; } "
>>> tree = CParser().parse(head + "float f(struct v *p, int i) { return sum(p[i]); }")
>>> scope = bind_file(tree)
>>> StructureArguments(scope).rewrite(tree.ext[-1].body)
>>> print(CGenerator().visit(tree.ext[-1].body.block_items[0]))
return sum by members(p[i].x, p[i].y);
>>> print(CGenerator().visit(scope.functions["sum by members"].decl))
float sum by members(float a_x, float a_y)
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.escape import called_name
from planish.frontend.c.analysis.scope import FileScope
from planish.frontend.c.types.constants import has_effects, walk_tree
from planish.frontend.c.types.declarations import CPointer, CScalar, CUnknown, resolve
from planish.frontend.c.types.records import BY_MEMBERS

_PLACES = (c_ast.ID, c_ast.ArrayRef, c_ast.StructRef)


@dataclass(frozen=True, slots=True)
class _ByMembers:
    """A function by another name, and which members are given for each of its arguments (None: it is no structure)."""

    name: str
    members: tuple[tuple[str, ...] | None, ...]


class StructureArguments:
    """What is made of the functions of a file."""

    def __init__(self, scope: FileScope) -> None:
        self._scope = scope
        self._made: dict[str, _ByMembers | None] = {}

    def rewrite(self, node: c_ast.Node) -> None:
        """Pass members in the place of structures in all calls below a node, where these are read alone."""
        calls = [x for x in walk_tree(node) if isinstance(x, c_ast.FuncCall) and x.args is not None]
        for call in reversed(calls):
            if isinstance(call.name, c_ast.ID) and called_name(call) in self._scope.functions:
                self._pass(call)

    def _pass(self, call: c_ast.FuncCall) -> None:
        made = self._by_members(called_name(call))
        if made is None or len(made.members) != len(call.args.exprs):
            return
        given: list[c_ast.Node] = []
        for argument, members in zip(call.args.exprs, made.members, strict=True):
            if members is None:
                given.append(argument)
            elif not _is_place(argument) or has_effects(argument):
                return
            else:
                given += [_member(deepcopy(argument), x) for x in members]
        call.name = c_ast.ID(made.name, call.coord)
        call.args = c_ast.ExprList(given, call.coord)

    def _by_members(self, name: str) -> _ByMembers | None:
        if name not in self._made:
            self._made[name] = None  # as far as it calls itself
            self._made[name] = self._make(self._scope.functions[name])
        return self._made[name]

    def _make(self, function: c_ast.FuncDef) -> _ByMembers | None:
        arguments = function.decl.type.args
        parameters = list(arguments.params) if arguments is not None else []
        if not any(map(self._is_structure, parameters)) or not all(isinstance(x, c_ast.Decl) for x in parameters):
            return None
        made = deepcopy(function)
        self.rewrite(made.body)
        taken = {x.name for x in walk_tree(made) if isinstance(x, c_ast.ID | c_ast.Decl)} | {*self._scope.symbols}
        params: list[c_ast.Node] = []
        members: list[tuple[str, ...] | None] = []
        for parameter in made.decl.type.args.params:
            if not self._is_structure(parameter):
                params.append(parameter)
                members.append(None)
                continue
            found = self._members(parameter, made.body)
            if found is None:
                return None
            named = {x: _fresh(f"{parameter.name}_{x}", taken) for x in found}
            taken |= {*named.values()}
            _replace(made.body, parameter.name, named)
            params += [_declaration(named[x], y) for x, y in found.items()]
            members.append(tuple(found))
        made.decl.type.args.params = params
        made.decl.name = f"{function.decl.name}{BY_MEMBERS}"
        _rename(made.decl.type.type, made.decl.name)
        self._scope.functions[made.decl.name] = made
        return _ByMembers(made.decl.name, tuple(members))

    def _is_structure(self, parameter: c_ast.Node) -> bool:
        known = isinstance(parameter, c_ast.Decl) and resolve(parameter, self._scope.typedefs)
        return isinstance(known, CUnknown) and known.record is not None

    def _members(self, parameter: c_ast.Decl, body: c_ast.Node) -> dict[str, c_ast.Decl] | None:
        """The members of a parameter that are read or set, with their declarations; None where it is used otherwise, or
        one of these is no number and no address."""
        found: dict[str, c_ast.Decl] = {}
        wholes = 0
        for node in walk_tree(body):
            match node:
                case c_ast.Decl(name=name) if name == parameter.name:
                    return None
                case c_ast.UnaryOp(op="&" | "sizeof", expr=inner) if any(_is_named(x, parameter) for x in _all(inner)):
                    return None
                case c_ast.StructRef(type=".", name=whole, field=field) if _is_named(whole, parameter):
                    member = self._scope.records.member(parameter, field.name)
                    if member is None or member.bitsize is not None or self._scope.records.is_ambiguous(member):
                        return None
                    if not isinstance(resolve(member, self._scope.typedefs), CScalar | CPointer):
                        return None
                    found[field.name] = member
                    wholes += 1
                case _:
                    pass
        fields = {id(x.field) for x in walk_tree(body) if isinstance(x, c_ast.StructRef)}
        named = sum(_is_named(x, parameter) and id(x) not in fields for x in walk_tree(body))
        return found if named == wholes else None


def _all(node: c_ast.Node | None) -> list[c_ast.Node]:
    return [] if node is None else [*walk_tree(node)]


def _is_named(node: c_ast.Node, parameter: c_ast.Decl) -> bool:
    return isinstance(node, c_ast.ID) and node.name == parameter.name


def _is_place(node: c_ast.Node) -> bool:
    return isinstance(node, _PLACES) or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


def _member(whole: c_ast.Node, name: str) -> c_ast.StructRef:
    if isinstance(whole, c_ast.UnaryOp):
        return c_ast.StructRef(whole.expr, "->", c_ast.ID(name, whole.coord), whole.coord)
    return c_ast.StructRef(whole, ".", c_ast.ID(name, whole.coord), whole.coord)


def _fresh(stem: str, taken: set[str]) -> str:
    while stem in taken:
        stem += "_"
    return stem


def _declaration(name: str, member: c_ast.Decl) -> c_ast.Decl:
    """A parameter of the type of a member."""
    ctype = deepcopy(member.type)
    _rename(ctype, name)
    return c_ast.Decl(name, [], [], [], [], ctype, None, None, member.coord)


def _rename(ctype: c_ast.Node, name: str) -> None:
    """Give what a type declares another name."""
    while not isinstance(ctype, c_ast.TypeDecl):
        ctype = ctype.type
    ctype.declname = name


def _replace(node: c_ast.Node, whole: str, named: Mapping[str, str]) -> None:
    """Put variables in the place of the members of a structure."""

    def instead(x: object) -> object:
        if isinstance(x, c_ast.StructRef) and x.type == "." and isinstance(x.name, c_ast.ID) and x.name.name == whole:
            return c_ast.ID(named[x.field.name], x.coord)
        return x

    for part in walk_tree(node):
        for slot in part.__slots__:
            match getattr(part, slot, None):
                case list() as items:
                    items[:] = [instead(x) for x in items]
                case c_ast.StructRef() as member:
                    setattr(part, slot, instead(member))
                case _:
                    pass


__all__ = ["StructureArguments"]
