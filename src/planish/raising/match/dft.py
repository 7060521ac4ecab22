"""Recognises discrete Fourier and cosine transforms, however they are written, by their weights.

What a nest adds up is read as a matrix of numbers, one row for each iteration of a loop, one column for each element
that it reads. Where that is the matrix of a transform, the nest is one, with sines and cosines taken of whatever angle,
by remainders or in doubles, forwards or backwards, with factors or without.

>>> from planish.ir.text.parser import parse_kernel
>>> angle = "0.7853981633974483 * f64(rem(i32(k) * i32(n), 8:i32))"
>>> sums = f"a[k] += x[2 * n] * cos({angle}) b[k] += -(x[2 * n] * sin({angle}))"
>>> text = f"for k in 0 .. 8 {{ a[k] = 0.0 b[k] = 0.0 for n in 0 .. 8 {{ {sums} }} }}"
>>> kernel = parse_kernel(f"kernel dft(x: f64[16], a: f64[8], b: f64[8]) {{ {text} }}")
>>> found = find_transform(kernel.body.body[0], frozenset())
>>> found.size, found.real.array, found.imaginary, [x.array for x in found.outputs], found.identity.scale
(8, 'x', None, ['a', 'b'], 1.0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, Cast, Const, Expr, Load, Unary, type_of
from planish.ir.index.polynomial import coefficient_of, constant, normal, sub
from planish.ir.nest import Assign, Block, For, Let, Reduce, Stmt
from planish.ir.traverse import arrays_in, expressions, loads, map_expr, substitute, variables, walk
from planish.ir.types import F32, F64, Type
from planish.raising.match.transform_matrices import (
    Identity,
    NoTransformError,
    WeightedElement,
    WeightMatrices,
    identify,
)

SMALLEST, LARGEST = 3, 4096
"""Transforms of fewer or more elements are not looked for: the former are nothing, of the latter a matrix is large."""
FEWEST = 4
"""Of so many results more than one has to be wanted."""


@dataclass(frozen=True, slots=True)
class DftLine:
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
    """The sums y[k] of x[n] times a weight, over all n below `size`, for each k below `rows`: as `identity` says.

    `real`, `imaginary`: the parts of x (None: zeros); `outputs`: those of y (one of a cosine transform). `type`: what
    sums are made in. `batch`: loops around, from the outermost one; `rest`: what the nest does besides, in that batch,
    to be run after.
    """

    size: int
    rows: int
    real: DftLine | None
    imaginary: DftLine | None
    outputs: tuple[DftLine, ...]
    identity: Identity
    type: Type
    batch: tuple[For, ...]
    rest: Block


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell that an iteration sets."""

    array: str
    at: tuple[Expr, ...]


@dataclass(slots=True)
class _Reader:
    """An iteration of the outer loop, as it is read: what cells hold, of which types, which of them besides what they
    held before; what names stand for, and cells that hold the same in every call; the inner loop, and how often it
    runs."""

    sums: dict[_Cell, tuple[WeightedElement, ...]] = field(default_factory=dict)
    types: dict[_Cell, Type] = field(default_factory=dict)
    adding: set[_Cell] = field(default_factory=set)
    names: dict[str, Expr] = field(default_factory=dict)
    numbers: dict[_Cell, Expr] = field(default_factory=dict)
    noted: set[str] = field(default_factory=set)
    inner: str = ""
    size: int = 0

    def statement(self, stmt: Stmt) -> None:
        """One more statement of the outer loop; NoTransformError where it is none that adds up."""
        match stmt:
            case Let():
                self.bind(stmt)
            case For(var=var, body=body):
                size = _extent(stmt)
                if self.inner or size is None:
                    raise NoTransformError("its loops are not those of a transform")
                self.inner, self.size = var, size
                for x in body.body:
                    self.add(x)
                # What its last iteration has left is another number than those before.
                self.numbers = {x: y for x, y in self.numbers.items() if var not in variables(y)}
            case Assign(array=array, index=at, value=Const(value=0, type=type)):
                self.put(self.cell(array, at), (), type)
            case Assign() if self.note(stmt):
                pass
            case Assign(array=array, index=at, value=value):
                found = [(_Cell(x.load.array, x.load.index), x.weight) for x in self.terms(value)]
                made = tuple(x.times(weight) for cell, weight in found for x in self.known(cell))
                self.put(self.cell(array, at), made, type_of(value))
            case _:
                raise NoTransformError("it does not only add up")

    def add(self, stmt: Stmt) -> None:
        """One statement of the inner loop: what it adds to a cell."""
        match stmt:
            case Let():
                self.bind(stmt)
                return
            case Assign() if self.note(stmt):
                return
            case Assign(array=array, index=at, value=value):
                # The old value may be cast to the type of the sum, and back.
                own = WeightedElement(Load(array, at, type_of(value)))
                terms = list(self.terms(value))
                if own not in terms:
                    raise NoTransformError("it does not only add up")
                terms.remove(own)
            case Reduce(array=array, index=at, op="add", value=value):
                terms = list(self.terms(value))
            case _:
                raise NoTransformError("it does not only add up")
        cell = self.cell(array, at)
        if cell not in self.sums:
            self.adding.add(cell)
            self.put(cell, (), type_of(value))
        if any(x.load.array in {cell.array for cell in self.sums} for x in terms):
            raise NoTransformError("it adds what it has added up")
        self.sums[cell] += tuple(terms)

    def cell(self, array: str, at: tuple[Expr, ...]) -> _Cell:
        """A cell that is set; NoTransformError where the inner loop, or a name, says which."""
        if any(variables(x) & {self.inner, *self.names} for x in at):
            raise NoTransformError(f"where it writes `{array}` is not known")
        if array in self.noted:
            raise NoTransformError(f"`{array}` is set to a number")
        return _Cell(array, at)

    def put(self, cell: _Cell, terms: tuple[WeightedElement, ...], type: Type) -> None:
        """A cell holds a sum from now on."""
        if terms and cell in self.adding:
            raise NoTransformError(f"`{cell.array}` is added to, and then set")
        self.sums[cell], self.types[cell] = terms, type

    def bind(self, let: Let) -> None:
        """A name for a value, which stands for it from now on."""
        if any(x.array == cell.array for x in loads(let.value) for cell in self.sums):
            raise NoTransformError("a name stands for a part of a sum")
        self.names[let.var] = self.resolved(let.value)

    def note(self, stmt: Assign) -> bool:
        """Whether a cell gets what is the same in every call, which it holds then."""
        cell, value = _Cell(stmt.array, stmt.index), self.resolved(stmt.value)
        if loads(value):
            return False
        if any(x.array == cell.array for x in self.sums):
            raise NoTransformError(f"`{cell.array}` is set to a number")
        self.numbers[cell] = value
        self.noted.add(cell.array)
        return True

    def resolved(self, value: Expr) -> Expr:
        """A value with what names and cells stand for in their places."""

        def change(x: Expr) -> Expr:
            return self.numbers.get(_Cell(x.array, x.index), x) if isinstance(x, Load) else x

        return map_expr(change, substitute(value, self.names))

    def zeros(self) -> tuple[Stmt, ...]:
        """What sets the cells that hold nothing."""
        empty = [x for x, terms in self.sums.items() if not terms and x not in self.adding]
        return tuple(Assign(x.array, x.at, Const(0.0, self.types[x])) for x in empty)

    def known(self, cell: _Cell) -> tuple[WeightedElement, ...]:
        """What a cell holds."""
        if cell not in self.sums or cell in self.adding:
            raise NoTransformError(f"`{cell.array}` is not set to zero first")
        return self.sums[cell]

    def terms(self, value: Expr) -> tuple[WeightedElement, ...]:
        """A value as a sum of elements, each times a weight."""
        return self._terms(self.resolved(value), type_of(value))

    def _terms(self, value: Expr, sum: Type) -> tuple[WeightedElement, ...]:
        """The same; what is rounded to the type of the `sum` may as well be rounded later."""
        match value:
            case Load():
                return (WeightedElement(value),)
            case Unary(op="neg", operand=operand):
                return tuple(x.times(Const(-1.0, F64)) for x in self._terms(operand, sum))
            case Cast(operand=x, type=type) if type.is_float and type.bits >= min(sum.bits, type_of(x).bits):
                return self._terms(x, sum)
            case Binary(op="add", left=left, right=right):
                return (*self._terms(left, sum), *self._terms(right, sum))
            case Binary(op="sub", left=left, right=right):
                return (*self._terms(left, sum), *self._terms(Unary("neg", right), sum))
            case Binary(op="mul" | "div" as op, left=left, right=right) if not loads(right):
                return tuple(x.times(right, op) for x in self._terms(left, sum))
            case Binary(op="mul", left=left, right=right) if not loads(left):
                return tuple(x.times(left) for x in self._terms(right, sum))
            case _:
                raise NoTransformError("it adds something besides elements times weights")


def find_transform(nest: Stmt, private: frozenset[str]) -> Transform:
    """The transform that a nest is; `private` are arrays that nothing outside of the nest reads. NoTransformError where
    it is none."""
    batch: list[For] = []
    while isinstance(nest, For) and (inner := _only_nest(nest)) is not None:
        batch.append(nest)
        nest = inner
    rows = _extent(nest)
    if not isinstance(nest, For) or rows is None:
        raise NoTransformError("it is no loop over results, of which the number is known")
    reader, left = _read(nest)
    size = reader.size
    if not SMALLEST <= size <= LARGEST or not size // FEWEST < rows <= size:
        raise NoTransformError(f"it does not make most of {SMALLEST} to {LARGEST} results")
    left = (*reader.zeros(), *left)
    after, later = _without(nest, left)
    if any(x not in private or x in later for x in reader.noted):
        raise NoTransformError("a number that it multiplies with is used elsewhere")
    made = {x: y for x, y in reader.sums.items() if y and (x.array not in private or x.array in later)}
    if not 1 <= len(made) <= 2:
        raise NoTransformError("it does not make one or two parts of a result")
    outputs = [DftLine(x.array, x.at, nest.var, reader.types[x], x in reader.adding) for x in made]
    sources = tuple(dict.fromkeys(x.load for terms in made.values() for x in terms))
    if len(sources) > len(made) or any(nest.var in variables(x) for load in sources for x in load.index):
        raise NoTransformError("it does not add up elements of one or two parts")
    _require_order(nest, reader, left, {x.array for x in sources})
    _require_apart([DftLine(x.array, x.at, nest.var, reader.types[x]) for x in reader.sums], rows)
    types = {*reader.types.values(), *(x.type for x in sources)}
    if not types <= {F32, F64}:
        raise NoTransformError("its elements are not f32 or f64")
    type = F64 if F64 in types else F32
    found = identify(WeightMatrices(nest.var, reader.inner, rows, size, tuple(made.values()), sources), type)
    parts = [None if x is None else _line(sources[x], reader.inner) for x in found.parts]
    results = tuple(outputs[x] for x in found.outputs)
    return Transform(size, rows, parts[0], parts[1], results, found, type, tuple(batch), after)


def _only_nest(loop: For) -> For | None:
    """The nest that is all of a loop's body; None where it is a single loop, or there is more."""
    match loop.body.body:
        case (For() as inner,) if any(isinstance(x, For) for x in inner.body.body):
            return inner
        case _:
            return None


def _line(load: Load, var: str) -> DftLine:
    return DftLine(load.array, load.index, var, load.type)


def _extent(stmt: Stmt) -> int | None:
    """How often a loop runs that counts from zero."""
    if isinstance(stmt, For) and stmt.step == 1 and constant(stmt.lower) == 0:
        return constant(stmt.upper)
    return None


def _read(nest: For) -> tuple[_Reader, tuple[Stmt, ...]]:
    """What an iteration adds up, and its last statements, which do something else."""
    reader = _Reader()
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
    """The loop with only its last statements and the names that they use; and the arrays of all these."""
    if not left:
        return Block(()), frozenset()
    kept: list[Stmt] = list(left)
    for stmt in reversed([x for x in nest.body.body if x not in left]):
        used = {name for x in kept for s in walk(x) for e in expressions(s) for name in variables(e)}
        if isinstance(stmt, Let) and stmt.var in used:
            kept.insert(0, stmt)
    body = Block(tuple(kept))
    return Block((replace(nest, body=body),)), frozenset(arrays_in(body))


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
    written = arrays | reader.noted | {x.array for outer in left for x in walk(outer) if isinstance(x, Assign | Reduce)}
    if written & sources:
        raise NoTransformError("it writes what it reads")


def _require_apart(outputs: Sequence[DftLine], rows: int) -> None:
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
        for k in range(rows):
            place = tuple(-1 if y is None else x[0] * k + y for x, y in zip(known, offsets, strict=True))
            if None in offsets or (line.array, place) in seen:
                raise NoTransformError(f"it may write a cell of `{line.array}` twice")
            seen.add((line.array, place))
