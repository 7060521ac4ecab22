"""Recognises Householder steps: a column makes a reflector, which is applied to the columns to its right.

A step k does whatever it likes in column k of A; then each column a after it becomes a + v (w . a), for vectors v and w
that are made of that column, or of anything else that stays what it is meanwhile. Nothing relies on lengths being kept:

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> make = "s[] = 0.0 for i in k .. m { s[] += A[i, k] * A[i, k] } A[k, k] += copysign(sqrt(s[]), A[k, k])"
>>> dot = "d[] = 0.0 for i in k .. m { d[] += A[i, k] * A[i, j] } d[] = -d[] / t[k]"
>>> take = "for i in k .. m { A[i, j] += d[] * A[i, k] }"
>>> each = "for j in k + 1 .. n { alloc d: f64[] %s %s }" % (dot, take)
>>> step = "for k in 0 .. n { alloc s: f64[] %s %s }" % (make, each)
>>> found = find_reflecting(parse_kernel("kernel z(m, n; A: f64[m, n], t: f64[n]) { %s }" % step))
>>> found.matrix.array, len(found.before), len(found.after), [print_expr(x.value) for x in found.change.changes]
('A', 3, 0, ['-(A[i, k] / t[k])'])
>>> [print_expr(x) for x in found.asked]
['n <= m', '1 < n']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from planish.ir.expr import Compare, Expr, Load, Select, index
from planish.ir.index.polynomial import add, constant, names, place, same, sub
from planish.ir.index.ranges import extreme
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Stmt
from planish.ir.passes.declaration_sinking import exposed
from planish.ir.traverse import arrays_in, blocks_of, children, expressions, flatten, loads, walk
from planish.ir.types import F32, F64
from planish.poly.idioms.column_access import accesses, is_at_most
from planish.poly.idioms.rank_one_update import ColumnMatrix, RankOne, VectorPart, find_rank_one


@dataclass(frozen=True, slots=True)
class Householder:
    """Steps `var` from 0 up to `steps` on the `rows` of a matrix, of columns up to below those of its `change`.

    A step runs `before`, changes each of the columns as the `change` says, and runs `after`. If columns are changed
    from that of the step on, or after it (`has_panel`), the other two touch no column of the matrix but that one; if
    all are, they touch none. The change is made of rows from `low` on, and `follows` says that all that is done in a
    step is done to rows from `var` on.

    All expressions but those of the change and `low` are over the kernel's sizes. `asked` has to hold besides: there
    is a row and a column for each step, and a column that is changed. `own`: arrays that the kernel has for itself.
    """

    loop: For
    matrix: ColumnMatrix
    steps: Expr
    rows: Expr
    low: Expr
    has_panel: bool
    follows: bool
    before: tuple[Stmt, ...]
    change: RankOne
    after: tuple[Stmt, ...]
    asked: tuple[Expr, ...]
    own: tuple[Array, ...]

    @property
    def var(self) -> str:
        """The name of the step's number."""
        return self.loop.var

    @property
    def columns(self) -> Expr:
        """The columns of the matrix."""
        return self.change.columns


def find_reflecting(kernel: Kernel, scratch: Collection[str] = ()) -> Householder | None:
    """The steps that a kernel consists of, all of it; None where it is anything else. Subscripts have to be rows and
    columns already; `scratch`: arrays that nobody reads afterwards."""
    match [x for x in flatten(kernel.body.body) if not isinstance(x, Alloc)]:
        case [For(step=1) as loop] if constant(loop.lower) == 0 and names(loop.upper) <= {*kernel.sizes}:
            pass
        case _:
            return None
    own = tuple(x.array for x in walk(kernel.body) if isinstance(x, Alloc))
    if len({x.name for x in own}) < len(own):
        # Cells of one name in several places are told apart by where they stand.
        own = tuple(dict.fromkeys(own))
        if len({x.name for x in own}) < len(own) or any(x.shape for x in own):
            return None
    body = [x for x in flatten(loop.body.body) if not isinstance(x, Alloc)]
    for array in kernel.arrays:
        if array.type in (F32, F64) and len(array.shape) == 2 and array.name not in scratch:
            for column in (1, 0):
                finder = _Finder(kernel, loop, body, ColumnMatrix(array.name, column), own, frozenset(scratch))
                found = finder.find()
                if found is not None:
                    return found
    return None


@dataclass(frozen=True, slots=True)
class _Finder:
    """The steps of a kernel, in which a change of the columns of one matrix is looked for."""

    kernel: Kernel
    loop: For
    body: Sequence[Stmt]
    matrix: ColumnMatrix
    own: tuple[Array, ...]
    scratch: frozenset[str]

    def find(self) -> Householder | None:
        """The steps, if that matrix is what they reflect."""
        at = [n for n, x in enumerate(self.body) if any(self.strays(x))]
        if not at:
            return None
        cells = {x.name for x in self.own if not x.shape}
        rows = {x.name for x in (*self.own, *self.kernel.arrays) if len(x.shape) == 1}
        rows &= {x.name for x in self.own} | self.scratch
        # What is set to zero for each column does not touch the matrix yet.
        for start in range(at[0], -1, -1):
            stmts = self.body[start : at[-1] + 1]
            change = find_rank_one(stmts, self.matrix, self.loop.var, cells, frozenset(rows))
            if change is not None:
                return self.fitted(tuple(self.body[:start]), change, tuple(self.body[at[-1] + 1 :]))
        return None

    def strays(self, stmt: Stmt) -> Iterator[bool]:
        """For each use of the matrix in a statement, whether it is in another column than the step's."""
        for at, _ in accesses((stmt,), self.matrix.array, ()):
            yield self.matrix.place(at)[1] != index(self.loop.var)

    def fitted(self, before: tuple[Stmt, ...], change: RankOne, after: tuple[Stmt, ...]) -> Householder | None:
        """The steps, if what else they do is apart from the change."""
        k, steps = index(self.loop.var), self.loop.upper
        others = (*before, *after)
        has_panel = constant(change.first) != 0
        if has_panel and not any(same(change.first, x) for x in (k, add(k, index(1)))):
            return None
        parts = (*change.weights, *change.changes)
        lasts = [x.upper for x in parts if x.var]
        rows = lasts[0]
        if not all(same(x, rows) for x in lasts) or not names(rows) | names(change.columns) <= {*self.kernel.sizes}:
            return None
        if not self.is_private(change, before, after) or self.leaves_loops(parts):
            return None
        if not has_panel and any(self.matrix.array in arrays_in(x) for x in others):
            return None
        if not has_panel and any(x.array == self.matrix.array for y in parts for x in loads(y.value)):
            return None
        low = min((x.lower for x in change.weights), key=lambda x: sum(not is_at_most(x, y.lower) for y in parts))
        if not _is_run(change.weights, low, rows) or not _is_run(change.changes, low, rows):
            return None
        places = [*self.places(others), *((x.lower, x.upper) for x in parts)]
        asked = self.needed(places, rows)
        if asked is None:
            return None
        if has_panel:
            # Where no column is changed, or none may be, nobody says that there are all these rows.
            asked = (*asked, Compare("lt", place(change.first, {self.loop.var: index(0)}), change.columns))
            if change.test is not None and not self.reaches(others, rows):
                return None
            if not is_at_most(steps, change.columns):
                asked = (*asked, Compare("le", steps, change.columns))
        follows = all(is_at_most(k, low) for low, _ in places)
        return Householder(
            self.loop, self.matrix, steps, rows, low, has_panel, follows, before, change, after,
            tuple(dict.fromkeys(asked)), self.own,
        )  # fmt: skip

    def is_private(self, change: RankOne, before: tuple[Stmt, ...], after: tuple[Stmt, ...]) -> bool:
        """Whether nobody else reads the sums: what else uses such a cell sets it first, and what the condition is made
        of stays as it is."""
        shaped = {x.name for x in (*self.own, *self.kernel.arrays) if x.shape}
        for cell in change.kept:
            if cell in shaped and any(cell in arrays_in(x) for x in (*before, *after)):
                return False
            if exposed(Block(before), cell) or exposed(Block(after), cell):
                return False
        return True

    def leaves_loops(self, parts: Sequence[VectorPart]) -> bool:
        """Whether a vector is over other rows than the step and the sizes say."""
        return any(not names(x.lower) | names(x.upper) <= {*self.kernel.sizes, self.loop.var} for x in parts)

    def reaches(self, stmts: Sequence[Stmt], rows: Expr) -> bool:
        """Whether statements read the last one of so many rows in each step, whatever the data are."""
        for stmt in stmts:
            for load, loops in _always_read(stmt, ()):
                if load.array == self.matrix.array:
                    high = extreme(self.matrix.place(load.index)[0], loops, True)
                    if high is not None and same(add(high, index(1)), rows):
                        return True
        return False

    def places(self, stmts: Sequence[Stmt]) -> list[tuple[Expr, Expr]]:
        """From which row up to below which one statements use the matrix, in a step; all rows where that is not
        known."""
        out = []
        for at, loops in accesses(stmts, self.matrix.array, ()):
            row = self.matrix.place(at)[0]
            low, high = extreme(row, loops, False), extreme(row, loops, True)
            if low is None or high is None:
                return [(index(-1), index(0))]
            out.append((low, add(high, index(1))))
        return out

    def needed(self, places: Sequence[tuple[Expr, Expr]], rows: Expr) -> tuple[Expr, ...] | None:
        """What has to hold for rows to be some of the matrix; None where that cannot be told."""
        step, steps = (self.loop,), self.loop.upper
        asked: list[Expr] = []
        for low, high in places:
            least, spare = extreme(low, step, False), extreme(sub(rows, high), step, False)
            if least is None or spare is None:
                return None
            for number in (least, spare):
                if is_at_most(index(0), number):
                    continue
                if not same(number, sub(rows, steps)):
                    return None
                asked.append(Compare("le", steps, rows))
        return tuple(asked)


def _is_run(parts: Sequence[VectorPart], low: Expr, rows: Expr) -> bool:
    """Whether parts are of one row after the other, from one up to below another one."""
    at, left = low, list(parts)
    while left:
        part = next((x for x in left if same(x.lower, at)), None)
        if part is None:
            return False
        left.remove(part)
        at = part.upper
    return same(at, rows)


def _always_read(stmt: Stmt, loops: tuple[For, ...]) -> Iterator[tuple[Load, tuple[For, ...]]]:
    """What a statement reads in any case, with the loops around."""
    if isinstance(stmt, If):
        return
    rest = [*expressions(stmt)]
    while rest:
        expr = rest.pop()
        if isinstance(expr, Load):
            yield expr, loops
        rest += (expr.condition,) if isinstance(expr, Select) else children(expr)
    inner = (*loops, stmt) if isinstance(stmt, For) else loops
    for block in blocks_of(stmt):
        for x in block.body:
            yield from _always_read(x, inner)
