"""Complex numbers as two numbers: an array of them is one of rows of a real and an imaginary part.

Before: double complex *c, *a, *b;  c[i] += a[i] * b[i];
After:  double c[?][2];  c[i, 0] += a[i, 0] * b[i, 0] - a[i, 1] * b[i, 1];  c[i, 1] += a[i, 0] * b[i, 1] + …

C corrects a product of which both parts are not a number, as those of infinities may be (`exact_products`); that is
left out where sums may be made in another order.

>>> times(("a", "b"), ("c", None), lambda op, x, y: f"({x} {op} {y})")
('(a * c)', '(b * c)')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol
from planish.frontend.c.numbers.exact_products import exact_product
from planish.frontend.c.translate.addresses import call_name, row, type_of_place
from planish.frontend.c.translate.arithmetic import common, convert
from planish.frontend.c.translate.assignments import StoreTarget, convert_stored, is_hidden, write
from planish.frontend.c.translate.expressions import condition_of, operate, value_of
from planish.frontend.c.translate.state import Address, CTranslation, Refused
from planish.frontend.c.translate.subscripts import address_of, element_place, place_of
from planish.frontend.c.types.declarations import CArray, CScalar, leaf_of, resolve
from planish.ir.expr import Call, Const, Expr, Load, Select, Unary, index, type_of
from planish.ir.index.polynomial import add
from planish.ir.nest import Alloc, Array
from planish.ir.traverse import loads
from planish.ir.types import F32, F64, I32, Type

UNIT = "planish_imaginary_unit"
"""What `I` of complex.h stands for."""
_PARTS = {"creal": 0, "crealf": 0, "cimag": 1, "cimagf": 1}
LENGTHS = {"cabs": "hypot", "cabsf": "hypot", "carg": "atan2", "cargf": "atan2"}
"""Functions that give the length or the angle of a complex number, and those of its parts that do."""
_CONJUGATES = frozenset({"conj", "conjf"})
_PAIRS = frozenset({"__builtin_complex"})
_T = TypeVar("_T")
ComplexValue = tuple[Expr, Expr | None]
"""The real and the imaginary part; None: the value is real."""


def is_complex(node: c_ast.Node, cx: CTranslation) -> bool:
    """Whether an expression is a complex number by its form."""
    match node:
        case c_ast.ID(name=name) if name == UNIT and cx.bound.symbol(node) is None:
            return True
        case c_ast.ID() | c_ast.ArrayRef() | c_ast.UnaryOp(op="*") | c_ast.StructRef():
            found = type_of_place(node, cx)
            return isinstance(found, CArray) and found.complex
        case c_ast.UnaryOp(op="+" | "-" | "~", expr=inner):
            return is_complex(inner, cx)
        case c_ast.BinaryOp(op="+" | "-" | "*" | "/", left=left, right=right):
            return is_complex(left, cx) or is_complex(right, cx)
        case c_ast.TernaryOp(iftrue=left, iffalse=right):
            return is_complex(left, cx) or is_complex(right, cx)
        case c_ast.Cast(to_type=wanted):
            cast = resolve(wanted, cx.bound.typedefs)
            return isinstance(cast, CArray) and cast.complex
        case c_ast.FuncCall():
            return call_name(node) in _CONJUGATES | _PAIRS
        case _:
            return False


def complex_part(node: c_ast.FuncCall, cx: CTranslation) -> Expr | None:
    """A part, the length or the angle of a complex number that a call of the library gives; None: it is none."""
    name = call_name(node)
    if name in cx.bound.file.defined or name not in (*_PARTS, *LENGTHS) or node.args is None:
        return None
    type = F32 if name.endswith("f") else F64
    real, imaginary = (convert(x, type) for x in _whole(complex_value(node.args.exprs[0], cx)))
    if name in _PARTS:
        return (real, imaginary)[_PARTS[name]]
    return Call(LENGTHS[name], (real, imaginary) if name.startswith("cabs") else (imaginary, real))


def complex_value(node: c_ast.Node, cx: CTranslation) -> ComplexValue:
    """Read a number, complex or real. Raises Refused."""
    if not is_complex(node, cx):
        return value_of(node, cx), None
    match node:
        case c_ast.ID(name=name) if name == UNIT:
            return Const(0.0, F32), Const(1.0, F32)
        case c_ast.ID() | c_ast.ArrayRef() | c_ast.UnaryOp(op="*") | c_ast.StructRef():
            real, imaginary = _targets(node, cx)
            return real.load, imaginary.load
        case c_ast.UnaryOp(op=op, expr=inner):
            a, b = _whole(complex_value(inner, cx))
            return (a, b) if op == "+" else (Unary("neg", a) if op == "-" else a, Unary("neg", b))
        case c_ast.BinaryOp(op=op, left=left, right=right):
            return combine(op, complex_value(left, cx), complex_value(right, cx), node, cx)
        case c_ast.TernaryOp(cond=test, iftrue=left, iffalse=right):
            asked = condition_of(test, cx)
            with cx.conditional():
                x, y = _whole(complex_value(left, cx)), _whole(complex_value(right, cx))
            first, last = ((p, convert(q, type_of(p))) for p, q in zip(x, y, strict=True))
            return Select(asked, *first), Select(asked, *last)
        case c_ast.Cast(to_type=wanted, expr=inner):
            part = leaf_of(resolve(wanted, cx.bound.typedefs)) or F64
            a, b = _whole(complex_value(inner, cx))
            return convert(a, part), convert(b, part)
        case c_ast.FuncCall(args=c_ast.ExprList(exprs=[inner])):
            a, b = _whole(complex_value(inner, cx))
            return a, Unary("neg", b)
        case c_ast.FuncCall(args=c_ast.ExprList(exprs=[left, right])):
            return value_of(left, cx), value_of(right, cx)
        case _:
            raise Refused("scop-type", "an expression of complex numbers", node)


def combine(op: str, a: ComplexValue, b: ComplexValue, node: c_ast.Node, cx: CTranslation) -> ComplexValue:
    """A binary operator on two numbers, of which one is complex."""

    def on(op: str, x: Expr, y: Expr) -> Expr:
        return _without_units(op, x, y, cx) or operate(op, x, y, node)

    (_, x), (_, y) = a, b
    if op == "*":
        if x is not None and y is not None and cx.fp != "reassociate":
            type = common(type_of(a[0]), type_of(b[0]))
            parts = (convert(a[0], type), convert(x, type), convert(b[0], type), convert(y, type))

            def keep(stem: str, type: Type, value: Expr) -> Expr:
                return Load(cx.temporary(stem, type, value, node), (), type)

            return exact_product(parts, keep)
        real, imaginary = times(a, b, on)
        return real, imaginary
    if op == "/" and (x is None or y is not None):
        raise Refused("scop-expression", "a quotient by a complex number", node)
    real = on(op, a[0], b[0])
    if op == "/":
        return real, x if x is None else on(op, x, b[0])
    if y is None:
        return real, x
    if x is None:
        return real, y if op == "+" else Unary("neg", y)
    return real, on(op, x, y)


def times(a: tuple[_T, _T | None], b: tuple[_T, _T | None], on: Callable[[str, _T, _T], _T]) -> tuple[_T, _T]:
    """The product of two numbers, of which one is complex at least."""
    (x, y), (u, v) = a, b
    if y is None or v is None:
        return on("*", x, u), on("*", x if y is None else y, u if v is None else v)
    return on("-", on("*", x, u), on("*", y, v)), on("+", on("*", x, v), on("*", y, u))


def _without_units(op: str, x: Expr, y: Expr, cx: CTranslation) -> Expr | None:
    """A product with the parts of `I`, and a sum with that, where the signs of zeros are not seen."""
    if cx.fp != "reassociate":
        return None
    for part, other in ((x, y), (y, x)):
        match part:
            case Const(value=0.0) if op == "*":
                return part
            case Const(value=0.0) if op == "+" or (op == "-" and part is y):
                return other
            case Const(value=1.0) if op == "*" and part.type.is_float and type_of(other).is_float:
                return convert(other, type_of(other) if type_of(other).bits > part.type.bits else part.type)
            case _:
                pass
    return None


def assign_complex(node: c_ast.Assignment, cx: CTranslation) -> None:
    """Translate an assignment to a complex number: one of each of its parts."""
    real, imaginary = _targets(node.lvalue, cx)
    op, value = node.op.removesuffix("="), complex_value(node.rvalue, cx)
    if op:
        value = combine(op, (real.load, imaginary.load), value, node, cx)
    _store(real, imaginary, value, node, cx)


def declare_complex(node: c_ast.Decl, symbol: Symbol, cx: CTranslation) -> None:
    """Translate the declaration of a complex number within a nest."""
    if symbol.static or "extern" in (node.storage or []):
        raise Refused("scop-static", f"{symbol.name} is a static variable", node)
    cx.local.add(symbol)
    cx.values.pop(symbol, None)
    cx.used.setdefault(symbol)
    cx.emit(Alloc(Array(symbol.key, cx.element(symbol), (index(2),), True, "stack"), cx.span_of(node)))
    if node.init is None:
        return
    real, imaginary = _targets(cx.bound.mention(symbol, node.coord), cx)
    guards, cx.guards = cx.guards, []
    _store(real, imaginary, complex_value(node.init, cx), node, cx)
    cx.guards = guards


def _store(
    real: StoreTarget, imaginary: StoreTarget, value: ComplexValue, node: c_ast.Node, cx: CTranslation
) -> None:
    a, b = (convert_stored(x, real.type) for x in _whole(value))
    if any(x.array == real.array and x != imaginary.load for x in loads(b)):
        # The real part is read once more after it is stored.
        b = Load(cx.temporary("imaginary", real.type, b, node), (), real.type)
    write(real, a, node, cx)
    write(imaginary, b, node, cx)


def _whole(value: ComplexValue) -> tuple[Expr, Expr]:
    real, imaginary = value
    if imaginary is None:
        type = type_of(real)
        imaginary = Const(0.0, type) if type.is_float else Const(0, I32)
    return real, imaginary


def _targets(node: c_ast.Node, cx: CTranslation) -> tuple[StoreTarget, StoreTarget]:
    """The places of both parts of a complex number."""
    place = address_of(node, cx) if isinstance(node, c_ast.ID) else place_of(node, cx)
    if isinstance(place.target, CArray) and place.symbol.rows:
        place = Address(place.symbol, place.index, place.target.element)
    elif isinstance(place.target, CArray):
        place = row(place, node)
    if not isinstance(place.target, CScalar):
        raise Refused("scop-type", "a complex number of a type that Planish does not handle", node)
    own = place.symbol in cx.local or (isinstance(node, c_ast.ID) and is_hidden(place.symbol))
    made = []
    for part in (0, 1):
        at = Address(place.symbol, (*place.index[:-1], add(place.index[-1], index(part))), place.target)
        array, subscripts, type = element_place(at, node, cx)
        made.append(StoreTarget(array, subscripts, type, own))
    return made[0], made[1]
