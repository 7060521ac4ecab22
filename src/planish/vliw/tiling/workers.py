"""What is done in one block: its statements become a kernel over parts of arrays that are near, which is planned as any
other; its loops go back into the kernel in blocks.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.ir.types import F32
>>> text = "kernel f(n; A: f32[64]) { for b in 0 .. 2 { for i in 0 .. min(100 - 64 * b, 64) { A[i] = 0.0:f32 } } }"
>>> (loop,) = parse_kernel(text).body.body
>>> part = part_kernel("f", loop.body, {"A": Array("A", F32, (index(64),))}, (), [loop], {"i"})
>>> part.kernel.sizes, [print_expr(x) for x in part.values.values()]
(('i.n',), ['select(b < 1, 64, 36)'])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.ir.accesses import reads
from planish.ir.expr import Compare, Expr, Load, Var, index, type_of
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import add, constant, floordiv, mul, normal, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Scalar, Stmt
from planish.ir.traverse import (
    bindings,
    children,
    expressions,
    loads,
    map_block,
    map_expr,
    map_exprs,
    stored_arrays,
    substitute_block,
    variables,
    walk,
    with_children,
)
from planish.ir.types import INDEX
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.reports import PackOptions
from planish.vliw.streams.cost import GUESS
from planish.vliw.streams.plan import Grid, Planned, plan
from planish.vliw.streams.tiles import Tiled, tile
from planish.vliw.tiling.compose import Buffer, near_name
from planish.vliw.tiling.extents import in_cases, in_cell, mapped, whole_of


@dataclass(frozen=True, slots=True)
class BlockPart:
    """The kernel of one block. `values`: what its sizes are, over the loops over blocks and the sizes around."""

    kernel: Kernel
    values: Mapping[str, Expr]


EVEN = 576
"""Iterations that parts are planned for, where there are many: a multiple of most tiles."""

MOST_UNEVEN = 192
"""What loops run less often than so are planned for what they are."""

ROW = 4096
"""Elements of the rows of arrays that parts are planned with."""


def length_of(var: str) -> str:
    """The size that says how many iterations of a loop a block has."""
    return f"{var}.n"


def part_kernel(
    name: str, body: Block, arrays: Mapping[str, Array], scalars: Sequence[Scalar], loops: Sequence[For],
    cut: Collection[str],
) -> BlockPart:  # fmt: skip
    """The kernel of statements in loops over blocks; how many iterations the loops have that are `cut` is a size of it,
    as are other bounds that depend on loops over blocks. `arrays`: those that are near."""
    values: dict[str, Expr] = {}
    around = {x.var for x in loops}

    def sized(x: Expr) -> Expr:
        case = in_cases(x, loops)
        if not variables(case) & around:
            return case
        found = next((n for n, y in values.items() if y == case), None) or f"size.{len(values)}"
        values[found] = case
        return Var(found, INDEX)

    def bounded(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return stmt
        if stmt.var in cut and constant(stmt.lower) == 0:
            values[length_of(stmt.var)] = in_cases(stmt.upper, loops)
            return replace(stmt, upper=Var(length_of(stmt.var), INDEX))
        return replace(stmt, lower=sized(stmt.lower), upper=sized(stmt.upper))

    made = map_block(bounded, body)
    shaped = tuple(_with_own_row(x, made, values) for x in arrays.values())
    bound = {y for x in walk(made) for y in bindings(x)}
    free = {y for x in walk(made) for e in expressions(x) for y in variables(e)} - bound - {x.name for x in scalars}
    sizes = tuple(sorted(free | values.keys()))
    # A block is never empty.
    positive = tuple(Compare("ge", Var(x, INDEX), index(1)) for x in sizes if x in values)
    used = tuple(x for x in scalars if any(x.name in variables(e) for y in walk(made) for e in expressions(y)))
    return BlockPart(Kernel(name, sizes, used, shaped, made, positive), values)


def _with_own_row(array: Array, body: Block, values: Mapping[str, Expr]) -> Array:
    """An array whose rows end where a loop ends that stores to it: what is behind them is nobody's, and vectors may
    store there."""
    for loop in walk(body):
        if isinstance(loop, For) and isinstance(loop.upper, Var) and loop.upper.name in values:
            stores = [x for x in walk(loop.body) if isinstance(x, Assign | Reduce) and x.array == array.name]
            if stores and all(x.index[-1] == Var(loop.var, INDEX) for x in stores):
                return replace(array, shape=(*array.shape[:-1], loop.upper))
    return array


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """How one part of a block is done: its plan, what its sizes are, and the loops over blocks around it."""

    planned: Planned
    part: BlockPart
    loops: tuple[str, ...]


@dataclass(slots=True)
class PartPlanner:
    """Plans what is done in blocks. `trips`: how often the loops run that may be cut; `typical`: what sizes around are
    taken to be; `told`: memories that arrays have to lie in; `known`: what has been planned before; `grid`: the rows
    and vectors of tiles that are tried (none: all); `parts`: those of the kernel, in order."""

    kernel: Kernel
    machine: VliwMachine
    trips: Mapping[str, int]
    typical: Mapping[str, int]
    contract: bool = True
    reassociate: bool = True
    options: PackOptions = field(default_factory=PackOptions)
    told: Mapping[str, str] = field(default_factory=dict)
    known: dict[Kernel, Planned] = field(default_factory=dict)
    grid: Grid = ()
    parts: list[PlannedPart] = field(default_factory=list)

    def work(
        self, block: Block, buffers: dict[str, Buffer], loops: Sequence[For], near: dict[str, tuple[str, ...]]
    ) -> list[Stmt]:  # fmt: skip
        """The statements of a block in register tiles; buffers get rows as long as these ask for, and memories."""
        used = stored_arrays(block) | {y.array for y in reads(block)}
        own = {near_name(n): n for n in buffers if near_name(n) in used}
        arrays = {x: self.array(buffers[n], self.told.get(n, "dram")) for x, n in own.items()}
        part = part_kernel(self.kernel.name, block, arrays, self.kernel.scalars, loops, self.trips)
        sizes = {x: self.guess(y) for x, y in part.values.items()}
        tiled_sizes = dict(sizes)
        # Tiles are chosen for blocks that they divide; blocks are cut for them then.
        sizes |= {length_of(v): EVEN for v, n in self.trips.items() if n >= MOST_UNEVEN and length_of(v) in sizes}
        sizes = {x: sizes.get(x, self.typical.get(x, GUESS)) for x in part.kernel.sizes}
        found = self.known.get(part.kernel)
        if found is None:
            grid = self.grid or None
            found = plan(part.kernel, self.machine, sizes, self.contract, self.reassociate, self.options, grid)
            self.known[part.kernel] = found
        self.parts.append(PlannedPart(found, part, tuple(x.var for x in loops)))
        for given in found.lowered.given:
            if given.array is not None and given.array.name in own:
                name = own[given.array.name]
                near[name] = tuple(dict.fromkeys((*near.get(name, ()), given.parameter.memory)))
        assert found.program is not None
        tiled = tile(found.program, *found.tiles) if found.tiles else Tiled(found.program.kernel)
        sizes |= tiled_sizes
        for n, e in tiled.sizes.items():
            sizes[n] = evaluate(e, sizes)
        for x in tiled.kernel.arrays:
            row = x.shape[-1]
            if row is not None and row != index(ROW):
                buffers[own[x.name]] = buffers[own[x.name]].with_row(evaluate(row, sizes))
        return self.placed(tiled.kernel.body, part)

    def array(self, buffer: Buffer, memory: str) -> Array:
        """An array in whose place a buffer is planned with: its rows are as long for all sizes of blocks, so that these
        are planned once."""
        shape = tuple(index(ROW) for _ in buffer.part)
        return replace(buffer.array, shape=shape, memory=memory)

    def guess(self, x: Expr) -> int:
        """A number for whole blocks."""
        own = whole_of(x)
        return evaluate(own, {**dict.fromkeys(variables(own), GUESS), **self.typical})

    def placed(self, body: Block, part: BlockPart) -> list[Stmt]:
        """The statements with the sizes of the part in cells."""
        before: list[Stmt] = []
        values = dict(part.values)
        cells: dict[Expr, Expr] = {}

        def cell(x: Expr) -> Expr:
            if x not in cells:
                made, cells[x] = in_cell(f"size.{len(self.parts)}.{len(cells)}", mapped(x, values))
                before.extend(made)
            return cells[x]

        def visit(x: Expr) -> Expr:
            own = variables(x)
            if own and own <= values.keys() and type_of(x) == INDEX and not loads(x):
                return cell(x)
            return with_children(x, tuple(visit(y) for y in children(x)))

        made = map_block(lambda s: map_exprs(visit, s), map_block(_counted, body))
        return [*before, *made.body]


def _counted(stmt: Stmt) -> Stmt:
    """A loop that goes on by one where how often it runs is no constant: that is computed once, for whole blocks and
    for the last one."""
    if not isinstance(stmt, For) or stmt.step == 1 or constant(sub(stmt.upper, stmt.lower)) is not None:
        return stmt
    trip = floordiv(add(sub(stmt.upper, stmt.lower), index(stmt.step - 1)), index(stmt.step))
    own = add(stmt.lower, mul(index(stmt.step), Var(stmt.var, INDEX)))
    body = map_block(lambda s: map_exprs(_normal_places, s), substitute_block(stmt.body, {stmt.var: own}))
    return replace(stmt, lower=index(0), upper=simplify(trip), step=1, body=body)


def _normal_places(x: Expr) -> Expr:
    return map_expr(lambda y: replace(y, index=tuple(map(normal, y.index))) if isinstance(y, Load) else y, x)
