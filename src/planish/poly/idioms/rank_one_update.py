"""Rank-one updates of matrix columns: a := a + v (w . a), in any wording.

>>> from planish.ir.text.parser import parse_kernel
>>> dot = "s[] = A[k, j] for i in k + 1 .. m { s[] += A[i, k] * A[i, j] } s[] *= t[]"
>>> take = "A[k, j] += -s[] for i in k + 1 .. m { A[i, j] += -(s[] * A[i, k]) }"
>>> text = "for j in k + 1 .. n { alloc s: f64[] %s %s }" % (dot, take)
>>> kernel = parse_kernel("kernel z(k, m, n; A: f64[m, n], t: f64[]) { %s }" % text)
>>> found = find_rank_one(kernel.body.body, ColumnMatrix("A", 1), "k", {"s"}, frozenset())
>>> from planish.ir.text.printer import print_expr
>>> for part in (*found.weights, *found.changes):
...     print(print_expr(part.lower), print_expr(part.upper), print_expr(part.value))
k k + 1 1.0:f64
k + 1 m A[i, k]
k k + 1 -t[]
k + 1 m -(t[] * A[i, k])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, Const, Expr, Load, Unary, index, type_of
from planish.ir.index.polynomial import add, names, same
from planish.ir.nest import Assign, For, Reduce, Stmt
from planish.ir.passes.reduction_idioms import accumulation
from planish.ir.traverse import conditions, decide, loads, variables
from planish.poly.idioms.column_access import Leaf, leaves_of


@dataclass(frozen=True, slots=True)
class ColumnMatrix:
    """An array of two dimensions, of which one goes over columns."""

    array: str
    column: int

    def place(self, at: tuple[Expr, ...]) -> tuple[Expr, Expr]:
        """The row and the column of subscripts."""
        return at[1 - self.column], at[self.column]


@dataclass(frozen=True, slots=True)
class VectorPart:
    """Elements of a vector, from row `lower` up to below `upper`: each is `value`, where `var` is the row."""

    var: str
    lower: Expr
    upper: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class RankOne:
    """To columns from `first` up to below `columns` multiples of a vector are added, the sum of its parts `changes`, as
    many as the sum of the column's elements says, each times its weight. Neither holds anything that this changes.

    Where there is a condition (`test`), nothing is done unless it holds. `kept`: the cells that the sums were in.
    """

    weights: tuple[VectorPart, ...]
    changes: tuple[VectorPart, ...]
    first: Expr
    columns: Expr
    test: Expr | None
    kept: frozenset[str]


def find_rank_one(
    stmts: Sequence[Stmt], matrix: ColumnMatrix, step: str, cells: set[str], rows: frozenset[str]
) -> RankOne | None:
    """What statements of step `step` do to columns; None where they do anything else. `cells` are scalars, `rows`
    arrays with an element for each column, that nobody else reads."""
    leaves = list(leaves_of(stmts))
    known = [x for x in leaves if x is not None]
    if not known or len(known) < len(leaves):
        return None
    stored = {x.array for x, _ in known}
    cells, rows = cells & stored, rows & stored
    test = _test(known, matrix, stored)
    if test is not None:
        known = [(_decided(stmt, test), loops) for stmt, loops in known]
    reading = _Reading(matrix, step, cells, rows)
    if not all(reading.read(stmt, loops) for stmt, loops in known) or not reading.is_whole(known):
        return None
    outer, sums = reading.columns[0], reading.sums
    if sums is None or not any(x.var for x in sums):
        return None
    return RankOne(sums, tuple(reading.changes), outer.lower, outer.upper, test, frozenset(reading.held))


def _test(leaves: Sequence[Leaf], matrix: ColumnMatrix, changed: set[str]) -> Expr | None:
    """The condition under which the matrix is changed, without which no statement changes it."""
    stores = [x for x, _ in leaves if x.array == matrix.array]
    counters = {x.var for _, loops in leaves for x in loops}
    for test in conditions(stores[0].value) if stores else ():
        same_always = not any(x.array in changed for x in loads(test)) and not counters & variables(test)
        if same_always and all(_does_nothing(x, test) for x in stores):
            return test
    return None


def _does_nothing(stmt: Assign | Reduce, test: Expr) -> bool:
    """Whether a statement leaves everything as it was where a condition does not hold."""
    value = decide(stmt.value, test, False)
    if isinstance(stmt, Reduce):
        return stmt.op == "add" and isinstance(value, Const) and value.value == 0
    return value == Load(stmt.array, stmt.index, type_of(stmt.value))


def _decided(stmt: Assign | Reduce, test: Expr) -> Assign | Reduce:
    """A statement where a condition holds."""
    value = decide(stmt.value, test, True)
    found = accumulation(stmt.array, stmt.index, value, True) if isinstance(stmt, Assign) else None
    return replace(stmt, value=value) if found is None else Reduce(stmt.array, stmt.index, *found)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum over a column: that of its parts, times some factors, over some divisors."""

    parts: tuple[VectorPart, ...]
    factors: tuple[Expr, ...] = ()
    divisors: tuple[Expr, ...] = ()

    def times(self, factor: Expr) -> _Sum:
        return replace(self, factors=(*self.factors, factor))

    def over(self, divisor: Expr) -> _Sum:
        return replace(self, divisors=(*self.divisors, divisor))

    @property
    def is_plain(self) -> bool:
        return not self.factors and not self.divisors

    def whole(self) -> tuple[VectorPart, ...]:
        """Its parts with the factors in each."""
        return tuple(replace(x, value=self.scaled(x.value)) for x in self.parts)

    def scaled(self, value: Expr) -> Expr:
        """A value times the factors; what it is divided by comes last, as its reciprocal may be too large."""
        one, minus = Const(1.0, type_of(value)), Const(-1.0, type_of(value))
        factors = [x for x in (value, *self.factors) if x not in (one, minus)]
        out = factors[0] if factors else one
        for x in factors[1:]:
            out = Binary("mul", out, x)
        for x in self.divisors:
            out = Binary("div", out, x)
        return Unary("neg", out) if [value, *self.factors].count(minus) % 2 else out


@dataclass(slots=True)
class _Reading:
    """What has been read of the statements: the sums that cells hold, what was added to the columns, in which loops."""

    matrix: ColumnMatrix
    step: str
    cells: set[str]
    rows: frozenset[str]
    held: dict[str, _Sum] = field(default_factory=dict)
    sums: tuple[VectorPart, ...] | None = None
    changes: list[VectorPart] = field(default_factory=list)
    columns: list[For] = field(default_factory=list)
    inside: dict[str, For] = field(default_factory=dict)

    def read(self, stmt: Assign | Reduce, loops: tuple[For, ...]) -> bool:
        """Note what a statement does to a column; False where that is something else."""
        column = self.column_of(stmt, loops)
        if column is None or len(loops) > 2:
            return False
        if self.columns and not all(map(same, (column.lower, column.upper), self.bounds)):
            return False
        self.columns.append(column)
        over = next((x for x in loops if x is not column), None)
        if over is not None and (over.step != 1 or column.var in names(over.lower) | names(over.upper)):
            return False
        if column.step != 1 or (over is not None and over.var in names(column.lower) | names(column.upper)):
            return False
        if stmt.array == self.matrix.array:
            return isinstance(stmt, Reduce) and stmt.op == "add" and self.change(stmt, column, over)
        return self.collect(stmt, column, over)

    @property
    def bounds(self) -> tuple[Expr, Expr]:
        """The columns that are changed."""
        return self.columns[0].lower, self.columns[0].upper

    def column_of(self, stmt: Assign | Reduce, loops: tuple[For, ...]) -> For | None:
        """The loop around a statement that goes over columns."""
        match stmt:
            case _ if stmt.array == self.matrix.array:
                at = self.matrix.place(stmt.index)[1]
            case _ if stmt.array in self.rows:
                at = stmt.index[0]
            case _ if stmt.array in self.cells:
                own = (self.matrix.place(x.index)[1] for x in loads(stmt.value) if x.array == self.matrix.array)
                others = [x for x in own if x != index(self.step)]
                if not others and len(loops) == 1:
                    return loops[0]
                at = others[0] if others else index(self.step)
            case _:
                return None
        return next((x for x in loops if at == index(x.var)), None)

    def is_own(self, array: str, at: tuple[Expr, ...], column: For) -> bool:
        """Whether a place is a cell that holds sums: one for all columns in turn, or that of the column."""
        if array in self.cells:
            # Of several loops each would find what the last column left.
            return not at and self.inside.setdefault(array, column) is column
        return array in self.rows and at == (index(column.var),)

    def collect(self, stmt: Assign | Reduce, column: For, over: For | None) -> bool:
        """Note what a cell holds after a statement."""
        if not self.is_own(stmt.array, stmt.index, column) or self.changes:
            return False
        before = self.held.get(stmt.array)
        if isinstance(stmt, Reduce) and stmt.op == "mul":
            # A product with the same thing in every iteration is not what a loop over rows is for.
            if before is None or over is not None or not self.is_fixed(stmt.value, column):
                return False
            self.held[stmt.array] = before.times(stmt.value)
            return True
        added = self.linear(stmt.value, column, over)
        if added is None:
            return False
        if isinstance(stmt, Assign):
            if over is not None:
                return False
            self.held[stmt.array] = added
            return True
        if before is None or not before.is_plain or stmt.op != "add":
            return False
        if over is not None and any(x.var != over.var for x in added.parts):
            return False
        self.held[stmt.array] = _Sum((*before.parts, *added.whole()))
        return True

    def change(self, stmt: Reduce, column: For, over: For | None) -> bool:
        """Note what is added to elements of a column."""
        row, _ = self.matrix.place(stmt.index)
        found = self.linear(stmt.value, column, None, changing=True)
        if found is None or not found.parts or (self.sums is not None and found.parts != self.sums):
            return False
        self.sums = found.parts
        factor = found.scaled(Const(1.0, type_of(stmt.value)))
        if over is not None and row == index(over.var):
            self.changes.append(VectorPart(over.var, over.lower, over.upper, factor))
            return True
        if over is not None or column.var in names(row):
            return False
        self.changes.append(VectorPart("", row, add(row, index(1)), factor))
        return True

    def linear(self, value: Expr, column: For, over: For | None, changing: bool = False) -> _Sum | None:
        """A value as a sum over the column; None where it is none. `changing`: it may be of sums only."""
        match value:
            case Const(value=0) if not changing:
                return _Sum(())
            case Load(array=array, index=at) if array in self.cells or array in self.rows:
                return self.held.get(array) if over is None and self.is_own(array, at, column) else None
            case Load(array=array, index=at) if array == self.matrix.array and not changing:
                return self.element(at, column, over, value)
            case Unary(op="neg", operand=x):
                found = self.linear(x, column, over, changing)
                return None if found is None else _negated(found, value)
            case Binary(op="mul", left=x, right=factor) if self.is_fixed(factor, column):
                found = self.linear(x, column, over, changing)
                return None if found is None else found.times(factor)
            case Binary(op="mul", left=factor, right=x) if self.is_fixed(factor, column):
                found = self.linear(x, column, over, changing)
                return None if found is None else found.times(factor)
            case Binary(op="div", left=x, right=divisor) if self.is_fixed(divisor, column):
                found = self.linear(x, column, over, changing)
                return None if found is None else found.over(divisor)
            case Binary(op="add" | "sub" as op, left=x, right=y) if not changing:
                one, other = self.linear(x, column, over), self.linear(y, column, over)
                if one is None or other is None:
                    return None
                other = _negated(other, value) if op == "sub" else other
                return _Sum((*one.whole(), *other.whole()))
            case _:
                return None

    def element(self, at: tuple[Expr, ...], column: For, over: For | None, value: Expr) -> _Sum | None:
        """An element of the column, as a sum."""
        row, own = self.matrix.place(at)
        one = Const(1.0, type_of(value))
        if own != index(column.var) or column.var in names(row):
            return None
        if over is not None and row == index(over.var):
            return _Sum((VectorPart(over.var, over.lower, over.upper, one),))
        return _Sum((VectorPart("", row, add(row, index(1)), one),)) if over is None else None

    def is_fixed(self, value: Expr, column: For) -> bool:
        """Whether a value is the same for all columns: it holds nothing that these statements change."""
        if column.var in variables(value):
            return False
        for x in loads(value):
            if x.array in self.cells or x.array in self.rows:
                return False
            if x.array == self.matrix.array and self.matrix.place(x.index)[1] != index(self.step):
                return False
        return True

    def is_whole(self, leaves: Sequence[Leaf]) -> bool:
        """Whether the statements change each column one after the other, whatever the order of columns and rows is, and
        no weight is changed by them."""
        if not self.changes:
            return False
        loops = [x for _, around in leaves for x in around if not any(x is y for y in self.columns)]
        if any(x is y for n, x in enumerate(loops) for y in loops[:n]):
            return False
        # The column of the step itself is none of which the weights are made, if it changes as well.
        read = {y.array for x in (*(self.sums or ()), *self.changes) for y in loads(x.value)}
        return same(self.bounds[0], add(index(self.step), index(1))) or self.matrix.array not in read


def _negated(found: _Sum, value: Expr) -> _Sum:
    """A sum with the other sign, of the type of a value."""
    return found.times(Const(-1.0, type_of(value)))
