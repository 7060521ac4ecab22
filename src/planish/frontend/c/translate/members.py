"""Members of structures behind addresses and of variables of the file: `p->n`, `p->x[i]`, `state.image.row`.

A member becomes a symbol of its own, whose name is its text in C: its value is read where a nest begins. What the nest
stores must then leave it as it is, of which types tell, and a condition where they do not.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "struct s { int n; struct { float x[9]; } part; }; int f(struct s *p) { return p->part.x[0]; }"
>>> tree = CParser().parse(text)
>>> bound = bind_function(tree.ext[1], bind_file(tree))
>>> cx = CTranslation(bound, "strict", frozenset(), lambda _: None)
>>> member = tree.ext[1].body.block_items[0].expr.name
>>> member_address(member, cx, lambda node, cx: cx.value(bound.symbol(node))).symbol.name
'p->part.x'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.translate.record_views import element_member
from planish.frontend.c.translate.state import Address, Again, CTranslation, NotIndex, Refused
from planish.frontend.c.types.constants import fold
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, CUnknown, leaf_of, resolve, text_of
from planish.ir.expr import index
from planish.ir.index.polynomial import constant
from planish.ir.types import BOOL

ReadAddress = Callable[[c_ast.Node, CTranslation], Address]


def member_address(node: c_ast.StructRef, cx: CTranslation, address_of: ReadAddress) -> Address:
    """The place of a member. Raises Refused where it is not known which one it is, or what it holds."""
    first: c_ast.StructRef = node
    path: tuple[str, ...] = (str(node.field.name),)
    while first.type == "." and isinstance(first.name, c_ast.StructRef):
        first = first.name
        path = (str(first.field.name), *path)
    undo = cx.remember()
    base = _record_address(first, cx, address_of)
    if not all(constant(x) == 0 for x in base.index) or _is_element(base, cx):
        return element_member(base, path, node, cx)
    if first is not node:
        undo()
        base = _record_address(node, cx, address_of)
    symbol = _member(base, node, cx)
    match symbol.ctype:
        case CArray(element=element):
            return Address(symbol, (index(0),), element)
        case ctype:
            return Address(symbol, (index(0),), ctype)


def _is_element(base: Address, cx: CTranslation) -> bool:
    """Whether an address is that of the first element of an array of several, whose others are rows of it, too."""
    declared = base.symbol.ctype
    return isinstance(declared, CArray) and base.target == declared.element and _whole_array(declared, cx) == declared


def member_number(node: c_ast.StructRef, cx: CTranslation, address_of: ReadAddress) -> Symbol:
    """The number in a structure that is read. Raises NotIndex where it is not known what else might change it; what
    assigns it is no statement of a nest."""
    symbol = cx.bound.symbol(node)
    if symbol is None or symbol.whole is None or symbol.lasting or symbol.whole.address_taken:
        try:
            symbol = member_address(node, cx, address_of).symbol
        except Refused as reason:
            raise NotIndex(reason.message, reason.node or node, reason.cause) from None
        if not isinstance(symbol.ctype, CScalar):
            raise NotIndex(f"a member of {symbol.name}", node, "scop-struct")
        return symbol
    if symbol.whole in cx.local and symbol not in cx.local:
        raise NotIndex(f"{symbol.name}, which is declared in the nest", node, "scop-struct")
    return symbol


def member_place(node: c_ast.StructRef, cx: CTranslation, address_of: ReadAddress) -> Address:
    """The place of a member that is assigned or read in memory: a number is a cell of the nest. Raises Refused where it
    is none, and Again where it was read as one that the nest does not change."""
    symbol = cx.bound.symbol(node)
    if symbol is not None and symbol.whole is not None and not symbol.lasting and not symbol.whole.address_taken:
        if symbol.whole in cx.local and symbol not in cx.local:
            raise Refused("scop-struct", f"a member of {symbol.whole.name}, which is declared in the nest", node)
        place = Address(symbol, (index(0),), symbol.ctype)
    else:
        place = member_address(node, cx, address_of)
    if shares_place(place.symbol):
        message = f"{place.symbol.name}, a member of a union that the nest stores to: keep it in a variable of its own"
        raise Refused("scop-struct", message, node)
    if isinstance(place.target, CPointer) and not place.symbol.rows:
        raise Refused("scop-struct", f"the place of {place.symbol.name}, an address in a structure", node)
    if isinstance(place.symbol.ctype, CScalar):
        if place.symbol.bitfield:
            raise Refused("scop-struct", f"the place of {place.symbol.name}, a bit-field", node)
        if not cx.is_cell(place.symbol):
            raise Again(cell=place.symbol)
    return place


def held_element(node: c_ast.Node, cx: CTranslation, place_of: ReadAddress) -> Symbol:
    """The integer in an array that a nest does not change, as far as names tell, which is read where the nest begins.
    Raises NotIndex where it may not be read there."""
    try:
        place = place_of(node, cx)
    except Refused as reason:
        raise NotIndex(reason.message, reason.node or node, reason.cause) from None
    root, text = place.symbol, text_of(node)
    if not isinstance(place.target, CScalar) or not place.target.type.is_int or isinstance(root.ctype, CScalar):
        raise NotIndex("a value that is read from an array", node, "scop-data")
    if text not in root.members:
        spelled = text if isinstance(node, c_ast.ArrayRef) else f"({text})"
        root.members[text] = Symbol(spelled, cx.fresh(_stem(text)), place.target, "global", whole=root, through=True)
        cx.bound.symbols.append(root.members[text])
    symbol = root.members[text]
    if not cx.reach(symbol, node):
        del cx.doubtful[symbol]
        raise NotIndex(f"{text}, which is read under conditions alone", node, "scop-data")
    return symbol


def _stem(text: str) -> str:
    """A name made of some text."""
    return re.sub(r"\W+", "_", text.replace("->", "_")).strip("_") or "held"


def pointed_at(place: Address, node: c_ast.Node) -> Address:
    """What a member that is an address or an array leads to."""
    if place.symbol.rows:
        if not isinstance(place.target, CArray):
            held = isinstance(place.target, CPointer)
            how = ", an address that is itself read from memory" if held else " used as an address"
            raise Refused("scop-struct", f"a member of an element of {place.symbol.name}{how}", node)
        return Address(place.symbol, place.index, place.target.element)
    match place.symbol.ctype:
        case CPointer(target=target):
            return Address(place.symbol, (index(0),), target)
        case CArray():
            return place
        case _:
            raise Refused("scop-struct", f"the member {place.symbol.name} used as an address", node)


def ancestors(symbol: Symbol) -> Iterator[Symbol]:
    """What a member is one of, the nearest first."""
    while symbol.whole is not None:
        symbol = symbol.whole
        yield symbol


def shares_place(symbol: Symbol) -> bool:
    """Whether a symbol is a member of a union, or of a part of one: types do not tell what changes it."""
    while not symbol.overlaid:
        if symbol.whole is None or isinstance(symbol.whole.ctype, CPointer):
            return False
        symbol = symbol.whole
    return True


def may_go_on(symbol: Symbol, cx: CTranslation) -> bool:
    """Whether an array may have more elements than is declared: C programs allocate more than a structure is large, for
    elements of its last member, and compilers grant that."""
    while (root := symbol.whole) is not None:
        name = next((x for x, y in root.members.items() if y is symbol), None)
        inner = root.ctype.target if isinstance(root.ctype, CPointer) else root.ctype
        inner = inner.element if isinstance(inner, CArray) else inner
        record = inner.record if isinstance(inner, CUnknown) else None
        if name is not None and record is not None and not cx.bound.file.records.is_last(record, name):
            return False
        if isinstance(root.ctype, CPointer):
            return True
        symbol = root
    return False


def _record_address(node: c_ast.StructRef, cx: CTranslation, address_of: ReadAddress) -> Address:
    """The place of the structure that a member is one of."""
    inner = node.name
    if node.type == "->":
        return address_of(inner, cx)
    match inner:
        case c_ast.StructRef():
            return member_address(inner, cx, address_of)
        case c_ast.ArrayRef():
            return address_of(c_ast.BinaryOp("+", inner.name, inner.subscript, inner.coord), cx)
        case c_ast.UnaryOp(op="*", expr=pointer):
            return address_of(pointer, cx)
        case c_ast.ID() if (symbol := cx.bound.symbol(inner)) is not None:
            if symbol in cx.local:
                raise Refused("scop-struct", f"{symbol.name}, a structure that is declared in the nest", node)
            return Address(symbol, (index(0),), symbol.ctype)
        case _:
            raise Refused("scop-struct", "a member of a structure", node)


def _member(base: Address, node: c_ast.StructRef, cx: CTranslation) -> Symbol:
    """The symbol of a member of the structure that lies first at an address."""
    root, name = base.symbol, str(node.field.name)
    inside = (base.target.record or base.target.union) if isinstance(base.target, CUnknown) else None
    if inside is None:
        raise Refused("scop-struct", f"a member of {root.name}, which is no structure that is known", node)
    if root in cx.written and not isinstance(root.ctype, CPointer):
        raise Refused("scop-struct", f"a member of {root.name}, which the nest sets", node)
    if isinstance(root.ctype, CPointer):
        cx.reach(root, node)
    if name not in root.members:
        root.members[name] = _declare(root, inside, name, node, cx)
        cx.bound.symbols.append(root.members[name])
    return root.members[name]


def _declare(root: Symbol, record: c_ast.Node, name: str, node: c_ast.Node, cx: CTranslation) -> Symbol:
    records = cx.bound.file.records
    found = records.member(record, name)
    overlaid = found is None
    found = records.overlaid(record, name) if found is None else found
    if found is None or records.is_ambiguous(found):
        raise Refused("scop-struct", f"the member {name} of {root.name}, whose type is not known", node)
    ctype: CType | None = resolve(found.type, cx.bound.typedefs)
    if found.bitsize is not None:
        ctype = records.number(found, cx.bound.typedefs, cx.bound.file.constants)
    unknown = isinstance(ctype, CUnknown) and ctype.record is None and ctype.union is None
    if ctype is not None and (overlaid or shares_place(root)):
        # An array there would be read by its address, and not as a part of the union; not each byte is a `_Bool`.
        unknown = unknown or isinstance(ctype, CArray) or found.bitsize is not None or leaf_of(ctype) == BOOL
    if "volatile" in (found.quals or ()) or ctype is None or unknown:
        raise Refused("scop-struct", f"the member {name} of {root.name}, of a type that Planish does not handle", node)
    text = f"{root.name}{'->' if isinstance(root.ctype, CPointer | CArray) else '.'}{name}"
    return Symbol(
        text, cx.fresh(_stem(text)), _whole_array(ctype, cx), "global", whole=root, bitfield=found.bitsize is not None,
        overlaid=overlaid, through=True,
    )  # fmt: skip


def _whole_array(ctype: CType, cx: CTranslation) -> CType:
    """An array of at most one element is how C used to write one of any length."""
    if isinstance(ctype, CArray) and ctype.extent is not None:
        extent = fold(ctype.extent, cx.bound.file.constants, cx.bound.typedefs)
        if extent is not None and extent <= 1:
            return CArray(ctype.element, None)
    return ctype
