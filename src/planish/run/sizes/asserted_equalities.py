"""Parameters that a function asserts to be equal to an expression of others: calls give them that value.

>>> conditions = Conditions(equal=(("half", "(width + 1) / 2"), ("width", "2 * half - 1")))
>>> asserted_equal(conditions, {"width": 17, "half": 3}, ("half",))
{'half': 9}
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from pycparser import c_ast
from pycparser.c_parser import CParser

from planish.frontend.c.translation_unit import Conditions
from planish.frontend.c.types.constants import fold

_MOST = 1 << 31


def asserted_equal(conditions: Conditions, sizes: Mapping[str, int], free: Container[str]) -> dict[str, int]:
    """The values of those parameters, among some that are `free`, that are known where others have these sizes."""
    found: dict[str, int] = {}
    for name, text in conditions.equal:
        value = fold(_parsed(text), {**sizes, **found}) if name in free and name not in found else None
        if value is not None and 0 <= value < _MOST:
            found[name] = value
    return found


@cache
def _parsed(text: str) -> c_ast.Node:
    return CParser().parse(f"int x = {text};").ext[0].init
