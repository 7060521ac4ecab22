"""A biquad cascade pipelined across lanes: in step t lane k runs section k on sample t - 2k and hands its output to
lane k + 1, which reads it two steps later, so that lane shifts are off the critical path.

The first steps, in which the last lanes have no sample yet, and the last ones, in which the first lanes have none any
more, are loops as they were written. Lanes without a stage have zeros, and hand nothing back. More stages than lanes
are done one group after the other, each for all samples: what the first group hands on is kept in a line.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.signal.biquad.section_loops import find_cascade
>>> from planish.library.kernels.vectors import find_vectors
>>> from planish.schedule.nodes import label_kernel
>>> loops = "for t in 0 .. n { s[] = x[t] for k in 0 .. m { s[] = c[k] * s[] } y[t] = s[] }"
>>> arrays = "x: f32[n], y: f32[n], c: f32[m]"
>>> kernel = label_kernel(parse_kernel("kernel k(n, m; %s) { alloc s: f32[] %s }" % (arrays, loops)))
>>> found = find_cascade(kernel, kernel.body.body[1])
>>> made = BiquadLanes(found, find_vectors("avx2", found.type), {"n", "m", "x", "y", "c", "s", "t", "k"})
>>> group = made.group(index(0), index("m"), found.before, found.after, found.results)
>>> print(print_stmt(group[-4]))
for t in 2 * m - 2 .. n {
  alloc s_made: f32[8] distinct stack
  s[] = x[t]
  let s_new = s[]
  for lane_4 in 0 .. 8 {
    s_lanes[lane_4] = select(lane_4 < 1, s_new, s_moved[lane_4 - 1])
  }
  for lane_5 in 0 .. 8 {
    s_lanes[lane_5] = c_lanes[lane_5] * s_lanes[lane_5]
  }
  for lane_6 in 0 .. 8 {
    s_made[lane_6] = s_lanes[lane_6]
  }
  for lane_7 in 0 .. 8 {
    s_moved[lane_7] = s_moved_2[lane_7]
  }
  for lane_8 in 0 .. 8 {
    s_moved_2[lane_8] = s_lanes[lane_8]
  }
  s[] = s_made[m - 1]
  y[t - 2 * m + 2] = s[]
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.polynomial import add, extremum, floordiv, mod, mul, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.traverse import map_expr
from planish.library.kernels.vectors import Vectors
from planish.library.signal.biquad.late_operand_sums import order_sums
from planish.library.signal.biquad.section_loops import BiquadCascade, Update
from planish.schedule.auto.lower import place, place_expr

_Element = tuple[str, tuple[Expr, ...]]

DELAY = 2
"""So many steps after a lane has made something the next one takes it."""
FEWEST = 2
"""The stages from which on it is worth while: what one by one keep in memory waits for it from sample to sample."""


class BiquadLanes:
    """The statements of a cascade in registers of some vectors; names that are made are `taken` then. `given`: the
    loops over lanes that have to become instructions, with the names of those that are known; `lines`: the arrays that
    have to be declared before all else. `reassociate`: sums may be made in another order."""

    def __init__(self, found: BiquadCascade, vectors: Vectors, taken: set[str], reassociate: bool = False) -> None:
        self.found, self.vectors, self.taken = found, vectors, taken
        self.given: list[tuple[str, str]] = []
        self.lines: list[Array] = []
        self.lanes = vectors.lanes
        self.body = order_sums(found.body, dict.fromkeys(found.links, DELAY)) if reassociate else found.body

    def stmt(self) -> Stmt:
        """All of it, for enough stages and samples; for others the loops as they are written."""
        found, most = self.found, index(self.lanes)
        few = self.group(found.inner.lower, found.stages, found.before, found.after, found.results)
        cut = If(Compare("le", found.stages, most), Block(tuple(few)), Block(tuple(self.groups())))
        fewest = index(FEWEST), mul(index(DELAY), found.stages)
        enough = (Compare("ge", x, y) for x, y in zip((found.stages, found.samples), fewest, strict=True))
        return If(Binary("and", *enough), Block((cut,)), Block((found.loop,)))

    def groups(self) -> list[Stmt]:
        """One group of stages after the other, with a line for each cell that one has for the next."""
        found, kept = self.found, dict.fromkeys((*self.found.links, *self.found.results))
        # None of it is needed where one group is all.
        more = extremum("max", index(0), extremum("min", index(1), sub(found.stages, index(self.lanes))))
        count = mul(extremum("max", index(0), found.samples), more)
        lines = {x: self.array(f"{x}_line", count, "scratch") for x in kept}
        self.lines += lines.values()
        at = (sub(index(found.loop.var), found.loop.lower),)
        read = tuple(Assign(x, (), Load(lines[x].name, at, found.type)) for x in found.links)
        write = {x: Assign(lines[x].name, at, Load(x, (), found.type)) for x in kept}
        results = tuple(Assign(x, (), Load(lines[x].name, at, found.type)) for x in found.results)
        first = self.fresh("first")
        count = extremum("min", index(self.lanes), sub(found.inner.upper, index(first)))
        group = self.group(index(first), count, read, tuple(write.values()), tuple(kept))
        body = (*found.before, *(write[x] for x in found.links))
        return [
            replace(found.loop, body=Block(body)),
            For(first, found.inner.lower, found.inner.upper, self.lanes, Block(tuple(group))),
            replace(found.loop, body=Block((*results, *found.after))),
        ]

    def group(
        self, first: Expr, count: Expr, before: Sequence[Update], after: Sequence[Update], results: Sequence[str]
    ) -> list[Stmt]:
        """So many stages, no more than there are lanes, from the first one on, for all samples: what is done before the
        first one of them and after the last one, and the cells that this reads."""
        found = self.found
        cells = {x: self.array(f"{x}_lanes", index(self.lanes), self.vectors.memory) for x in self.in_lanes()}
        moved = {x: [self.array(f"{x}_moved", index(self.lanes), self.vectors.memory) for _ in range(DELAY)]
                 for x in found.links}  # fmt: skip
        kept = {x: self.rows(f"{x}_kept") for x in found.links}
        elements = {(x.array, x.index): self.array(f"{x.array}_lanes", index(self.lanes), self.vectors.memory)
                    for x in found.elements}  # fmt: skip
        stored = [x for x in found.elements if (x.array, x.index) in self.stored()]
        out: list[Stmt] = [Alloc(x) for x in kept.values()]
        out += [self.over(self.clear(x, row)) for x in kept.values() for row in range(DELAY)]
        out += self.first_steps(first, count, before, kept)
        out += [Alloc(x) for x in (*cells.values(), *chain(*moved.values()), *elements.values())]
        for element in found.elements:
            out += self.gather(element, elements[element.array, element.index], first, count)
        pairs = [(x, kept[name], row) for name in kept for row, x in enumerate(moved[name])]
        out += [self.copy(self.whole(x), self.row(rows, row), "load") for x, rows, row in pairs]
        out.append(self.steps(count, before, after, results, cells, moved, elements))
        out += [self.copy(self.row(rows, row), self.whole(x), "store") for x, rows, row in pairs]
        for element in stored:
            out += self.scatter(element, elements[element.array, element.index], first, count)
        return [*out, self.last_steps(first, count, after, kept)]

    def in_lanes(self) -> tuple[str, ...]:
        """The cells that lanes have."""
        return tuple(dict.fromkeys((*self.found.links, *self.found.cells)))

    def stored(self) -> set[_Element]:
        """The elements that a stage stores."""
        return {(x.array, x.index) for x in self.found.body if x.array in self.found.stored}

    def first_steps(self, first: Expr, count: Expr, before: Sequence[Update], kept: dict[str, Array]) -> list[Stmt]:
        """The samples that come in before the last lane has one: each goes as far as it comes in that time."""
        loop, one, delay = self.found.loop, index(1), index(DELAY)
        number = sub(index(loop.var), loop.lower)
        stages = sub(sub(count, one), floordiv(number, delay))
        inner = replace(self.found.inner, lower=first, upper=add(first, stages))
        at = (mod(number, delay), sub(stages, one))
        keep = [Assign(kept[x].name, at, Load(x, (), self.found.type)) for x in self.found.links]
        upper = add(loop.lower, mul(delay, sub(count, one)))
        return [replace(loop, upper=upper, body=Block((*before, inner, *keep)))]

    def last_steps(self, first: Expr, count: Expr, after: Sequence[Update], kept: dict[str, Array]) -> Stmt:
        """The samples that have not come out when the last one has come in."""
        loop, one, delay = self.found.loop, index(1), index(DELAY)
        behind = sub(sub(loop.upper, index(loop.var)), one)
        done = floordiv(behind, delay)
        at = (sub(index(DELAY - 1), mod(behind, delay)), done)
        begin = [Assign(x, (), Load(kept[x].name, at, self.found.type)) for x in self.found.links]
        inner = replace(self.found.inner, lower=add(first, add(done, one)), upper=add(first, count))
        lower = sub(loop.upper, mul(delay, sub(count, one)))
        return replace(loop, lower=lower, body=Block((*begin, inner, *after)))

    def steps(
        self, count: Expr, before: Sequence[Update], after: Sequence[Update], results: Sequence[str],
        cells: dict[str, Array], moved: dict[str, list[Array]], elements: dict[_Element, Array],
    ) -> Stmt:  # fmt: skip
        """The steps in which each lane has a sample."""
        found = self.found
        made = {x: self.array(f"{x}_made", index(self.lanes), "stack") for x in results}
        body: list[Stmt] = [*(Alloc(x) for x in made.values()), *before]
        for link in found.links:
            body += self.slide(cells[link], moved[link][0], link)
        body += [self.stage(x, cells, elements) for x in self.body]
        body += [self.copy(self.whole(x), self.whole(cells[name]), "store") for name, x in made.items()]
        for name in found.links:
            queue = [*moved[name], cells[name]]
            body += [self.copy(self.whole(x), self.whole(y), "move") for x, y in pairwise(queue)]
        behind = mul(index(DELAY), sub(count, index(1)))
        out = {found.loop.var: sub(index(found.loop.var), behind)}
        last = (sub(count, index(1)),)
        body += [Assign(x, (), Load(made[x].name, last, found.type)) for x in results]
        body += [place(x, out) for x in after]
        return replace(found.loop, lower=add(found.loop.lower, behind), body=Block(tuple(body)))

    def stage(self, x: Update, cells: dict[str, Array], elements: dict[_Element, Array]) -> Stmt:
        """A statement of all stages at once."""
        lane = self.fresh("lane")

        def own(array: str, at: tuple[Expr, ...]) -> str | None:
            found = cells.get(array) or elements.get((array, at))
            return found.name if found is not None else None

        def change(y: Expr) -> Expr:
            name = own(y.array, y.index) if isinstance(y, Load) else None
            return Load(name, (index(lane),), self.found.type) if name is not None else y

        target = own(x.array, x.index)
        assert target is not None
        made = replace(x, array=target, index=(index(lane),), value=map_expr(change, x.value))
        return self.loop(lane, made, "", self.lanes)

    def slide(self, target: Array, source: Array, cell: str) -> list[Stmt]:
        """Lane shift: each section's output moves to the next lane, and a new sample into the first one."""
        lane, new = self.fresh("lane"), self.fresh(f"{cell}_new")
        entered = Compare("lt", index(lane), index(1))
        before = Load(source.name, (sub(index(lane), index(1)),), target.type)
        put = Assign(target.name, (index(lane),), Select(entered, Var(new, target.type), before))
        # A choice reads memory in some lanes only: what comes in is read before it.
        known = Let(new, Load(cell, (), target.type))
        return [known, self.loop(lane, put, self.vectors.name("slide"), self.lanes)]

    def gather(self, element: Load, target: Array, first: Expr, count: Expr) -> list[Stmt]:
        """An element of each stage in its lane, and zeros in the others."""
        row = self.array(f"{element.array}_row", index(self.lanes), "stack")
        zero = self.over(lambda lane: Assign(row.name, lane, Const(0.0, row.type)))
        fill = self.over(lambda lane: Assign(row.name, lane, self.placed(element, add(first, lane[0]))), count)
        return [Alloc(row), zero, fill, self.copy(self.whole(target), self.whole(row), "load")]

    def scatter(self, element: Load, source: Array, first: Expr, count: Expr) -> list[Stmt]:
        """Scatters the lanes' state to each section's own place."""
        row = self.array(f"{element.array}_row", index(self.lanes), "stack")

        def put(lane: tuple[Expr, ...]) -> Assign:
            target = self.placed(element, add(first, lane[0]))
            assert isinstance(target, Load)
            return Assign(target.array, target.index, Load(row.name, lane, row.type))

        return [Alloc(row), self.copy(self.whole(row), self.whole(source), "store"), self.over(put, count)]

    def placed(self, element: Load, stage: Expr) -> Expr:
        """The element of a stage."""
        return place_expr(element, {self.found.inner.var: stage})

    def whole(self, array: Array) -> Load:
        """A row of lanes, at the first one."""
        return Load(array.name, (), array.type)

    def row(self, rows: Array, number: int) -> Load:
        """One of several rows of lanes, at its first one."""
        return Load(rows.name, (index(number),), rows.type)

    def copy(self, target: Load, source: Load, operation: str) -> Stmt:
        """Lanes from one row to another one."""
        lane = self.fresh("lane")
        own, other = ((*x.index, index(lane)) for x in (target, source))
        put = Assign(target.array, own, replace(source, index=other))
        return self.loop(lane, put, self.vectors.name(operation), self.lanes)

    def clear(self, rows: Array, number: int) -> Callable[[tuple[Expr, ...]], Assign]:
        """A statement that zeroes an element of a row."""
        return lambda lane: Assign(rows.name, (index(number), *lane), Const(0.0, rows.type))

    def over(self, put: Callable[[tuple[Expr, ...]], Assign], count: Expr | None = None) -> Stmt:
        """A loop over lanes that is no instruction."""
        lane = self.fresh("stage")
        return For(lane, index(0), index(self.lanes) if count is None else count, 1, Block((put((index(lane),)),)))

    def loop(self, lane: str, put: Assign | Reduce, instruction: str, count: int) -> Stmt:
        self.given.append((lane, instruction))
        return For(lane, index(0), index(count), 1, Block((put,)))

    def array(self, name: str, count: Expr, memory: str) -> Array:
        return Array(self.fresh(name), self.found.type, (count,), True, memory)

    def rows(self, name: str) -> Array:
        shape = (index(DELAY), index(self.lanes))
        return Array(self.fresh(name), self.found.type, shape, True, "stack")

    def fresh(self, name: str) -> str:
        return take_name(name, self.taken)
