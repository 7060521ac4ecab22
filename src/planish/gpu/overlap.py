"""Overlapped time tiles with streaming: a block makes several sweeps at once over a column of its own, row by row.

The threads of a block stand for a tile of all dimensions but the first, with a rim that is as wide as the sweeps
together reach, and which neighbouring blocks make as well. They go along the first dimension: in each iteration the
first sweep makes one row, the second one the row that lies as far behind as it reads, and so on. What a thread reads of
its own cell is in registers, what it reads of its neighbours' in shared memory; one barrier a row is enough, since each
sweep reads rows of earlier iterations only ("N.5D blocking"; Nguyen et al., SC 2010; AN5D, CGO 2020).

    launch = stream_sweeps(sweeps.sweeps * 2, BlockTile((256,), 1, 2), "chunk", names)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

from planish.core.span import Span
from planish.gpu.sweeps import GridSweep, Offset
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Launch, Let, LoopFacts, Stmt
from planish.ir.traverse import map_expr
from planish.ir.types import Type

Names = Callable[[str], str]
"""Gives a name that is not taken."""


@dataclass(frozen=True, slots=True)
class BlockTile:
    """A block's shape: its `threads` by dimension of the arrays but the first, outermost first; so many cells of each
    row (`cells`) a thread has along the outermost of these."""

    threads: tuple[int, ...]
    cells: int = 1

    @property
    def extents(self) -> tuple[int, ...]:
        """The cells of a row, or of a plane, with the rim."""
        return (self.threads[0] * self.cells, *self.threads[1:])


@dataclass(frozen=True, slots=True)
class SweepPipeline:
    """RepeatedSweeps that are made at once; how far they lie behind each other, and what is kept for them.

    Value `v` is what sweep `v` has made (0: what is there before), which the next one reads. `delays[v]`: the rows by
    which it is behind the first value. `copies`: the rows of a value that are kept in registers, a period in which all
    places recur. `near[v]`: the first and the last row, from the one that is made, of which neighbours' cells are
    read; None where none are. `rims`: what the sweeps reach together, by dimension."""

    sweeps: tuple[GridSweep, ...]
    delays: tuple[int, ...]
    copies: int
    near: tuple[tuple[int, int] | None, ...]
    rims: tuple[tuple[int, int], ...]

    @staticmethod
    def of(sweeps: Sequence[GridSweep]) -> SweepPipeline:
        """The pipeline of sweeps, the first to be made first."""
        delays = [0]
        for sweep in sweeps:
            delays.append(delays[-1] + sweep.reach(0)[1] + 1)
        longest = max(sum(x.reach(0)) + 2 for x in sweeps)
        near: list[tuple[int, int] | None] = []
        for sweep in sweeps:
            rows = [x[0] for x in sweep.offsets if any(x[1:])]
            near.append((min(rows), max(rows)) if rows else None)
        rank = len(sweeps[0].lower)
        reaches = [[x.reach(d) for x in sweeps] for d in range(rank)]
        rims = tuple((sum(a for a, _ in x), sum(b for _, b in x)) for x in reaches)
        return SweepPipeline(tuple(sweeps), tuple(delays), longest + longest % 2, tuple(near), rims)

    def shared_rows(self, value: int) -> int:
        """The rows of a value that are in shared memory: a divisor of `copies`."""
        near = self.near[value]
        if near is None:
            return 0
        wanted = near[1] - near[0] + 2
        return next(x for x in range(wanted, self.copies + 1) if self.copies % x == 0)

    def pads(self, value: int) -> tuple[tuple[int, int], ...]:
        """The cells around a tile that a sweep may touch, by dimension but the first."""
        return tuple(self.sweeps[value].reach(d) for d in range(1, len(self.rims)))

    def shared_bytes(self, tile: BlockTile) -> int:
        """The shared memory of a block."""
        size = type_of(self.sweeps[0].value).size
        return sum(
            self.shared_rows(v) * size * prod(n + sum(pad) for n, pad in zip(tile.extents, self.pads(v), strict=True))
            for v in range(len(self.sweeps))
        )

    def useful(self, tile: BlockTile) -> tuple[int, ...]:
        """The cells of a row, or plane, that a block makes for good, by dimension."""
        return tuple(n - sum(rim) for n, rim in zip(tile.extents, self.rims[1:], strict=True))


def stream_sweeps(
    pipeline: SweepPipeline, tile: BlockTile, chunk: str, fresh: Names, span: Span | None = None
) -> Launch:  # fmt: skip
    """The launch that makes all sweeps of a pipeline; each block makes so many rows as the name `chunk` says. It reads
    the source of the first sweep, writes the array of the last one, and reads cells that no sweep makes where these
    are."""
    return _Streaming(pipeline, tile, chunk, fresh).launch(span)


@dataclass(slots=True)
class _Streaming:
    """The making of a launch: names of ids, of arrays of a block and of a thread."""

    pipeline: SweepPipeline
    tile: BlockTile
    chunk: str
    fresh: Names
    cells: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    row: str = ""
    first: str = ""
    end: str = ""
    copy: str = ""
    part: str = ""
    ahead: str = ""

    def __post_init__(self) -> None:
        last = self.pipeline.sweeps[-1]
        axes = "xyz"
        names = sorted(last.places, key=lambda x: last.places[x][0])
        self.row = self.fresh(f"{names[0]}_in")
        self.cells = [self.fresh(x) for x in names[1:]]
        inner = len(self.cells)
        self.threads = [self.fresh(f"thread_{axes[inner - 1 - d]}") for d in range(inner)]
        self.blocks = [self.fresh(f"block_{axes[inner - d]}") for d in range(inner + 1)]
        self.first, self.end = self.fresh(f"{names[0]}_first"), self.fresh(f"{names[0]}_end")
        self.copy, self.part, self.ahead = self.fresh("copy"), self.fresh("part"), self.fresh("ahead")
        for v in range(len(self.pipeline.sweeps)):
            self.own.append(self.fresh(f"own_{v}"))
            self.near.append(self.fresh(f"row_{v}"))

    @property
    def maker(self) -> GridSweep | None:
        """The sweep that makes what the first one reads, where it is one of these."""
        return next((x for x in self.pipeline.sweeps if x.array == self.pipeline.sweeps[0].source), None)

    @property
    def type(self) -> Type:
        """The type of all values."""
        return type_of(self.pipeline.sweeps[0].value)

    def launch(self, span: Span | None) -> Launch:
        """The launch: rows in chunks along the last axis of the grid, tiles along the others."""
        p, last, t = self.pipeline, self.pipeline.sweeps[-1], self.tile
        useful = p.useful(t)
        counts = [_ceil(_sub(last.upper[0], last.lower[0]), index(self.chunk))]
        counts += [_ceil(_sub(last.upper[d + 1], last.lower[d + 1]), index(n)) for d, n in enumerate(useful)]
        body: list[Stmt] = [*self.arrays()]
        for d in reversed(range(len(self.cells))):
            if d > 0 or t.cells == 1:
                body.append(Let(self.cells[d], self.cell(d, None)))
        begin = _add(last.lower[0], Binary("mul", index(self.chunk), index(self.blocks[0])))
        body.append(Let(self.first, begin))
        body.append(Let(self.end, Binary("min", last.upper[0], _add(index(self.first), index(self.chunk)))))
        body += self.cleared()
        rows = _add(_sub(index(self.end), index(self.first)), index(p.rims[0][0] + p.delays[-1] + 1))
        step = self.fresh("step")
        # In the first iteration the first row is only fetched.
        at = _add(index(self.first), index(-p.rims[0][0] - 1))
        row = _add(at, _add(Binary("mul", index(p.copies), index(step)), index(self.copy)))
        period: Stmt = self.period(row, False)
        if self.maker is not None:
            test = self.is_whole(_add(at, Binary("mul", index(p.copies), index(step))), self.maker)
            period = If(test, Block((self.period(row, True),)), Block((period,)))
        body.append(For(step, index(0), _ceil(rows, index(p.copies)), 1, Block((period,))))
        grid = tuple(zip(reversed(self.blocks), reversed(counts), strict=True))
        block = tuple(zip(reversed(self.threads), reversed(t.threads), strict=True))
        return Launch(grid, block, Block(tuple(body)), span)

    def period(self, row: Expr, whole: bool) -> For:
        """Iterations until all places in registers recur. `whole`: no cell of theirs needs a test."""
        body = (Let(self.row, row), *self.parts(lambda part: self.iteration(part, whole)), Barrier())
        return For(self.copy, index(0), index(self.pipeline.copies), 1, Block(body), self.unrolled)

    def is_whole(self, row: Expr, maker: GridSweep) -> Expr:
        """Whether, in a period that begins with a row, sweeps make all cells that the block goes over; `maker` those
        that the first one reads."""
        p = self.pipeline
        # Each value's box, and the first row of it: that of the source is fetched an iteration before.
        made = [(x.lower, x.upper, -delay) for x, delay in zip(p.sweeps, p.delays[1:], strict=True)]
        made.append((maker.lower, maker.upper, 1))
        rows = [(index(self.first), index(self.end), -p.delays[-1])]
        rows += [(lower[0], upper[0], first) for lower, upper, first in made]
        least, most = dict[Expr, int](), dict[Expr, int]()
        for lower, upper, first in rows:
            least[lower] = min(first, least.get(lower, first))
            most[upper] = max(first, most.get(upper, first))
        tests: list[Expr] = [Compare("ge", _add(row, index(n)), x) for x, n in least.items()]
        tests += [Compare("lt", _add(row, index(n + p.copies - 1)), x) for x, n in most.items()]
        for d in range(len(self.cells)):
            begin = self.begin(d)
            tests += [Compare("ge", begin, x) for x in dict.fromkeys(lower[d + 1] for lower, _, _ in made)]
            end = _add(begin, index(self.tile.extents[d]))
            tests += [Compare("le", end, x) for x in dict.fromkeys(upper[d + 1] for _, upper, _ in made)]
        return _all(tests)

    def arrays(self) -> list[Alloc]:
        """The rows of a block in shared memory, then those of a thread in registers."""
        p, t = self.pipeline, self.tile
        shared: list[Alloc] = []
        for v in range(len(p.sweeps)):
            if p.near[v] is not None:
                row = (n + sum(pad) for n, pad in zip(t.extents, p.pads(v), strict=True))
                shape = tuple(index(x) for x in (p.shared_rows(v), *row))
                shared.append(Alloc(Array(self.near[v], self.type, shape, True, "shared")))
        own = [Array(x, self.type, (index(t.cells), index(p.copies)), True, "register") for x in self.own]
        return [*shared, *map(Alloc, own), Alloc(Array(self.ahead, self.type, (index(t.cells),), True, "register"))]

    def cleared(self) -> list[Stmt]:
        """Registers are 0 at first: rows that nothing is made of are computed as well."""
        zero = Const(0.0 if self.type.is_float else 0, self.type)
        inner: list[Stmt] = [Assign(x, (index(self.part), index(self.copy)), zero) for x in self.own]
        rows = For(self.copy, index(0), index(self.pipeline.copies), 1, Block(tuple(inner)), self.unrolled)
        start = Assign(self.ahead, (index(self.part),), zero)
        return [For(self.part, index(0), index(self.tile.cells), 1, Block((start, rows)), self.unrolled)]

    @property
    def unrolled(self) -> LoopFacts:
        return LoopFacts(unroll=self.pipeline.copies)

    def parts(self, made: Callable[[Expr], list[Stmt]]) -> list[Stmt]:
        """What is made for each cell that a thread has."""
        if self.tile.cells == 1:
            return made(index(0))
        body = (Let(self.cells[0], self.cell(0, index(self.part))), *made(index(self.part)))
        return [For(self.part, index(0), index(self.tile.cells), 1, Block(body), LoopFacts(unroll=self.tile.cells))]

    def place(self, d: int, part: Expr | None) -> Expr:
        """A thread's place in the tile along a dimension, with the rim."""
        own = index(self.threads[d])
        return own if part is None else _add(Binary("mul", index(self.tile.threads[d]), part), own)

    def cell(self, d: int, part: Expr | None) -> Expr:
        """The cell of a thread along a dimension."""
        return simplify(_add(self.begin(d), self.place(d, part)))

    def begin(self, d: int) -> Expr:
        """The first cell of a block along a dimension, in its rim."""
        p = self.pipeline
        start = _add(p.sweeps[-1].lower[d + 1], index(-p.rims[d + 1][0]))
        return _add(start, Binary("mul", index(p.useful(self.tile)[d]), index(self.blocks[d + 1])))

    def iteration(self, part: Expr, whole: bool) -> list[Stmt]:
        """An iteration: a row of the first value, fetched an iteration before, and one of each sweep's."""
        p, out = self.pipeline, list[Stmt]()
        own = self.own[0]
        out.append(Assign(own, (part, index(self.copy)), Load(self.ahead, (part,), self.type)))
        out += self.shared(0, part)
        below = _add(index(self.row), index(1))
        out.append(self.fetched(below, part, whole))
        for number, sweep in enumerate(p.sweeps, 1):
            row = index(self.row) if not p.delays[number] else _add(index(self.row), index(-p.delays[number]))
            if number == len(p.sweeps):
                out.append(self.stored(sweep, row, part, whole))
            else:
                made = Assign(self.own[number], (part, index(self.copy)), self.value(number, row, part))
                kept = self.kept(p.sweeps[number], sweep.array, self.own[number], row, part)
                box = _in_box(self.at(row), sweep.lower, sweep.upper)
                out.append(made if whole else If(box, Block((made,)), Block((kept,))))
                out += self.shared(number, part)
        return out

    def at(self, row: Expr) -> tuple[Expr, ...]:
        """The cell of a thread in a row."""
        return (row, *(index(x) for x in self.cells))

    def fetched(self, row: Expr, part: Expr, whole: bool) -> Stmt:
        """The next row of what is there before."""
        sweep = self.pipeline.sweeps[0]
        load = Assign(self.ahead, (part,), Load(sweep.source, self.at(row), self.type))
        if whole:
            return load
        maker = self.maker
        needed = _is_read(sweep, self.at(row))
        if maker is not None:
            needed = Binary("or", _in_box(self.at(row), maker.lower, maker.upper), needed)
        return If(needed, Block((load,)))

    def kept(self, reader: GridSweep, array: str, own: str, row: Expr, part: Expr) -> Stmt:
        """A cell that no sweep makes, where the next sweep reads it."""
        load = Assign(own, (part, index(self.copy)), Load(array, self.at(row), self.type))
        return If(_is_read(reader, self.at(row)), Block((load,)))

    def shared(self, value: int, part: Expr) -> list[Stmt]:
        """The row of a value that neighbours read next, in shared memory."""
        p = self.pipeline
        near = p.near[value]
        if near is None:
            return []
        ahead = p.sweeps[value].reach(0)[1] - near[1]
        count = p.shared_rows(value)
        place = (_mod(index(self.copy), count), *self.in_tile(value, (0,) * len(self.cells), part))
        return [Assign(self.near[value], place, self.kept_row(value, ahead, part))]

    def kept_row(self, value: int, ago: int, part: Expr) -> Expr:
        """A thread's own cell of a value, of so many rows ago."""
        p = self.pipeline
        return Load(self.own[value], (part, _back(index(self.copy), ago, p.copies)), self.type)

    def in_tile(self, value: int, far: Offset, part: Expr) -> tuple[Expr, ...]:
        """A place in a row in shared memory."""
        own: list[Expr] = []
        for d, (distance, pad) in enumerate(zip(far, self.pipeline.pads(value), strict=True)):
            place = self.place(d, part if d == 0 and self.tile.cells > 1 else None)
            own.append(_add(place, index(distance + pad[0])))
        return tuple(own)

    def value(self, number: int, row: Expr, part: Expr) -> Expr:
        """What sweep `number` makes of a thread's cell in a row."""
        p, sweep, value = self.pipeline, self.pipeline.sweeps[number - 1], number - 1
        behind = sweep.reach(0)[1] + 1
        at = self.at(row)

        def read(x: Expr) -> Expr:
            far = sweep.distance(x) if isinstance(x, Load) else None
            if far is None:
                return x
            near = p.near[value]
            if not any(far[1:]) or near is None:
                return self.kept_row(value, behind - far[0], part)
            ago = near[1] + 1 - far[0]
            return Load(self.near[value], (_back(index(self.copy), ago, p.shared_rows(value)),
                                           *self.in_tile(value, far[1:], part)), self.type)  # fmt: skip

        places = {name: _add(at[d], index(-shift)) for name, (d, shift) in sweep.places.items()}
        return map_expr(lambda x: replace_names(x, places), map_expr(read, sweep.value))

    def stored(self, sweep: GridSweep, row: Expr, part: Expr, whole: bool) -> Stmt:
        """The row of the last sweep, without the rim."""
        p, number = self.pipeline, len(self.pipeline.sweeps)
        tests: list[Expr] = []
        for d in range(len(self.cells)):
            place = self.place(d, part if d == 0 and self.tile.cells > 1 else None)
            tests.append(Compare("ge", place, index(p.rims[d + 1][0])))
            tests.append(Compare("lt", place, index(self.tile.extents[d] - p.rims[d + 1][1])))
        if not whole:
            tests += _box_tests((row,), (index(self.first),), (index(self.end),))
            tests += _box_tests(self.at(row)[1:], sweep.lower[1:], sweep.upper[1:])
        store = Assign(sweep.array, self.at(row), self.value(number, row, part))
        return If(_all(tests), Block((store,)))


def replace_names(x: Expr, values: dict[str, Expr]) -> Expr:
    """A name as what it stands for."""
    return values.get(x.name, x) if isinstance(x, Var) else x


def _is_read(sweep: GridSweep, cell: tuple[Expr, ...]) -> Expr:
    """Whether a sweep reads a cell for any that it makes."""
    rank = range(len(cell))
    spans = [(min(x[d] for x in sweep.offsets), max(x[d] for x in sweep.offsets)) for d in rank]
    if len(sweep.offsets) == prod(b - a + 1 for a, b in spans):
        lower = tuple(_add(x, index(spans[d][0])) for d, x in enumerate(sweep.lower))
        upper = tuple(_add(x, index(spans[d][1])) for d, x in enumerate(sweep.upper))
        return _in_box(cell, lower, upper)
    tests = []
    for far in sorted(sweep.offsets):
        lower = tuple(_add(x, index(n)) for x, n in zip(sweep.lower, far, strict=True))
        upper = tuple(_add(x, index(n)) for x, n in zip(sweep.upper, far, strict=True))
        tests.append(_in_box(cell, lower, upper))
    return reduce(lambda a, b: Binary("or", a, b), tests)


def _in_box(cell: tuple[Expr, ...], lower: tuple[Expr, ...], upper: tuple[Expr, ...]) -> Expr:
    return _all(_box_tests(cell, lower, upper))


def _box_tests(cell: Sequence[Expr], lower: Sequence[Expr], upper: Sequence[Expr]) -> list[Expr]:
    out: list[Expr] = []
    for x, a, b in zip(cell, lower, upper, strict=True):
        out += [Compare("ge", x, a), Compare("lt", x, b)]
    return out


def _all(tests: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("and", a, b), tests)


def _add(a: Expr, b: Expr) -> Expr:
    return simplify(Binary("add", a, b))


def _sub(a: Expr, b: Expr) -> Expr:
    return simplify(Binary("sub", a, b))


def _ceil(a: Expr, b: Expr) -> Expr:
    return simplify(Binary("floordiv", Binary("sub", Binary("add", a, b), index(1)), b))


def _mod(a: Expr, n: int) -> Expr:
    return index(0) if n == 1 else Binary("mod", a, index(n))


def _back(at: Expr, ago: int, period: int) -> Expr:
    """The place, in a period, of so many iterations ago."""
    ago %= period
    return _mod(at if ago == 0 else Binary("add", at, index(period - ago)), period)
