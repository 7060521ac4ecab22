"""Histograms with privatised bins: data-dependent increments go to several tables, which are summed at the end.

Before: for i { h[x[i]] += w[i] }
After:  tables = 0;  for i by 8 { for u in 0 .. 8 { tables[x[i + u], u % 2] += w[i + u] } };  h += both tables

Where neighbours choose the same element, each addition waits for the one before it; in tables of their own, they do
not. Each of several threads has such tables for its portion of the outermost loop.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.target.load import load_target
>>> search = "for row in 0 .. 256 { h[row] += select(c[] == u8(row), 1:i32, 0:i32) }"
>>> nest = "for i in 0 .. n { alloc c: u8[] c[] = x[i] %s }" % search
>>> found = find_counting(parse_kernel("kernel k(n; x: u8[n], h: i32[256]) { %s }" % nest))
>>> tables = Tables(found, 2, 1, {"x", "h", "c", "i", "n", "k"})
>>> several, rest = tables.main(found.body.body[0], index(0))
>>> print(print_stmt(rest), end="")
for i in 8 * (max(n, 0) // 8) .. n {
  alloc c: u8[]
  c[] = x[i]
  h_tables[0, i64(c[]), 0] += 1:i32
}
>>> [print_stmt(x).strip() for x in several.body.body[4:6]]
['c_3[] = x[i + 1]', 'h_tables[0, i64(c_3[]), 1] += 1:i32']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Expr, Load, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, LoopFacts, Reduce, Stmt
from planish.ir.traverse import flatten, loads, map_block, substitute_block, used_names, walk
from planish.library.parallel.thread_threshold import WORTH
from planish.library.parallel.work_estimate import estimate
from planish.poly.canonical.delinearise import delinearise
from planish.poly.idioms.histogram import Histogram, find_counting
from planish.schedule.accesses import redirect, rename
from planish.schedule.auto.plan import Prepared, Version
from planish.target.machine import Target

NAME = "histogram-private"
"""What the version is called."""
TABLES = 2
"""The tables that neighbours are counted in."""
TOGETHER = 8
"""The iterations that are done at a time."""
SHARE = 2
"""Of the nearest cache, tables have one part in so many at most."""
SMALL = 1 << 13
"""The bytes up to which the tables of one thread are local arrays."""
OFTEN = 8
"""So many operations there have to be for each element of the tables, which are cleared and added up."""


def counting_versions(
    kernel: Kernel, prepared: Prepared, target: Target, threads: int = 1, tables: int = TABLES,
    together: int = TOGETHER,
) -> tuple[Version, ...]:  # fmt: skip
    """The histogram versions of a kernel: those for several threads first; none where there is no histogram, or
    `tables` are too large. `together`: the iterations done at a time. NotAffineError as of `delinearise`."""
    flat = delinearise(kernel)
    found = find_counting(flat)
    if found is None:
        return ()
    room = target.cache(1).share // SHARE
    few = tables if sum(x.rows * x.type.size for x in found.counts) * tables <= room else 1
    made = (_version(flat, prepared, found, few, x, together) for x in dict.fromkeys((threads, 1)) if few * x > 1)
    return tuple(x for x in made if x is not None)


def _version(
    kernel: Kernel, prepared: Prepared, found: Histogram, few: int, threads: int, together: int
) -> Version | None:
    """The version with so many tables for each of some threads; None where no nest can have them."""
    tables = Tables(found, few, threads, {*used_names(kernel)}, together)
    body: list[Stmt] = []
    for stmt in found.body.body:
        body += tables.around(stmt) if isinstance(stmt, For) else [stmt]
    if not tables.used:
        return None
    scop = prepared.scop
    known = {x.name: x for x in kernel.arrays}
    arrays = tuple(known.get(x.name, x) for x in scop.kernel.arrays)
    allocs = tuple(map(Alloc, tables.arrays.values()))
    whole = simplify_block(Block((*allocs, *body)), assumptions=kernel.assumptions)
    what = f"{', '.join(tables.arrays)}: {few * threads} private copies of the bins, which are added up"
    message = what if threads == 1 else f"{what}, {few} for each of {threads} threads"
    name = NAME if threads == 1 else f"{NAME}, parallel-loops"
    remark = Remark(NAME, "done", message, scop.kernel.span)
    return Version(name, scop.schedule, replace(kernel, arrays=arrays, body=whole), (remark,), 0.0)


class Tables:
    """The statements of what counts in `few` tables for each of some threads; names that are made are `taken` then.
    `arrays`: the tables of each array; `used`: whether a nest has them."""

    def __init__(self, found: Histogram, few: int, threads: int, taken: set[str], together: int = TOGETHER) -> None:
        self.counts = {x.array: x for x in found.counts}
        self.few, self.threads, self.taken, self.used = few, threads, taken, False
        self.together = together
        room = sum(x.rows * x.type.size for x in found.counts) * few
        # Taking a block of memory costs more than a short loop counts.
        memory = "stack" if threads == 1 and room <= SMALL else "dram"
        self.arrays = {
            x.array: Array(
                take_name(f"{x.array}_tables", taken), x.type, (*map(index, (threads, x.rows, few)),), True, memory
            )
            for x in found.counts
        }

    def around(self, nest: For) -> list[Stmt]:
        """A nest in tables where there is enough to count; as it is where it counts nothing, or may not."""
        inside = [x for x in self.counts if x in {y.array for y in walk(nest) if isinstance(y, Reduce)}]
        work = estimate(Block((nest,)))
        if not inside or work is None or not self.may_share(nest):
            return [nest]
        self.used = True
        cells = self.threads * self.few * sum(self.counts[x].rows for x in inside)
        least = max(OFTEN * cells, WORTH if self.threads > 1 else 0)
        part = take_name("part", self.taken)
        each = Block((*self.cleared(inside, index(part)), *self.main(self.portion(nest, index(part)), index(part))))
        over = For(part, index(0), index(self.threads), 1, each, LoopFacts(parallel=self.threads > 1))
        whole = Block((over, *(self.added_up(x) for x in inside)))
        return [If(Compare("ge", work, index(least)), whole, Block((nest,)))]

    def may_share(self, nest: For) -> bool:
        """Whether several threads may have portions of a nest: nothing else is stored in it than what is its own."""
        if loads(nest.lower) or loads(nest.upper) or nest.step != 1:
            return False
        own = {x.array.name for x in walk(nest) if isinstance(x, Alloc)} | {*self.counts}
        return self.threads == 1 or all(x.array in own for x in walk(nest) if isinstance(x, Assign | Reduce))

    def portion(self, nest: For, part: Expr) -> For:
        """The iterations of a nest that a thread has."""
        if self.threads == 1:
            return nest
        length = extremum("max", sub(nest.upper, nest.lower), index(0))
        ends = (floordiv(mul(length, x), index(self.threads)) for x in (part, add(part, index(1))))
        lower, upper = (add(nest.lower, x) for x in ends)
        return replace(nest, lower=lower, upper=upper)

    def main(self, nest: For, part: Expr) -> tuple[Stmt, ...]:
        """A nest that counts in tables: several iterations of its innermost loops at a time, each in its own."""
        inner = [x for stmt in flatten(nest.body.body) if not isinstance(stmt, For) for x in walk(stmt)]
        if any(isinstance(x, Reduce) and x.array in self.counts for x in inner) and not loads(nest.lower):
            return self.unrolled(nest, part)
        body: list[Stmt] = []
        for stmt in nest.body.body:
            body += self.main(stmt, part) if isinstance(stmt, For) else self.in_table(Block((stmt,)), part, 0).body
        return (replace(nest, body=Block(tuple(body))),)

    def unrolled(self, loop: For, part: Expr) -> tuple[Stmt, ...]:
        """A loop that counts, by several iterations, and what is left."""
        if self.few == 1 or loads(loop.upper) or loop.step != 1:
            return (replace(loop, body=self.in_table(loop.body, part, 0)),)
        length = extremum("max", sub(loop.upper, loop.lower), index(0))
        end = simplify(add(loop.lower, mul(index(self.together), floordiv(length, index(self.together)))))
        copies = (self.copy(loop, part, x) for x in range(self.together))
        several = Block(tuple(x for copy in copies for x in copy))
        rest = replace(loop, lower=end, body=self.in_table(loop.body, part, 0))
        return replace(loop, upper=end, step=self.together, body=several), rest

    def copy(self, loop: For, part: Expr, number: int) -> Iterator[Stmt]:
        """One of several iterations, with cells of its own."""
        body = substitute_block(loop.body, {loop.var: add(index(loop.var), index(number))}) if number else loop.body
        for cell in [x.array for x in walk(body) if isinstance(x, Alloc)]:
            name = take_name(cell.name, self.taken)
            body = map_block(partial(_declared, cell.name, name), rename(body, cell.name, name))
        yield from self.in_table(body, part, number).body

    def in_table(self, body: Block, part: Expr, number: int) -> Block:
        """Statements of an iteration of some number, which count in a table."""
        for name, tables in self.arrays.items():
            body = redirect(body, name, partial(_in_table, tables.name, part, index(number % self.few)))
        return body

    def cleared(self, names: list[str], part: Expr) -> Iterator[Stmt]:
        """The tables of a thread with nothing in them."""
        for name in names:
            tables, count = self.arrays[name], self.counts[name]
            row, zero = take_name("row", self.taken), Const(0.0 if count.type.is_float else 0, count.type)
            puts = (Assign(tables.name, (part, index(row), index(x)), zero) for x in range(self.few))
            yield For(row, index(0), index(count.rows), 1, Block(tuple(puts)), LoopFacts(simd=True))

    def added_up(self, name: str) -> Stmt:
        """The sum of all private bins for each element. Empty bins may lie behind the end of the array."""
        tables, count = self.arrays[name], self.counts[name]
        row, total = take_name("row", self.taken), take_name("total", self.taken)
        value, zero = Load(total, (), count.type), Const(0.0 if count.type.is_float else 0, count.type)
        places = [(x, y) for x in range(self.threads) for y in range(self.few)]
        parts = (Load(tables.name, (index(x), index(row), index(y)), count.type) for x, y in places)
        sums = (Reduce(total, (), "add", x) for x in parts)
        put = If(Compare("ne", value, zero), Block((Reduce(name, (index(row),), "add", value),)))
        cell = Alloc(Array(total, count.type, (), True, "register"))
        return For(row, index(0), index(count.rows), 1, Block((cell, Assign(total, (), zero), *sums, put)))


def _in_table(name: str, part: Expr, number: Expr, at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
    return name, (part, *at, number)


def _declared(old: str, new: str, stmt: Stmt) -> Stmt:
    """A statement, or the declaration of an array by its new name."""
    match stmt:
        case Alloc(array=array) if array.name == old:
            return replace(stmt, array=replace(array, name=new))
        case _:
            return stmt
