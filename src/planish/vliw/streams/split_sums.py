"""Sums in parts: where each addition waits for the one before, several sums are made at once and added in the end.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> head = "kernel f(A: f32[4], s: f32[]) "
>>> text = head + "{ s[] += A[0] s[] += A[1] s[] += A[2] s[] += A[3] }"
>>> print(print_stmt(split_sums(parse_kernel(text), 2).body))
{
  alloc s_0: f32[] distinct register
  s[] += A[0]
  s_0[] = A[1]
  s[] += A[2]
  s_0[] += A[3]
  s[] += s_0[]
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.ir.accesses import reads
from planish.ir.expr import Expr, Load, index, type_of
from planish.ir.index.polynomial import add, constant, floordiv, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import blocks_of, loads, substitute_block, used_names, walk, with_blocks
from planish.vliw.streams.row_ends import trip_of
from planish.vliw.streams.shapes import unused
from planish.vliw.streams.tiles import neutral


def split_sums(kernel: Kernel, parts: int) -> Kernel:
    """The kernel whose scalar sums, one addition after the other or in an innermost loop, are made in so many parts."""
    maker = _Splitter(parts, set(used_names(kernel)))
    return replace(kernel, body=maker.block(kernel.body))


@dataclass(slots=True)
class _Splitter:
    parts: int
    taken: set[str]
    around: tuple[For, ...] = ()

    def cell(self, name: str, like: Expr) -> Array:
        made = unused(f"{name}_0", self.taken)
        self.taken.add(made)
        return Array(made, type_of(like), (), True, "register")

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        run: list[Reduce] = []
        for stmt in block.body:
            if isinstance(stmt, Reduce) and _is_sum(stmt) and (not run or stmt.array == run[0].array):
                run.append(stmt)
                continue
            out += self.run(run)
            run = [stmt] if isinstance(stmt, Reduce) and _is_sum(stmt) else []
            if not run:
                out += self.statement(stmt)
        return Block((*out, *self.run(run)))

    def statement(self, stmt: Stmt) -> Sequence[Stmt]:
        if isinstance(stmt, For) and not any(isinstance(x, For) for x in walk(stmt.body)):
            return self.loop(stmt)
        around = self.around
        self.around = (*around, stmt) if isinstance(stmt, For) else around
        made = with_blocks(stmt, [self.block(x) for x in blocks_of(stmt)])
        self.around = around
        return [made]

    def run(self, run: Sequence[Reduce]) -> list[Stmt]:
        """Additions one after the other, in turn to each part."""
        if len(run) < 2 * self.parts:
            return list(run)
        name = run[0].array
        cells = [self.cell(name, run[0].value) for _ in range(self.parts - 1)]
        out: list[Stmt] = [Alloc(x) for x in cells]
        for number, stmt in enumerate(run):
            part = number % self.parts
            if part == 0:
                out.append(stmt)
            elif number < self.parts:
                out.append(Assign(cells[part - 1].name, (), stmt.value, stmt.span))
            else:
                out.append(replace(stmt, array=cells[part - 1].name))
        return [*out, *_added(name, cells, run[0])]

    def loop(self, loop: For) -> Sequence[Stmt]:
        """An innermost loop: several iterations at once, each of which adds to a part of its own."""
        sums = [x for x in loop.body.body if isinstance(x, Reduce) and _is_sum(x) and _only_use(loop, x)]
        trip = trip_of(loop, self.around)
        known = constant(trip)
        if not sums or loop.step != 1 or loop.facts.simd or (known is not None and known < 2 * self.parts):
            return [replace(loop, body=self.block(loop.body))]
        whole = simplify(mul(floordiv(trip, index(self.parts)), index(self.parts)))
        middle = simplify(add(loop.lower, whole))
        cells = {x.array: [self.cell(x.array, x.value) for _ in range(self.parts - 1)] for x in sums}
        out: list[Stmt] = []
        for x in sums:
            for cell in cells[x.array]:
                out += [Alloc(cell), Assign(cell.name, (), neutral("add", cell.type), x.span)]
        body: list[Stmt] = []
        for part in range(self.parts):
            own = substitute_block(loop.body, {loop.var: add(index(loop.var), index(part))}) if part else loop.body
            body += [_moved(x, cells, part) for x in own.body]
        out.append(replace(loop, upper=middle, step=self.parts, body=Block(tuple(body))))
        if constant(sub(loop.upper, middle)) != 0:
            rest = unused(f"{loop.var}_0", self.taken)
            self.taken.add(rest)
            own = substitute_block(loop.body, {loop.var: index(rest)})
            out.append(replace(loop, var=rest, lower=middle, body=own, label=0))
        for x in sums:
            out += _added(x.array, cells[x.array], x)
        return out


def _moved(stmt: Stmt, cells: dict[str, list[Array]], part: int) -> Stmt:
    if part and isinstance(stmt, Reduce) and stmt.array in cells:
        return replace(stmt, array=cells[stmt.array][part - 1].name)
    return stmt


def _added(name: str, cells: Sequence[Array], like: Reduce) -> list[Stmt]:
    """All parts together: two and two, so that few wait."""
    out: list[Stmt] = []
    names = [name, *(x.name for x in cells)]
    while len(names) > 1:
        half = (len(names) + 1) // 2
        for one, other in zip(names, names[half:], strict=False):
            out.append(Reduce(one, (), "add", Load(other, (), type_of(like.value)), like.span))
        names = names[:half]
    return out


def _is_sum(stmt: Reduce) -> bool:
    own = {x.array for x in loads(stmt.value)}
    return stmt.op == "add" and not stmt.index and stmt.array not in own


def _only_use(loop: For, stmt: Reduce) -> bool:
    """Whether nothing else in a loop uses the scalar that is added to."""
    targets = [x for x in walk(loop) if isinstance(x, Assign | Reduce) and x.array == stmt.array]
    read = [y for y in reads(loop) if y.array == stmt.array]
    return len(targets) == 1 and not read
