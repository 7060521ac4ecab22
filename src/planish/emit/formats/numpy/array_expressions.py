"""Expressions as Python over NumPy values: of numbers and, just as well, of whole arrays.

>>> from planish.ir.text.parser import parse_expr
>>> python_text(parse_expr("fmax(x:f64, 0.0) * sqrt(y:f64 - 1.0)"))
'np.fmax(x, 0.0) * np.sqrt(y - 1.0)'
>>> python_text(parse_expr("(n - i) // 2"))
'(n - i) // 2'
"""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.types import BF16, BOOL, Type

TERNARY, COMPARISON, SUM, PRODUCT, PREFIX, ATOM = range(6)
"""How tightly Python's operators bind."""

FUNCTIONS: Mapping[str, str] = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
}  # fmt: skip
"""What NumPy calls otherwise than C."""

_INFIX = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
_DIVISIONS = {"floordiv": "//", "mod": "%"}
_CALLED = {"min": "np.minimum", "max": "np.maximum", "shl": "np.left_shift", "shr": "np.right_shift"}
_BITS = {"and": "np.bitwise_and", "or": "np.bitwise_or", "xor": "np.bitwise_xor"}
_LOGIC = {"and": "np.logical_and", "or": "np.logical_or", "xor": "np.logical_xor"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True, slots=True)
class NameSpelling:
    """How names are spelt, and how an element, or the array that stands for it, is."""

    names: Mapping[str, str] = field(default_factory=dict)
    load: Callable[[Load], tuple[str, int]] | None = None

    def place(self, load: Load) -> tuple[str, int]:
        """An element, or what stands for it."""
        if self.load is not None:
            return self.load(load)
        at = ", ".join(python_text(x, self) for x in load.index) or "()"
        return f"{self.names.get(load.array, load.array)}[{at}]", ATOM


def spell_names(names: Collection[str]) -> dict[str, str]:
    """Python's spelling of names, of which some are its keywords, functions that the text uses, or private."""
    out: dict[str, str] = {}
    for name in sorted(names):
        spelling = name
        while keyword.iskeyword(spelling) or hasattr(builtins, spelling) or spelling in ("np", *out.values()):
            spelling += "_"
        while spelling != name and spelling in names:
            spelling += "_"
        out[name] = spelling
    return out


def dtype_text(type: Type) -> str:
    """NumPy's name of a type; PlanishError E0841 for one that it does not have."""
    if type == BF16:
        raise PlanishError(Diagnostic("E0841", "NumPy has no bf16 values", help="convert them to f32"))
    return f"np.{type.numpy}" + "_" * (type == BOOL)


def python_text(expr: Expr, spelling: NameSpelling | None = None, level: int = TERNARY) -> str:
    """The expression as Python, in parentheses unless it binds at least as tightly as `level`."""
    text, own = _form(expr, spelling or NameSpelling())
    return text if own >= level else f"({text})"


def _form(expr: Expr, to: NameSpelling) -> tuple[str, int]:
    match expr:
        case Const():
            return _literal(expr)
        case Var(name=name):
            return to.names.get(name, name), ATOM
        case Load():
            return to.place(expr)
        case Unary(op="neg", operand=x):
            return f"-{python_text(x, to, PREFIX)}", PREFIX
        case Unary(op=op, operand=x):
            return _called("np.logical_not" if op == "not" else "np.invert", (x,), to)
        case Binary():
            return _binary(expr, to)
        case Compare(op=op, left=a, right=b):
            return f"{python_text(a, to, SUM)} {_COMPARISONS[op]} {python_text(b, to, SUM)}", COMPARISON
        case Select(condition=c, then=a, otherwise=b):
            return _called("np.where", (c, a, b), to)
        case Cast(operand=x, type=type):
            return _form(x, to) if type_of(x) == type else _called(dtype_text(type), (x,), to)
        case Call(function="fma", arguments=(a, b, c)):
            return _form(Binary("add", Binary("mul", a, b), c), to)
        case Call(function="round", arguments=(x,)):
            # C rounds a half away from zero, NumPy to what is even.
            text = python_text(x, to, SUM)
            return f"np.trunc({text} + np.copysign(np.nextafter(0.5, 0.0), {text}))", ATOM
        case Call(function=function, arguments=arguments):
            return _called(f"np.{FUNCTIONS.get(function, function)}", arguments, to)
        case _:
            assert_never(expr)


def _called(function: str, arguments: tuple[Expr, ...], to: NameSpelling) -> tuple[str, int]:
    return f"{function}({', '.join(python_text(x, to) for x in arguments)})", ATOM


def _literal(const: Const) -> tuple[str, int]:
    value, type = const.value, const.type
    if type == BOOL:
        return str(bool(value)), ATOM
    if type.is_float and not math.isfinite(value):
        text = "np.nan" if math.isnan(value) else "np.inf"
        return (f"-{text}", PREFIX) if value < 0 else (text, ATOM)
    number = repr(float(value) if type.is_float else int(value))
    return number, PREFIX if number[0] == "-" else ATOM


def _binary(expr: Binary, to: NameSpelling) -> tuple[str, int]:
    op, a, b = expr.op, expr.left, expr.right
    if op in _INFIX:
        sign, own = _INFIX[op]
        return f"{python_text(a, to, own)} {sign} {python_text(b, to, own + 1)}", own
    if op in _DIVISIONS:
        return f"{python_text(a, to, PRODUCT)} {_DIVISIONS[op]} {python_text(b, to, PREFIX)}", PRODUCT
    if op in _CALLED:
        return _called(_CALLED[op], (a, b), to)
    if op == "and" or op == "or" or op == "xor":
        return _called((_LOGIC if type_of(expr) == BOOL else _BITS)[op], (a, b), to)
    # C rounds quotients towards zero, which NumPy's fmod does as well, exactly.
    rest = f"np.fmod({python_text(a, to)}, {python_text(b, to)})"
    if op == "rem":
        return rest, ATOM
    return f"({python_text(a, to, SUM)} - {rest}) // {python_text(b, to, PREFIX)}", PRODUCT
