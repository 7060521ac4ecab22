"""Expressions as Python text for the interpreter: ranges known for integers spare wrapping and bounds checks.

>>> from planish.ir.expr import Binary, Const, Var
>>> from planish.ir.types import INDEX
>>> names = PythonNames().with_value("i", PythonCode("i1", (0, 9)))
>>> expression(Binary("add", Var("i", INDEX), Const(1, INDEX)), names, [], PythonProgram())
PythonCode(text='(i1 + 1)', range=(1, 10), depth=1)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.index.interval import Interval, combine, narrow
from planish.ir.semantics.arithmetic import (
    constant,
    conversion,
    divide,
    floor_quotient,
    floor_remainder,
    function,
    limits,
    quotient,
    remainder,
    rounding,
    shift_count,
    wrap,
)
from planish.ir.types import BF16, F64, Type

_DEEPEST = 40
"""Parentheses nested deeper than this move to a function (Python's own limit is two hundred)."""


@dataclass(frozen=True, slots=True)
class PythonCode:
    """Python text, the range of its value where it is an integer, and how deep its parentheses nest."""

    text: str
    range: Interval | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ArrayBinding:
    """An array in scope: its name in the kernel, the Python name of its memory, and its extents."""

    name: str
    memory: str
    extents: tuple[PythonCode, ...]

    def element(self, index: tuple[PythonCode, ...], program: PythonProgram) -> str:
        """`memory[subscripts]`; a subscript that may lie outside is checked when it runs."""
        parts: list[str] = []
        for axis, (code, extent) in enumerate(zip(index, self.extents, strict=True)):
            low, high = code.range or (-1, -1)
            if low >= 0 and extent.range is not None and high < extent.range[0]:
                parts.append(code.text)
                continue
            program.names["outside"] = outside
            name = program.fresh("at")
            report = f"outside({self.name!r}, {axis}, {name}, {extent.text})"
            parts.append(f"({name} if 0 <= ({name} := {code.text}) < {extent.text} else {report})")
        return f"{self.memory}[{', '.join(parts) or '()'}]"


def outside(array: str, axis: int, subscript: int, extent: int) -> int:
    """Raises IndexError: the access is out of bounds."""
    raise IndexError(f"{array}: subscript {axis + 1} is {subscript}, outside 0 .. {extent}")


@dataclass(frozen=True, slots=True)
class PythonNames:
    """What is in scope: values (loop variables, sizes, scalars, lets) and arrays by their names in the kernel."""

    values: Mapping[str, PythonCode] = field(default_factory=dict)
    arrays: Mapping[str, ArrayBinding] = field(default_factory=dict)

    def with_value(self, name: str, code: PythonCode) -> PythonNames:
        """The scope with one more value."""
        return replace(self, values={**self.values, name: code})

    def with_array(self, name: str, access: ArrayBinding) -> PythonNames:
        """The scope with one more array."""
        return replace(self, arrays={**self.arrays, name: access})


@dataclass(slots=True)
class PythonProgram:
    """The objects that the Python text refers to by name."""

    names: dict[str, Any] = field(default_factory=dict)
    known: dict[object, str] = field(default_factory=dict)
    count: int = 0

    def fresh(self, stem: str) -> str:
        """A name that was not used before."""
        self.count += 1
        return f"{stem}_{self.count}"

    def constant(self, value: object) -> str:
        """A name for an object; integers and finite doubles stand for themselves."""
        if type(value) is int or type(value) is bool or (type(value) is float and math.isfinite(value)):
            return f"({value!r})" if value < 0 or repr(value)[0] == "-" else repr(value)
        name = self.fresh("k")
        self.names[name] = value
        return name

    def shared(self, key: object, value: object) -> str:
        """A name for an object that is made once for each key."""
        if key not in self.known:
            self.known[key] = self.constant(value)
        return self.known[key]


def expression(expr: Expr, names: PythonNames, lines: list[str], program: PythonProgram) -> PythonCode:
    """The expression as Python text; `lines` receives definitions that have to run before it."""
    code = _translate(expr, names, lines, program)
    if code.depth <= _DEEPEST:
        return code
    name = program.fresh("e")
    lines.append(f"def {name}(): return {code.text}")
    return PythonCode(f"{name}()", code.range)


def _translate(expr: Expr, names: PythonNames, lines: list[str], program: PythonProgram) -> PythonCode:
    match expr:
        case Const(value=value, type=type):
            number = constant(value, type)
            if isinstance(number, bool | int):
                return PythonCode(program.constant(number), (int(number), int(number)))
            return PythonCode(program.shared((type, repr(number)), number))
        case Var(name=name):
            return names.values[name]
        case Load(array=array, index=index, type=type):
            codes = tuple(expression(x, names, lines, program) for x in index)
            text = names.arrays[array].element(codes, program)
            known = None if type.is_float else limits(type)
            return PythonCode(text, known, max((c.depth for c in codes), default=0) + 1)
        case Unary():
            return _unary(expr, expression(expr.operand, names, lines, program), program)
        case Binary():
            a = expression(expr.left, names, lines, program)
            return _binary(expr, a, expression(expr.right, names, lines, program), program)
        case Compare(op=op, left=left, right=right):
            a = expression(left, names, lines, program)
            b = expression(right, names, lines, program)
            sign = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[op]
            return PythonCode(f"({a.text} {sign} {b.text})", (0, 1), max(a.depth, b.depth) + 1)
        case Select(condition=condition, then=then, otherwise=otherwise):
            c = expression(condition, names, lines, program)
            a = expression(then, names, lines, program)
            b = expression(otherwise, names, lines, program)
            known = None
            if a.range is not None and b.range is not None:
                known = (min(a.range[0], b.range[0]), max(a.range[1], b.range[1]))
            return PythonCode(f"({a.text} if {c.text} else {b.text})", known, max(a.depth, b.depth, c.depth) + 1)
        case Cast(operand=operand, type=type):
            return _cast(type_of(operand), type, expression(operand, names, lines, program), program)
        case Call(function=called, arguments=arguments):
            type = type_of(expr)
            codes = tuple(expression(x, names, lines, program) for x in arguments)
            name = program.shared((called, type), function(called, type))
            known = None if type.is_float else limits(type)
            return PythonCode(f"{name}({', '.join(c.text for c in codes)})", known, max(c.depth for c in codes) + 1)
        case _:
            assert_never(expr)


def _wrapped(text: str, raw: Interval, type: Type, depth: int) -> PythonCode:
    """An integer result, wrapped around unless its range lies within the type."""
    known = narrow(raw, type)
    if known == raw:
        return PythonCode(f"({text})", known, depth)
    low = limits(type)[0]
    mask = (1 << type.bits) - 1
    if low == 0:
        return PythonCode(f"(({text}) & {mask})", known, depth + 1)
    return PythonCode(f"((({text}) + {-low} & {mask}) - {-low})", known, depth + 2)


def _rounded(text: str, type: Type, depth: int, program: PythonProgram) -> PythonCode:
    """A float result; only bf16 values do not round by themselves."""
    if type == BF16:
        return PythonCode(f"{program.shared('bf16', rounding(BF16))}({text})", None, depth)
    return PythonCode(f"({text})", None, depth)


def _unary(expr: Unary, x: PythonCode, program: PythonProgram) -> PythonCode:
    type = type_of(expr)
    depth = x.depth + 1
    match expr.op:
        case "not":
            return PythonCode(f"(not {x.text})", (0, 1), depth)
        case "bitnot":
            text = f"~{x.text}" if type.kind == "int" else f"{x.text} ^ {limits(type)[1]}"
            return PythonCode(f"({text})", limits(type), depth)
        case "neg":
            if x.range is None:
                return PythonCode(f"(-{x.text})", None, depth)
            return _wrapped(f"-{x.text}", (-x.range[1], -x.range[0]), type, depth)
        case _:
            assert_never(expr.op)


def _binary(expr: Binary, a: PythonCode, b: PythonCode, program: PythonProgram) -> PythonCode:
    type = type_of(expr)
    depth = max(a.depth, b.depth) + 1
    op = expr.op
    if type.kind == "bool":
        sign = {"and": "and", "or": "or", "xor": "!="}[op]
        return PythonCode(f"({a.text} {sign} {b.text})", (0, 1), depth)
    if op == "min" or op == "max":
        x, y = program.fresh("t"), program.fresh("t")
        sign = "<" if op == "min" else ">"
        known = combine(op, a.range, b.range, type) if a.range is not None and b.range is not None else None
        text = f"({x} if ({x} := {a.text}) {sign} ({y} := {b.text}) else {y})"
        return PythonCode(text, known, depth + 1)
    if type.is_float:
        if op == "div" and type in (F64, BF16):
            return _rounded(f"{program.shared('div', divide)}({a.text}, {b.text})", type, depth + 1, program)
        sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[op]
        return _rounded(f"{a.text} {sign} {b.text}", type, depth, program)
    low, high = limits(type)
    ra, rb = a.range or (low, high), b.range or (low, high)
    raw = combine(op, ra, rb, type)
    match op:
        case "add" | "sub" | "mul" | "and" | "or" | "xor":
            sign = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}[op]
            return _wrapped(f"{a.text} {sign} {b.text}", raw, type, depth)
        case "quo" | "rem" | "floordiv" | "mod":
            if rb[0] > 0 and (ra[0] >= 0 or op in ("floordiv", "mod")):
                sign = "//" if op in ("quo", "floordiv") else "%"
                return PythonCode(f"({a.text} {sign} {b.text})", raw, depth)
            called = {"quo": quotient, "rem": remainder, "floordiv": floor_quotient, "mod": floor_remainder}[op]
            text = f"{program.shared(op, called)}({a.text}, {b.text})"
            if raw == (low, high) and low < 0:
                return PythonCode(f"{program.shared(('wrap', type), lambda x: wrap(x, type))}({text})", raw, depth + 2)
            return PythonCode(text, raw, depth + 1)
        case "shl" | "shr":
            count = b.text
            if rb[0] < 0 or rb[1] >= type.bits:
                count = f"{program.shared(('count', type), lambda n: shift_count(n, type))}({b.text})"
            if op == "shr":
                return PythonCode(f"({a.text} >> {count})", narrow(raw, type), depth + 1)
            return _wrapped(f"{a.text} << {count}", (low - 1, high + 1), type, depth + 1)
        case _:
            raise ValueError(f"{op} has no meaning for {type}")


def _cast(source: Type, target: Type, x: PythonCode, program: PythonProgram) -> PythonCode:
    if source == target:
        return x
    depth = x.depth + 1
    if source.kind == "int" or source.kind == "uint":
        known = x.range or limits(source)
        low, high = limits(target) if target.is_int else (1, 0)
        if target.is_int and low <= known[0] and known[1] <= high:
            return PythonCode(x.text, known, x.depth)
        if target.is_int:
            return _wrapped(x.text, known, target, depth)
    if target == F64 and not source.is_float or target == F64:
        return PythonCode(f"float({x.text})", None, depth)
    name = program.shared(("cast", source, target), conversion(source, target))
    return PythonCode(f"{name}({x.text})", None if target.is_float else limits(target), depth)
