"""Block LMS: the dot products against the weights at the start of a block, and the corrections by the block's own
updates, computed for the whole block at once.

Before: for i { e = d[i] - sum over k of w[k] x[i, k];  for k { w[k] += mu e x[i, k] } }
After:  for blocks of i { P[b] = sum over k of w[k] x[i + b, k];  G[a, b] = sum over k of x[i + a, k] x[i + b, k]
          for b { e[b] = d[i + b] - (P[b] + sum over a < b of mu e[a] G[a, b]) }
          for k { w[k] += sum over a of mu e[a] x[i + a, k] } }

(Benesty and Duhamel, "A fast exact least mean square adaptive algorithm", IEEE Transactions on Signal Processing
40(12), 1992.) What is infinite or no number stays where it is: a block with sums that are not finite is done one by
one, and so is what is left of one from the first step on that is not.

>>> from planish.ir.types import F32
>>> from planish.library.kernels.vectors import find_vectors
>>> choose_size(find_vectors("avx512", F32), True), choose_size(find_vectors("avx2", F32), True)
(6, 4)
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Unary, Var, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.library.kernels.register_rows import RegisterRows
from planish.library.kernels.vectors import Vectors
from planish.library.signal.lms.adaptive_loops import Adaptive
from planish.poly.match.sum_of_products import join
from planish.schedule.auto.lower import place, place_expr

MOST = 8
"""Sums of more iterations than that are too many in any case."""


def choose_size(vectors: Vectors, alike: bool, most: int = MOST) -> int:
    """The iterations of a block: as many as registers have room for, with their sums and what these are made of."""
    fitting = (x for x in range(2, most + 1) if _sums(x) + x + (1 if alike else 2) <= vectors.registers)
    return max(fitting, default=2)


def _sums(size: int) -> int:
    return size + size * (size - 1) // 2


class Blocks:
    """A loop that adapts on its way to blocks of at most so many iterations; names that are made are `taken` then."""

    def __init__(self, found: Adaptive, vectors: Vectors, taken: set[str], most: int = MOST) -> None:
        self.found, self.vectors = found, vectors
        self.size, self.count = (size := choose_size(vectors, found.alike, most)), _sums(size)
        self.registers, self.taken = RegisterRows(vectors, taken), taken
        self.first, self.place = take_name("first", taken), take_name("place", taken)
        self.steps = [take_name("move", taken) for _ in range(size)]
        self.kept = Array(take_name("moves", taken), found.type, (index(size),), True, "stack")
        self.totals = Array(take_name("totals", taken), found.type, (index(self.count),), True, "stack")
        self.whole = take_name("whole", taken)

    def loops(self) -> Stmt:
        """All iterations; where there are no weights, as they are written."""
        loop, inner, size = self.found.loop, self.found.inner, index(self.size)
        end = add(loop.lower, mul(size, floordiv(sub(loop.upper, loop.lower), size)))
        blocks = For(self.first, loop.lower, end, self.size, Block(self.block()))
        rest = replace(loop, lower=extremum("max", loop.lower, end))
        some = Block((Let(self.whole, self.registers.whole(inner)), blocks, rest))
        return If(Compare("lt", inner.lower, inner.upper), some, Block((loop,)))

    def block(self) -> tuple[Stmt, ...]:
        """One block."""
        total = Var(take_name("all", self.taken), self.found.type)
        everything = Let(total.name, join("add", tuple(self.total(n) for n in range(self.count))))
        together = If(self.is_finite(total), Block(self.iteration(0)), Block((self.one_by_one(0),)))
        return (*self.sums(), everything, together)

    def sums(self) -> tuple[Stmt, ...]:
        """All sums of the block, which do not depend on what it does."""
        r, size = self.registers, self.size
        sums, rows, weight = r.take("sums", self.count), r.take("rows", size), r.take("weights", 1)
        moved = rows if self.found.alike else r.take("moved", 1)
        zero = Assign(self.totals.name, (index(self.place),), Const(0.0, self.found.type))
        zeros = For(self.place, index(0), index(self.count), 1, Block((zero,)))

        def step(first: Expr, count: Expr | None) -> list[Stmt]:
            var = self.found.inner.var
            out = [r.load(weight, 0, self.found.weight, var, first, count)]
            for b in range(size):
                out.append(r.load(rows, b, self.row(self.found.seen, b), var, first, count))
                out.append(r.multiply(sums, b, r.at(weight, 0), r.at(rows, b)))
            for a in range(size - 1):
                if not self.found.alike:
                    out.append(r.load(moved, 0, self.row(self.found.moved, a), var, first, count))
                left = r.at(rows, a) if self.found.alike else r.at(moved, 0)
                out += [r.multiply(sums, self.pair(a, b), left, r.at(rows, b)) for b in range(a + 1, size)]
            return out

        def singly(place: Expr) -> list[Stmt]:
            seen = [self.at(self.row(self.found.seen, b), place) for b in range(size)]
            moved = [self.at(self.row(self.found.moved, a), place) for a in range(size)]
            pairs = [(b, self.at(self.found.weight, place), seen[b]) for b in range(size)]
            pairs += [(self.pair(a, b), moved[a], seen[b]) for a in range(size) for b in range(a + 1, size)]
            return [Reduce(self.totals.name, (index(n),), "add", Binary("mul", x, y)) for n, x, y in pairs]

        masked = self.vectors.has("masked_load")
        arrays = [sums, rows, weight, *([] if self.found.alike else [moved])]
        clear = [r.clear(sums, n) for n in range(self.count)]
        along = r.along(self.found.inner, self.place, self.whole, step, None if masked else singly)
        # Without masks, what is left has been added already.
        parts = (*clear, *along, *r.add_up(sums, self.totals, self.count))
        return (Alloc(self.totals), zeros, Alloc(self.kept), Block((*map(Alloc, arrays), *parts)))

    def iteration(self, number: int) -> tuple[Stmt, ...]:
        """One iteration and those after it in the block: what the updates before it have added is added to its sum."""
        found, values = self.found, self.iterator(number)
        earlier = (Binary("mul", self.step(a), self.total(self.pair(a, number))) for a in range(number))
        total = join("add", (self.total(number), *earlier))
        cell = self.row(found.sum, number)
        sum = Reduce(cell.array, cell.index, "add", Unary("neg", total) if found.negative else total)
        before, between, after = (
            tuple(place(x, values) for x in part) for part in (found.before, found.between, found.after)
        )
        step = Let(self.steps[number], place_expr(found.step, values))
        keep = Assign(self.kept.name, (index(number),), self.step(number))
        done = (*before, sum, *between, step)
        if number + 1 == self.size:
            return (*done, *after, self.update())
        rest = If(self.is_finite(self.step(number)), Block(self.iteration(number + 1)), Block(self.finish(number)))
        return (*done, keep, *after, rest)

    def update(self) -> Stmt:
        """All updates of the block, of each weight in their order."""
        r, found = self.registers, self.found
        weight, row = r.take("weights", 1), r.take("moved", 1)

        def step(first: Expr, count: Expr | None) -> list[Stmt]:
            out = [r.load(weight, 0, found.weight, found.inner.var, first, count)]
            for a in range(self.size):
                out.append(r.load(row, 0, self.row(found.moved, a), found.inner.var, first, count))
                out.append(r.scale(weight, 0, self.step(a), row, 0))
            return [*out, r.store(weight, 0, found.weight, found.inner.var, first, count)]

        def singly(place: Expr) -> list[Stmt]:
            target = self.at(found.weight, place)
            moved = (self.at(self.row(found.moved, a), place) for a in range(self.size))
            products = (Binary("mul", self.step(a), x) for a, x in enumerate(moved))
            return [Reduce(target.array, target.index, "add", x) for x in products]

        masked = self.vectors.has("masked_load")
        along = r.along(found.inner, self.place, self.whole, step, None if masked else singly)
        return Block((Alloc(weight), Alloc(row), *along))

    def finish(self, number: int) -> tuple[Stmt, ...]:
        """The updates up to an iteration whose step is not finite, and all that is left of the block, as written."""
        found, var = self.found, self.found.loop.var
        kept = Load(self.kept.name, (sub(index(var), index(self.first)),), found.type)
        move = Reduce(found.weight.array, found.weight.index, "add", Binary("mul", kept, found.moved))
        moves = replace(found.inner, body=Block((move,)))
        end = add(index(self.first), index(number + 1))
        return For(var, index(self.first), end, 1, Block((moves,))), self.one_by_one(number + 1)

    def one_by_one(self, number: int) -> Stmt:
        """The iterations of the block from one on, as they are written."""
        lower, upper = (add(index(self.first), index(x)) for x in (number, self.size))
        return replace(self.found.loop, lower=lower, upper=upper)

    def iterator(self, number: int) -> dict[str, Expr]:
        """Which iteration that is."""
        return {self.found.loop.var: add(index(self.first), index(number))}

    def row(self, load: Load, number: int) -> Load:
        """The loads of an iteration of the block."""
        moved = place_expr(load, self.iterator(number))
        assert isinstance(moved, Load)
        return moved

    def at(self, load: Load, where: Expr) -> Load:
        """An element of a row."""
        moved = place_expr(load, {self.found.inner.var: where})
        assert isinstance(moved, Load)
        return moved

    def pair(self, a: int, b: int) -> int:
        """Where the sum is that an update of one iteration changes another one's by: those before it stand first."""
        return self.size + b * (b - 1) // 2 + a

    def total(self, number: int) -> Load:
        return Load(self.totals.name, (index(number),), self.found.type)

    def step(self, number: int) -> Expr:
        return Var(self.steps[number], self.found.type)

    def is_finite(self, value: Expr) -> Expr:
        return Compare("eq", Binary("sub", value, value), Const(0.0, self.found.type))
