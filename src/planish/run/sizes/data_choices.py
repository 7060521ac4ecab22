"""Which functions go different ways for what their arrays hold, and contents for which they go both ways.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "int f(int n, unsigned char *a, int t) { int c = 0; for (int i = 0; i < n; i++) c += a[i] > t; return c; }"
>>> choices = find_choices(read_c(Source("f.c", text)).functions[0])
>>> choices.found, choices.ranges
(True, {'t': (64, 191)})
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from planish.frontend.c.translation_unit import CFunction
from planish.ir.accesses import values
from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Var, type_of
from planish.ir.nest import For, If, Let, Reduce, Stmt, While
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import expressions, loads, walk, walk_expr
from planish.ir.types import INDEX, Type
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase
from planish.run.sizes.random_arguments import integer_range

MOST = 10_000
"""The largest constant that elements are made comparable with: products of larger ones may overflow."""
_WIDE = 50  # elements of any integers are on both sides of smaller constants
_LOOP, _CHOICE = re.compile(r"\b(?:for|while|do)\b"), re.compile(r"\b(?:if|while|switch)\b|[?]|&&|[|]{2}")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Choices:
    """Whether any was `found`; `ranges` of integers, by the names of the function's parameters, for which conditions go
    both ways; and the largest constant that floats are compared with, or 0."""

    found: bool = False
    ranges: Mapping[str, Range] = field(default_factory=dict)
    largest: float = 0.0


def find_choices(function: CFunction, text: str = "") -> Choices:
    """What decides which way a function goes, besides the sizes; `text` is that of its file."""
    found, largest, ranges = _outside(function, text), 0.0, dict[str, Range]()
    types = {p.name: p.type for p in leaves_of(function)}
    for region in function.regions:
        found = found or region.exits is not None or region.packing is not None
        names = dict(region.names)
        lets = {x.var: x.value for x in walk(region.kernel.body) if isinstance(x, Let)}
        scalars = {x.name for x in region.kernel.scalars}
        for stmt in walk(region.kernel.body):
            found = found or _decides(stmt, lets)
        tests = (x for x in values(region.kernel.body) if isinstance(x, Compare) and type_of(x.left) != INDEX)
        for compared in tests:
            for one, other in ((compared.left, compared.right), (compared.right, compared.left)):
                read = next(iter(_read(one, lets)), None)
                if read is None:
                    continue
                match _plain(other):
                    case Const(value=value) if read.type.is_float:
                        largest = max(largest, abs(value)) if abs(value) <= MOST else largest
                    case Const(value=value) if read.type.is_int and compared.op in ("eq", "ne"):
                        name, number = names.get(read.array, ""), int(value)
                        around = (number, number + 1) if number == 0 else (number - 1, number + 1)
                        ranges[name] = _joined(ranges.get(name, around), around)
                    case Const(value=value) if read.type.is_int and _WIDE < abs(value) <= MOST:
                        name, bound = names.get(read.array, ""), 2 * int(abs(value))
                        around = (-bound if read.type.kind == "int" else 0, bound)
                        ranges[name] = _joined(ranges.get(name, around), around)
                    case Var(name=scalar) if scalar in scalars and read.type.is_int:
                        ranges[names[scalar]] = _middle(read.type)
                    case _:
                        pass
    fitting = {x: _within(y, type) for x, y in ranges.items() if (type := types.get(x)) is not None and type.is_int}
    return Choices(found, {x: y for x, y in fitting.items() if y[0] < y[1]}, largest)


def with_choices(case: CallCase, choices: Choices) -> CallCase:
    """The call, timed with other contents each time, in which conditions go both ways; what others ask of contents and
    of arguments is kept."""
    if not choices.found:
        return case
    free = {x: y for x, y in choices.ranges.items() if x not in case.values and x not in case.ends}
    # The bounds of an index are those of what it reaches.
    ranges = {x: y for x, y in free.items() if x not in case.ranges or x not in case.elements}
    return replace(case, ranges={**case.ranges, **ranges}, choosing=True, spread=max(1.0, choices.largest))


def _outside(function: CFunction, text: str) -> bool:
    """Whether a loop that is in no region may hold a condition."""
    place, parts = function.start, []
    for region in sorted(function.regions, key=lambda x: x.start):
        parts.append(text[place : region.start])
        place = region.end
    whole = " ".join((*parts, text[place : function.end]))
    loop = _LOOP.search(whole)
    return loop is not None and _CHOICE.search(whole) is not None


def _decides(stmt: Stmt, lets: Mapping[str, Expr]) -> bool:
    """Whether a statement goes one way or another for what arrays hold."""
    match stmt:
        case While():
            return True
        case If(condition=condition):
            if _is_data(condition, lets):
                return True
        case For(lower=lower, upper=upper):
            return bool(loads(lower) or loads(upper))
        case Reduce(op="min" | "max"):
            return True
        case _:
            pass
    for x in (y for e in expressions(stmt) for y in walk_expr(e)):
        match x:
            case Select(condition=condition) if _is_data(condition, lets):
                return True
            case Compare() | Binary(op="min" | "max") | Call(function="fmin" | "fmax" | "abs") if _is_data(x, lets):
                return True
            case _:
                pass
    return False


def _is_data(x: Expr, lets: Mapping[str, Expr]) -> bool:
    return next(iter(_read(x, lets)), None) is not None


def _read(x: Expr, lets: Mapping[str, Expr], depth: int = 8) -> Iterator[Load]:
    """What is read of arrays for a value, that of names as well."""
    for part in walk_expr(x):
        match part:
            case Load():
                yield part
            case Var(name=name) if name in lets and depth:
                yield from _read(lets[name], lets, depth - 1)
            case _:
                pass


def _plain(x: Expr) -> Expr:
    while isinstance(x, Cast):
        x = x.operand
    return x


def _middle(type: Type) -> Range:
    """The middle half of what elements of a type are in random arrays."""
    low, high = integer_range(type)
    quarter = (high - low + 1) // 4
    return low + quarter, high - quarter


def _joined(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _within(bounds: Range, type: Type) -> Range:
    low, high = limits(type)
    return max(low, bounds[0]), min(high, bounds[1])
