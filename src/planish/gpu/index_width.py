"""Whether indices of 32 bits reach as far as the bounds of a nest, whose constants multiply sizes.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "for i in 0 .. n { if 3 * i < m { A[5 * i] = 0.0:f32 } }"
>>> index_factor(parse_kernel(f"kernel k(n, m; A: f32[5 * n]) {{ {text} }}"))
3
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.ir.expr import Binary, Const, Expr, Load
from planish.ir.nest import For, If, Kernel, Let
from planish.ir.traverse import walk, walk_expr
from planish.ir.types import INDEX

WIDEST_FACTOR = 256
"""Nests whose bounds multiply by more are left to the processor."""
WIDEST_CONSTANT = 1 << 29


def index_factor(kernel: Kernel) -> int | None:
    """The largest number by which bounds and conditions on iterators multiply or divide; None where indices of 32 bits
    are not enough for what they compute. Subscripts are not asked: the host asks whether they are in range."""
    exprs = list(_bounds(kernel))
    constants = [abs(int(x.value)) for e in exprs for x in walk_expr(e) if isinstance(x, Const) and x.type == INDEX]
    factors = [abs(int(y.value)) for e in exprs for x in walk_expr(e) for y in _factors(x)]
    factor = max(factors, default=1) or 1
    most = max(constants, default=1) * (factor**2 if factor > 1 else 1)
    return factor if factor <= WIDEST_FACTOR and most < WIDEST_CONSTANT else None


def _bounds(kernel: Kernel) -> Iterator[Expr]:
    for stmt in walk(kernel.body):
        match stmt:
            case For(lower=lower, upper=upper):
                yield from (lower, upper)
            case If(condition=value) | Let(value=value) if not any(isinstance(x, Load) for x in walk_expr(value)):
                yield value
            case _:
                pass


def _factors(value: Expr) -> Iterator[Const]:
    match value:
        case Binary(op="mul" | "floordiv" | "mod", left=left, right=right):
            yield from (x for x in (left, right) if isinstance(x, Const) and x.type == INDEX)
        case _:
            pass
