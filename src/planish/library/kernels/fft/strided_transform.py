"""A transform as it was found in the source, as passes over its own strided operands.

A cosine transform is a Fourier transform of as many elements in another order, whose results are turned by an eighth of
a turn at most (Makhoul, "A Fast Cosine Transform in One and Two Dimensions"); backwards, elements are turned first, and
results are in the other order.

>>> from planish.raising.match.transform_matrices import Identity
>>> from planish.ir.types import F64
>>> rest = Block(())
>>> line = DftLine("x", (index("n"),), "n", F64)
>>> cosine = Transform(6, 6, line, None, (line,), Identity("cosine", (0,), (0, None), 1.0, (1.0,) * 6), F64, (), rest)
>>> allows(cosine, (2, 3)), allows(cosine, (3, 2))
(True, False)
"""

from __future__ import annotations

from typing import assert_never

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, Expr, Load, index
from planish.ir.index.polynomial import constant, mul, sub
from planish.ir.nest import Array, Assign, Block, If, Reduce, Stmt
from planish.ir.traverse import substitute, variables
from planish.library.kernels.fft.butterfly import ComplexValue, RealValue, StraightLineCode, root
from planish.library.kernels.fft.radices import Radices
from planish.library.kernels.fft.stockham_passes import Passes, make_passes
from planish.raising.match.dft import DftLine, Transform


def allows(transform: Transform, radices: Radices) -> bool:
    """Whether the passes of a transform may be over these butterflies: of a cosine transform, those that lie in the
    wrong order come from one half of the first butterfly's elements, or are one half of the last one's."""
    ends = {"fourier": 2, "cosine": radices[0], "cosine back": radices[-1]}
    return len(radices) == 1 or ends[transform.identity.kind] % 2 == 0


def write_transform(transform: Transform, radices: Radices, taken: set[str]) -> Passes:
    """The passes of a transform; names that are made are `taken` then."""
    writer = _Writer(transform, transform.size // radices[-1], taken)
    made = make_passes(transform.size, radices, transform.type, writer.load, writer.store, taken)
    return Passes((*made.arrays, *writer.tables), made.body, made.lanes)


class _Writer:
    """Reads the elements of a transform, and sets its results."""

    def __init__(self, transform: Transform, run: int, taken: set[str]) -> None:
        # Results are set in runs of so many neighbours.
        self.transform, self.run = transform, run
        self.tables: tuple[Array, ...] = ()
        identity, size = transform.identity, transform.size
        if identity.kind != "fourier":
            turns = [root(n, 4 * size) for n in range(size)]
            factors = (*identity.factors, *(0.0 for _ in range(size - len(identity.factors))))
            pairs = [(x * c, x * s) for x, (c, s) in zip(factors, turns, strict=True)]
            self.tables = tuple(
                Array(take_name(name, taken), transform.type, (index(size),), True, "table", tuple(x[n] for x in pairs))
                for n, name in enumerate(("even", "odd"))
            )

    def load(self, part: int, place: Expr) -> RealValue:
        """A part of an element."""
        line, kind = (self.transform.real, self.transform.imaginary)[part], self.transform.identity.kind
        match kind:
            case "fourier":
                return RealValue(None if line is None else self.element(line, place))
            case "cosine":
                return RealValue(None if line is None else self.element(line, self.reordered(place)))
            case "cosine back":
                # The parts are exchanged, which makes the transform go backwards.
                line = self.transform.real
                assert line is not None
                return RealValue(Binary("mul", self.turn(1 - part, place), self.element(line, place)))
            case _:
                assert_never(kind)

    def element(self, line: DftLine, place: Expr) -> Expr:
        """An element in the type of the sums."""
        value = Load(line.array, line.element(place), line.type)
        return value if line.type == self.transform.type else Cast(value, self.transform.type)

    def least(self, place: Expr) -> int:
        """The first of the places that an expression may be."""
        least = constant(substitute(place, dict.fromkeys(variables(place), index(0))))
        assert least is not None
        return least

    def reordered(self, place: Expr) -> Expr:
        """Where an element lies: those at even places come first, then the others, from the last one on."""
        size = self.transform.size
        twice = mul(index(2), place)
        return twice if 2 * self.least(place) < size else sub(index(2 * size - 1), twice)

    def turn(self, part: int, place: Expr) -> Expr:
        """A cosine or a sine, times the factor there."""
        table = self.tables[part]
        return Load(table.name, (place,), table.type)

    def store(self, place: Expr, number: ComplexValue, code: StraightLineCode) -> list[Stmt]:
        """A store of a result, or an addition to it, if it is wanted."""
        rows, first = self.transform.rows, self.least(place)
        if rows == self.transform.size:
            return self.set(place, number, code)
        if self.transform.identity.kind == "cosine back":
            place_of = self.reordered(place)
        elif first >= rows:
            return []
        elif first + self.run <= rows:
            return self.set(place, number, code)
        else:
            place_of = place
        return [If(Compare("lt", place_of, index(rows)), Block(tuple(self.set(place, number, code))))]

    def set(self, place: Expr, number: ComplexValue, code: StraightLineCode) -> list[Stmt]:
        """A store of a result, or an addition to it."""
        identity, outputs, parts = self.transform.identity, self.transform.outputs, (number.real, number.imaginary)
        match identity.kind:
            case "fourier":
                scaled = [x if identity.scale == 1.0 else code.weigh([(identity.scale, x)]) for x in parts]
                return [self.put(x, place, code.valued(y)) for x, y in zip(outputs, scaled, strict=True)]
            case "cosine":
                values = [(n, x) for n, x in enumerate(map(code.plain, parts)) if x is not None]
                first, *others = (Binary("mul", x, self.turn(n, place)) for n, x in values)
                return [self.put(outputs[0], place, Binary("add", first, others[0]) if others else first)]
            case "cosine back":
                return [self.put(outputs[0], self.reordered(place), code.valued(number.imaginary))]
            case _:
                assert_never(identity.kind)

    def put(self, line: DftLine, place: Expr, value: Expr) -> Stmt:
        """A store to an element, or an addition to it."""
        cast = value if line.type == self.transform.type else Cast(value, line.type)
        at = line.element(place)
        return Reduce(line.array, at, "add", cast) if line.adds else Assign(line.array, at, cast)
