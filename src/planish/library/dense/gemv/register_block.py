"""A register block of GEMV: one accumulator for each row, and each load of the vector shared by all rows.

Before: for i { y[i] = 0;  for k { y[i] += A[i, k] * x[k] } }
After:  for i by 12 { for k by lanes { s0 += A[i, k ..] * x[k ..];  …  s11 += A[i + 11, k ..] * x[k ..] }
                     y[i] = 0;  y[i] += all lanes of s0;  …  y[i + 11] += all lanes of s11 }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.library.dense.gemv.row_loops import find_dots
>>> from planish.library.kernels.vectors import find_vectors
>>> loops = "y[i] = 0.0  for k in 0 .. n { y[i] += A[i, k] * x[k] }"
>>> kernel = parse_kernel("kernel k(m, n; A: f64[m, n], x: f64[n], y: f64[m]) { for i in 0 .. m { %s } }" % loops)
>>> found = find_dots(kernel.body.body[0], frozenset(kernel.sizes))
>>> Tiles(found, find_vectors("avx2", found.type), {"i", "k"}).most
12
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Unary, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.library.dense.gemv.row_loops import Dot, Dots
from planish.library.kernels.register_rows import RegisterRows
from planish.library.kernels.vectors import Vectors
from planish.poly.match.sum_of_products import join
from planish.schedule.auto.lower import place, place_expr

Step = Callable[[Expr, Expr | None, int], list[Stmt]]
"""What is done with the elements of rows in a register, as of `RegisterRows.along`, for which accumulators."""
ROWS = 12
"""So many rows at a time: what is underway from memory then keeps it busy."""
FEWER = 8
"""So many where more would be in each other's place in the cache, as rows whose distance is a power of two are."""
FEWEST = 4
"""So many of those that are left over: with less, sums wait for each other."""


def most_rows(found: Dots, vectors: Vectors, rows: int, accumulators: int) -> int:
    """Of so many rows those whose sums have registers, besides a row and what it is multiplied by."""
    return max(min(rows, (vectors.registers - 2) // (len(found.sums) * accumulators)), 1)


class Tiles:
    """The rows of a matrix on their way to several at a time, at most `rows`, each of which has so many `accumulators`
    for its sum; names that are made are `taken` then."""

    def __init__(
        self, found: Dots, vectors: Vectors, taken: set[str], rows: int = ROWS, accumulators: int = 1
    ) -> None:
        self.found, self.vectors, self.taken = found, vectors, taken
        self.registers = RegisterRows(vectors, taken)
        self.first, self.place, self.whole = (take_name(x, taken) for x in ("first", "place", "whole"))
        self.most = most_rows(found, vectors, rows, accumulators)
        self.accumulators = accumulators
        self.wide = take_name("wide", taken) if accumulators > 1 else self.whole

    def loops(self) -> Stmt:
        """All rows; where they have no elements, as they are written."""
        loop, inner = self.found.loop, self.found.inner
        parts: list[Stmt] = [Let(self.whole, self.registers.whole(inner))]
        if self.accumulators > 1:
            parts.append(Let(self.wide, self.registers.whole(inner, self.accumulators)))
        start = loop.lower
        for rows in (self.most, *(x for x in (FEWEST, 1) if x < self.most)):
            end = add(start, mul(index(rows), floordiv(extremum("max", index(0), sub(loop.upper, start)), index(rows))))
            name = take_name("end", self.taken)
            parts += [Let(name, end), For(self.first, start, index(name), rows, Block(self.tile(rows)))]
            start = index(name)
        return If(Compare("lt", inner.lower, inner.upper), Block(tuple(parts)), Block((loop,)))

    def tile(self, rows: int) -> tuple[Stmt, ...]:
        """So many iterations: all of their sums, and then what each of them does with its own."""
        count = rows * len(self.found.sums)
        totals = Array(take_name("totals", self.taken), self.found.type, (index(count),), True, "stack")
        zeros = tuple(Assign(totals.name, (index(x),), Const(0.0, totals.type)) for x in range(count))
        done = tuple(self.iteration(x, rows, totals) for x in range(rows))
        return (Alloc(totals), *zeros, self.sums(rows, totals), *done)

    def sums(self, rows: int, totals: Array) -> Block:
        """The sums of some rows, added to `totals`: those of each sum after those of the one before it."""
        r, dots, inner = self.registers, self.found.sums, self.found.inner
        count = rows * len(dots)
        sums, row, other = r.take("sums", count * self.accumulators), r.take("row", 1), r.take("other", 1)

        def step(first: Expr, some: Expr | None, part: int = 0) -> list[Stmt]:
            out: list[Stmt] = []
            loaded: Load | None = None
            for number in range(count):
                dot, b = dots[number // rows], self.row(number % rows)
                seen, own = self.at_row(dot.other, b), self.at_row(dot.row, b)
                if seen != loaded:
                    out.append(r.load(other, 0, seen, inner.var, first, some))
                    loaded = seen
                if some is None:
                    out.append(r.multiply_row(sums, part * count + number, own, inner.var, first, r.at(other, 0)))
                else:
                    out.append(r.load(row, 0, own, inner.var, first, some))
                    out.append(r.multiply(sums, number, r.at(row, 0), r.at(other, 0)))
            return out

        def singly(where: Expr) -> list[Stmt]:
            return [self.add_product(x, number, totals, where) for number, x in enumerate(pairs)]

        pairs = [(dot, b) for dot in dots for b in range(rows)]
        masked = self.vectors.has("masked_load")
        rest = inner if self.accumulators == 1 else replace(inner, lower=index(self.wide))
        along = r.along(rest, self.place, self.whole, step, None if masked else singly)
        clear = (r.clear(sums, x) for x in range(count * self.accumulators))
        arrays = (sums, *([row] if masked else []), other)
        several = self.several(sums, other, count, step)
        return Block((*map(Alloc, arrays), *clear, *several, *along, *r.add_up(sums, totals, count)))

    def several(self, sums: Array, other: Array, count: int, step: Step) -> list[Stmt]:
        """As many registers of each row at a time as sums have accumulators, which are then added to the first ones."""
        if self.accumulators == 1:
            return []
        lanes = self.vectors.lanes
        firsts = (add(index(self.place), index(lanes * part)) for part in range(self.accumulators))
        body = (y for part, first in enumerate(firsts) for y in step(first, None, part))
        inner = self.found.inner
        loop = For(self.place, inner.lower, index(self.wide), lanes * self.accumulators, Block(tuple(body)))
        others = range(count, count * self.accumulators)
        # Fused, a product with one is a sum.
        r, ones = self.registers, self.registers.at(other, 0)
        added = (r.multiply(sums, x % count, r.at(sums, x), ones) for x in others)
        return [loop, r.set(other, 0, 1.0), *added]

    def add_product(self, pair: tuple[Dot, int], number: int, totals: Array, where: Expr) -> Stmt:
        """The product of two elements of a row, of the sum and of the row of the tile that a pair says, added to a
        total."""
        dot, row = pair
        values = {self.found.loop.var: self.row(row), self.found.inner.var: where}
        left, right = (place_expr(x, values) for x in (dot.row, dot.other))
        return Reduce(totals.name, (index(number),), "add", Binary("mul", left, right))

    def iteration(self, row: int, rows: int, totals: Array) -> Block:
        """One iteration of the register block, with its sums accumulated."""
        values = {self.found.loop.var: self.row(row)}
        before, after = ((place(x, values) for x in part) for part in (self.found.before, self.found.after))
        adds: list[Stmt] = []
        for number, dot in enumerate(self.found.sums):
            total: Expr = Load(totals.name, (index(number * rows + row),), totals.type)
            cell, factors = self.at_row(dot.cell, self.row(row)), (place_expr(x, values) for x in dot.factors)
            total = join("mul", (*factors, total))
            adds.append(Reduce(cell.array, cell.index, "add", Unary("neg", total) if dot.negative else total))
        return Block((*before, *adds, *after))

    def at_row(self, load: Load, row: Expr) -> Load:
        """The loads of an iteration."""
        moved = place_expr(load, {self.found.loop.var: row})
        assert isinstance(moved, Load)
        return moved

    def row(self, number: int) -> Expr:
        """Which iteration a row of the tile is."""
        return add(index(self.first), index(number))
