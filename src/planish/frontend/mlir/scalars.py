"""Operations that give one scalar: constants, arithmetic, comparisons, conversions, functions, affine maps.

compute(op, cx)     # False for an operation of another kind
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineMap

from planish.frontend.mlir.arithmetic import (
    BINARY,
    FUNCTIONS,
    Unsupported,
    binary,
    compare_floats,
    compare_integers,
    convert_signed,
    convert_unsigned,
    divide_index,
    to_unsigned,
    truncate,
)
from planish.frontend.mlir.maps import NotAMap, is_small, read_extremum, read_map
from planish.frontend.mlir.state import MlirTranslation, is_plain
from planish.frontend.mlir.types import scalar_type
from planish.ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, type_of
from planish.ir.semantics.arithmetic import wrap
from planish.ir.types import BOOL, INDEX, Type


def compute(op: Operation, cx: MlirTranslation) -> bool:
    """Say what the result of an operation of `arith`, `math` or `affine` is; False where it is none of those known.

    Raises PlanishError E0864, E0865, E0872.
    """
    dialect, _, name = op.name.partition(".")
    if len(op.results) != 1 or dialect not in ("arith", "math", "affine"):
        return False
    try:
        found = _maps(name, op, cx) if dialect == "affine" else _scalar(name, op, cx)
    except Unsupported as refused:
        cx.fail(op, "E0872", refused.reason, refused.advice)
    if found is None:
        return False
    # What is extended from an index that cannot have wrapped is still that index.
    exact = cx.number(op.operands[0], op).exact if name == "extsi" else None
    cx.define(op.results[0], found, op, exact)
    return True


def result_type(op: Operation, cx: MlirTranslation) -> Type:
    """The type of an operation's result; PlanishError E0865."""
    type = scalar_type(op.results[0].type)
    if type is None:
        cx.fail(op, "E0865", f"a value of type `{op.results[0].type}`", "numbers of 1 to 64 bits are supported")
    return type


def _maps(name: str, op: Operation, cx: MlirTranslation) -> Expr | None:
    if name not in ("apply", "min", "max"):
        return None
    map = map_of(op.properties["map"], op, cx)
    operands = [cx.index(x, op) for x in op.operands]
    try:
        return read_map(map, operands)[0] if name == "apply" else read_extremum(name, map, operands)
    except NotAMap as fault:
        cx.fail(op, "E0862", f"`{op.name}` is not well-formed: {fault}")


def map_of(attribute: Attribute, op: Operation, cx: MlirTranslation) -> AffineMap:
    """The affine map that an attribute holds."""
    if not isinstance(attribute, AffineMapAttr) or not attribute.data.results:
        cx.fail(op, "E0862", f"`{op.name}` is not well-formed: `{attribute}` is no affine map with results")
    return attribute.data


def _scalar(name: str, op: Operation, cx: MlirTranslation) -> Expr | None:
    """The expression of an operation of `arith` or `math`, None where it is unknown."""
    type = result_type(op, cx)
    if name == "constant":
        return _constant(op, type, cx)
    operands = [cx.expr(x, op) for x in op.operands]
    match name, operands:
        case ("cmpi" | "cmpf", [a, b]):
            predicate = op.properties["predicate"]
            assert isinstance(predicate, IntegerAttr)
            compare = compare_integers if name == "cmpi" else compare_floats
            return compare(predicate.value.data, a, b)
        case ("select", [c, a, b]):
            return Binary("or", Binary("and", c, a), Binary("and", Unary("not", c), b)) if (
                type == BOOL and is_plain(a) and is_plain(b)
            ) else Select(c, a, b)  # fmt: skip
        case (_, [a, b]) if name in BINARY:
            return _binary(name, op, a, b, cx)
        case (_, [a]) if name in FUNCTIONS and type.is_float:
            return Call(FUNCTIONS[name], (a,))
        case ("index_cast", [a]):
            return _index_cast(op, a, type, cx)
        case (_, [a]):
            return _unary(name, a, type)
        case ("fma", [a, b, c]):
            return Call("fma", (a, b, c))
        case ("fpowi", [a, b]):
            return Call("pow", (a, convert_signed(b, type)))
        case _:
            return None


def _unary(name: str, a: Expr, type: Type) -> Expr | None:
    match name:
        case "negf":
            return Unary("neg", a)
        case "rsqrt":
            return Binary("div", Const(1.0, type), Call("sqrt", (a,)))
        case "absi":
            return Call("abs", (a,))
        case "extsi" | "sitofp":
            return convert_signed(a, type)
        case "extui" | "uitofp" | "index_castui":
            return convert_unsigned(a, type)
        case "trunci":
            return truncate(a, type)
        case "fptosi":
            return truncate(Cast(a, Type("int", 8)), type) if type == BOOL else Cast(a, type)
        case "fptoui":
            return to_unsigned(a, type)
        case "extf" | "truncf":
            return Cast(a, type)
        case "bitcast":
            if type_of(a) == type:
                return a
            raise Unsupported("`arith.bitcast` from one type to another", "convert the value, or store and load it")
        case _:
            return None


def _binary(name: str, op: Operation, a: Expr, b: Expr, cx: MlirTranslation) -> Expr:
    if type_of(a) == INDEX and is_plain(a) and is_plain(b):
        if name == "muli" and not is_small(a, b):
            cx.fail(op, "E0870", "this index is a product of too many terms", "compute fewer of them at once")
        if cx.range(a)[0] >= 0 and cx.range(b)[0] >= (0 if name in ("minui", "maxui") else 1):
            rounded = divide_index(name, a, b)
            if rounded is not None:
                return rounded
    return binary(name, a, b, cx.floats)


def _index_cast(op: Operation, a: Expr, type: Type, cx: MlirTranslation) -> Expr:
    if type == INDEX:
        exact = cx.number(op.operands[0], op).exact
        return exact if exact is not None else convert_signed(a, INDEX)
    return truncate(a, type)


def _constant(op: Operation, type: Type, cx: MlirTranslation) -> Expr:
    match op.properties.get("value"):
        case IntegerAttr(value=value) if type.is_int:
            return Const(wrap(value.data, type), type)
        case IntegerAttr(value=value) if type == BOOL:
            return Const(bool(value.data), BOOL)
        case FloatAttr(value=value) if type.is_float:
            return Const(value.data, type)
        case other:
            cx.fail(op, "E0865", f"a constant `{other}`", "numbers are supported")
