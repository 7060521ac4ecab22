"""Weight matrices: the values of an expression over iterators, for all their values at once.

>>> from planish.ir.text.parser import parse_expr
>>> weights(parse_expr("cos(3.141592653589793 * f64(rem(i32(i) * i32(j), 4:i32)))"), {"i": range(2), "j": range(3)})
array([[ 1.,  1.,  1.],
       [ 1., -1.,  1.]])
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.types import BOOL, Type

Numbers = npt.NDArray[Any]


class NoWeightError(Exception):
    """An expression that is not the same number in every call; the text says why."""


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "quo": lambda a, b: (a - np.fmod(a, b)) // b, "rem": np.fmod, "floordiv": operator.floordiv, "mod": operator.mod,
    "min": np.minimum, "max": np.maximum, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "fabs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "pow": np.power, "fmod": np.fmod, "abs": np.abs,
}  # fmt: skip
_DIVISIONS = frozenset({"quo", "rem", "floordiv", "mod"})


def weights(expr: Expr, axes: Mapping[str, range]) -> Numbers:
    """The values of an expression for all values of some iterators, each an axis of the result in this order.

    Floats are rounded as their types are. NoWeightError where the expression uses anything besides the iterators, an
    integer does not fit its type, or a function is not known."""
    rank = len(axes)
    grids = {
        name: np.arange(x.start, x.stop, x.step, dtype=np.int64).reshape([-1 if i == d else 1 for i in range(rank)])
        for d, (name, x) in enumerate(axes.items())
    }
    found = _value(expr, grids, {})
    return np.broadcast_to(found, [len(x) for x in axes.values()])


def _value(expr: Expr, grids: Mapping[str, Numbers], known: dict[Expr, Numbers]) -> Numbers:
    """The value of an expression, `known` where it stood before."""
    if expr not in known:
        with np.errstate(all="ignore"):
            known[expr] = _fitting(_compute(expr, partial(_value, grids=grids, known=known), grids), type_of(expr))
    return known[expr]


def _compute(expr: Expr, value: Callable[[Expr], Numbers], grids: Mapping[str, Numbers]) -> Numbers:
    match expr:
        case Const(value=number, type=type):
            return np.asarray(number, _number_of(type))
        case Var(name=name):
            if name not in grids:
                raise NoWeightError(f"it depends on `{name}`")
            return grids[name]
        case Load(array=array):
            raise NoWeightError(f"it depends on `{array}`")
        case Unary(op="neg", operand=operand):
            return -value(operand)
        case Unary(operand=operand):
            return ~value(operand)
        case Binary(op=op, left=left, right=right):
            a, b = value(left), value(right)
            if op in _DIVISIONS and not np.all(b):
                raise NoWeightError("it divides by zero")
            return np.asarray(_OPERATORS[op](a, b))
        case Compare(op=comparison, left=left, right=right):
            return np.asarray(_COMPARISONS[comparison](value(left), value(right)))
        case Select(condition=condition, then=then, otherwise=otherwise):
            return np.where(value(condition), value(then), value(otherwise))
        case Cast(operand=operand, type=type):
            return value(operand).astype(_number_of(type))
        case Call(function=function, arguments=arguments):
            if function not in _FUNCTIONS:
                raise NoWeightError(f"the values of `{function}` are not known")
            return np.asarray(_FUNCTIONS[function](*map(value, arguments)))
        case _:
            assert_never(expr)


def _number_of(type: Type) -> str:
    """NumPy's type for the values of a type, of integers one in which it is seen when they do not fit."""
    if type.kind == "bfloat":
        raise NoWeightError("numbers are not rounded to bf16 here")
    return type.numpy if type.is_float or type == BOOL else "int64"


def _fitting(numbers: Numbers, type: Type) -> Numbers:
    """The numbers, if they are some of their type: what wraps around is not computed here."""
    if type.is_float or type == BOOL:
        return numbers
    lowest = 0 if type.kind == "uint" else -(1 << type.bits - 1)
    if numbers.size and (int(numbers.min()) < lowest or int(numbers.max()) >= lowest + (1 << type.bits)):
        raise NoWeightError(f"an integer is beyond {type}")
    return numbers
