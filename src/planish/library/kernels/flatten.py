"""Arrays viewed as one dimension: their elements in memory order.

>>> from planish.ir.text.printer import print_expr
>>> name, at = flattened("A", (None, index("n")), (index("i"), index("j")))
>>> name, print_expr(at[0])
('A', 'i * n + j')
>>> print_expr(volume((index("n"), index(4)))), volume((None, index("n")))
('4 * n', None)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, mul
from planish.ir.nest import Array, Block
from planish.schedule.accesses import redirect


def flattened(name: str, shape: Sequence[Expr | None], at: Sequence[Expr]) -> tuple[str, tuple[Expr, ...]]:
    """An access to an array of a shape as one to the same memory under a name that has one dimension."""
    return name, (linear(at, shape),)


def linear(at: Sequence[Expr], shape: Sequence[Expr | None]) -> Expr:
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


def with_one_name(
    caller: Sequence[Array], heap: Sequence[Array], block: Block, arrays: Mapping[str, Array], bases: Mapping[str, str]
) -> tuple[tuple[Array, ...], list[Array], Block]:
    """The caller's arrays, those on the heap, and statements with one name for each block of memory: one that has
    several (`bases`: whose memory a name stands for) is addressed by its elements, one after the other."""
    shaped = dict.fromkeys(bases.values())
    for name in (*shaped, *bases):
        block = redirect(block, name, partial(flattened, bases.get(name, name), arrays[name].shape))
    flat = [replace(x, shape=(volume(x.shape),)) if x.name in shaped else x for x in (*caller, *heap)]
    return tuple(flat[: len(caller)]), flat[len(caller) :], block
