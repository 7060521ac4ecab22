"""Where the members of a structure lie (LP64): what an array of structures is as rows of numbers.

>>> from pycparser.c_parser import CParser
>>> tree = CParser().parse("struct p { char c; float x[3]; struct { double d; } in; short s; }; struct p a;")
>>> found = layout_of(tree.ext[1], Records(tree), {}, {})
>>> found.size, {name: offset for name, (offset, _) in found.members.items()}
(32, {'c': 0, 'x': 4, 'in': 16, 's': 24})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.types.constants import Constants, fold
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, CUnknown, resolve
from planish.frontend.c.types.records import Records

_POINTER = 8


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """The bytes of a structure, what its address is a multiple of, and each member's offset and type."""

    size: int
    alignment: int
    members: Mapping[str, tuple[int, CType]]


def layout_of(
    node: c_ast.Node, records: Records, types: Mapping[str, CType], constants: Constants
) -> RecordLayout | None:
    """The layout of the structure that a declaration is of; None where it is not known. Attributes and pragmas may
    still change it: a condition in C has to ask."""
    at, alignment = 0, 1
    members: dict[str, tuple[int, CType]] = {}
    for member in records.members(node) or ():
        if not isinstance(member, c_ast.Decl) or member.bitsize is not None or records.is_ambiguous(member):
            return None
        ctype = resolve(member.type, types)
        extent = extent_of(ctype, records, types, constants)
        if extent is None:
            return None
        size, own = extent
        at = -(-at // own) * own
        if member.name is not None:
            members[member.name] = at, ctype
        elif isinstance(ctype, CUnknown) and ctype.record is not None:
            inner = layout_of(ctype.record, records, types, constants)
            members |= {} if inner is None else {name: (at + x, t) for name, (x, t) in inner.members.items()}
        at, alignment = at + size, max(alignment, own)
    return RecordLayout(-(-at // alignment) * alignment, alignment, members) if members else None


def extent_of(
    ctype: CType, records: Records, types: Mapping[str, CType], constants: Constants
) -> tuple[int, int] | None:
    """The size and the alignment of a type; None where they are not known."""
    match ctype:
        case CScalar(type=type):
            return type.size, type.size
        case CPointer():
            return _POINTER, _POINTER
        case CArray(element=element, extent=c_ast.Node() as dimension):
            count, inner = fold(dimension, constants, types), extent_of(element, records, types, constants)
            return None if count is None or count < 1 or inner is None else (count * inner[0], inner[1])
        case CUnknown(record=c_ast.Node() as record):
            found = layout_of(record, records, types, constants)
            return None if found is None else (found.size, found.alignment)
        case CUnknown(union=c_ast.Node() as union):
            return _extent_of_union(union, records, types, constants)
        case _:
            return None


def _extent_of_union(
    node: c_ast.Node, records: Records, types: Mapping[str, CType], constants: Constants
) -> tuple[int, int] | None:
    extents = []
    for member in records.alternatives(node) or ():
        if not isinstance(member, c_ast.Decl) or member.bitsize is not None or records.is_ambiguous(member):
            return None
        extents.append(extent_of(resolve(member.type, types), records, types, constants))
    known = [x for x in extents if x is not None]
    if not known or len(known) < len(extents):
        return None
    alignment = max(x for _, x in known)
    return -(-max(x for x, _ in known) // alignment) * alignment, alignment
