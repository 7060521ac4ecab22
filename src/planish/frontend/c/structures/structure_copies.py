"""Structures that are copied as a whole, `*d = *s` or `struct pair t = a[i]`, as copies of their members.

Before: a[i] = *s++;             struct pair t = a[i];
After:  s++, a[i].x = s[-1].x, a[i].y = s[-1].y;      struct pair t = { a[i].x, a[i].y };

What lies between members has no value in C, and need not be copied. From memory to memory, only rows of numbers of one
type are copied so: compilers copy others faster as they are.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file
>>> head = "struct pair { float x; float y[2]; }; void f(struct pair *a, struct pair *b, int i) "
>>> tree = CParser().parse(head + "{ a[i] = *b++; struct pair t = a[0]; }")
>>> copy_members(tree.ext[1], bind_file(tree))
>>> print(CGenerator().visit(tree.ext[1].body).strip())
{
  b++, a[i].x = b[-1].x, a[i].y[0] = b[-1].y[0], a[i].y[1] = b[-1].y[1];
  struct pair t = {a[0].x, {a[0].y[0], a[0].y[1]}};
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import FileScope, bind_function, root_of
from planish.frontend.c.translate.addresses import type_of_place
from planish.frontend.c.translate.state import CTranslation
from planish.frontend.c.types.constants import STEPS, fold, has_effects, walk_tree
from planish.frontend.c.types.declarations import CArray, CScalar, CUnknown, resolve
from planish.frontend.c.types.layouts import extent_of
from planish.ir.types import Type

MOST = 32
"""The numbers of a structure that are worth as many copies."""
_PLACES = (c_ast.ID, c_ast.ArrayRef, c_ast.StructRef)
_Wrap = Callable[[c_ast.Node], c_ast.Node]


@dataclass(frozen=True, slots=True)
class _Member:
    """A number in a structure: how it is reached from the structure, and its type."""

    reach: _Wrap
    type: Type


_Listed = list["_Member | _Listed"]


def copy_members(function: c_ast.FuncDef, scope: FileScope) -> None:
    """Write the copies of structures in a function as those of their members, as far as all of these are numbers."""
    if any(map(_may_copy, walk_tree(function.body))):
        bound = bind_function(function, scope)
        _Copies(CTranslation(bound, "strict", frozenset(), lambda _: None)).rewrite(function.body)


def _may_copy(node: c_ast.Node) -> bool:
    match node:
        case c_ast.Assignment(op="=", lvalue=left, rvalue=right):
            return _is_place(left) and _is_place(right)
        case c_ast.Decl(init=c_ast.Node() as value, type=c_ast.TypeDecl()):
            return _is_place(value)
        case _:
            return False


def _is_place(node: c_ast.Node) -> bool:
    return isinstance(node, _PLACES) or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


class _Copies:
    """What is made in one function."""

    def __init__(self, cx: CTranslation) -> None:
        self._cx = cx

    def rewrite(self, node: c_ast.Node) -> None:
        """Rewrite the statements in a statement."""
        match node:
            case c_ast.Compound(block_items=items) if items:
                node.block_items = [self._statement(x) for x in items]
            case c_ast.Case(stmts=items) | c_ast.Default(stmts=items) if items:
                node.stmts = [self._statement(x) for x in items]
            case c_ast.If():
                node.iftrue = self._statement(node.iftrue)
                node.iffalse = self._statement(node.iffalse)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch() | c_ast.Label():
                node.stmt = self._statement(node.stmt)
            case _:
                pass

    def _statement(self, node: c_ast.Node | None) -> c_ast.Node | None:
        match node:
            case c_ast.Assignment() if _may_copy(node):
                return self._assigned(node)
            case c_ast.Decl() if _may_copy(node):
                self._declared(node)
            case None:
                pass
            case _:
                self.rewrite(node)
        return node

    def _assigned(self, node: c_ast.Assignment) -> c_ast.Node:
        members = self._of_both(node.lvalue, node.rvalue)
        if members is None or not (self._is_one_row(node.lvalue, members) or self._is_own(node)):
            return node
        steps: list[c_ast.Node] = []
        left, right = (self._settled(x, members, steps) for x in (node.lvalue, node.rvalue))
        if left is None or right is None:
            return node
        copies = [
            c_ast.Assignment("=", x.reach(deepcopy(left)), x.reach(deepcopy(right)), node.coord) for x in _flat(members)
        ]
        return c_ast.ExprList([*steps, *copies], node.coord)

    def _declared(self, node: c_ast.Decl) -> None:
        ctype = resolve(node.type, self._cx.bound.typedefs)
        found = type_of_place(node.init, self._cx)
        members = self._listed(ctype, lambda x: x) if isinstance(found, CUnknown) and found.record else None
        steps: list[c_ast.Node] = []
        value = None if members is None else self._settled(node.init, members, steps)
        if members is not None and value is not None:
            node.init = _initial(members, value, steps, node.coord)

    def _is_own(self, node: c_ast.Assignment) -> bool:
        """Whether one of both structures is a variable of the function, whose members are kept in registers."""
        symbols = [self._cx.bound.symbol(root_of(x)) for x in (node.lvalue, node.rvalue)]
        return any(x is not None and not x.lasting and isinstance(x.ctype, CUnknown) for x in symbols)

    def _is_one_row(self, place: c_ast.Node, members: _Listed) -> bool:
        """Whether a structure is a row of numbers of one type: those of several are copied faster as a whole."""
        numbers = [x.type for x in _flat(members)]
        found = type_of_place(place, self._cx)
        file = self._cx.bound.file
        extent = None if found is None else extent_of(found, file.records, self._cx.bound.typedefs, file.constants)
        return len({*numbers}) == 1 and extent is not None and extent[0] == sum(x.size for x in numbers)

    def _of_both(self, left: c_ast.Node, right: c_ast.Node) -> _Listed | None:
        """The numbers of the structure that both places are of."""
        first, second = type_of_place(left, self._cx), type_of_place(right, self._cx)
        if not isinstance(first, CUnknown) or not isinstance(second, CUnknown) or first.text != second.text:
            return None
        return self._listed(first, lambda x: x)

    def _listed(self, ctype: object, within: _Wrap) -> _Listed | None:
        """The numbers of a structure; None where it has anything else, or they are too many."""
        if not isinstance(ctype, CUnknown) or ctype.record is None:
            return None
        file = self._cx.bound.file
        out: _Listed = []
        for member in file.records.members(ctype.record) or ():
            if not isinstance(member, c_ast.Decl) or member.name is None or member.bitsize is not None:
                return None
            if file.records.is_ambiguous(member):
                return None
            reach = _member_of(within, member.name)
            match resolve(member.type, self._cx.bound.typedefs):
                case CScalar(type=type):
                    out.append(_Member(reach, type))
                case CArray(element=CScalar(type=type), extent=c_ast.Node() as dimension):
                    count = fold(dimension, file.constants, self._cx.bound.typedefs)
                    if count is None or not 0 < count <= MOST:
                        return None
                    out.append([_Member(_element_of(reach, n), type) for n in range(count)])
                case CUnknown() as inner:
                    listed = self._listed(inner, reach)
                    if listed is None:
                        return None
                    out.append(listed)
                case _:
                    return None
        return out if out and sum(1 for _ in _flat(out)) <= MOST else None

    def _settled(self, place: c_ast.Node, members: _Listed, steps: list[c_ast.Node]) -> c_ast.Node | None:
        """A place that is the same however often it is read: what steps a pointer in it is appended to `steps`, to be
        done before. None where something else happens in it, or what it names may be among the members."""
        match place:
            case c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op=op, expr=c_ast.ID() as pointer)) if op in STEPS:
                steps.append(c_ast.UnaryOp(op, pointer, place.coord))
                back = {"p++": "-1", "p--": "1"}.get(op, "0")
                return c_ast.ArrayRef(deepcopy(pointer), c_ast.Constant("int", back, place.coord), place.coord)
            case c_ast.UnaryOp(op="*", expr=pointer):
                return place if self._is_plain(pointer, members) else None
            case c_ast.ArrayRef(name=name, subscript=subscript):
                kept = self._is_plain(subscript, members) and self._settled(name, members, []) is name
                return place if kept else None
            case c_ast.StructRef(name=name):
                return place if self._settled(name, members, []) is name else None
            case c_ast.ID():
                return place
            case _:
                return None

    def _is_plain(self, node: c_ast.Node, members: _Listed) -> bool:
        """Whether an expression does nothing, and reads variables, and elements of types that no member has."""
        if has_effects(node):
            return False
        copied = {x.type for x in _flat(members)}
        for x in walk_tree(node):
            match x:
                case c_ast.StructRef() | c_ast.UnaryOp(op="*" | "&"):
                    return False
                case c_ast.ArrayRef():
                    found = type_of_place(x, self._cx)
                    if not isinstance(found, CScalar) or not found.family or found.type in copied:
                        return False
                case _:
                    pass
        return True


def _flat(members: _Listed) -> Iterator[_Member]:
    for x in members:
        if isinstance(x, _Member):
            yield x
        else:
            yield from _flat(x)


def _member_of(within: _Wrap, name: str) -> _Wrap:
    return lambda x: _member(within(x), name)


def _member(whole: c_ast.Node, name: str) -> c_ast.StructRef:
    if isinstance(whole, c_ast.UnaryOp) and whole.op == "*":
        return c_ast.StructRef(whole.expr, "->", c_ast.ID(name, whole.coord), whole.coord)
    return c_ast.StructRef(whole, ".", c_ast.ID(name, whole.coord), whole.coord)


def _element_of(within: _Wrap, number: int) -> _Wrap:
    return lambda x: c_ast.ArrayRef(within(x), c_ast.Constant("int", str(number), x.coord), x.coord)


def _initial(members: _Listed, value: c_ast.Node, steps: list[c_ast.Node], coord: object) -> c_ast.InitList:
    """The initial values of the members; `steps` are done before the first one."""
    values: list[c_ast.Node] = []
    for x in members:
        if isinstance(x, _Member):
            read = x.reach(deepcopy(value))
            values.append(c_ast.ExprList([*steps, read], coord) if steps else read)
        else:
            values.append(_initial(x, value, steps, coord))
        steps = []
    return c_ast.InitList(values, coord)
