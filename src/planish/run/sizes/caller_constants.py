"""Constants that a file's own callers pass: literals, macros, enumerators and variables that are given one.

>>> text = "#define N 512\\nvoid f(int n, int s, float *x);\\nint main(void) { int s = 2 * 2; f(N, s, x); f(n, 1, x); }"
>>> find_calls(text, "f", ("n", "s", "x"))
({'n': 512, 's': 4}, {'s': 1})
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Mapping, Sequence

from planish.core.python_text import parse_expression

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.M)
_GIVEN = re.compile(r"\b(\w+)\s*=\s*([\w\s+*/()<-]+?)\s*(?=[,;}])")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_SUM = re.compile(r"[\w \t\n+*()<-]{1,200}", re.ASCII)
"""What is evaluated at all: Python would have something to say about other text, or be at its end with a long one."""
_CHANGED = re.compile(r"\b(\w+)\s*(?:\+\+|--|[-+*/|&^%]=|<<=|>>=)|(?:\+\+|--)\s*(\w+)")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift}
_MOST = 1 << 40


def find_calls(text: str, function: str, parameters: Sequence[str]) -> tuple[dict[str, int], ...]:
    """Of each call in a file's text the numbers that are known, by the names of the parameters; calls of which nothing
    is known are left out, and so are those that are alike."""
    text = _COMMENT.sub(" ", text)
    constants = _constants(text)
    found: list[dict[str, int]] = []
    for match in re.finditer(rf"\b{re.escape(function)}\s*\(", text):
        arguments = list(_arguments(text, match.end()))
        if len(arguments) != len(parameters):
            continue
        values = ((p, _evaluate(x, constants)) for p, x in zip(parameters, arguments, strict=True))
        call = {p: v for p, v in values if v is not None}
        if call and call not in found:
            found.append(call)
    return tuple(found)


def _constants(text: str) -> dict[str, int]:
    """The names that stand for one number in all of a text."""
    out: dict[str, int] = {}
    unsure: set[str] = set()
    for name, value in (*_DEFINE.findall(text), *_GIVEN.findall(text)):
        number = _evaluate(value, out)
        if number is None or out.get(name, number) != number:
            unsure.add(name)
        else:
            out[name] = number
    changed = {x or y for x, y in _CHANGED.findall(text)}
    return {x: y for x, y in out.items() if x not in unsure | changed}


def _arguments(text: str, start: int) -> Iterator[str]:
    """The arguments of a call, from behind its bracket on."""
    depth, begin = 0, start
    for at in range(start, len(text)):
        match text[at]:
            case "(" | "[" | "{":
                depth += 1
            case ")" if depth == 0:
                yield text[begin:at]
                return
            case ")" | "]" | "}":
                depth -= 1
            case "," if depth == 0:
                yield text[begin:at]
                begin = at + 1
            case _:
                pass


def _evaluate(text: str, constants: Mapping[str, int]) -> int | None:
    """The value of sums and products of numbers and constants; None for anything else, and for what is too long."""
    text = text.strip()
    if not _SUM.fullmatch(text):
        return None
    try:
        return _value(parse_expression(_SUFFIX.sub(r"\1", text)), constants)
    except (SyntaxError, ValueError, KeyError, OverflowError):
        return None


def _value(node: ast.expr, constants: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            number = value
        case ast.Name(id=name):
            number = constants[name]
        case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
            left, right = _value(a, constants), _value(b, constants)
            number = _OPERATORS[type(op)](left, min(right, 64) if isinstance(op, ast.LShift) else right)
        case _:
            raise ValueError
    if abs(number) > _MOST:
        raise ValueError
    return number
