"""Renames the arrays that steps and statements use.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> nest = Loops(parse_kernel("kernel k(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0 } }").body)
>>> print(print_stmt(with_name(nest, "A", "B").body.body[0]))
for i in 0 .. n {
  B[i] = 0.0:f64
}
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import assert_never

from planish.ir.expr import Expr
from planish.raising.raised import Apply, Choice, Loops, Repeat, Step
from planish.schedule.accesses import redirect


def with_name(step: Step, old: str, new: str) -> Step:
    """A step with another name for a local array."""
    match step:
        case Apply(operands=operands):
            views = {x: replace(y, array=new) if y.array == old else y for x, y in operands.items()}
            return replace(step, operands=views)
        case Loops(body=body):
            return replace(step, body=redirect(body, old, partial(renamed, new)))
        case Repeat(steps=steps):
            return replace(step, steps=tuple(with_name(x, old, new) for x in steps))
        case Choice(cases=cases):
            return Choice(tuple(replace(x, steps=tuple(with_name(y, old, new) for y in x.steps)) for x in cases))
        case _:
            assert_never(step)


def renamed(name: str, at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
    """An element of an array under another name."""
    return name, at
