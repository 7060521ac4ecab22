"""Parameters beside numbers and arrays: structures, functions, streams, memory.

>>> from pycparser.c_parser import CParser
>>> tree = CParser().parse("struct p { float x; int n[3]; struct p *next; }; void f(struct p *q, int (*done)(int));")
>>> structure, function = tree.ext[1].type.args.params
>>> forms = Forms(Records(tree), {})
>>> [(cell.path, cell.count) for cell in forms.of_parameter(structure).cells]
[('x', 1), ('n', 3)]
>>> print(forms.of_parameter(function).define("done"), end="")
int done(int planish_p0)
{
  return (int)((7ul * (unsigned long)(long)planish_p0) & 7);
}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import replace

from pycparser import c_ast

from planish.frontend.c.translation_unit import Callback, Form, MemberCell, RecordParameter
from planish.frontend.c.types.constants import fold, walk_tree
from planish.frontend.c.types.declarations import (
    ADDRESS,
    CArray,
    CPointer,
    CScalar,
    CType,
    is_complex_type,
    leaf_of,
    resolve,
)
from planish.frontend.c.types.layouts import layout_of
from planish.frontend.c.types.records import Records
from planish.frontend.c.types.type_names import TypeNames, rename, spell, spell_declaration
from planish.frontend.c.types.unfollowed_addresses import unfollowed_addresses
from planish.ir.types import F64, Type

_MOST_CELLS = 64
_DEEPEST = 3
"""Structures within structures that are looked into."""
_MOST_ELEMENTS = 4096
"""A structure with more numbers than these keeps zeros in the rest."""
_PLACE = Callback.placeholder


def _links(cells: Iterable[MemberCell]) -> tuple[str, ...]:
    """The members that are followed to the structures behind them."""
    return tuple(dict.fromkeys(x.path.partition("->")[0] for x in cells if "->" in x.path))


def _conversions(body: c_ast.Node) -> Iterator[tuple[c_ast.Node, c_ast.Node]]:
    """What a function's body converts, and the type that it takes it for: where it is cast, or a variable set to it."""
    for part in walk_tree(body):
        match part:
            case c_ast.Decl(init=c_ast.ID() | c_ast.StructRef() as used, type=found):
                yield used, found
            case c_ast.Cast(expr=c_ast.ID() | c_ast.StructRef() as used, to_type=c_ast.Typename(type=found)):
                yield used, found
            case _:
                pass


def _address_type() -> c_ast.TypeDecl:
    return c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["unsigned", "long"]))


class Forms:
    """The types of one file, by their names."""

    def __init__(
        self, records: Records, typedefs: Mapping[str, CType], constants: Mapping[str, int] | None = None
    ) -> None:
        self._known, self._constants = typedefs, constants or {}
        self._records = records
        self._names = TypeNames(self._records, typedefs)
        self._used: frozenset[str] = frozenset()
        self._seen: Mapping[str, c_ast.Node] = {}
        self._unfollowed: frozenset[str] = frozenset()
        self._last: tuple[c_ast.Node | None, frozenset[str]] = None, frozenset()

    def naming(self, body: c_ast.Node, name: str | None) -> Forms:
        """The forms for a parameter of a function: of a union, the first member of it that the body names is the one
        that has a value, or else the first that it names at all."""
        members = [x for x in walk_tree(body) if isinstance(x, c_ast.StructRef)]
        behind = [x for x in members if any(isinstance(y, c_ast.ID) and y.name == name for y in walk_tree(x.name))]
        own = copy(self)
        own._unfollowed = self._unfollowed_in(body)
        own._used = frozenset(str(x.field.name) for x in behind or members)
        converted = ((x, found) for x, found in _conversions(body) if isinstance(x, c_ast.StructRef))
        own._seen = {
            x.field.name: found for x, found in converted if isinstance(self._records.plain(found), c_ast.PtrDecl)
        }
        return own

    def _unfollowed_in(self, body: c_ast.Node) -> frozenset[str]:
        if self._last[0] is not body:
            self._last = body, unfollowed_addresses(body)
        return self._last[1]

    def of_parameter(self, node: c_ast.Decl) -> Form | None:
        """The form of a parameter; None for a number or the address of numbers."""
        own = self._records.plain(node.type)
        if isinstance(own, c_ast.FuncDecl):
            return self._callback(own)
        if isinstance(own, c_ast.PtrDecl | c_ast.ArrayDecl):
            return self._of_address(node, own)
        return None if isinstance(self._resolve(node), CScalar) else self._record(node.type, own)

    def of_result(self, node: c_ast.Node) -> Form | None:
        """The form of a result; None for a number, and for nothing."""
        own = self._records.plain(node)
        if isinstance(own, c_ast.PtrDecl):
            return "address"
        if isinstance(resolve(node, self._known), CScalar) or self._is_void(own):
            return None
        return self._record(node, own)

    def cell(self, path: str, node: c_ast.Node) -> MemberCell | None:
        """The number, the array of numbers or the address of numbers that a declaration is of; None for what else."""
        ctype, count = self._elements(node)
        match ctype:
            case CScalar(type=type_):
                return MemberCell(path, type_, count)
            case CPointer(target=CScalar(type=type_)) if count == 1:
                return MemberCell(path, type_, 1, True)
            case CPointer(target=CPointer()) if count == 1 and re.split(r"\.|->", path)[-1] in self._unfollowed:
                return MemberCell(path, ADDRESS.type, 1, True)
            case _:
                return None

    def _elements(self, node: c_ast.Node) -> tuple[CType | None, int]:
        """What a declaration has, and how many of them in arrays; None where an extent is not known."""
        ctype, count = resolve(node, self._known), 1
        while isinstance(ctype, CArray):
            extent = None if ctype.extent is None else fold(ctype.extent, self._constants, self._known)
            if extent is None:
                return None, 0
            ctype, count = ctype.element, count * extent
        return ctype, count

    def _rows(self, path: str, node: c_ast.Node) -> MemberCell | None:
        """The addresses of rows of numbers that a member holds, or leads to; None for what else."""
        ctype, count = self._elements(node)
        match ctype:
            case CPointer(target=CScalar(type=type_)) if 1 < count <= _MOST_ELEMENTS:
                return MemberCell(path, type_, 1, True, rows=count)
            case CPointer(target=CPointer(target=CScalar(type=type_))) if count == 1:
                return MemberCell(path, type_, 1, True, rows=MemberCell.SOME_ROWS)
            case _:
                return None

    def open_array(self, node: c_ast.Node) -> Type | None:
        """The type of the elements of an array of unknown length."""
        ctype = resolve(node, self._known)
        return ctype.element.type if isinstance(ctype, CArray) and isinstance(ctype.element, CScalar) else None

    def is_whole(self, node: c_ast.Node) -> bool:
        """Whether C knows the size of what a declaration is of: structures are defined, arrays have lengths."""
        own = self._records.plain(node)
        while isinstance(own, c_ast.ArrayDecl) and own.dim is not None:
            own = self._records.plain(own.type)
        match own:
            case c_ast.Struct(decls=decls) | c_ast.Union(decls=decls):
                return bool(decls)
            case _:
                return not isinstance(own, c_ast.ArrayDecl | c_ast.FuncDecl)

    def members(self, node: c_ast.Node) -> tuple[MemberCell, ...]:
        """The numbers in a variable that is a structure."""
        own = self._records.plain(node)
        cells = self._cells_of(own, self._records.is_const(node)) if isinstance(own, c_ast.Struct) else ()
        return tuple(x for x in cells if "->" not in x.path)

    def _of_address(self, node: c_ast.Decl, own: c_ast.PtrDecl | c_ast.ArrayDecl) -> Form | None:
        target = self._records.plain(own.type)
        ctype = self._resolve(node)
        inner = ctype.target if isinstance(ctype, CPointer) else ctype.element if isinstance(ctype, CArray) else ctype
        if isinstance(target, c_ast.FuncDecl):
            return self._callback(target)
        if leaf_of(ctype) is not None:
            nested = isinstance(inner, CPointer) and isinstance(inner.target, CScalar)
            while isinstance(inner, CArray):
                inner = inner.element
            return None if isinstance(inner, CScalar) else "rows" if nested else "memory"
        if self._names_stream(own.type):
            return "stream"
        if isinstance(target, c_ast.Struct | c_ast.Union) and target.decls:
            cells = self._cells_of(target, self._records.is_const(own.type))
            layout = layout_of(target, self._records, self._known, self._constants)
            size = 0 if layout is None else layout.size
            return RecordParameter(self._address(node, own), True, cells, _links(cells), size, self._tail(target))
        return "memory"

    def _address(self, node: c_ast.Decl, own: c_ast.PtrDecl | c_ast.ArrayDecl) -> str:
        """The type of the address that is passed."""
        if isinstance(own, c_ast.PtrDecl):
            return self._spell(node.type)
        if own is node.type:
            return self._spell(c_ast.PtrDecl([], own.type))
        return f"__typeof__(**({self._spell(node.type)} *)0) *"

    def _spell(self, node: c_ast.Node) -> str:
        return spell(self._names.rewrite(node))

    def seen_as(self, node: c_ast.Decl, body: c_ast.Node) -> c_ast.Decl:
        """The declaration of a parameter, with the type that the function's body takes a `void *` for, or the address
        of a structure that begins another one; addresses that it does not follow are integers."""
        own = self._records.plain(node.type)
        target = self._records.plain(own.type) if isinstance(own, c_ast.PtrDecl | c_ast.ArrayDecl) else own
        if isinstance(target, c_ast.PtrDecl) and node.name in self._unfollowed_in(body):
            return c_ast.Decl(node.name, node.quals, [], [], [], c_ast.PtrDecl([], _address_type()), None, None)
        if not isinstance(own, c_ast.PtrDecl) or not (self._is_void(target) or isinstance(target, c_ast.Struct)):
            return node
        for part, found in _conversions(body):
            taken = self._records.plain(found)
            if not isinstance(part, c_ast.ID) or part.name != node.name or not isinstance(taken, c_ast.PtrDecl):
                continue
            if self._records.is_ambiguous(found) or self._resolve(found) == self._resolve(node):
                continue
            other = self._records.plain(taken.type)
            if self._is_void(target) and not self._is_void(other) or isinstance(other, c_ast.Struct):
                return c_ast.Decl(node.name, node.quals, [], [], [], found, None, None)
        return node

    def _record(self, node: c_ast.Node, own: c_ast.Node) -> RecordParameter:
        ctype = resolve(node, self._known)
        if is_complex_type(ctype):
            return RecordParameter(self._spell(node), False, (MemberCell("", leaf_of(ctype) or F64, 2),))
        cells = self._cells_of(own, self._records.is_const(node))
        return RecordParameter(self._spell(node), False, cells, _links(cells))

    def _tail(self, own: c_ast.Struct | c_ast.Union) -> MemberCell | None:
        """The last member of a structure where it is an array of numbers of one type, or of structures of such, that
        goes on behind the structure: of no length, or of one element at most."""
        last = own.decls[-1] if isinstance(own, c_ast.Struct) and own.decls else None
        if not isinstance(last, c_ast.Decl) or not isinstance(last.type, c_ast.ArrayDecl) or last.name is None:
            return None
        length = 0 if last.type.dim is None else fold(last.type.dim, self._constants, self._known)
        element = self._records.plain(last.type.type)
        scalar = self._resolve(last.type.type)
        cells = self._cells_of(element, False) if isinstance(element, c_ast.Struct) else ()
        types = {scalar.type} if isinstance(scalar, CScalar) else {x.type for x in cells}
        if length is None or length > 1 or len(types) != 1 or any(x.address or x.bitfield for x in cells):
            return None
        return MemberCell(last.name, types.pop())

    def _cells_of(self, own: c_ast.Node, const: bool) -> tuple[MemberCell, ...]:
        cells: list[MemberCell] = []
        own = self._chosen(own) if isinstance(own, c_ast.Union) else own
        for cell in self._cells(own, "", _DEEPEST, const) if isinstance(own, c_ast.Struct) else ():
            if len(cells) < _MOST_CELLS and sum(x.count for x in cells) + cell.count <= _MOST_ELEMENTS:
                cells.append(cell)
        return tuple(cells)

    def _chosen(self, union: c_ast.Union) -> c_ast.Struct:
        """The member of a union that has a value, as a structure of nothing else."""
        named = (x for x in union.decls or () if isinstance(x, c_ast.Decl) and x.name in self._used)
        return c_ast.Struct(None, [x for x in (next(named, None),) if x is not None])

    def _cells(self, record: c_ast.Struct, prefix: str, depth: int, const: bool) -> Iterator[MemberCell]:
        for member in record.decls or ():
            if not isinstance(member, c_ast.Decl):
                continue
            path, fixed = f"{prefix}{member.name}", const or self._records.is_const(member)
            if member.bitsize is not None:
                number = self._records.number(member, self._known, self._constants)
                # One that is `const` cannot be set: it has no address, and C takes no assignment.
                if number is not None and not fixed and member.name is not None:
                    yield MemberCell(path, number.type, bitfield=True)
            elif member.name is not None and (cell := self.cell(path, member) or self._rows(path, member)) is not None:
                yield cell
            elif isinstance(inner := self._plain(member.type), c_ast.Struct) and inner.decls and depth:
                # The members of one without a name are this one's own.
                yield from self._cells(inner, prefix if member.name is None else f"{path}.", depth - 1, fixed)
            elif isinstance(inner, c_ast.PtrDecl) and member.name is not None and depth == _DEEPEST:
                # Those that lead on are followed once: what is behind them may lead back.
                found = self._seen.get(member.name) if self._is_void(self._plain(inner.type)) else None
                inner = inner if found is None else self._plain(found)
                target = self._plain(inner.type)
                if isinstance(target, c_ast.Struct) and target.decls and target is not record:
                    const_, seen = self._records.is_const(inner.type), "" if found is None else spell(found)
                    for cell in self._cells(target, f"{path}->", depth - 1, const_):
                        yield replace(cell, seen=seen)
                elif found is not None and isinstance(scalar := resolve(target, self._known), CScalar):
                    yield MemberCell(path, scalar.type, 1, True)

    def _plain(self, node: c_ast.Node) -> c_ast.Node:
        """The type behind a declaration's names; of a union, the member that has a value."""
        own = self._records.plain(node)
        return self._chosen(own) if isinstance(own, c_ast.Union) else own

    def _callback(self, function: c_ast.FuncDecl) -> Callback:
        """A function that gives a number made of the numbers it gets, or nothing but zeros."""
        made = deepcopy(self._names.rewrite(function))
        parameters: list[c_ast.Node] = []
        summands: list[str] = []
        result = resolve(made.type, self._known)
        floats = isinstance(result, CScalar) and result.type.is_float
        for number, node in enumerate(made.args.params if made.args is not None else []):
            if isinstance(node, c_ast.Typename | c_ast.Decl) and not self._is_void(self._records.plain(node.type)):
                name, ctype = f"planish_p{number}", resolve(node, self._known)
                rename(node.type, name)
                parameters.append(c_ast.Decl(name, [], [], [], [], node.type, None, None))
                if isinstance(ctype, CScalar):
                    factor = 2 * number + 7
                    summands.append(f"0.{factor} * {name}" if floats else f"{factor}ul * (unsigned long)(long){name}")
            else:
                parameters.append(node)
        if made.args is not None:
            made.args.params = parameters
        rename(made.type, _PLACE)
        called = f"{_PLACE}({', '.join(x.name for x in parameters if isinstance(x, c_ast.Decl))})"
        body = self._body(result, made, called, " + ".join(summands), floats)
        return Callback(f"{spell_declaration(made)}\n{{\n{body}}}\n")

    def _body(self, result: CType, function: c_ast.FuncDecl, called: str, total: str, floats: bool) -> str:
        if self._is_void(self._records.plain(function.type)):
            return ""
        if isinstance(result, CScalar):
            value = f"({total or '1'})" if floats else f"(({total or '1'}) & 7)"
            return f"  return ({spell(function.type)}){value};\n"
        # A structure may have no name by which it can be called.
        return f"  static __typeof__({called}) planish_none;\n  return planish_none;\n"

    def _resolve(self, node: c_ast.Node) -> CType:
        return resolve(node, self._known)

    def _is_void(self, node: c_ast.Node) -> bool:
        return isinstance(node, c_ast.IdentifierType) and node.names == ["void"]

    def _names_stream(self, node: c_ast.Node) -> bool:
        """Whether a type is `FILE`, also by another name."""
        while isinstance(node, c_ast.TypeDecl | c_ast.Typename):
            node = node.type
        if not isinstance(node, c_ast.IdentifierType) or len(node.names) != 1:
            return False
        name = node.names[0]
        alias = self._records.alias(name)
        return name == "FILE" or (alias is not None and self._names_stream(alias))
