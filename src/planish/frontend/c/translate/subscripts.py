"""Index expressions and addresses: the part of C that the polyhedral model can see through.

`index_of` reads an integer expression as a mathematical integer over iterators and sizes; `address_of` reads a
pointer expression as an array and subscripts. Steps such as `*p++` change the state as they are read.

>>> from planish.ir.index.polynomial import show
>>> from planish.ir.expr import Var
>>> show(Indexed(Var("i", INDEX), I32).expr)
'i'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol, is_integer, is_pointer
from planish.frontend.c.idioms.inner_assignments import assign_inside, run_inside
from planish.frontend.c.idioms.modular_subscripts import choose_index, chooses_affine, may_choose, note_range, where
from planish.frontend.c.idioms.recast_views import recast
from planish.frontend.c.idioms.row_pointers import follow, stay_in_row
from planish.frontend.c.translate.addresses import call_name, distance, form_of, is_address, moved, no_array, no_number
from planish.frontend.c.translate.arithmetic import common, fits, literal, plain_index, promoted
from planish.frontend.c.translate.constant_tables import table_number
from planish.frontend.c.translate.divisions import cycle, divide, multiply, with_whole_quotients
from planish.frontend.c.translate.members import held_element, member_address, member_number, member_place, pointed_at
from planish.frontend.c.translate.object_sizes import size_of
from planish.frontend.c.translate.state import (
    Address,
    Again,
    CTranslation,
    KnownInteger,
    KnownNumber,
    LostValue,
    NotIndex,
    Refused,
)
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CUnknown, leaf_of, resolve
from planish.ir.expr import Compare, CompareOp, Expr, index, type_of
from planish.ir.index.polynomial import (
    add,
    constant,
    extremum,
    floordiv,
    mod,
    mul,
    neg,
    normal,
    same,
    show,
    sub,
)
from planish.ir.types import I32, I64, INDEX, U64, Type

_COMPARISON: dict[str, CompareOp] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@dataclass(frozen=True, slots=True)
class Indexed:
    """An integer value as an index expression, and the C type that the user's expression has."""

    expr: Expr
    type: Type


def index_of(node: c_ast.Node, cx: CTranslation) -> Indexed:
    """Read an integer expression. Raises NotIndex where it depends on data or does not fit the model."""
    match node:
        case c_ast.Constant(type=kind, value=text):
            try:
                value = literal(kind, text)
            except Refused as refused:
                raise NotIndex(refused.message, node, refused.cause) from None
            if not value.type.is_int or not fits(int(value.value), I64):
                what = "a number of 2^63 or more" if value.type.is_int else "a floating-point number"
                raise NotIndex(what, node, "scop-data")
            return Indexed(index(int(value.value)), value.type)
        case c_ast.ID():
            return _variable(node, cx)
        case c_ast.UnaryOp(op=op, expr=operand) if op != "*":
            return _unary(node, op, operand, cx)
        case c_ast.BinaryOp(op=op, left=left, right=right):
            return _binary(node, op, left, right, cx)
        case c_ast.Cast(to_type=to_type, expr=operand):
            match resolve(to_type, cx.bound.typedefs):
                case CScalar(type=wanted) if wanted.is_int:
                    return Indexed(fitted(index_of(operand, cx), wanted, node, cx), wanted)
                case _:
                    raise NotIndex("a conversion to a type that is no integer", node, "scop-data")
        case c_ast.TernaryOp(cond=condition, iftrue=then, iffalse=otherwise):
            return _choice(node, condition, then, otherwise, cx)
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*") if cx.holds and id(node) in cx.steady:
            return _held(held_element(node, cx, place_of), node, cx)
        case c_ast.ArrayRef() if cx.unrolled and (found := table_number(node, cx, place_of, _number_of)) is not None:
            return Indexed(index(int(found.value)), found.type)
        case c_ast.ArrayRef():
            raise NotIndex("a value that is read from an array", node, "scop-data")
        case c_ast.UnaryOp():
            raise NotIndex("a value that is read from memory", node, "scop-data")
        case c_ast.FuncCall() if call_name(node) in cx.bound.file.functions:
            return cx.inline(node, cx, _returned(node, cx))
        case c_ast.FuncCall():
            raise NotIndex("the result of a call", node, "scop-data")
        case c_ast.StructRef():
            return _member(node, cx)
        case c_ast.Assignment(lvalue=c_ast.ID() as target):
            assign_inside(node, cx)
            return index_of(target, cx)
        case c_ast.ExprList(exprs=[*first, last]):
            for part in first:
                run_inside(part, cx)
            return index_of(last, cx)
        case _:
            raise NotIndex(f"an expression of the form {form_of(node)}", node)


def _member(node: c_ast.StructRef, cx: CTranslation) -> Indexed:
    """A number in a structure, which is read where the nest begins."""
    undo = cx.remember()
    try:
        symbol = member_number(node, cx, address_of)
    except NotIndex:
        if not cx.holds or id(node) not in cx.steady:
            raise
        undo()
        symbol = held_element(node, cx, place_of)
    if symbol.bitfield:
        raise NotIndex(f"{symbol.name}, a bit-field", node, "scop-data")
    return _held(symbol, node, cx)


def _number_of(node: c_ast.Node, cx: CTranslation) -> Expr:
    return index_of(node, cx).expr


def _returned(node: c_ast.FuncCall, cx: CTranslation) -> Callable[[c_ast.Node | None, CTranslation], Indexed]:
    """How to read what a function of the file returns."""
    result = resolve(cx.bound.file.functions[call_name(node)].decl.type.type, cx.bound.typedefs)

    def read(value: c_ast.Node | None, cx: CTranslation) -> Indexed:
        if value is None or not isinstance(result, CScalar) or not result.type.is_int:
            raise NotIndex("the result of a call, which is no integer", node, "scop-data")
        return Indexed(fitted(index_of(value, cx), result.type, node, cx), result.type)

    return read


def _variable(node: c_ast.ID, cx: CTranslation) -> Indexed:
    if (argument := cx.inlined.get(id(node))) is not None:
        return _argument(argument, node)
    number, symbol = cx.bound.enumerator(node), cx.bound.symbol(node)
    if number is not None:
        if not fits(number, I32):
            raise NotIndex(f"{node.name}, an enumerator that an int does not hold", node, "scop-type")
        return Indexed(index(number), I32)
    if id(node) in cx.bound.constants:
        raise NotIndex(f"{node.name}, an enumerator whose value is not known", node, "scop-type")
    if symbol is None:
        raise NotIndex(f"{node.name}, which {cx.bound.tell_undeclared(node)}", node, "scop-unknown")
    return _held(symbol, node, cx)


def _held(symbol: Symbol, node: c_ast.Node, cx: CTranslation) -> Indexed:
    """What an integer variable holds."""
    if not isinstance(symbol.ctype, CScalar) or not symbol.ctype.type.is_int:
        raise NotIndex(f"{symbol.name}, which is not an integer", node, "scop-data")
    if symbol.const and symbol.storage == "global" and symbol.init is not None:
        return Indexed(index_of(symbol.init, cx).expr, symbol.ctype.type)
    if cx.is_cell(symbol):
        how = "is computed from data, or may be changed by a store" if symbol.lasting else "is computed from data"
        raise NotIndex(f"{symbol.name}, which {how}", node, "scop-data")
    match cx.value(symbol):
        case KnownInteger(expr=expr):
            return Indexed(cx.settle(expr), symbol.ctype.type)
        case KnownNumber(expr=expr):
            return _argument(expr, node)
        case LostValue(reason=reason):
            raise NotIndex(f"{symbol.name}: {reason}", node)
        case Address():
            raise NotIndex(f"{symbol.name}, which is a pointer", node, "scop-pointer")


def _argument(value: Expr, node: c_ast.Node) -> Indexed:
    """The value that a parameter of an inlined function has."""
    known = plain_index(value)
    if known is None:
        name = getattr(node, "name", "a number")
        raise NotIndex(f"{name}, which is computed from data", node, "scop-data")
    return Indexed(known, type_of(value))


def fitted(value: Indexed, type: Type, node: c_ast.Node, cx: CTranslation) -> Expr:
    """The value converted to an integer type, granted that it fits. Raises NotIndex where that cannot be granted."""
    number = constant(value.expr)
    if number is not None:
        low, high = (0, 1 << type.bits) if type.kind == "uint" else (-(1 << type.bits - 1), 1 << type.bits - 1)
        if low <= number < high:
            return value.expr
        raise NotIndex("a constant that does not fit the type it is converted to", node, "scop-narrow")
    source = value.type
    if type.kind == "uint" and source.kind != "uint" and not cx.never_negative(value.expr):
        raise NotIndex("a conversion to an unsigned type of a value that may be negative", node, "scop-wrap")
    wide = type.bits > source.bits or (type.bits == source.bits and (type.kind == source.kind or type.kind == "uint"))
    if not wide:
        limit = (1 << (type.bits - (type.kind == "int"))) - 1
        most = cx.highest(value.expr)
        if most is None or not cx.assume(sub(index(limit), most)):
            raise NotIndex("a conversion to a narrower type", node, "scop-narrow")
        if type.kind == "int" and source.kind == "int" and not cx.never_negative(add(value.expr, index(limit + 1))):
            raise NotIndex("a conversion to a narrower type", node, "scop-narrow")
    return value.expr


def _unary(node: c_ast.UnaryOp, op: str, operand: c_ast.Node, cx: CTranslation) -> Indexed:
    match op:
        case "+":
            value = index_of(operand, cx)
            return Indexed(value.expr, promoted(value.type))
        case "-":
            value = index_of(operand, cx)
            return _result(neg(value.expr), promoted(value.type), node, cx)
        case "++" | "--" | "p++" | "p--":
            return step(node, cx)
        case "sizeof":
            return Indexed(index(size_of(operand, cx, place_of)), U64)
        case _:
            raise NotIndex(f"the operator {op}", node)


def step(node: c_ast.UnaryOp, cx: CTranslation) -> Indexed:
    """`++` and `--` of a symbolic integer, in front or behind."""
    symbol = cx.bound.symbol(node.expr) if isinstance(node.expr, c_ast.ID) else None
    if symbol is None or not is_integer(symbol):
        raise NotIndex("a step of something that is not an integer variable", node)
    before = index_of(node.expr, cx)
    after = add(before.expr, index(1 if "++" in node.op else -1))
    if before.type.bits < 32:
        after = fitted(Indexed(after, I32), before.type, node, cx)
    hold(symbol, KnownInteger(after), cx)
    return before if node.op.startswith("p") else Indexed(after, before.type)


def hold(symbol: Symbol, value: KnownInteger | Address, cx: CTranslation) -> None:
    """Give a symbolic variable a new value; under a data-dependent condition an integer has to live in memory."""
    if cx.guards:
        if isinstance(value, KnownInteger):
            raise Again(cell=symbol)
        raise Refused("scop-condition", f"the pointer {symbol.name} moves under a condition that depends on data")
    cx.values[symbol] = value


def _binary(node: c_ast.Node, op: str, left: c_ast.Node, right: c_ast.Node, cx: CTranslation) -> Indexed:
    if op not in ("+", "-", "*", "/", "%", "<<", ">>", "&"):
        raise NotIndex(f"the operator {op}", node)
    if op == "-" and is_address(left, cx) and is_address(right, cx):
        try:
            return Indexed(distance(address_of(left, cx), address_of(right, cx), node, cx), INDEX)
        except Refused as reason:
            raise NotIndex(reason.message, reason.node or node, reason.cause) from None
    goes_round = op == "%" and (inner := _cycled(left, right, cx)) is not None
    a, b = index_of(inner if goes_round else left, cx), index_of(right, cx)
    return _combined(node, op, a, b, goes_round, cx)


def _offset(node: c_ast.Node, cx: CTranslation) -> Indexed:
    """An integer that is added to an address. Addresses go around at 2^64, so that sums and differences without a sign
    of as many bits may, too: `p[x - stride]` is the element before `p[x]` that it seems to be."""
    match node:
        case c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right) if not is_address(left, cx):
            a, b = _offset(left, cx), _offset(right, cx)
            if common(a.type, b.type) == U64:
                return Indexed((add if op == "+" else sub)(a.expr, b.expr), U64)
            return _combined(node, op, a, b, False, cx)
        case c_ast.UnaryOp(op="-", expr=operand):
            value = _offset(operand, cx)
            return _result(neg(value.expr), I64 if value.type == U64 else promoted(value.type), node, cx)
        case _:
            return index_of(node, cx)


def _combined(node: c_ast.BinaryOp, op: str, a: Indexed, b: Indexed, goes_round: bool, cx: CTranslation) -> Indexed:
    type = promoted(a.type) if op in ("<<", ">>") else common(a.type, b.type)
    if op not in ("<<", ">>"):
        a = Indexed(fitted(a, type, node, cx), type)
        b = Indexed(fitted(b, type, node, cx), type)
    number = constant(b.expr)
    match op:
        case "+":
            return _result(add(a.expr, b.expr), type, node, cx)
        case "-":
            return _result(sub(a.expr, b.expr), type, node, cx)
        case "*":
            return _result(multiply(a.expr, b.expr, cx), type, node, cx)
        case "/" | "%":
            made = cycle(a.expr, b.expr, node, cx) if goes_round else divide(op, a.expr, b.expr, node, cx)
            return Indexed(made, type)
        case "<<" if number is not None and 0 <= number < 62:
            return _result(mul(a.expr, index(1 << number)), type, node, cx)
        case ">>" if number is not None and 0 <= number < 62:
            return Indexed(floordiv(a.expr, index(1 << number)), type)
        case "&" if number is not None and number >= 0 and number & (number + 1) == 0:
            return Indexed(mod(a.expr, index(number + 1)), type)
        case _:
            raise NotIndex(f"the operator {op} on values that are not constant", node)


def _cycled(left: c_ast.Node, right: c_ast.Node, cx: CTranslation) -> c_ast.Node | None:
    """The `x` of `(x % n + n) % n`, where that is signed; None where it is another remainder."""
    match left:
        case c_ast.BinaryOp(op="+", left=c_ast.BinaryOp(op="%", left=inner, right=first), right=second):
            pass
        case c_ast.BinaryOp(op="+", left=second, right=c_ast.BinaryOp(op="%", left=inner, right=first)):
            pass
        case _:
            return None
    with cx.trial():
        values = [index_of(x, cx) for x in (inner, first, second, right)]
    alike = all(same(x.expr, values[3].expr) and x.type.kind == "int" for x in values[1:])
    return inner if alike and values[0].type.kind == "int" else None


def _result(expr: Expr, type: Type, node: c_ast.Node, cx: CTranslation) -> Indexed:
    """A result in C's type: signed overflow is undefined, unsigned arithmetic must be seen not to wrap."""
    if type.kind == "uint":
        if not cx.never_negative(expr):
            raise NotIndex("unsigned arithmetic that may wrap around below zero", node, "scop-wrap")
        if type.bits < 64 or constant(expr) is not None:
            high = cx.highest(expr)
            if high is None or not cx.assume(sub(index((1 << min(type.bits, 63)) - 1), high)):
                raise NotIndex("unsigned arithmetic that may wrap around", node, "scop-wrap")
    return Indexed(expr, type)


def _choice(
    node: c_ast.Node, condition: c_ast.Node, then: c_ast.Node, otherwise: c_ast.Node, cx: CTranslation
) -> Indexed:
    if (decided := cx.bound.value(condition)) is not None:
        taken, left = (then, otherwise) if decided else (otherwise, then)
        with cx.trial():
            other = index_of(left, cx)
        value = index_of(taken, cx)
        type = common(value.type, other.type)
        return Indexed(fitted(value, type, node, cx), type)
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in _COMPARISON:
        raise NotIndex("a choice that is no minimum or maximum", node)
    a, b = index_of(condition.left, cx), index_of(condition.right, cx)
    wide = common(a.type, b.type)
    test = Compare(_COMPARISON[condition.op], fitted(a, wide, node, cx), fitted(b, wide, node, cx))
    arms, bounds = [], []
    for side, holds in ((then, True), (otherwise, False)):
        with where(test, holds, cx), cx.conditional(operand=True):
            arms.append(index_of(side, cx))
            if arms[-1].type.kind == "uint" or constant(arms[-1].expr) is not None:
                bounds.append((cx.lowest(arms[-1].expr), cx.highest(arms[-1].expr)))
    x, y = arms
    type = common(x.type, y.type)
    if condition.op not in ("==", "!=") and len({t.kind for t in (a.type, b.type, x.type, y.type)}) == 1:
        less = condition.op in ("<", "<=")
        if same(a.expr, x.expr) and same(b.expr, y.expr):
            return Indexed(extremum("min" if less else "max", x.expr, y.expr), type)
        if same(a.expr, y.expr) and same(b.expr, x.expr):
            return Indexed(extremum("max" if less else "min", y.expr, x.expr), type)
    if not may_choose(x.expr, y.expr, cx):
        raise NotIndex("a choice that is no minimum or maximum", node)
    cx.chosen = True
    choice = choose_index(test, fitted(x, type, node, cx), fitted(y, type, node, cx))
    if len(bounds) == len(arms):
        note_range(choice, bounds, cx)
    return Indexed(choice, type)


def address_of(node: c_ast.Node, cx: CTranslation) -> Address:
    """Read a pointer expression. Raises Refused where the array behind it cannot be told."""
    match node:
        case c_ast.ID():
            symbol = cx.bound.symbol(node)
            if symbol is None:
                raise Refused("scop-unknown", f"{node.name} {cx.bound.tell_undeclared(node)}", node)
            if not isinstance(symbol.ctype, (CPointer, CArray)):
                raise no_array(symbol, node)
            match cx.value(symbol):
                case Address() as value:
                    return Address(value.symbol, tuple(cx.settle(x) for x in value.index), value.target)
                case LostValue(reason=reason):
                    raise Refused("scop-pointer", f"where {node.name} points is not known: {reason}", node)
                case KnownInteger() | KnownNumber():
                    raise Refused("scop-pointer", f"{node.name} is not a pointer", node)
        case c_ast.ArrayRef(name=name, subscript=subscript):
            return follow(element_of(node, name, subscript, cx), node, cx)
        case c_ast.UnaryOp(op="&", expr=operand):
            return place_of(operand, cx)
        case c_ast.UnaryOp(op="*", expr=operand):
            return follow(address_of(operand, cx), node, cx)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" as op, expr=c_ast.ID() as operand):
            symbol = cx.bound.symbol(operand)
            before = address_of(operand, cx)
            after = moved(before, index(1 if "++" in op else -1))
            if symbol is None or not is_pointer(symbol):
                raise Refused("scop-pointer", "a step of something that is not a pointer variable", node)
            hold(symbol, after, cx)
            return before if op.startswith("p") else after
        case c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right):
            if op == "+" and not is_address(left, cx):
                left, right = right, left
            base = address_of(left, cx)
            offset = subscript_of(right, cx)
            return moved(base, offset if op == "+" else neg(offset))
        case c_ast.Cast(to_type=to_type, expr=operand):
            target = resolve(to_type, cx.bound.typedefs)
            inner = address_of(operand, cx)
            if not isinstance(target, CPointer):
                raise Refused("scop-cast", "a conversion of an address to a number", node)
            return recast(inner, target, node, cx)
        case c_ast.FuncCall():
            raise Refused("scop-call", f"a call of {cx.bound.file.tell_of(call_name(node))}", node)
        case c_ast.StructRef():
            return pointed_at(member_address(node, cx, address_of), node)
        case c_ast.Assignment(lvalue=c_ast.ID() as target):
            assign_inside(node, cx)
            return address_of(target, cx)
        case c_ast.TernaryOp():
            return cx.choose_address(node, cx)
        case _:
            raise Refused("scop-pointer", f"an address of the form {form_of(node)}", node)


def element_of(node: c_ast.Node, name: c_ast.Node, subscript: c_ast.Node, cx: CTranslation) -> Address:
    """The address of `name[subscript]`."""
    if not is_address(name, cx) and is_address(subscript, cx):
        name, subscript = subscript, name
    return moved(address_of(name, cx), subscript_of(subscript, cx))


def subscript_of(node: c_ast.Node, cx: CTranslation) -> Expr:
    """A subscript or offset as an index expression. Raises Refused where it depends on data, unless it may."""
    granted = [*cx.assumptions]
    try:
        with cx.holding():
            return normal(_offset(node, cx).expr)
    except NotIndex as reason:
        refusal = Refused(reason.cause, f"a subscript holds {reason.message}", reason.node or node)
        if not cx.gathers:
            raise refusal from None
        cx.assumptions[:] = granted
        found = cx.data_subscript(node, reason, cx)
        cx.gathered[found] = refusal
        return found


def place_of(node: c_ast.Node, cx: CTranslation) -> Address:
    """The address of an lvalue: an element of an array, or what a pointer points to."""
    symbol = cx.bound.symbol(node)
    match node:
        case c_ast.ArrayRef(name=name, subscript=subscript):
            return element_of(node, name, subscript, cx)
        case c_ast.UnaryOp(op="*", expr=operand):
            return address_of(operand, cx)
        case c_ast.ID() if symbol is not None and isinstance(symbol.ctype, CScalar):
            if not cx.is_cell(symbol):
                raise Again(cell=symbol)
            return Address(symbol, (index(0),), symbol.ctype)
        case c_ast.StructRef():
            return member_place(node, cx, address_of)
        case c_ast.ID() if symbol is not None and isinstance(symbol.ctype, CUnknown) and symbol not in cx.local:
            return Address(symbol, (index(0),), symbol.ctype)
        case _:
            raise Refused("scop-pointer", "the address of something that is not an element of an array", node)


def element_place(address: Address, node: c_ast.Node, cx: CTranslation) -> tuple[str, tuple[Expr, ...], Type]:
    """Array name, subscripts and type of the number at an address; arrays seen as one row are linearised."""
    type = leaf_of(address.target)
    if not isinstance(address.target, CScalar) or type is None:
        raise no_number(address, node)
    cx.used.setdefault(address.symbol)
    stay_in_row(address, node, cx)
    subscripts = address.index
    if isinstance(address.symbol.ctype, CScalar):
        if constant(subscripts[0]) != 0:
            raise Refused("scop-pointer", f"an address beside the variable {address.symbol.name}", node)
        return address.symbol.key, (), type
    if address.symbol in cx.flat:
        linear, ctype = subscripts[0], address.symbol.ctype
        inner = ctype.target if isinstance(ctype, CPointer) else ctype.element if isinstance(ctype, CArray) else ctype
        for subscript in subscripts[1:]:
            if not isinstance(inner, CArray) or inner.extent is None:
                raise Refused("scop-pointer", f"the extents of {address.symbol.name} are not known", node)
            linear = add(mul(linear, subscript_of(inner.extent, cx)), subscript)
            inner = inner.element
        subscripts = (linear,)
    its = [it.name for it in cx.iterators]
    for subscript in (subscripts := subscripts if cx.dry else with_whole_quotients(subscripts, cx)):
        if not cx.dry and not chooses_affine(subscript, its):
            refusal = Refused("scop-affine", f"the subscript {show(subscript)} is not affine", node)
            if not cx.gathers:
                raise refusal
            cx.loose.setdefault(address.symbol.key, cx.gathered.get(subscript, refusal))
    return address.symbol.key, subscripts, type
