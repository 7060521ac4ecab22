"""Nests that are discrete Fourier transforms, however they are written: their weights are computed and compared.

What a nest adds up is read as a matrix of numbers, one row for each iteration of a loop, one column for each element
that it reads. Where that is the matrix of the transform, the nest is one, with sines and cosines taken of whatever
angle, by remainders or in doubles, forwards or backwards, with a factor or without.

>>> from planish.ir.parser import parse_kernel
>>> angle = "0.7853981633974483 * f64(rem(i32(k) * i32(n), 8:i32))"
>>> sums = f"a[k] += x[2 * n] * cos({angle}) b[k] += -(x[2 * n] * sin({angle}))"
>>> text = f"for k in 0 .. 8 {{ a[k] = 0.0 b[k] = 0.0 for n in 0 .. 8 {{ {sums} }} }}"
>>> kernel = parse_kernel(f"kernel dft(x: f64[16], a: f64[8], b: f64[8]) {{ {text} }}")
>>> found = find_transform(kernel.body.body[0], frozenset())
>>> found.size, found.real.array, found.imaginary, [x.array for x in found.outputs], found.scale
(8, 'x', None, ['a', 'b'], 1.0)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import tau

import numpy as np

from planish.ir.expr import Binary, Cast, Const, Expr, Load, Unary, type_of
from planish.ir.nest import Assign, Block, For, Let, Reduce, Stmt
from planish.ir.polynomial import coefficient_of, constant, normal, sub
from planish.ir.traverse import expressions, loads, substitute, variables, walk
from planish.ir.types import F32, F64, Type
from planish.raising.weights import NoWeightError, Numbers, weights

SMALLEST, LARGEST = 3, 4096
"""Transforms of fewer or more elements are not looked for: the former are nothing, of the latter a matrix is large."""
_CELLS = 1 << 20
"""So many weights are computed at a time."""
_ROUNDINGS = 4
"""How many roundings of an angle a weight may be off."""


class NoTransformError(Exception):
    """A nest that is no transform; the text says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """Elements of an array along a loop: those at the subscripts `at` for each `var`; `adds`: results are added to
    what is there."""

    array: str
    at: tuple[Expr, ...]
    var: str
    type: Type
    adds: bool = False

    def element(self, place: Expr) -> tuple[Expr, ...]:
        """The subscripts of an element."""
        return tuple(normal(substitute(x, {self.var: place})) for x in self.at)


@dataclass(frozen=True, slots=True)
class Transform:
    """The sums y[k] = scale * sum of x[n] exp(-2 pi i k n / size), over all n below `size`, for each k below it.

    `real`, `imaginary`: the parts of x (None: zeros); `outputs`: those of y. `type`: what sums are made in. `batch`:
    loops around, from the outermost one; `rest`: what the nest does besides, in that batch, to be run after;
    `deviation`: how far a weight of the nest is off, which comes of rounded angles.
    """

    size: int
    real: Line | None
    imaginary: Line | None
    outputs: tuple[Line, Line]
    scale: float
    type: Type
    batch: tuple[For, ...]
    rest: Block
    deviation: float


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell that an iteration sets."""

    array: str
    at: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _Term:
    """An element, times a weight."""

    load: Load
    weight: Expr = Const(1.0, F64)

    def times(self, op: str, factor: Expr) -> _Term:
        """The term times a factor, or divided by one."""
        return replace(self, weight=Binary("mul" if op == "mul" else "div", self.weight, factor))


@dataclass(slots=True)
class _Reader:
    """An iteration of the outer loop, as it is read: what cells hold, of which types, which of them besides what they
    held before; what names stand for; the inner loop."""

    size: int
    sums: dict[_Cell, tuple[_Term, ...]] = field(default_factory=dict)
    types: dict[_Cell, Type] = field(default_factory=dict)
    adding: set[_Cell] = field(default_factory=set)
    names: dict[str, Expr] = field(default_factory=dict)
    inner: str = ""

    def statement(self, stmt: Stmt) -> None:
        """One more statement of the outer loop; NoTransformError where it is none that adds up."""
        match stmt:
            case Let():
                self.bind(stmt)
            case For(var=var, body=body):
                if self.inner or _extent(stmt) != self.size:
                    raise NoTransformError("its loops are not those of a transform")
                self.inner = var
                for x in body.body:
                    self.add(x)
            case Assign(array=array, index=at, value=Const(value=0, type=type)):
                self.put(_Cell(array, at), (), type)
            case Assign(array=array, index=at, value=value):
                found = [(_Cell(x.load.array, x.load.index), x.weight) for x in self.terms(value)]
                made = tuple(x.times("mul", weight) for cell, weight in found for x in self.known(cell))
                self.put(_Cell(array, at), made, type_of(value))
            case _:
                raise NoTransformError("it does not only add up")

    def add(self, stmt: Stmt) -> None:
        """One statement of the inner loop: what it adds to a cell."""
        match stmt:
            case Let():
                self.bind(stmt)
                return
            case Assign(array=array, index=at, value=value):
                # The old value may be cast to the type of the sum, and back.
                own = _Term(Load(array, at, type_of(value)))
                terms = list(self.terms(value))
                if own not in terms:
                    raise NoTransformError("it does not only add up")
                terms.remove(own)
            case Reduce(array=array, index=at, op="add", value=value):
                terms = list(self.terms(value))
            case _:
                raise NoTransformError("it does not only add up")
        cell = _Cell(array, at)
        if cell not in self.sums:
            self.adding.add(cell)
            self.put(cell, (), type_of(value))
        if any(x.load.array in {cell.array for cell in self.sums} for x in terms):
            raise NoTransformError("it adds what it has added up")
        self.sums[cell] += tuple(terms)

    def put(self, cell: _Cell, terms: tuple[_Term, ...], type: Type) -> None:
        """A cell holds a sum from now on."""
        if terms and cell in self.adding:
            raise NoTransformError(f"`{cell.array}` is added to, and then set")
        self.sums[cell], self.types[cell] = terms, type

    def bind(self, let: Let) -> None:
        """A name for a value, which stands for it from now on."""
        if any(x.array == cell.array for x in loads(let.value) for cell in self.sums):
            raise NoTransformError("a name stands for a part of a sum")
        self.names[let.var] = substitute(let.value, self.names)

    def known(self, cell: _Cell) -> tuple[_Term, ...]:
        """What a cell holds."""
        if cell not in self.sums or cell in self.adding:
            raise NoTransformError(f"`{cell.array}` is not set to zero first")
        return self.sums[cell]

    def terms(self, value: Expr) -> tuple[_Term, ...]:
        """A value as a sum of elements, each times a weight."""
        return self._terms(substitute(value, self.names))

    def _terms(self, value: Expr) -> tuple[_Term, ...]:
        match value:
            case Load():
                return (_Term(value),)
            case Unary(op="neg", operand=operand):
                return tuple(x.times("mul", Const(-1.0, F64)) for x in self._terms(operand))
            case Cast(operand=operand, type=type) if type.is_float:
                return self._terms(operand)
            case Binary(op="add", left=left, right=right):
                return (*self._terms(left), *self._terms(right))
            case Binary(op="sub", left=left, right=right):
                return (*self._terms(left), *self._terms(Unary("neg", right)))
            case Binary(op="mul" | "div" as op, left=left, right=right) if not loads(right):
                return tuple(x.times(op, right) for x in self._terms(left))
            case Binary(op="mul", left=left, right=right) if not loads(left):
                return tuple(x.times("mul", left) for x in self._terms(right))
            case _:
                raise NoTransformError("it adds something besides elements times weights")


def find_transform(nest: Stmt, private: frozenset[str]) -> Transform:
    """The transform that a nest is; `private` are arrays that nothing outside of the nest reads. NoTransformError where
    it is none."""
    batch: list[For] = []
    while isinstance(nest, For) and (inner := _only_nest(nest)) is not None:
        batch.append(nest)
        nest = inner
    size = _extent(nest)
    if not isinstance(nest, For) or size is None or not SMALLEST <= size <= LARGEST:
        raise NoTransformError(f"it is no loop over {SMALLEST} to {LARGEST} results")
    reader, left = _read(nest, size)
    after, later = _without(nest, left)
    made = {x: y for x, y in reader.sums.items() if y and (x.array not in private or x.array in later)}
    if len(made) != 2:
        raise NoTransformError("it does not make two parts of a result")
    outputs = [Line(x.array, x.at, nest.var, reader.types[x], x in reader.adding) for x in made]
    sources = tuple(dict.fromkeys(x.load for terms in made.values() for x in terms))
    if len(sources) > 2 or any(nest.var in variables(x) for load in sources for x in load.index):
        raise NoTransformError("it does not add up elements of one or two parts")
    _require_order(nest, reader, left, {x.array for x in sources})
    _require_apart([Line(x.array, x.at, nest.var, reader.types[x]) for x in reader.sums], size)
    types = {*reader.types.values(), *(x.type for x in sources)}
    if not types <= {F32, F64}:
        raise NoTransformError("its elements are not f32 or f64")
    type = F64 if F64 in types else F32
    found = _identify(_Matrices(nest.var, reader.inner, size, tuple(made.values()), sources), type)
    parts = [None if x is None else _line(sources[x], reader.inner) for x in found.parts]
    first, second = found.outputs
    return Transform(
        size, parts[0], parts[1], (outputs[first], outputs[second]), found.scale, type, tuple(batch), after,
        found.deviation,
    )  # fmt: skip


def _only_nest(loop: For) -> For | None:
    """The nest that is all of a loop's body; None where it is a single loop, or there is more."""
    match loop.body.body:
        case (For() as inner,) if any(isinstance(x, For) for x in inner.body.body):
            return inner
        case _:
            return None


def _line(load: Load, var: str) -> Line:
    return Line(load.array, load.index, var, load.type)


def _extent(stmt: Stmt) -> int | None:
    """How often a loop runs that counts from zero."""
    if isinstance(stmt, For) and stmt.step == 1 and constant(stmt.lower) == 0:
        return constant(stmt.upper)
    return None


def _read(nest: For, size: int) -> tuple[_Reader, tuple[Stmt, ...]]:
    """What an iteration adds up, and its last statements, which do something else."""
    reader = _Reader(size)
    body = nest.body.body
    for number, stmt in enumerate(body):
        before = dict(reader.sums)
        try:
            reader.statement(stmt)
        except NoTransformError:
            if not reader.inner or isinstance(stmt, For):
                raise
            reader.sums = before
            return reader, body[number:]
    return reader, ()


def _without(nest: For, left: tuple[Stmt, ...]) -> tuple[Block, frozenset[str]]:
    """The loop with only its last statements and the names that they use; and the arrays of these."""
    if not left:
        return Block(()), frozenset()
    kept: list[Stmt] = list(left)
    for stmt in reversed(nest.body.body[: -len(left)]):
        used = {name for x in kept for s in walk(x) for e in expressions(s) for name in variables(e)}
        if isinstance(stmt, Let) and stmt.var in used:
            kept.insert(0, stmt)
    return Block((replace(nest, body=Block(tuple(kept))),)), frozenset(_arrays(left))


def _arrays(body: Sequence[Stmt]) -> Iterator[str]:
    """The arrays that some statements use."""
    for array, _ in _accesses(body):
        yield array


def _accesses(body: Sequence[Stmt]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    for stmt in (x for outer in body for x in walk(outer)):
        if isinstance(stmt, Assign | Reduce):
            yield stmt.array, stmt.index
        yield from ((x.array, x.index) for e in expressions(stmt) for x in loads(e))


def _require_order(nest: For, reader: _Reader, left: tuple[Stmt, ...], sources: set[str]) -> None:
    """That all sums may be made before the last statements of any iteration are run."""
    cells = {(x.array, x.at) for x in reader.sums}
    arrays = {x.array for x in reader.sums}
    if any(array in arrays and (array, at) not in cells for array, at in _accesses(left)):
        raise NoTransformError("an iteration uses what another one has added up")
    written = arrays | {x.array for outer in left for x in walk(outer) if isinstance(x, Assign | Reduce)}
    if written & sources:
        raise NoTransformError("it writes what it reads")


def _require_apart(outputs: Sequence[Line], size: int) -> None:
    """That each iteration has cells of its own."""
    seen: set[tuple[str, tuple[int, ...]]] = set()
    origins: dict[str, tuple[Expr, ...]] = {}
    for line in outputs:
        steps = [coefficient_of(x, line.var) for x in line.at]
        if any(x is None for x in steps):
            raise NoTransformError(f"where it writes `{line.array}` is not known")
        known = [x for x in steps if x is not None]
        origin = origins.setdefault(line.array, tuple(x[1] for x in known))
        offsets = [constant(sub(x[1], y)) for x, y in zip(known, origin, strict=True)]
        for k in range(size):
            place = tuple(-1 if y is None else x[0] * k + y for x, y in zip(known, offsets, strict=True))
            if None in offsets or (line.array, place) in seen:
                raise NoTransformError(f"it may write a cell of `{line.array}` twice")
            seen.add((line.array, place))


@dataclass(frozen=True, slots=True)
class _Matrices:
    """The weights of each output's sum: of each source a matrix, whose rows are the iterations of the outer loop."""

    outer: str
    inner: str
    size: int
    sums: tuple[tuple[_Term, ...], ...]
    sources: tuple[Load, ...]

    def blocks(self) -> Iterator[tuple[range, list[list[Numbers]]]]:
        """Some rows at a time."""
        count = max(2, _CELLS // self.size)
        for first in range(0, self.size, count):
            rows = range(first, min(first + count, self.size))
            yield rows, [[self._weights(terms, x, rows) for x in self.sources] for terms in self.sums]

    def _weights(self, terms: Sequence[_Term], source: Load, rows: range) -> Numbers:
        axes: Mapping[str, range] = {self.outer: rows, self.inner: range(self.size)}
        total = np.zeros((len(rows), self.size))
        try:
            for term in terms:
                if term.load == source:
                    total = total + weights(term.weight, axes)
        except NoWeightError as error:
            raise NoTransformError(f"a weight is not known: {error}") from error
        return total


@dataclass(frozen=True, slots=True)
class _Identity:
    """Which outputs are the real and the imaginary part, which sources (None: zeros), the factor of all weights, and
    how far one is off, relative to that."""

    outputs: tuple[int, int]
    parts: tuple[int | None, int | None]
    scale: float
    deviation: float = 0.0


def _identify(matrices: _Matrices, type: Type) -> _Identity:
    """How sums are a transform; NoTransformError where they are none. Backwards is forwards with parts exchanged."""
    sources: list[int | None] = [*range(len(matrices.sources)), None]
    possible = [(x, y) for x in permutations((0, 1)) for y in permutations(sources[:2])]
    found: _Identity | None = None
    for rows, block in matrices.blocks():
        if found is None:
            named = (_Identity((x[0], x[1]), (y[0], y[1]), _scale(block, x, y)) for x, y in possible)
            fitting = (_fitted(block, rows, matrices.size, x, type) for x in named)
            found = next((x for x in fitting if x is not None), None)
        else:
            found = _fitted(block, rows, matrices.size, found, type)
        if found is None:
            raise NoTransformError("its weights are not those of a Fourier transform")
    assert found is not None
    return found


def _scale(block: list[list[Numbers]], outputs: tuple[int, ...], parts: tuple[int | None, ...]) -> float:
    """The first weight of a part in its own part of the result, whose angle is zero."""
    output, source = next((x, y) for x, y in zip(outputs, parts, strict=True) if y is not None)
    return float(block[output][source][0, 0])


def _fitted(
    block: list[list[Numbers]], rows: range, size: int, identity: _Identity, type: Type
) -> _Identity | None:
    """The same, with how far weights are off; None where some rows are not those of the transform, but for what
    roundings of the angles make of them."""
    if identity.scale == 0:
        return None
    products = np.outer(np.arange(rows.start, rows.stop), np.arange(size))
    angles = tau / size * (products % size)
    cosines, sines = np.cos(angles), np.sin(angles)
    reach = _ROUNDINGS * np.finfo(type.numpy).eps * (1 + tau / size * products)
    worst = identity.deviation
    for output, row in zip(identity.outputs, ((cosines, sines), (-sines, cosines)), strict=True):
        for part, wanted in zip(identity.parts, row, strict=True):
            if part is not None:
                off = abs(block[output][part] / identity.scale - wanted)
                if not bool((off <= reach).all()):
                    return None
                worst = max(worst, float(off.max()))
    return replace(identity, deviation=worst)
