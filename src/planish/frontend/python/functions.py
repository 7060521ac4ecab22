"""The functions that a kernel may call: Python's own few, those of `math`, and NumPy's on single values.

`math`'s and Python's give Python numbers of the operand's precision; NumPy's promote as ufuncs do.

>>> import math
>>> from planish.frontend.python.arithmetic import weak
>>> from planish.ir.text.printer import print_expr
>>> print_expr(apply(math.hypot, "math.hypot", (weak(3.0), weak(4))).expr)
'hypot(3.0:f64, 4.0:f64)'
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from planish.frontend.python.arithmetic import (
    TypedValue,
    Untranslatable,
    call,
    choose,
    convert,
    extremum,
    magnitude,
    meet,
    truth,
)
from planish.ir.expr import PURE_FUNCTIONS, Binary, Call, Compare, Const, Expr, Select
from planish.ir.types import BOOL, BY_NAME, F16, F32, F64, INDEX, Type

_MATH = {
    math.sqrt: "sqrt", math.exp: "exp", math.log2: "log2", math.log10: "log10", math.sin: "sin", math.cos: "cos",
    math.tan: "tan", math.sinh: "sinh", math.cosh: "cosh", math.tanh: "tanh", math.asin: "asin", math.acos: "acos",
    math.atan: "atan", math.atan2: "atan2", math.fabs: "fabs", math.hypot: "hypot", math.cbrt: "cbrt",
    math.fmod: "fmod", math.copysign: "copysign", math.expm1: "expm1", math.log1p: "log1p", math.exp2: "exp2",
    math.log: "log", math.pow: "pow",
}  # fmt: skip

_WHOLE = {math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc", round: "rint"}
"""They give a Python integer."""

_NUMPY: dict[object, str] = {
    np.sqrt: "sqrt", np.exp: "exp", np.exp2: "exp2", np.log: "log", np.log2: "log2", np.log10: "log10",
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
    np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.arctan2: "atan2", np.fabs: "fabs",
    np.hypot: "hypot", np.cbrt: "cbrt", np.fmod: "fmod", np.copysign: "copysign", np.expm1: "expm1",
    np.log1p: "log1p", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc", np.rint: "rint",
    np.fmin: "fmin", np.fmax: "fmax",
}  # fmt: skip

_NUMPY_TYPES: dict[object, Type] = {
    np.bool_: BOOL,
    **{getattr(np, t.numpy): t for n, t in BY_NAME.items() if t.kind in ("int", "uint", "float")},
}

_ADVICE = "known are abs, min, max, int, float, round, and the functions of math and NumPy on single values"


def numpy_type(meaning: object) -> Type | None:
    """The type that an object such as `numpy.float32` stands for."""
    return _NUMPY_TYPES.get(meaning) if isinstance(meaning, type) else None


def apply(meaning: object, name: str, values: tuple[TypedValue, ...]) -> TypedValue:
    """The call of a function object that the user spelt `name`. Raises Refused where it is not known."""
    if meaning is min or meaning is max:
        if len(values) < 2:
            raise Untranslatable("E0313", f"`{name}` of one value", "pass two or more numbers")
        out = values[0]
        for value in values[1:]:
            out = extremum("min" if meaning is min else "max", out, value)
        return out
    try:
        hash(meaning)
    except TypeError:
        raise Untranslatable("E0313", f"the call of `{name}`", _ADVICE) from None
    if meaning is abs:
        return magnitude(_only(name, values))
    if meaning is int:
        return _integer(_only(name, values))
    if meaning is float:
        return TypedValue(convert(_only(name, values), F64), True)
    if meaning is bool:
        return TypedValue(truth(_only(name, values)))
    if isinstance(meaning, type):
        type_ = numpy_type(meaning)
        if type_ is None:
            raise Untranslatable("E0313", f"the call of `{name}`", _ADVICE)
        return TypedValue(convert(_only(name, values), type_, stored=True))
    for whole, function in _WHOLE.items():
        if meaning is whole:
            value = _only(name, values)
            return value if value.type.is_int else _integer(call(function, (value,)))
    for mathematical, function in _MATH.items():
        if meaning is mathematical:
            return _mathematical(function, name, values)
    return _ufunc(meaning, name, values)


def _only(name: str, values: tuple[TypedValue, ...]) -> TypedValue:
    _count(name, values, 1)
    return values[0]


def _count(name: str, values: tuple[TypedValue, ...], wanted: int) -> None:
    if len(values) != wanted:
        raise Untranslatable(
            "E0313", f"`{name}` takes {wanted} value{'s' if wanted > 1 else ''} here, not {len(values)}"
        )


def _integer(value: TypedValue) -> TypedValue:
    """`int(value)`: a Python integer, rounded towards zero."""
    if value.type == INDEX:
        return TypedValue(value.expr, True)
    if isinstance(value.expr, Const) and value.type.is_float and not math.isfinite(value.expr.value):
        raise Untranslatable("E0330", f"{value.expr.value} is no integer")
    return TypedValue(convert(value, INDEX, stored=True), True)


def _mathematical(function: str, name: str, values: tuple[TypedValue, ...]) -> TypedValue:
    if function == "log" and len(values) == 2:
        raise Untranslatable("E0313", "`math.log` with a base", "write math.log(x) / math.log(base)")
    _count(name, values, PURE_FUNCTIONS[function])
    return call(function, values)


def _ufunc(meaning: object, name: str, values: tuple[TypedValue, ...]) -> TypedValue:
    function = _NUMPY.get(meaning)
    if function is not None:
        _count(name, values, PURE_FUNCTIONS[function])
        return _promoted(function, values)
    if meaning is np.absolute:
        return magnitude(_only(name, values))
    if meaning is np.where:
        _count(name, values, 3)
        return choose(truth(values[0]), values[1], values[2])
    if meaning is np.power:
        _count(name, values, 2)
        return _promoted("pow", values)
    if meaning is np.minimum or meaning is np.maximum:
        _count(name, values, 2)
        return _propagating("min" if meaning is np.minimum else "max", values[0], values[1])
    raise Untranslatable("E0313", f"the call of `{name}`", _ADVICE)


def _promoted(function: str, values: tuple[TypedValue, ...]) -> TypedValue:
    """A ufunc: small integers become half precision, Python numbers alone become doubles."""
    type, gives_way = values[0].kind
    for value in values[1:]:
        type, gives_way = meet((type, gives_way), value.kind)
    if function in ("fmin", "fmax") and type.is_int:
        return extremum("min" if function == "fmin" else "max", values[0], values[1])
    if function in ("floor", "ceil", "trunc") and type.is_int:
        return values[0]
    if function == "pow" and not type.is_float:
        raise Untranslatable("E0330", f"`pow` on {type}", "write the product, or convert to a float")
    if not type.is_float:
        type = F16 if type.bits == 8 else F32 if type.bits == 16 else F64
    return TypedValue(Call(function, tuple(convert(x, type) for x in values)))


def _propagating(op: Literal["min", "max"], a: TypedValue, b: TypedValue) -> TypedValue:
    """NumPy's minimum and maximum: not a number where an operand is not."""
    type, _ = meet(a.kind, b.kind)
    if not type.is_float:
        return TypedValue(extremum(op, a, b).expr)
    x, y = convert(a, type), convert(b, type)
    first: Expr = Compare("lt" if op == "min" else "gt", x, y)
    return TypedValue(Select(Binary("or", first, Compare("ne", x, x)), x, y))
