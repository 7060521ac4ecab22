"""The head of a function, over several lines where it is long, and which conditions are promised behind it.

>>> write_head("static void f", ["int a", "float *b"])
['static void f(int a, float *b)']
"""

from __future__ import annotations

from collections.abc import Set

from planish.ir.expr import Compare, Const, Expr, Var
from planish.ir.nest import Array

_WIDTH = 118


def write_head(head: str, parameters: list[str]) -> list[str]:
    """The lines of a head, of its beginning and its parameters."""
    line = f"{head}({', '.join(parameters) or 'void'})"
    if len(line) <= _WIDTH:
        return [line]
    lines = [f"{head}("]
    row = "   "
    for i, parameter in enumerate(parameters):
        piece = f" {parameter}{',' if i + 1 < len(parameters) else ')'}"
        if len(row) + len(piece) > _WIDTH and row.strip():
            lines.append(row)
            row = "   "
        row += piece
    return [*lines, row]


def spell_row(array: Array, name: str, restrict: str, sized: bool) -> str:
    """A row as a parameter: a pointer or, if that is asked for, with its number of elements where this is known.

    >>> from planish.ir.types import I32, INDEX
    >>> spell_row(Array("h", I32, (Const(8, INDEX),)), "h", "", True)
    'h[8]'
    """
    match array.shape:
        case (Const(value=extent), *_) if sized and extent > 0:
            return f"{name}[{restrict}{int(extent)}]"
        case _:
            return f"*{restrict}{name}"


def is_bound(condition: Expr, names: Set[str]) -> bool:
    """Whether a condition compares one of some sizes with a constant."""
    if not isinstance(condition, Compare) or not isinstance(condition.right, Const):
        return False
    return isinstance(condition.left, Var) and condition.left.name in names
