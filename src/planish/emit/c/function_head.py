"""The head of a function, over several lines where it is long, and which conditions are promised behind it.

>>> write_head("static void f", ["int a", "float *b"])
['static void f(int a, float *b)']
"""

from __future__ import annotations

from collections.abc import Set

from planish.ir.expr import Compare, Const, Expr, Var

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


def is_bound(condition: Expr, names: Set[str]) -> bool:
    """Whether a condition compares one of some sizes with a constant."""
    if not isinstance(condition, Compare) or not isinstance(condition.right, Const):
        return False
    return isinstance(condition.left, Var) and condition.left.name in names
