"""Kernels of few operations: the call of one would take as long as what it does.

>>> from planish.ir.text.parser import parse_kernel
>>> nest = "kernel k(n; x: i32[8] distinct) {{ for i in 0 .. {} {{ x[i] += 1 }} }}"
>>> [is_small(parse_kernel(nest.format(x))) for x in ("8", "800", "n")]
[True, False, False]
"""

from __future__ import annotations

import re
from typing import assert_never

from planish.ir.expr import type_of
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.passes.vector_loops import length_of
from planish.ir.traverse import blocks_of, expressions, walk, walk_expr

MOST = 64
"""The statements that run in a call."""


def is_small(kernel: Kernel) -> bool:
    """Whether a call runs few statements, whatever the sizes are."""
    return _count(kernel.body) <= MOST


def part_of_caller(text: str, name: str, kernel: Kernel, exact: bool) -> str:
    """The text of a kernel's function, as a part of what calls it where it is small. `exact`: floats are rounded as the
    function's own settings say, which do not hold in the caller."""
    if not is_small(kernel) or exact and _has_floats(kernel):
        return text
    return re.sub(rf"^static (?=void {name}\()", "planish_part ", text, count=1, flags=re.MULTILINE)


def _count(stmt: Stmt) -> int:
    """How many statements run; many where that is not known."""
    inner = sum(_count(x) for block in blocks_of(stmt) for x in block.body)
    match stmt:
        case While():
            return MOST + 1
        case For() if stmt.facts.instruction or stmt.facts.stream or stmt.facts.parallel:
            return MOST + 1
        case For():
            length = length_of(stmt)
            return MOST + 1 if length is None else length * inner
        case Block():
            return inner
        case If() | Launch():
            return 1 + inner
        case Assign() | Reduce() | Alloc() | Let() | Barrier():
            return 1
        case _:
            assert_never(stmt)


def _has_floats(kernel: Kernel) -> bool:
    values = (y for x in walk(kernel.body) for e in expressions(x) for y in walk_expr(e))
    return any(type_of(x).is_float for x in values)
