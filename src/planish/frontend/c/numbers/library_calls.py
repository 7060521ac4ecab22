"""Calls of the C library and of what compilers have built in, as expressions; none of them does anything else.

>>> from planish.ir.expr import Var
>>> library_value("lrintf", [Var("x", F32)]).operand.function
'rint'
>>> library_value("__builtin_fabsf", [Var("x", F64)]).arguments[0].type.bits
32
>>> library_value("getchar", []) is None
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from planish.frontend.c.numbers.exact_products import LARGEST, is_finite, is_nan
from planish.frontend.c.translate.arithmetic import convert
from planish.ir.expr import PURE_FUNCTIONS, Binary, Call, Cast, Const, Expr, type_of
from planish.ir.types import F32, F64, I32, I64, U16, U32, U64, Type

BUILT_IN = "__builtin_"
_CONSTANTS = {
    "inff": Const(math.inf, F32), "inf": Const(math.inf, F64),
    "huge_valf": Const(math.inf, F32), "huge_val": Const(math.inf, F64),
    "nanf": Const(math.nan, F32), "nan": Const(math.nan, F64),
}  # fmt: skip
"""What `INFINITY`, `HUGE_VAL` and `NAN` of math.h stand for."""
_ABSOLUTE = {"abs": I32, "labs": I64, "llabs": I64}
_ROUNDED = {"lrint": "rint", "llrint": "rint", "lround": "round", "llround": "round"}
_SAME = {"nearbyint": "rint", "fabs": "fabs"}
"""Functions that differ in flags of exceptions alone."""
_SWAPPED = {"bswap16": U16, "bswap32": U32, "bswap64": U64}


def is_library_function(called: str) -> bool:
    """Whether a name may be that of a function that is known."""
    name = called.removeprefix(BUILT_IN)
    plain = (name, name[:-1]) if name.endswith("f") else (name,)
    return name in {*_CONSTANTS, *_SWAPPED, *_ABSOLUTE, *_TESTS} or any(
        x in PURE_FUNCTIONS or x in _ROUNDED or x in _SAME for x in plain
    )


def library_value(called: str, arguments: Sequence[Expr]) -> Expr | None:
    """The value of a call of the library; None where Planish does not know what it is."""
    name = called.removeprefix(BUILT_IN)
    if called != name and name in _CONSTANTS:
        return _CONSTANTS[name]
    if called != name and name in _SWAPPED and len(arguments) == 1:
        return _swapped(convert(arguments[0], _SWAPPED[name]), _SWAPPED[name])
    if name in _ABSOLUTE and len(arguments) == 1:
        return Call("abs", (convert(arguments[0], _ABSOLUTE[name]),))
    if name in _TESTS and len(arguments) == 1 and type_of(arguments[0]) in LARGEST:
        return Cast(_TESTS[name](arguments[0]), I32)
    type: Type = F64
    if name not in PURE_FUNCTIONS and name.endswith("f"):
        name, type = name[:-1], F32
    wanted = _ROUNDED.get(name, _SAME.get(name, name))
    if wanted == "abs" or PURE_FUNCTIONS.get(wanted) != len(arguments):
        return None
    value = Call(wanted, tuple(convert(x, type) for x in arguments))
    return Cast(value, I64) if name in _ROUNDED else value


def _swapped(x: Expr, type: Type) -> Expr:
    """The bytes of a number without a sign in the other order."""
    last = type.bits - 8
    parts = []
    for place in range(0, type.bits, 8):
        byte = Binary("and", Binary("shr", x, Const(place, type)), Const(255, type))
        parts.append(Binary("shl", byte, Const(last - place, type)))
    return reduce(lambda a, b: Binary("or", a, b), parts)


_TESTS: Mapping[str, Callable[[Expr], Expr]] = {
    "isnan": is_nan, "isfinite": is_finite, "finite": is_finite,
}
