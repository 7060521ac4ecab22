"""Butterfly codelets: the DFT of a few points as straight-line code derived from its definition, with trivial twiddles
and common subexpressions (CSE) removed.

>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F64
>>> code = StraightLineCode(F64, "t")
>>> pair = [ComplexValue(RealValue(Var(f"x{i}", F64)), RealValue(Var(f"y{i}", F64))) for i in range(2)]
>>> made = transform(pair, code)
>>> [print_stmt(x) for x in code.lines]
['let t0 = x0 + x1', 'let t1 = y0 + y1', 'let t2 = x0 - x1', 'let t3 = y0 - y1']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import cos, isqrt, pi, sin

from planish.ir.expr import Binary, Const, Expr, Unary, Var
from planish.ir.nest import Let
from planish.ir.types import F64, Type


@dataclass(frozen=True, slots=True)
class RealValue:
    """A real number as code computes it: the value of an expression, or that value's negative; None is zero."""

    value: Expr | None
    negative: bool = False

    def __neg__(self) -> RealValue:
        return RealValue(self.value, not self.negative and self.value is not None)


@dataclass(frozen=True, slots=True)
class ComplexValue:
    """A complex number as code computes it."""

    real: RealValue
    imaginary: RealValue

    def turned(self) -> ComplexValue:
        """It times -i."""
        return ComplexValue(self.imaginary, -self.real)

    def __neg__(self) -> ComplexValue:
        return ComplexValue(-self.real, -self.imaginary)


@dataclass(slots=True)
class StraightLineCode:
    """Straight-line code: names for values of a type, each of which is computed once."""

    type: Type
    prefix: str
    lines: list[Let] = field(default_factory=list)
    known: dict[Expr, Var] = field(default_factory=dict)

    def name(self, value: Expr) -> RealValue:
        """A name for a value."""
        if value not in self.known:
            name = f"{self.prefix}{len(self.lines)}"
            self.lines.append(Let(name, value))
            self.known[value] = Var(name, self.type)
        return RealValue(self.known[value])

    def add(self, a: RealValue, b: RealValue) -> RealValue:
        """The sum of two."""
        if a.value is None or b.value is None:
            return b if a.value is None else a
        if a.negative and b.negative:
            return -self.add(-a, -b)
        if a.negative:
            return self.add(b, a)
        return self.name(Binary("sub" if b.negative else "add", a.value, b.value))

    def weigh(self, terms: Sequence[tuple[float, RealValue]]) -> RealValue:
        """The sum of some numbers, each times a weight; products are not named, so that they may be fused with sums."""
        total: Expr | None = None
        turned = False  # whether `total` is the sum's negative
        for weight, part in terms:
            if part.value is None or weight == 0.0:
                continue
            negative = (weight < 0) != part.negative
            size = abs(weight)
            product = part.value if size == 1.0 else Binary("mul", Const(size, self.type), part.value)
            if total is None:
                total, turned = product, negative
            else:
                total = Binary("add" if negative == turned else "sub", total, product)
        if total is None:
            return RealValue(None)
        found = RealValue(total) if isinstance(total, Var) else self.name(total)
        return -found if turned else found

    def sum(self, a: ComplexValue, b: ComplexValue) -> ComplexValue:
        """The sum of two."""
        return ComplexValue(self.add(a.real, b.real), self.add(a.imaginary, b.imaginary))

    def turn(self, a: ComplexValue, exponent: int, size: int) -> ComplexValue:
        """A number times exp(-2 pi i exponent / size)."""
        quarter, rest = divmod(4 * exponent, size)
        for _ in range(quarter % 4):
            a = a.turned()
        if rest == 0:
            return a
        c, s = root(rest, 4 * size)
        return ComplexValue(self.weigh([(c, a.real), (s, a.imaginary)]), self.weigh([(c, a.imaginary), (-s, a.real)]))

    def twist(self, a: ComplexValue, cosine: Expr, sine: Expr) -> ComplexValue:
        """A number times (cosine + i sine)."""
        x, y = self.plain(a.real), self.plain(a.imaginary)
        if x is None or y is None:
            if x is None and y is None:
                return a
            own = y if x is None else x
            assert own is not None
            by = [self.name(Binary("mul", own, w)) for w in (cosine, sine)]
            return ComplexValue(by[0], by[1]) if y is None else ComplexValue(-by[1], by[0])
        one = Binary("sub", Binary("mul", x, cosine), Binary("mul", y, sine))
        other = Binary("add", Binary("mul", x, sine), Binary("mul", y, cosine))
        return ComplexValue(self.name(one), self.name(other))

    def valued(self, part: RealValue) -> Expr:
        """The value of a number, zero or not."""
        return self.plain(part) or Const(0.0, self.type)

    def plain(self, part: RealValue) -> Expr | None:
        """The value of a number; None is zero."""
        if part.value is None or not part.negative:
            return part.value
        return self.name(Unary("neg", part.value)).value


@cache
def root(numerator: int, denominator: int) -> tuple[float, float]:
    """The cosine and the sine of 2 pi numerator / denominator, whose angle is first brought below a quarter of pi.

    >>> root(1, 4)
    (0.0, 1.0)
    """
    quarter, rest = divmod(4 * numerator, denominator)
    # What is left of a quarter turn is rest / (4 denominator) of a whole one.
    if 2 * rest > denominator:
        angle = pi / 2 * (denominator - rest) / denominator
        c, s = sin(angle), cos(angle)
    else:
        angle = pi / 2 * rest / denominator
        c, s = cos(angle), sin(angle)
    for _ in range(quarter % 4):
        c, s = -s, c
    return c + 0.0, s + 0.0


def transform(elements: Sequence[ComplexValue], code: StraightLineCode) -> list[ComplexValue]:
    """The transform of some elements: y[k] is the sum of x[n] exp(-2 pi i n k / size)."""
    size = len(elements)
    if size == 1:
        return list(elements)
    if size == 2:
        a, b = elements
        return [code.sum(a, b), code.sum(a, -b)]
    factor = first_factor(size)
    if factor == size:
        return _prime(elements, code)
    # Cooley and Tukey: n = count * a + b, k = c + factor * d.
    count = size // factor
    columns = [transform(elements[b::count], code) for b in range(count)]
    out: list[ComplexValue | None] = [None] * size
    for c in range(factor):
        row = [code.turn(columns[b][c], b * c, size) for b in range(count)]
        out[c::factor] = transform(row, code)
    return [x for x in out if x is not None]


def first_factor(size: int) -> int:
    """The number of elements in the first transforms that a larger one consists of."""
    if size % 4 == 0 and size != 8:
        return 4 if size > 4 else 2
    return next((x for x in range(2, isqrt(size) + 1) if size % x == 0), size)


def _prime(elements: Sequence[ComplexValue], code: StraightLineCode) -> list[ComplexValue]:
    """The transform of an odd prime number of elements: those from both ends have conjugate weights."""
    size, first = len(elements), elements[0]
    half = range(1, size // 2 + 1)
    sums = [code.sum(elements[n], elements[size - n]) for n in half]
    gaps = [code.sum(elements[n], -elements[size - n]) for n in half]
    total = first
    for x in sums:
        total = code.sum(total, x)
    out = [total] * size
    for k in half:
        roots = [root(n * k % size, size) for n in half]
        even = ComplexValue(
            code.weigh([(1.0, first.real), *((c, x.real) for (c, _), x in zip(roots, sums, strict=True))]),
            code.weigh([(1.0, first.imaginary), *((c, x.imaginary) for (c, _), x in zip(roots, sums, strict=True))]),
        )
        odd = ComplexValue(
            code.weigh([(s, x.real) for (_, s), x in zip(roots, gaps, strict=True)]),
            code.weigh([(s, x.imaginary) for (_, s), x in zip(roots, gaps, strict=True)]),
        )
        out[k], out[size - k] = code.sum(even, odd.turned()), code.sum(even, -odd.turned())
    return out


@cache
def count_operations(size: int) -> int:
    """The additions and multiplications of a transform, those that are fused counted once."""
    code = StraightLineCode(F64, "t")
    loaded = [ComplexValue(RealValue(Var(f"x{i}", F64)), RealValue(Var(f"y{i}", F64))) for i in range(size)]
    transform(loaded, code)
    return sum(_count(x.value) for x in code.lines)


def _count(value: Expr) -> int:
    match value:
        case Binary(op="add" | "sub", left=left, right=right):
            return 1 + _count(left) + (0 if isinstance(right, Binary) else _count(right))
        case Binary(left=left, right=right):
            return 1 + _count(left) + _count(right)
        case Unary(operand=operand):
            return 1 + _count(operand)
        case _:
            return 0
