"""Fuses consecutive butterfly nests into one loop over columns of elements that are independent of each other.

Of several stages of a fast transform, each is a nest of loops over all of an array. If rows of `unit` elements are seen
in it, there is a number of rows that all stages make only from each other, column by column: which elements an
iteration of the nests comes to is told by its subscripts, and where no two columns have an element in common, all that
is done with one may be done before anything is done with the next. Its elements are then in registers.

>>> from planish.ir.text.parser import parse_kernel
>>> stage = "for i in 0 .. %s { for j in 0 .. %s { a[%s] = a[%s] - a[%s] } }"
>>> first = stage % ("2 * s", "h", "2 * h * i + j", "2 * h * i + j", "2 * h * i + j + h")
>>> second = stage % ("s", "2 * h", "4 * h * i + j", "4 * h * i + j", "4 * h * i + j + 2 * h")
>>> columns = read_columns(parse_kernel("kernel k(h, s; a: f32[?]) { %s %s }" % (first, second)), "h", "s")
>>> [(x.array, x.at, x.loads, x.stores) for x in columns.places]
[('a', 0, True, True), ('a', 1, True, True), ('a', 2, True, True), ('a', 3, True, False)]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from planish.core.names import take_name
from planish.ir.expr import Binary, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import Polynomial, add, build, constant, mul, names, normal, polynomial
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import map_expr, map_exprs, substitute, used_names, walk, walk_expr
from planish.ir.types import BOOL, INDEX, Type

MOST_COPIES = 128
"""A body that would be written out more often is none for registers."""


class NoColumnsError(Exception):
    """Why nests are not over columns of their own."""


@dataclass(frozen=True, slots=True)
class ColumnLine:
    """The elements of an array that a column has, `width` side by side, such as the parts of a complex number:
    `first + width * (unit * (rows * number + row) + place) + side` is the last subscript of one of them, for rows from
    0 to below `rows`; `front` are the others."""

    front: tuple[Expr, ...]
    first: Expr
    rows: int
    width: int = 1

    @property
    def elements(self) -> int:
        """How many there are."""
        return self.rows * self.width


@dataclass(frozen=True, slots=True)
class ColumnElement:
    """An element of a column, number `at` of those in an array as they lie if rows are of one place, in the cell that
    stands for it: whether it is `loads`: needed, and `stores`: set."""

    array: str
    at: int
    cell: str
    type: Type
    loads: bool
    stores: bool


@dataclass(frozen=True, slots=True)
class ButterflyColumns:
    """The butterflies of one column: number `number` (a loop of `steps`), at one of `unit` places (`place`); `outer`:
    loops around, over other columns. `falls`: rows that are taken together are first far apart."""

    unit: str
    steps: str
    number: str
    place: str
    outer: tuple[For, ...]
    lines: Mapping[str, ColumnLine]
    places: tuple[ColumnElement, ...]
    body: tuple[Stmt, ...]
    falls: bool

    @property
    def radix(self) -> int:
        """The rows of a column, which is the radix of its butterflies."""
        return max(x.rows for x in self.lines.values())

    def element(self, place: ColumnElement, number: Expr) -> tuple[Expr, ...]:
        """The subscripts of an element of the column of some number."""
        line = self.lines[place.array]
        row, side = divmod(place.at, line.width)
        number = add(mul(index(line.rows), number), index(row))
        along = add(mul(index(self.unit), number), index(self.place))
        return (*line.front, add(add(line.first, mul(index(line.width), along)), index(side)))


def read_columns(kernel: Kernel, unit: str, steps: str) -> ButterflyColumns:
    """The columns that a kernel's nests are over, each along one loop of a multiple of `unit` and one of a multiple of
    `steps` iterations; NoColumnsError where some element may be in two of them, or that is not proven."""
    taken = {*used_names(kernel)}
    reader = _Reader(kernel, unit, steps, take_name("o", taken), take_name("p", taken), taken)
    for nest in kernel.body.body:
        reader.read(nest)
    if not reader.cells:
        raise NoColumnsError("nothing is set")
    return ButterflyColumns(
        unit, steps, reader.number, reader.place, reader.outer or (), reader.lines(), tuple(reader.places()),
        tuple(reader.body), reader.spans[0] > reader.spans[-1],
    )  # fmt: skip


@dataclass(slots=True)
class _Access:
    """A subscript as a sum: so many rows on from one number to the next, of so many elements side by side, from some
    row on, and what is common."""

    front: tuple[Expr, ...]
    common: Polynomial
    rows: int
    width: int
    row: int


@dataclass(slots=True)
class _Reader:
    """What was read so far."""

    kernel: Kernel
    unit: str
    steps: str
    number: str
    place: str
    taken: set[str]
    outer: tuple[For, ...] | None = None
    body: list[Stmt] = field(default_factory=list)
    accesses: dict[str, _Access] = field(default_factory=dict)
    cells: dict[tuple[str, int], str] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    spans: list[int] = field(default_factory=list)
    copies: int = 0
    written: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        own = {x.name for x in self.kernel.arrays}
        self.written = frozenset(x.array for x in walk(self.kernel.body) if isinstance(x, Assign | Reduce)) & own

    def read(self, nest: Stmt) -> None:
        """Write out what a nest does in one column."""
        loops, block = self.descend(nest)
        along: dict[str, tuple[str, int]] = {}
        for loop in loops:
            found = self.count(loop)
            if found is not None:
                along[loop.var] = found
        if sorted(x for x, _ in along.values()) != sorted((self.unit, self.steps)):
            raise NoColumnsError("its loops are not over rows of elements")
        outer = tuple(x for x in loops if x.var not in along)
        if self.outer is not None and [(x.var, x.lower, x.upper, x.step) for x in outer] != [
            (x.var, x.lower, x.upper, x.step) for x in self.outer
        ]:
            raise NoColumnsError("the loops around differ")
        if any(names(y) & {z.var for z in loops} for x in outer for y in (x.lower, x.upper)):
            raise NoColumnsError("the bounds of the loops around move")
        self.outer = outer
        self.spans += [count for size, count in along.values() if size == self.unit]
        pieces = [(x, *along[x]) for x in (y.var for y in loops) if x in along]
        for numbers in product(*(range(count) for _, _, count in pieces)):
            values = {
                var: add(mul(index(count), index(self.number)), index(n))
                if size == self.steps
                else add(mul(index(n), index(self.unit)), index(self.place))
                for n, (var, size, count) in zip(numbers, pieces, strict=True)
            }
            self.copy(block, values)

    def descend(self, nest: Stmt) -> tuple[list[For], Block]:
        """The loops of a nest, and what is done in all of them: what some are read into before others is read again."""
        loops: list[For] = []
        kept: list[Stmt] = []
        block = Block((nest,))
        while block.body and isinstance(last := block.body[-1], For):
            *before, _ = block.body
            inner = {x.array for x in walk(last.body) if isinstance(x, Assign | Reduce)}
            own = {x.array.name for x in before if isinstance(x, Alloc) and not x.array.shape}
            if not all(self.is_fixed(x, own - inner) for x in before):
                break
            kept += before
            loops.append(last)
            block = last.body
        return loops, Block((*kept, *block.body))

    def is_fixed(self, stmt: Stmt, own: Collection[str]) -> bool:
        """Whether a statement only sets one of a loop's `own` variables to what is the same whenever it is read."""
        match stmt:
            case Alloc(array=array):
                return array.name in own
            case Assign(array=array, index=(), value=value) if array in own:
                return not any(isinstance(x, Load) and x.array in self.written for x in walk_expr(value))
            case _:
                return False

    def count(self, loop: For) -> tuple[str, int] | None:
        """The size, and how many times it, that a loop runs from 0 on; None for a loop over something else."""
        terms = polynomial(loop.upper)
        for size in (self.unit, self.steps):
            factor = terms.get((Var(size, INDEX),))
            if factor is not None and factor > 0 and len(terms) == 1 and constant(loop.lower) == 0 and loop.step == 1:
                return size, factor
        return None

    def copy(self, block: Block, values: Mapping[str, Expr]) -> None:
        """Write out one of a nest's iterations that come to a column."""
        self.copies += 1
        if self.copies > MOST_COPIES:
            raise NoColumnsError("too much would have to be written out")
        locals: dict[str, str] = {}
        lets: dict[str, Expr] = dict(values)
        for stmt in block.body:
            placed = map_exprs(lambda x: self.value(x, lets, locals), stmt)
            match placed:
                case Alloc(array=Array(shape=()) as array) if not array.values:
                    locals[array.name] = take_name(array.name, self.taken)
                    self.body.append(replace(placed, array=replace(array, name=locals[array.name])))
                case Let(var=var, value=value):
                    fresh = take_name(var, self.taken)
                    lets[var] = Var(fresh, type_of(value))
                    self.body.append(replace(placed, var=fresh))
                case Assign(array=array) | Reduce(array=array) if array in locals:
                    self.body.append(replace(placed, array=locals[array]))
                case Assign(array=array) | Reduce(array=array) if array in self.written:
                    cell = self.cell(array, placed.index)
                    if isinstance(placed, Reduce) and cell not in self.stored:
                        self.loaded.add(cell)
                    self.stored.add(cell)
                    self.body.append(replace(placed, array=cell, index=()))
                case _:
                    raise NoColumnsError("it does more than to set elements")

    def value(self, expr: Expr, values: Mapping[str, Expr], locals: Mapping[str, str]) -> Expr:
        """An expression in one column, in which cells stand for elements."""
        lazy = [x for x in walk_expr(expr) if isinstance(x, Select) or isinstance(x, Binary) and _is_lazy(x)]
        if any(isinstance(y, Load) and y.array not in locals for x in lazy for y in walk_expr(x)):
            raise NoColumnsError("what it reads depends on a condition")

        def placed(x: Expr) -> Expr:
            if not isinstance(x, Load):
                return x
            if x.array in locals:
                return replace(x, array=locals[x.array])
            if x.array not in self.written:
                return replace(x, index=tuple(map(normal, x.index)))
            cell = self.cell(x.array, x.index)
            if cell not in self.stored:
                self.loaded.add(cell)
            return Load(cell, (), x.type)

        return map_expr(placed, substitute(expr, values))

    def cell(self, array: str, subscripts: Sequence[Expr]) -> str:
        """The cell of an element."""
        if not subscripts:
            raise NoColumnsError(f"`{array}` is one element")
        if any(isinstance(y, Load) for x in subscripts for y in walk_expr(x)):
            raise NoColumnsError(f"which elements of `{array}` are used depends on data")
        *front, last = map(normal, subscripts)
        terms = dict(polynomial(last))
        unit, number, place = (Var(x, INDEX) for x in (self.unit, self.number, self.place))
        rows = terms.pop(tuple(sorted((unit, number), key=repr)), 0)
        row, along = terms.pop((unit,), 0), terms.pop((place,), 0)
        moving = {self.number, self.place}
        if along < 1 or rows < 1 or names(build(terms)) & moving or any(names(x) & moving for x in front):
            raise NoColumnsError(f"`{array}` is not read in rows")
        if rows % along or row % along:
            raise NoColumnsError(f"`{array}` has rows of several parts")
        at = terms.pop((), 0)
        side = at % along
        if at != side:
            terms[()] = at - side
        rows, row = rows // along, row // along
        if any(Var(x.var, INDEX) not in front for x in self.outer or ()):
            raise NoColumnsError(f"the loops around come to the same elements of `{array}`")
        known = self.accesses.setdefault(array, _Access(tuple(front), terms, rows, along, row))
        if (known.front, known.common, known.rows, known.width) != (tuple(front), terms, rows, along):
            raise NoColumnsError(f"elements of `{array}` are not so many rows apart")
        known.row = min(known.row, row)
        key = array, row * along + side
        if key not in self.cells:
            self.cells[key] = take_name(f"{array}{key[1]}", self.taken)
        return self.cells[key]

    def lines(self) -> dict[str, ColumnLine]:
        """Where the elements of columns are, if no two columns have one in common."""
        out = {}
        for name, x in self.accesses.items():
            if max(at for array, at in self.cells if array == name) // x.width - x.row >= x.rows:
                raise NoColumnsError(f"columns have elements of `{name}` in common")
            first = add(build(x.common), mul(index(x.row * x.width), index(self.unit)))
            out[name] = ColumnLine(x.front, first, x.rows, x.width)
        return out

    def places(self) -> Iterator[ColumnElement]:
        """The elements of a column, in the order in which they lie."""
        types = {x.name: x.type for x in self.kernel.arrays}
        for (array, at), cell in sorted(self.cells.items()):
            known = self.accesses[array]
            at -= known.row * known.width
            yield ColumnElement(array, at, cell, types[array], cell in self.loaded, cell in self.stored)


def _is_lazy(expr: Binary) -> bool:
    return expr.op in ("and", "or") and type_of(expr.left) == BOOL


__all__ = ["ButterflyColumns", "ColumnLine", "NoColumnsError", "ColumnElement", "read_columns"]
