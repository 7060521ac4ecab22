"""C assignments as statements of a nest: plain ones, accumulations, and those under a condition on data.

>>> from planish.ir.types import F32
>>> StoreTarget("s", (), F32, True).load
Load(array='s', index=(), type=Type(kind='float', bits=32))
"""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol, is_constant, is_integer
from planish.frontend.c.assumed.granted_conditions import NOWHERE, is_nowhere
from planish.frontend.c.assumed.guarded_stores import GuardedStore
from planish.frontend.c.idioms.branches import find_choice, is_static
from planish.frontend.c.idioms.inner_assignments import run_inside
from planish.frontend.c.idioms.recast_views import recast
from planish.frontend.c.idioms.sole_call import is_unseen, sole_call
from planish.frontend.c.structures.address_elements import address_place, address_value, is_address_place
from planish.frontend.c.translate.addresses import form_of, moved
from planish.frontend.c.translate.arithmetic import conjunction, convert
from planish.frontend.c.translate.expressions import as_data, choose, expect_one_way, operate, value_of
from planish.frontend.c.translate.state import Address, Again, CTranslation, KnownInteger, NotIndex, Refused
from planish.frontend.c.translate.subscripts import (
    address_of,
    element_place,
    fitted,
    hold,
    index_of,
    place_of,
    subscript_of,
)
from planish.frontend.c.types.constants import has_effects, is_null, walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CUnknown, CVoid, resolve
from planish.ir.expr import Binary, Cast, Const, Expr, Load, index, type_of
from planish.ir.index.polynomial import constant, neg
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Reduce
from planish.ir.passes.reduction_idioms import accumulation
from planish.ir.traverse import decide
from planish.ir.types import BOOL, I32, INDEX, Type

_MOST_LISTED = 256


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """A number in memory: array, subscripts and type; `local` says that nobody else can see it."""

    array: str
    index: tuple[Expr, ...]
    type: Type
    local: bool

    @property
    def load(self) -> Load:
        """What it holds."""
        return Load(self.array, self.index, self.type)


def assign(node: c_ast.Assignment, cx: CTranslation) -> Expr | None:
    """Translate an assignment, and give the value that the left side then holds (None: it is an address)."""
    symbol = cx.bound.symbol(node.lvalue) if isinstance(node.lvalue, c_ast.ID) else None
    if symbol is not None:
        match symbol.ctype:
            case CPointer():
                _assign_pointer(node, symbol, cx)
                return None
            case CScalar(type=type) if is_integer(symbol) and not cx.is_cell(symbol):
                return _assign_integer(node, symbol, type, cx)
            case CScalar():
                pass
            case CUnknown() as unknown:
                raise Refused("scop-type", f"an assignment to {symbol.name}, which {unknown.told}", node)
            case CArray() | CVoid():
                raise Refused("scop-type", f"an assignment to {symbol.name}, whose type Planish does not handle", node)
    op = node.op.removesuffix("=")
    if symbol is None and not op and is_address_place(node.lvalue, cx):
        place = address_place(node.lvalue, cx)
        write(StoreTarget(place.array, place.index, place.type, False), address_value(node.rvalue, cx), node, cx)
        return None
    cx.whole = sole_call(node.rvalue, cx.bound)
    if op and not is_unseen(node.lvalue, cx.whole, cx.bound):
        cx.whole = None
    if isinstance(node.rvalue, c_ast.Assignment) and not op:
        inner = assign(node.rvalue, cx)
        if inner is None:
            raise Refused("scop-pointer", "an address used as a value", node.rvalue)
        outer = target_of(node.lvalue, symbol, cx)
        write(outer, convert_stored(inner, outer.type), node, cx)
        return outer.load
    # The address is read once and used twice: `*p++ += x` moves it once.
    target = target_of(node.lvalue, symbol, cx)
    value = value_of(node.rvalue, cx)
    if op:
        value = operate(op, target.load, value, node)
    write(target, convert_stored(value, target.type), node, cx)
    return target.load


def is_hidden(symbol: Symbol) -> bool:
    """Whether nobody else sees what a variable holds."""
    return symbol.storage != "global" and not symbol.static and not symbol.address_taken


def convert_stored(value: Expr, type: Type) -> Expr:
    """The value as it is stored; a wrapping sum of narrow integers is computed at their own width."""
    match value:
        case Binary(
            op="add" | "sub" | "mul" | "and" | "or" | "xor" as op, left=Cast(operand=Load() as left), right=right
        ):
            wide = type_of(value)
            if type.is_int and wide.is_int and type.bits <= wide.bits and left.type == type:
                return Binary(op, left, convert(right, type))
            return convert(value, type)
        case _:
            return convert(value, type)


def target_of(node: c_ast.Node, symbol: Symbol | None, cx: CTranslation) -> StoreTarget:
    """The cell that an lvalue names."""
    if symbol is not None:
        cx.used.setdefault(symbol)
        return StoreTarget(symbol.key, (), cx.element(symbol), is_hidden(symbol))
    if isinstance(node, c_ast.ID):
        raise Refused("scop-unknown", f"{node.name} {cx.bound.tell_undeclared(node)}", node)
    if not isinstance(node, (c_ast.ArrayRef, c_ast.UnaryOp, c_ast.StructRef)):
        place_of(node, cx)
        raise Refused("scop-assignment", f"an assignment to {form_of(node)}", node)
    address = place_of(node, cx)
    array, subscripts, type = element_place(address, node, cx)
    own = isinstance(address.symbol.ctype, CScalar) and is_hidden(address.symbol)
    return StoreTarget(array, subscripts, type, own or address.symbol in cx.local)


def _assign_pointer(node: c_ast.Assignment, symbol: Symbol, cx: CTranslation) -> None:
    match node.op:
        case "=" if (is_null(node.rvalue) or is_nowhere(node.rvalue, cx)) and not cx.guards:
            cx.values[symbol] = NOWHERE
            return
        case "=":
            value = _seen_as(symbol, address_of(node.rvalue, cx), node, cx)
        case "+=":
            value = moved(address_of(node.lvalue, cx), subscript_of(node.rvalue, cx))
        case "-=":
            value = moved(address_of(node.lvalue, cx), neg(subscript_of(node.rvalue, cx)))
        case _:
            raise Refused("scop-pointer", f"the operator {node.op} on a pointer", node)
    point(symbol, value, cx)


def _seen_as(symbol: Symbol, value: Address, node: c_ast.Node, cx: CTranslation) -> Address:
    """An address as a pointer variable holds it: C converts those of `void` by themselves."""
    match symbol.ctype:
        case CPointer(target=target) if isinstance(target, CVoid) != isinstance(value.target, CVoid):
            return recast(value, symbol.ctype, node, cx)
        case _:
            return value


def point(symbol: Symbol, value: Address, cx: CTranslation) -> None:
    """Make a pointer variable point to an address; what it may walk through is seen as one row."""
    if isinstance(symbol.ctype, CPointer) and symbol.ctype.target != value.target:
        raise Refused("scop-cast", f"{symbol.name} points to another type than what it is given")
    if len(value.index) > 1 and value.symbol not in cx.flat:
        raise Again(flat=value.symbol)
    hold(symbol, value, cx)


def _assign_integer(node: c_ast.Assignment, symbol: Symbol, type: Type, cx: CTranslation) -> Expr:
    op = node.op.removesuffix("=")
    if isinstance(node.rvalue, c_ast.Assignment) and not op:
        inner = node.rvalue.lvalue
        value = assign(node.rvalue, cx)
        if value is None or not isinstance(inner, c_ast.ID):
            raise Again(cell=symbol)
        right: c_ast.Node = inner
    else:
        right = node.rvalue
    if op:
        right = c_ast.BinaryOp(op, node.lvalue, right, node.coord)
    cx.whole = sole_call(right, cx.bound)
    try:
        with cx.holding():
            known = fitted(index_of(right, cx), type, node, cx)
    except NotIndex:
        raise Again(cell=symbol) from None
    hold(symbol, KnownInteger(known), cx)
    return as_data(known, type)


def step_statement(node: c_ast.UnaryOp, cx: CTranslation) -> None:
    """`x++;` as a statement."""
    symbol = cx.bound.symbol(node.expr) if isinstance(node.expr, c_ast.ID) else None
    if symbol is not None and isinstance(symbol.ctype, CPointer):
        address_of(node, cx)
        return
    if symbol is not None and is_integer(symbol) and not cx.is_cell(symbol):
        try:
            index_of(node, cx)
        except NotIndex:
            raise Again(cell=symbol) from None
        return
    target = target_of(node.expr, symbol, cx)
    expect_one_way(target.type, node)
    if target.type == BOOL:
        # What is added to is an int, which becomes 0 or 1 again.
        value = convert_stored(operate(node.op[-1], target.load, Const(1, I32), node), BOOL)
    else:
        one = Const(1.0 if target.type.is_float else 1, target.type)
        value = Binary("add" if "++" in node.op else "sub", target.load, one)
    write(target, value, node, cx)


def write(target: StoreTarget, value: Expr, node: c_ast.Node, cx: CTranslation) -> None:
    """Emit the store of a value of the target's type, as an accumulation where it is one."""
    if cx.guards:
        _write_guarded(target, value, node, cx)
        return
    if (test := find_choice(value, lambda x: is_static(x, cx))) is not None:
        _write_branches(target, value, test, node, cx)
        return
    found = accumulation(target.array, target.index, value, cx.fp == "reassociate")
    if found is not None:
        op, term = found
        if op == "add" and _is_nothing(term, cx):
            return
        cx.emit(Reduce(target.array, target.index, op, term, cx.span_of(node)))
    else:
        cx.store(target.array, target.index, value, node)


def _write_branches(target: StoreTarget, value: Expr, test: Expr, node: c_ast.Node, cx: CTranslation) -> None:
    """Store a value of which a choice by loop variables is a part: each side where it is chosen."""
    with cx.inside() as then:
        write(target, decide(value, test, True), node, cx)
    with cx.inside() as otherwise:
        write(target, decide(value, test, False), node, cx)
    if then or otherwise:
        cx.emit(If(test, Block(tuple(then)), Block(tuple(otherwise)), cx.span_of(node)))


def _is_nothing(term: Expr, cx: CTranslation) -> bool:
    """Whether adding a term changes nothing; with floats, but for the sign of a zero and what is no number."""
    match term:
        case Const(value=value):
            return value == 0 and (term.type.is_int or cx.fp == "reassociate")
        case Binary(op="mul", left=left, right=right):
            return _is_nothing(left, cx) or _is_nothing(right, cx)
        case Cast(operand=operand):
            return (term.type.is_int or cx.fp == "reassociate") and _is_nothing(operand, cx)
        case _:
            return False


def _write_guarded(target: StoreTarget, value: Expr, node: c_ast.Node, cx: CTranslation) -> None:
    guard = conjunction(cx.guards)
    chosen = choose(guard, value, target.load)
    seen = not target.local and not cx.is_covered(target.array, target.index) and cx.searches is None
    # What is loaded in every case is there in every case.
    unread = seen and target.load not in cx.certain
    # Of floats, no sum and no extremum tells where it changes the sign of a zero.
    exact = target.type.is_int or cx.fp == "reassociate"
    stays = unread or (seen and not exact)
    sum_ = None if stays else accumulation(target.array, target.index, value, cx.fp == "reassociate")
    found = None if stays else accumulation(target.array, target.index, chosen, cx.fp == "reassociate")
    if sum_ is not None and sum_[0] == "add" and exact:
        zero = Const(0.0 if target.type.is_float else 0, target.type)
        found = "add", choose(guard, sum_[1], zero)
    stmt: Assign | Reduce
    if found is not None:
        stmt = Reduce(target.array, target.index, found[0], found[1], cx.span_of(node))
    else:
        stmt = Assign(target.array, target.index, chosen, cx.span_of(node))
    cx.emit(stmt)
    if seen:
        cx.guarded.append(GuardedStore(stmt, tuple(cx.guards), value, unread, node))


def declare(node: c_ast.Decl, cx: CTranslation) -> None:
    """Translate a declaration inside a region."""
    symbol = cx.bound.symbol(node)
    if symbol is None:
        return
    if (symbol.static and not is_constant(symbol)) or "extern" in (node.storage or []):
        raise Refused("scop-static", f"{symbol.name} is a static variable", node)
    cx.local.add(symbol)
    cx.values.pop(symbol, None)
    match symbol.ctype:
        case CScalar(type=type):
            if is_integer(symbol) and not cx.is_cell(symbol):
                if node.init is not None:
                    left = cx.bound.mention(symbol, node.coord)
                    _assign_integer(c_ast.Assignment("=", left, node.init, node.coord), symbol, type, cx)
                return
            value = None
            if node.init is not None:
                init = node.init.exprs[0] if isinstance(node.init, c_ast.InitList) else node.init
                cx.whole = sole_call(init, cx.bound)
                value = convert(value_of(init, cx), type)
            start_cell(symbol, type, value, node, cx)
        case CPointer():
            if node.init is not None and (is_null(node.init) or is_nowhere(node.init, cx)):
                cx.values[symbol] = NOWHERE
            elif node.init is not None:
                # Nothing sees it where the conditions around it do not hold.
                guards, cx.guards = cx.guards, []
                point(symbol, _seen_as(symbol, address_of(node.init, cx), node, cx), cx)
                cx.guards = guards
        case CArray():
            _declare_array(node, symbol, cx)
        case CUnknown(record=c_ast.Node() as record) if cx.bound.file.records.members(record) and not symbol.lasting:
            _declare_record(node, symbol, record, cx)
        case CUnknown() as unknown:
            raise Refused("scop-type", f"{symbol.name} {unknown.told}", node)
        case CVoid():
            raise Refused("scop-type", f"{symbol.name} has no type", node)


def _declare_record(node: c_ast.Decl, symbol: Symbol, record: c_ast.Node, cx: CTranslation) -> None:
    """Declare a structure: those of its numbers that the function names are variables of their own. Initial values are
    evaluated in the order of the members, those of the others for what they do besides."""
    named = {x.name: x for x in cx.bound.symbols if x.whole is symbol and not x.through}
    given = [] if node.init is None else _initial_values(node.init, symbol.name, record, cx)
    if given is None:
        raise Refused("scop-type", f"the initial value of {symbol.name}, a structure", node)
    for member in named.values():
        if is_integer(member) and not cx.is_cell(member):
            raise Again(cell=member)
    for name, value in given:
        if (set_ := named.pop(name, None)) is None:
            read_for_effects(value, cx)
        else:
            _start_member(set_, convert(value_of(value, cx), cx.element(set_)), node, cx)
    for member in named.values():
        type = cx.element(member)
        nothing = Const(0.0 if type.is_float else 0, type)
        _start_member(member, None if node.init is None else nothing, node, cx)


def _start_member(member: Symbol, value: Expr | None, node: c_ast.Decl, cx: CTranslation) -> None:
    cx.local.add(member)
    start_cell(member, cx.element(member), value, node, cx)


def _initial_values(
    init: c_ast.Node, path: str, record: c_ast.Node, cx: CTranslation
) -> list[tuple[str, c_ast.Node]] | None:
    """The initial values of a structure's members in their order, by their names in C: one of each number and address,
    the list of each array. None where it is not known which value is whose."""
    records = cx.bound.file.records
    members = records.members(record)
    if not isinstance(init, c_ast.InitList) or members is None or len(init.exprs) > len(members):
        return None
    if _is_zero(init):
        return []
    out: list[tuple[str, c_ast.Node]] = []
    for member, value in zip(members, init.exprs, strict=False):
        if not isinstance(member, c_ast.Decl) or member.name is None or member.bitsize is not None:
            return None
        if records.is_ambiguous(member) or any(isinstance(x, c_ast.NamedInitializer) for x in walk_tree(value)):
            return None
        name = f"{path}.{member.name}"
        match resolve(member.type, cx.bound.typedefs), value:
            case CUnknown(), _:
                inner = _initial_values(value, name, member, cx)
                if inner is None:
                    return None
                out += inner
            case CArray(), c_ast.InitList():
                out.append((name, value))
            case CScalar() | CPointer(), c_ast.InitList(exprs=[only]) if not isinstance(only, c_ast.InitList):
                out.append((name, only))
            case CScalar() | CPointer(), c_ast.Node() if not isinstance(value, c_ast.InitList):
                out.append((name, value))
            case _:
                return None
    return out


def read_for_effects(value: c_ast.Node | None, cx: CTranslation) -> None:
    """Evaluate an expression of which nothing is made. Raises Refused and Again."""
    match value:
        case c_ast.Assignment():
            assign(value, cx)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
            step_statement(value, cx)
        case c_ast.InitList(exprs=parts):
            for part in parts:
                read_for_effects(part, cx)
        case c_ast.ExprList(exprs=[*before, last]):
            for part in before:
                run_inside(part, cx)
            read_for_effects(last, cx)
        case c_ast.Node() if has_effects(value):
            value_of(value, cx)
        case _:
            pass


def start_cell(symbol: Symbol, type: Type, value: Expr | None, node: c_ast.Node, cx: CTranslation) -> None:
    """Declare a number that lives in memory, which holds a value at first (None: any)."""
    cx.used.setdefault(symbol)
    cx.emit(Alloc(Array(symbol.key, type, (), True, "register"), cx.span_of(node)))
    if value is None:
        return
    if cx.guards:
        value = choose(conjunction(cx.guards), value, Const(0.0 if type.is_float else 0, type))
    if not cx.guards and (test := find_choice(value, lambda x: is_static(x, cx))) is not None:
        _write_branches(StoreTarget(symbol.key, (), type, True), value, test, node, cx)
    else:
        cx.store(symbol.key, (), value, node)


def _declare_array(node: c_ast.Decl, symbol: Symbol, cx: CTranslation) -> None:
    type = cx.element(symbol)
    extents: list[Expr] = []
    ctype = symbol.ctype
    while isinstance(ctype, CArray):
        if ctype.extent is None:
            raise Refused("scop-array", f"the extent of {symbol.name} is not given", node)
        extents.append(subscript_of(ctype.extent, cx))
        ctype = ctype.element
    if not isinstance(ctype, CScalar):
        raise Refused("scop-type", f"{symbol.name} holds pointers", node)
    cx.used.setdefault(symbol)
    shape = tuple(extents)
    if symbol in cx.flat:
        raise Refused(
            "scop-pointer", f"a pointer walks through the local array {symbol.name} of several dimensions", node
        )
    cx.emit(Alloc(Array(symbol.key, type, shape, True, "stack"), cx.span_of(node)))
    if node.init is not None:
        _initialise(node, symbol, shape, type, cx)


def _initialise(node: c_ast.Decl, symbol: Symbol, shape: tuple[Expr, ...], type: Type, cx: CTranslation) -> None:
    sizes = [constant(x) for x in shape]
    if not isinstance(node.init, c_ast.InitList) or any(n is None for n in sizes):
        raise Refused("scop-array", f"the initial value of {symbol.name}", node)
    listed = node.init.exprs
    zero = Const(0.0 if type.is_float else 0, type)
    if len(shape) > 1 and [x for x in listed if not _is_zero(x)]:
        raise Refused("scop-array", f"the initial values of {symbol.name}", node)
    if len(shape) > 1 or len(listed) < (sizes[0] or 0):
        names = [cx.fresh("fill") for _ in shape]
        body: Assign | For = Assign(symbol.key, tuple(index(n) for n in names), zero, cx.span_of(node))
        for name, extent in zip(reversed(names), reversed(shape), strict=True):
            body = For(name, index(0), extent, 1, Block((body,)), span=cx.span_of(node))
        cx.emit(body)
    if len(shape) > 1:
        return
    if len(listed) > _MOST_LISTED or any(isinstance(x, (c_ast.NamedInitializer, c_ast.InitList)) for x in listed):
        raise Refused("scop-array", f"the initial values of {symbol.name}", node)
    for n, item in enumerate(listed):
        value = convert(value_of(item, cx), type)
        if len(listed) == sizes[0] or value != zero:
            cx.store(symbol.key, (Const(n, INDEX),), value, node)


def _is_zero(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.InitList):
        return all(_is_zero(x) for x in node.exprs)
    return isinstance(node, c_ast.Constant) and node.value in ("0", "0.0", "0.0f", "0.f", "0.")
