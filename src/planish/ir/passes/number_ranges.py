"""Ranges of numbers that conditions tell, as narrower types: what reads a number in such a type knows its range.

Before: y[i] = x[i] * gain                 (0 <= gain <= 255 is known)
After:  y[i] = x[i] * i32(u8(gain))

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> kernel = parse_kernel("kernel k(n; gain: i32; x: i32[n]) { for i in 0 .. n { x[i] *= gain } }")
>>> from planish.ir.expr import Compare, Const
>>> from planish.ir.types import I32
>>> gain = Var("gain", I32)
>>> facts = [Compare("ge", gain, Const(0, I32)), Compare("gt", Const(256, I32), gain)]
>>> ranges = number_ranges(facts, {"gain": I32})
>>> ranges
{'gain': (0, 255)}
>>> print(print_stmt(narrow_numbers(kernel.body, ranges, {"gain": I32}).body[0].body.body[0]))
x[i] *= i32(u8(gain))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planish.ir.accesses import map_values
from planish.ir.expr import Cast, Expr, Var
from planish.ir.index.interval import Interval, bounds_where
from planish.ir.nest import Block
from planish.ir.semantics.arithmetic import limits
from planish.ir.types import I8, I16, U8, U16, Type

_NARROW: tuple[Type, ...] = (U8, I8, U16, I16)


def narrowest(range: Interval) -> Type | None:
    """The narrowest type of 8 or 16 bits that holds some numbers.

    >>> narrowest((0, 255)) == U8, narrowest((-1, 255)) == I16, narrowest((0, 1 << 16))
    (True, True, None)
    """
    ends = ((x, limits(x)) for x in _NARROW)
    return next((x for x, (low, high) in ends if low <= range[0] and range[1] <= high), None)


def number_ranges(facts: Iterable[Expr], types: Mapping[str, Type]) -> dict[str, Interval]:
    """Between which values numbers are, of those for which a narrower type has room for these."""
    bounds: dict[Expr, Interval] = {}
    for fact in facts:
        bounds = bounds_where(fact, {}, bounds)
    out: dict[str, Interval] = {}
    for x, (low, high) in bounds.items():
        # Facts of sizes are of type INDEX, whatever the number's own one is.
        if isinstance(x, Var) and (own := types.get(x.name)) is not None and own.is_int and own.bits <= x.type.bits:
            least, most = limits(own)
            out[x.name] = max(low, least), min(high, most)
    return {
        x: (low, high) for x, (low, high) in out.items()
        if low <= high and (kind := narrowest((low, high))) is not None and kind.bits < types[x].bits
    }  # fmt: skip


def narrow_numbers(body: Block, ranges: Mapping[str, Interval], types: Mapping[str, Type]) -> Block:
    """A nest that reads some numbers in types that hold no more than these may be."""

    def narrowed(x: Expr) -> Expr:
        if isinstance(x, Var) and x.name in ranges and x.type == types[x.name]:
            kind = narrowest(ranges[x.name])
            assert kind is not None
            return Cast(Cast(x, kind), x.type)
        return x

    return map_values(narrowed, body) if ranges else body
