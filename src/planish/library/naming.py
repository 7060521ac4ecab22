"""Other names, and other shapes, for the arrays that steps and statements use.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> block = parse_kernel("kernel k(n; A: f64[n, 3]) { for i in 0 .. n { A[i, 2] = 0.0 } }").body
>>> print(print_stmt(redirect(block, "A", partial(flattened, "B", (index("n"), index(3)))).body[0]))
for i in 0 .. n {
  B[3 * i + 2] = 0.0:f64
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from planish.ir.expr import Expr, index
from planish.ir.polynomial import add, mul
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


def flattened(name: str, shape: Sequence[Expr | None], at: Sequence[Expr]) -> tuple[str, tuple[Expr, ...]]:
    """An element by its place among all of an array of this shape."""
    return name, (_linear(at, shape),)


def _linear(at: Sequence[Expr], shape: Sequence[Expr | None]) -> Expr:
    """The place of an element, counted from the array's first one."""
    out: Expr = index(0)
    for subscript, extent in zip(at, shape, strict=True):
        out = subscript if extent is None else add(mul(out, extent), subscript)
    return out


def volume(shape: Sequence[Expr | None]) -> Expr | None:
    """The elements of an array; None where its first extent is not known."""
    out: Expr = index(1)
    for extent in shape:
        if extent is None:
            return None
        out = mul(out, extent)
    return out
