"""A step that brings a tile of an array to shared memory, in a form that the threads of a block read without conflicts.

>>> from planish.schedule.example import show_step
>>> text = "for i in 0 .. 8 { for j in 0 .. 8 { N[j, i] = M[j, i] } }"
>>> step = PromoteTile("i", "M", "tile", 16, 4, order=(1, 0), pad=4)
>>> show_step(text, step, head="kernel f(M: f32[8, 8], N: f32[8, 8])")
alloc tile: f32[8, 12] shared
for tile_t in 0 .. 16 on thread_x {
  for tile_r in 0 .. 2 {
    for tile_c in 0 .. 2 {
      tile[4 * tile_c + tile_t % 4, 4 * tile_r + tile_t // 4] = M[4 * tile_r + tile_t // 4, 4 * tile_c + tile_t % 4]
    }
  }
}
for i in 0 .. 8 {
  for j in 0 .. 8 {
    N[j, i] = tile[i, j]
  }
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Compare, Const, Expr, Load, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, LoopFacts, Stmt
from planish.ir.traverse import substitute_block
from planish.schedule.accesses import Indices, redirect
from planish.schedule.names import check_fresh
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target
from planish.schedule.steps.buffers import StagedBox, StageMem
from planish.schedule.steps.devices import in_threads


@dataclass(frozen=True, slots=True)
class PromoteTile:
    """Use shared memory in place of the part of an array that a statement (with all in it) reads, like
    `promote_shared`; so many `threads` along x copy it together, `lanes` neighbours side by side in a row. The copy has
    constant bounds: where a tile reaches over an edge, its places there get the elements at the edge.

    `order`: the dimensions of the tile in memory, by their numbers; `pad`: so many places more at the end of each row;
    `width`: so many neighbouring elements are copied by one thread. `wide`: so many are where rows of the array are
    multiples of that many, and the tile is not over an edge of them.

    >>> from planish.schedule.example import show_step
    >>> text = "for ib in 0 .. (n + 7) // 8 { for i in 0 .. min(8, n - 8 * ib) { B[8 * ib + i] = A[8 * ib + i] } }"
    >>> show_step(text, PromoteTile("i", "A", "a", 8, 8))
    for ib in 0 .. (n + 7) // 8 {
      alloc a: f32[8] shared
      for a_t in 0 .. 8 on thread_x {
        a[a_t] = A[8 * ib + min(a_t, n - 8 * ib - 1)]
      }
      for i in 0 .. min(8, n - 8 * ib) {
        B[8 * ib + i] = a[i]
      }
    }
    """

    around: Target
    array: str
    name: str
    threads: int
    lanes: int
    order: tuple[int, ...] = ()
    pad: int = 0
    width: int = 1
    wide: int = 0

    def rewrite(self, program: Program) -> Change:
        """As StageMem; E0604 where the statement stands in threads; E0606 where it writes the array, `order` is none of
        the dimensions, or rows are no multiples of what the lanes copy."""
        if in_threads(program, self.around):
            message = "what all threads of a block share is copied outside of their loops"
            raise PlanishError(Diagnostic("E0604", message, help="blocks are outside, threads inside"))
        path, kernel = program.path(self.around), program.kernel
        names = [f"{self.name}_{x}" for x in "trce"]
        check_fresh(kernel, self.name, *names)
        array, part = StageMem(self.around, self.array, self.name, "shared", clip=True).part(program, path)
        if part.written:
            message = f"`{self.array}` is written there, and each thread would have to know what is new"
            raise PlanishError(Diagnostic("E0606", message, help="tiles of arrays that are only read are promoted"))
        extents = [part.extents[d] for d in part.kept]
        order = self.order or tuple(range(len(extents)))
        if sorted(order) != list(range(len(extents))) or not extents:
            message = f"{order} is no order of the {len(extents)} dimensions of the tile"
            raise PlanishError(Diagnostic("E0606", message, help="name each dimension once, from 0 on"))

        def moved(at: Indices) -> tuple[str, Indices]:
            own = [simplify(Binary("sub", at[d], part.lowers[d])) for d in part.kept]
            return self.name, tuple(own[d] for d in order)

        inside = simplify_block(redirect(Block((path[-1],)), self.array, moved)).body
        shape = [index(extents[d]) for d in order]
        shape[-1] = index(extents[order[-1]] + self.pad)
        tile = replace(part.buffer(self.name, array, "shared"), shape=tuple(shape))
        load = Load(self.array, (), array.type)
        copy = self._copy(part, extents, order, load)
        if self.wide:
            if order[-1] != len(extents) - 1 or part.kept[-1] != len(part.extents) - 1:
                message = f"rows of `{self.array}` are no rows of the tile"
                raise PlanishError(Diagnostic("E0606", message, help="keep the order of the last dimension"))
            wider = replace(self, lanes=min(self.lanes, extents[-1] // self.wide), width=self.wide, wide=0)
            inner = replace(part, counts=(*part.counts[:-1], index(extents[-1])))
            wide = Block((wider._copy(inner, extents, order, load),))
            copy = If(_whole_rows(part, array, self.wide), wide, Block((copy,)))
        made = (Alloc(tile), *simplify_block(Block((copy,))).body, *inside)
        return Change(replace(kernel, body=exchange(kernel.body, path[-1].label, lambda x: made)))

    def _copy(self, part: StagedBox, extents: list[int], order: tuple[int, ...], load: Load) -> Stmt:
        """The loops of threads that fill the tile: rows side by side, several of each thread."""
        rows, row, step = prod(extents[:-1]), extents[-1], self.lanes * self.width
        beside = self.threads // self.lanes if self.lanes > 0 else 0
        if beside * self.lanes != self.threads or self.width < 1 or row % step or (rows > beside and rows % beside):
            message = f"{self.threads} threads, {self.lanes} in a row, do not copy {rows} rows of {row} in whole"
            raise PlanishError(Diagnostic("E0606", message, help="choose divisors of the tile's extents"))
        t, r, c, e = (index(f"{self.name}_{x}") for x in "trce")
        first = Binary("floordiv", t, index(self.lanes))
        more = Binary("mul", index(self.width), Binary("mod", t, index(self.lanes)))
        number = Binary("add", Binary("mul", index(beside), r), first)
        loops = (("e", self.width), ("c", row // step), ("r", max(1, rows // beside)))
        last = Binary("add", Binary("add", Binary("mul", index(step), c), more), e)
        places: list[Expr] = [last]
        for extent in reversed(extents[:-1]):
            places.insert(0, Binary("mod", number, index(extent)))
            number = Binary("floordiv", number, index(extent))
        if len(extents) > 1:
            # The outermost number is below its extent.
            outer = places[0]
            assert isinstance(outer, Binary)
            places[0] = outer.left
        there = list(part.lowers)
        for place, d in zip(places, part.kept, strict=True):
            count = part.counts[d]
            end = place if isinstance(count, Const) else Binary("min", place, Binary("sub", count, index(1)))
            there[d] = Binary("add", there[d], end)
        value = replace(load, index=tuple(map(simplify, there)))
        inner: Stmt = Assign(self.name, tuple(places[d] for d in order), value)
        once = {f"{self.name}_{name}": index(0) for name, times in loops if times == 1}
        for name, times in loops:
            if times > 1:
                inner = For(f"{self.name}_{name}", index(0), index(times), 1, Block((inner,)))
        inner = substitute_block(Block((inner,)), once).body[0]
        if rows < beside:
            inner = If(Compare("lt", first, index(rows)), Block((inner,)))
        return For(f"{self.name}_t", index(0), index(self.threads), 1, Block((inner,)), LoopFacts(axis="thread_x"))


def _whole_rows(part: StagedBox, array: Array, wide: int) -> Expr:
    """That a tile has all elements of its rows, which begin at multiples of so many."""
    lower, count, extent = part.lowers[-1], part.counts[-1], part.extents[-1]
    tests: list[Expr] = [Compare("ge", count, index(extent))]
    tests += [Compare("eq", Binary("mod", lower, index(wide)), index(0))]
    tests += [Compare("eq", Binary("mod", x, index(wide)), index(0)) for x in array.shape[1:][-1:] if x is not None]
    return reduce(lambda x, y: Binary("and", x, y), tests)
