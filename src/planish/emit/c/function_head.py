"""The head of a function, over several lines where it is long.

>>> write_head("static void f", ["int a", "float *b"])
['static void f(int a, float *b)']
"""

from __future__ import annotations

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
