"""Members of elements of arrays of structures, `p[i].x[k]`: rows of numbers of one type with all members.

Before: struct { float x[3]; int n; } *p;  p[i].x[k]      After: float p_f32[?][4];  p_f32[i, 0 + k]

All members of one type are one array of the kernel; those of others lie between them and never overlap them.

>>> from planish.ir.types import F32
>>> view_key("p", F32)
'p_f32'
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.idioms.row_pointers import held_address
from planish.frontend.c.translate.state import Address, CTranslation, Refused
from planish.frontend.c.types.declarations import ADDRESS, CArray, CPointer, CScalar, CType, CUnknown
from planish.frontend.c.types.layouts import layout_of
from planish.ir.expr import index
from planish.ir.types import Type


def view_key(root: str, type: Type) -> str:
    """The name of the rows of numbers of one type in an array of structures."""
    return f"{root}_{type}"


def element_member(base: Address, path: tuple[str, ...], node: c_ast.Node, cx: CTranslation) -> Address:
    """The place of a member of the structure at an address, of an array of them. Raises Refused."""
    root = base.symbol
    if len(base.index) != 1 or not isinstance(base.target, CUnknown) or base.target.record is None:
        raise Refused("scop-struct", f"a member of an element of {root.name}", node)
    file = cx.bound.file
    whole = layout_of(base.target.record, file.records, cx.bound.typedefs, file.constants)
    offset, layout = 0, whole
    found: CType = base.target
    for name in path:
        if layout is None or name not in layout.members:
            message = f"a member of an element of {root.name}, of which it is not known where it lies"
            raise Refused("scop-struct", message, node)
        at, found = layout.members[name]
        offset += at
        record = found.record if isinstance(found, CUnknown) else None
        layout = None if record is None else layout_of(record, file.records, cx.bound.typedefs, file.constants)
    if isinstance(found, CPointer) and id(node) in cx.addresses:
        return Address(held_address(root, found, node, cx), (index(0),), found)
    scalar = found.element if isinstance(found, CArray) else ADDRESS if isinstance(found, CPointer) else found
    if whole is None or not isinstance(scalar, CScalar):
        how = "an address that is itself read from memory" if isinstance(scalar, CPointer) else "no number"
        raise Refused("scop-struct", f"a member of an element of {root.name}, {how}", node)
    size = scalar.type.size
    if whole.size % size or offset % size:
        raise Refused("scop-struct", f"a member of an element of {root.name}, between its numbers", node)
    symbol = _view(root, scalar, whole.size // size, cx)
    cx.layouts |= {f"sizeof(*{root.name}) == {whole.size}": None}
    cx.layouts |= {f"__builtin_offsetof(__typeof__(*{root.name}), {'.'.join(path)}) == {offset}": None}
    return Address(symbol, (base.index[0], index(offset // size)), found)


def _view(root: Symbol, scalar: CScalar, row: int, cx: CTranslation) -> Symbol:
    """The rows of numbers of one type in an array of structures."""
    known = f"[] {scalar.type} {scalar.family}"
    if known not in root.members:
        ctype = CPointer(CArray(scalar, c_ast.Constant("int", str(row))))
        key = cx.fresh(view_key(root.key, scalar.type))
        root.members[known] = Symbol(root.name, key, ctype, "global", whole=root, through=True, rows=True)
        cx.bound.symbols.append(root.members[known])
    return root.members[known]
