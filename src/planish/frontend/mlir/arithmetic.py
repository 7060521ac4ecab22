"""The operations of `arith` and `math` as expressions.

>>> from planish.ir.expr import Var
>>> from planish.ir.text.printer import print_expr
>>> from planish.ir.types import I32
>>> print_expr(binary("divsi", Var("a", I32), Var("b", I32)))
'quo(a, b)'
>>> print_expr(convert_signed(Compare("lt", Var("a", I32), Var("b", I32)), I32))
'select(a < b, -1:i32, 0:i32)'
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.frontend.mlir.state import is_plain
from planish.ir.expr import Binary, BinaryOp, Call, Cast, Compare, CompareOp, Const, Expr, Select, Unary, type_of
from planish.ir.index.polynomial import add, extremum, floordiv, mod, mul, neg, sub
from planish.ir.types import BOOL, I8, INDEX, Floats, Type


@dataclass(frozen=True, slots=True)
class Unsupported(Exception):
    """An operation that has no expression, and what to write instead."""

    reason: str
    advice: str = ""


_POLYNOMIALS = {"addi": add, "subi": sub, "muli": mul}
_INTEGERS: dict[str, BinaryOp] = {
    "addi": "add", "subi": "sub", "muli": "mul", "divsi": "quo", "remsi": "rem", "floordivsi": "floordiv",
    "andi": "and", "ori": "or", "xori": "xor", "shli": "shl", "shrsi": "shr", "minsi": "min", "maxsi": "max",
}  # fmt: skip
_UNSIGNED: dict[str, BinaryOp] = {"divui": "quo", "remui": "rem", "shrui": "shr", "minui": "min", "maxui": "max"}
_FLOATS: dict[str, BinaryOp] = {"addf": "add", "subf": "sub", "mulf": "mul", "divf": "div"}
_FLOAT_CALLS = {
    "remf": "fmod", "minnumf": "fmin", "maxnumf": "fmax", "powf": "pow", "atan2": "atan2", "copysign": "copysign",
}  # fmt: skip
_BOOLS: dict[str, BinaryOp] = {"addi": "xor", "subi": "xor", "muli": "and", "andi": "and", "ori": "or", "xori": "xor"}
FUNCTIONS = {
    "absf": "fabs", "acos": "acos", "asin": "asin", "atan": "atan", "cbrt": "cbrt", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "floor": "floor", "log": "log", "log10": "log10",
    "log1p": "log1p", "log2": "log2", "round": "round", "roundeven": "rint", "sin": "sin", "sinh": "sinh",
    "sqrt": "sqrt", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip
"""Functions of `math` by their names there, and as expressions call them."""
BINARY = (
    *_INTEGERS, *_UNSIGNED, *_FLOATS, *_FLOAT_CALLS, "ceildivsi", "ceildivui", "minimumf", "maximumf",
)  # fmt: skip
"""Operations of two operands that `binary` knows."""


def binary(name: str, a: Expr, b: Expr, floats: Floats = "reassociate") -> Expr:
    """An operation of two operands of one type; raises Unsupported."""
    type = type_of(a)
    if name in _FLOATS:
        return Binary(_FLOATS[name], a, b)
    if name in _FLOAT_CALLS:
        return Call(_FLOAT_CALLS[name], (a, b))
    if name in ("minimumf", "maximumf"):
        return _extremum("min" if name == "minimumf" else "max", a, b, floats)
    if type == BOOL:
        if name not in _BOOLS:
            raise Unsupported(f"`{name}` of two values of type i1", "extend them to i8 first")
        return Binary(_BOOLS[name], a, b)
    if name in ("ceildivsi", "ceildivui"):
        return _ceildiv(name, a, b)
    if type == INDEX and is_plain(a) and is_plain(b):
        return _index(name, a, b)
    if name in _UNSIGNED:
        wide = _unsigned(type)
        return Cast(Binary(_UNSIGNED[name], Cast(a, wide), Cast(b, wide)), type)
    return Binary(_INTEGERS[name], a, b)


def _index(name: str, a: Expr, b: Expr) -> Expr:
    """Index arithmetic is exact, and brought to normal form."""
    if name in _POLYNOMIALS:
        return _POLYNOMIALS[name](a, b)
    match name:
        case "minsi" | "maxsi":
            return extremum(name[:3], a, b)
        case "floordivsi":
            return floordiv(a, b)
        case "divui" | "remui" | "shrui" | "minui" | "maxui":
            wide = _unsigned(INDEX)
            return Cast(Binary(_UNSIGNED[name], Cast(a, wide), Cast(b, wide)), INDEX)
        case "shli" if isinstance(b, Const) and 0 <= int(b.value) < 63:
            return mul(a, Const(1 << int(b.value), INDEX))
        case _:
            return Binary(_INTEGERS[name], a, b)


def divide_index(name: str, a: Expr, b: Expr) -> Expr | None:
    """A division of an index that is not negative by one that is positive rounds down; None for other operations."""
    match name:
        case "divsi" | "divui":
            return floordiv(a, b)
        case "remsi" | "remui":
            return mod(a, b)
        case "minui" | "maxui":
            return extremum(name[:3], a, b)
        case "ceildivui":
            return floordiv(add(a, sub(b, Const(1, INDEX))), b)
        case _:
            return None


def _ceildiv(name: str, a: Expr, b: Expr) -> Expr:
    type = type_of(a)
    if name == "ceildivsi":
        if type == INDEX and is_plain(a) and is_plain(b):
            return neg(floordiv(neg(a), b))
        return _ceiling(a, b, type)
    wide = _unsigned(type)
    quotient = Binary("quo", Cast(a, wide), Cast(b, wide))
    more = Compare("ne", Binary("rem", Cast(a, wide), Cast(b, wide)), Const(0, wide))
    return Cast(Binary("add", quotient, Cast(more, wide)), type)


def _ceiling(a: Expr, b: Expr, type: Type) -> Expr:
    """Rounded up without negating, which the least integer has no room for."""
    exact = Compare("eq", Binary("mod", a, b), Const(0, type))
    return Binary("add", Binary("floordiv", a, b), Select(exact, Const(0, type), Const(1, type)))


def _extremum(op: BinaryOp, a: Expr, b: Expr, floats: Floats) -> Expr:
    """The extremum that is NaN where an operand is, with -0 below +0: where sums may be reordered no NaN is promised,
    and zeros are alike."""
    if floats == "reassociate":
        return Binary(op, a, b)
    one, zero = Const(1.0, type_of(a)), Const(0.0, type_of(a))
    negative = Compare("lt", Call("copysign", (one, a)), zero)
    nearer = Select(negative, b, a) if op == "max" else Select(negative, a, b)
    equal = Select(Compare("eq", a, b), nearer, Binary("add", a, b))
    sides: tuple[CompareOp, CompareOp] = ("gt", "lt") if op == "max" else ("lt", "gt")
    return Select(Compare(sides[0], a, b), a, Select(Compare(sides[1], a, b), b, equal))


_SIGNED: dict[str, CompareOp] = {"eq": "eq", "ne": "ne", "slt": "lt", "sle": "le", "sgt": "gt", "sge": "ge"}
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
_OPPOSITE: dict[str, CompareOp] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_PLAIN: dict[str, CompareOp] = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def compare_integers(predicate: int, a: Expr, b: Expr) -> Expr:
    """`arith.cmpi` with a predicate by its number."""
    name = _PREDICATES[predicate]
    if type_of(a) == BOOL and name not in ("eq", "ne"):
        # The only negative value of i1 is true.
        a, b = (convert_signed(a, I8), convert_signed(b, I8)) if name[0] == "s" else (Cast(a, I8), Cast(b, I8))
        return Compare(_PLAIN[name[1:]], a, b)
    if name in _SIGNED:
        return Compare(_SIGNED[name], a, b)
    wide = _unsigned(type_of(a))
    return Compare(_PLAIN[name[1:]], Cast(a, wide), Cast(b, wide))


def compare_floats(predicate: int, a: Expr, b: Expr) -> Expr:
    """`arith.cmpf` with a predicate by its number: comparisons of NaN are false in C, but for `!=`."""
    name = _FLOAT_PREDICATES[predicate]
    ordered = Binary("and", Compare("eq", a, a), Compare("eq", b, b))
    match name:
        case "false" | "true":
            return Const(name == "true", BOOL)
        case "oeq":
            return Compare("eq", a, b)
        case "une":
            return Compare("ne", a, b)
        case "one":
            return Binary("or", Compare("lt", a, b), Compare("gt", a, b))
        case "ueq":
            return Unary("not", Binary("or", Compare("lt", a, b), Compare("gt", a, b)))
        case "ord":
            return ordered
        case "uno":
            return Unary("not", ordered)
        case _:
            if name[0] == "o":
                return Compare(_PLAIN[name[1:]], a, b)
            return Unary("not", Compare(_OPPOSITE[name[1:]], a, b))


def convert_signed(value: Expr, type: Type) -> Expr:
    """An integer, of whatever width, as a signed one or as a float; i1 holds 0 and -1."""
    if type_of(value) == BOOL:
        one, zero = (-1.0, 0.0) if type.is_float else (-1, 0)
        return Select(value, Const(one, type), Const(zero, type))
    return Cast(value, type)


def convert_unsigned(value: Expr, type: Type) -> Expr:
    """An integer that is taken as unsigned in a wider type, or as a float."""
    source = type_of(value)
    return Cast(value if source == BOOL else Cast(value, _unsigned(source)), type)


def truncate(value: Expr, type: Type) -> Expr:
    """An integer's low bits."""
    source = type_of(value)
    if type == BOOL:
        return Compare("ne", Binary("and", value, Const(1, source)), Const(0, source))
    return Cast(value, type)


def to_unsigned(value: Expr, type: Type) -> Expr:
    """A float as an integer that is taken as unsigned."""
    if type == BOOL:
        return truncate(Cast(value, I8), BOOL)
    return Cast(Cast(value, _unsigned(type)), type)


def _unsigned(type: Type) -> Type:
    return Type("uint", type.bits)
