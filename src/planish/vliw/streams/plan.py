"""Which tile a nest runs in: some are made into packets, and the one that takes the fewest cycles is kept.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> text = "kernel f(A: f32[4, 64], B: f32[4, 64]) { for i in 0 .. 4 { for j in 0 .. 64 { B[i, j] += A[i, j] } } }"
>>> found = plan(parse_kernel(text), load_machine("ftmatrix"))
>>> found.tiles[0].lanes, found.estimate < plan_scalar(parse_kernel(text), load_machine("ftmatrix")).estimate
(32, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.accesses import reads
from planish.ir.expr import Binary, Call, Compare, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import constant, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Assign, For, Kernel, Reduce
from planish.ir.traverse import variables, walk
from planish.ir.types import Floats
from planish.poly.isl.affine import NotAffineError
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.bands import Reorder
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack
from planish.vliw.pack.passes import PacketPasses, issued
from planish.vliw.pack.reports import Packed, PackOptions
from planish.vliw.program import Instr, Loop, MemoryAddress, StreamRegister
from planish.vliw.streams.cost import GUESS, Amount, cycles_of, innermost, least_interval, sizes_of, trips_of
from planish.vliw.streams.lane_shifts import shift_lanes
from planish.vliw.streams.lower import LoweredStream, lower, patterns_of
from planish.vliw.streams.programs.selected import Alignment
from planish.vliw.streams.recurrences import carried_last, keep_carried
from planish.vliw.streams.shapes import promote, unroll_short, with_extrema, with_own_names
from planish.vliw.streams.split_sums import split_sums
from planish.vliw.streams.stream import RefusedError
from planish.vliw.streams.tiles import Legal, RegisterTile, Tiled, loops_of, reductions_of, tile

GRID = (
    (1, 1), (1, 2), (1, 4), (1, 8), (2, 2), (3, 2), (4, 1), (4, 2), (5, 3), (6, 2), (6, 3), (6, 4), (8, 1), (8, 2),
    (8, 3), (16, 1),
)  # fmt: skip
"""Rows and vectors of the tiles that are looked at."""

Grid = Sequence[tuple[int, int]]

PROBES = ((1, 1), (1, 2), (4, 1), (4, 2), (6, 4))
"""Those with which the forms of a nest are compared."""

FORMS = 4
"""So many forms are looked at closely at most: those that promise at most NEAR times what the best one does."""

NEAR = 1.25

SHORT = 81
"""Assignments up to which loops of few iterations are written out."""

PARTS = (4, 8, 2)
"""In so many parts sums are made, besides in one, and in as many as units add at a time, and twice as many."""

MORE_VECTORS = (7, 5, 3)
"""Vectors of further tiles, for loops that have a multiple of them."""

MOST_JOINED = 32
"""Vectors of a tile with the rows that are left over."""

MOST_COPIES = 160
"""Assignments of a tile: larger ones are not looked at."""

PACKED = 6
"""So many streams become packets: those that promise most."""

MOST_OPERATIONS = 220
"""Operations of an innermost loop: longer ones are not packed."""

MOST_PLACES = 5000
"""Operations by cycles of an innermost loop: with more of them it is not packed."""

MOST_BESIDE = 150
"""Operations of a stream that is packed although it cannot be the quickest."""

MOST_PACKED = 9
"""So many are tried to be packed at most."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A kernel's stream and its packets: in which tiles, and about how many cycles they take. `remarks`: what was
    refused on the way; `needs`: what has to hold of sizes besides what the kernel assumes; `aligned`: other packets for
    where `alignment` holds as well; `few`: others for where `few_where` holds, a loop has fewer iterations than
    lanes."""

    kernel: Kernel
    lowered: LoweredStream
    packed: Packed
    tiles: tuple[RegisterTile, ...]
    estimate: float
    described: str = "one by one"
    remarks: tuple[Remark, ...] = ()
    program: Program | None = None
    needs: tuple[Expr, ...] = ()
    alignment: Alignment | None = None
    aligned: Planned | None = None
    few: Planned | None = None
    few_where: Expr | None = None

    @property
    def source(self) -> Kernel:
        """The kernel whose tiles these are."""
        return self.program.kernel if self.program is not None else self.kernel


@dataclass(frozen=True, slots=True)
class _Draft:
    """A stream, the tiles that it is made of, and the least that it can take by its units and its sums' latency."""

    program: Program
    lowered: LoweredStream
    tiles: tuple[RegisterTile, ...]
    least: float


@dataclass(slots=True)
class _Search:
    """Tries tiles of a kernel."""

    machine: VliwMachine
    sizes: Mapping[str, int]
    contract: bool
    reassociate: bool
    options: PackOptions
    remarks: dict[str, Remark] = field(default_factory=dict)

    def draft(self, form: _Form, tiles: tuple[RegisterTile, ...]) -> _Draft | None:
        """The stream of a kernel in tiles; None where that is refused."""
        try:
            made = tile(form.program, *tiles, legal=form.legal) if tiles else Tiled(form.program.kernel)
            lowered = lower(made.kernel, self.machine, self.contract, made.sizes, made.plain)
            lowered = replace(lowered, program=shift_lanes(lowered.program, self.machine))
        except RefusedError as error:
            self.remarks.setdefault(error.remark.message, error.remark)
            return None
        crowded = self.crowded(lowered) if tiles else None
        if crowded is not None:
            remark = Remark("vliw-pack", "refused", crowded, form.program.kernel.span)
            self.remarks.setdefault(remark.message, remark)
            return None
        return _Draft(form.program, lowered, tiles, cycles_of(lowered, self.machine, self.sizes))

    def crowded(self, lowered: LoweredStream) -> str | None:
        """Which registers a loop names more of than there are, all at once: those that live through it."""
        for loop in innermost(lowered.program.body):
            places = len(loop.body) * least_interval(loop.body, self.machine)
            if len(loop.body) > MOST_OPERATIONS or places > MOST_PLACES:
                return f"a loop of {len(loop.body)} operations takes too long to schedule"
            named: dict[str, set[str]] = {}
            for register in self.kept(loop):
                named.setdefault(register.file, set()).add(register.name)
            for file, names in named.items():
                if len(names) > self.machine.file(file).count:
                    return f"a loop uses {len(names)} registers of {file}"
        return None

    def kept(self, loop: Loop) -> Iterator[StreamRegister]:
        """The registers that live through all iterations of a loop: of addresses, and what it reads and does not set
        before that."""
        set_before: set[StreamRegister] = set()
        for x in loop.body:
            assert isinstance(x, Instr)
            written = self.machine.written_places(x.operation)
            for n, y in enumerate(x.operands):
                for z in (y.base, y.offset) if isinstance(y, MemoryAddress) else (y,):
                    if isinstance(z, StreamRegister) and n not in written and z not in set_before:
                        yield z
            set_before |= {y for n in written if isinstance(y := x.operands[n], StreamRegister)}

    def packed(self, draft: _Draft) -> Planned | None:
        """The packets of a stream; None where there are none."""
        try:
            packed = pack(draft.lowered.program, self.machine, self.options)
        except PlanishError as error:
            remark = Remark("vliw-pack", "refused", error.diagnostic.message, draft.program.kernel.span)
            self.remarks.setdefault(remark.message, remark)
            return None
        cycles = estimate(packed, draft.lowered, self.sizes)
        words = "; ".join(x.describe(draft.program.kernel) for x in draft.tiles) or "one by one"
        return Planned(draft.lowered.kernel, draft.lowered, packed, draft.tiles, cycles, words, (), draft.program)


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a kernel, and which of its loops may run in lanes."""

    program: Program
    legal: Legal


def plan_scalar(
    kernel: Kernel, machine: VliwMachine, sizes: Mapping[str, int] | None = None, contract: bool = True,
    options: PackOptions | None = None,
) -> Planned:  # fmt: skip
    """The nest one by one, as it is written; RefusedError where the machine cannot do it."""
    lowered = lower(kernel, machine, contract)
    packed = pack(lowered.program, machine, options or PackOptions())
    return Planned(kernel, lowered, packed, (), estimate(packed, lowered, sizes or {}))


def plain_vectors(planned: Planned, machine: VliwMachine, contract: bool, options: PackOptions) -> Planned:
    """The same loops in lanes, one vector and one row at a time; RefusedError where that is not possible."""
    assert planned.program is not None
    tiles = tuple(replace(x, vectors=1, rows=()) for x in planned.tiles)
    made = tile(planned.program, *tiles)
    lowered = lower(made.kernel, machine, contract, made.sizes, made.plain)
    packed = pack(lowered.program, machine, options)
    return Planned(made.kernel, lowered, packed, tiles, estimate(packed, lowered, {}))


def plan(
    kernel: Kernel, machine: VliwMachine, sizes: Mapping[str, int] | None = None, contract: bool = True,
    reassociate: bool = True, options: PackOptions | None = None, grid: Grid | None = None, within: float = 0.0,
) -> Planned:  # fmt: skip
    """The quickest of the tiles that are tried, for some sizes; one by one where there is none such. `grid`: the tiles
    to be tried, of which the first one that becomes packets is taken. `within`: where no tile can take fewer cycles
    (0: not known), one that is soon packed is, for comparison. RefusedError where the machine cannot do it
    at all."""
    search = _Search(machine, sizes or {}, contract, reassociate, options or PackOptions())
    probed: list[tuple[float, _Form]] = []
    drafts: list[_Draft] = []
    for form in _forms(kernel, search):
        found = _drafts(form, search, grid or PROBES)
        if found:
            probed.append((min(x.least for x in found), form))
        plain = search.draft(form, ())
        drafts += found + ([plain] if plain is not None else [])
    probed.sort(key=lambda x: x[0])
    for least, form in probed[: 0 if grid else FORMS]:
        if least > NEAR * probed[0][0]:
            break
        drafts += _drafts(form, search, tuple(x for x in GRID if x not in PROBES))
    drafts.sort(key=lambda x: x.least)
    hopeless = bool(within and drafts and drafts[0].least >= within)
    if hopeless:
        sized = [(sum(len(y.body) for y in innermost(x.lowered.program.body)), x) for x in drafts]
        drafts = [x for _, x in sorted(sized, key=lambda x: max(0, x[0] - MOST_BESIDE))]
    packed: list[Planned] = []
    for draft in drafts[:MOST_PACKED]:
        made = search.packed(draft)
        packed += [made] if made is not None else []
        if len(packed) >= (1 if grid or hopeless else PACKED):
            break
    if not packed:
        plain = next((x for x in drafts if not x.tiles), None)
        packed += [x for x in (search.packed(plain) if plain else None,) if x is not None]
    if not packed:
        lower(kernel, machine, contract)
        # The last thing that was tried is the nest one by one.
        raise RefusedError(next(reversed(search.remarks), "it does not become packets"), kernel.span)
    quickest = _with_few(min(packed, key=lambda x: x.estimate), drafts, search)
    return replace(quickest, remarks=tuple(search.remarks.values()))


def _with_few(planned: Planned, drafts: Sequence[_Draft], search: _Search) -> Planned:
    """With other packets for where a loop in lanes has fewer iterations than lanes, all of which would run one by one
    as C has the arrays: in lanes of another loop, if that takes fewer cycles."""
    if search.machine.calling is None or len(planned.tiles) != 1 or planned.program is None:
        return planned
    (only,) = planned.tiles
    loop = _loop_of(planned.program, only)
    count = simplify(sub(loop.upper, loop.lower))
    few = dict.fromkeys(variables(count), only.lanes // 4)
    if not few or not few.keys() <= search.sizes.keys():
        return planned
    sizes = {**search.sizes, **few}
    others = [
        x for x in drafts
        if x.tiles and all(_loop_of(x.program, y).var != loop.var for y in x.tiles)
        and sum(len(y.body) for y in innermost(x.lowered.program.body)) <= MOST_BESIDE
    ]  # fmt: skip
    others.sort(key=lambda x: cycles_of(x.lowered, search.machine, sizes))
    made = next((y for x in others[:PACKED] if (y := search.packed(x)) is not None), None)
    if made is None:
        return planned
    ours, theirs = (estimate(x.packed, x.lowered, sizes) for x in (made, planned))
    if ours >= theirs:
        return planned
    return replace(planned, few=made, few_where=Compare("lt", count, index(only.lanes)))


def _loop_of(program: Program, tile: RegisterTile) -> For:
    return next(x for x in walk(program.kernel.body) if isinstance(x, For) and x.label == tile.lane)


def _forms(kernel: Kernel, search: _Search) -> Iterator[_Form]:
    """The forms of a kernel that are tried: as it is, with short loops written out, loops in another order."""
    fp: Floats = "reassociate" if search.reassociate else "contract" if search.contract else "strict"
    named = with_own_names(with_extrema(kernel) if search.reassociate else kernel)
    seen: list[Kernel] = []
    for form in (named, *_orders(named)):
        program = Program.of(promote(form), fp)
        legal = {x.label: reductions_of(program, x.label) for x in loops_of(program.kernel)}
        short = replace(program, kernel=promote(_unrolled(program.kernel)))
        forms = [program, short]
        if search.reassociate and form is named:
            parts = _parts(search)
            forms += [replace(x, kernel=split_sums(x.kernel, n)) for x in (program, short) for n in parts]
        forms += [replace(x, kernel=_carrying(x.kernel, search)) for x in (program, short)]
        for made in forms:
            if made.kernel not in seen:
                seen.append(made.kernel)
                yield _Form(made, legal)


def _parts(search: _Search) -> tuple[int, ...]:
    """In how many parts sums are made: with as many as there are units that add, none is idle."""
    adding = (x for x in patterns_of(search.machine).patterns if x.lanes and _adds(x.value))
    counts = {len(x.operation.units) for x in adding}
    uneven = max((x for x in counts if x & (x - 1)), default=0)
    return (*PARTS, uneven, 2 * uneven) if uneven else PARTS


def _adds(value: Expr) -> bool:
    """Whether a sum is the last thing that is done for a value."""
    return isinstance(value, Binary) and value.op == "add" or isinstance(value, Call) and value.function == "fma"


def _carrying(kernel: Kernel, search: _Search) -> Kernel:
    """The kernel with its recurrences in registers."""
    kept = keep_carried(kernel)
    return carried_last(kept) if search.reassociate else kept


def _unrolled(kernel: Kernel) -> Kernel:
    """All short loops written out, inner ones first."""
    while (made := unroll_short(kernel, SHORT)) != kernel:
        kernel = made
    return kernel


def _orders(kernel: Kernel) -> Iterator[Kernel]:
    """The loops of a band that is all of a kernel in other orders: each of them innermost but one, or outermost."""
    loops = list(_band(kernel))
    if len(loops) < 2 or len(loops) > 4:
        return
    names = tuple(x.var for x in loops)
    orders = [x for x in permutations(names) if x != names]
    program = Program.of(kernel)
    for order in _inner_first(names, orders):
        try:
            yield program.apply(Reorder(Cursor(program, _band_label(program)), order)).kernel
        except (PlanishError, NotAffineError):
            continue


def _inner_first(names: tuple[str, ...], orders: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Of some orders one for each loop that is not the innermost one yet: with that one there."""
    return [next(x for x in orders if x[-1] == name) for name in names[:-1]]


def _band(kernel: Kernel) -> Iterator[For]:
    block = kernel.body
    while len(block.body) == 1 and isinstance(block.body[0], For):
        yield block.body[0]
        block = block.body[0].body


def _band_label(program: Program) -> int:
    first = program.kernel.body.body[0]
    assert isinstance(first, For)
    return first.label


def _drafts(form: _Form, search: _Search, grid: Grid) -> list[_Draft]:
    """The streams of a form in tiles: of its nests, and of the nests inside of those that have several."""
    whole = [x for x in form.program.kernel.body.body if isinstance(x, For)]
    parts = [y for x in whole for y in _innermost_nests(x)]
    return [y for nests in ((whole, parts) if parts != whole else (whole,)) for y in _tiled(form, nests, search, grid)]


def _innermost_nests(nest: For) -> list[For]:
    """A nest, or those that stand in it one after the other."""
    loop = nest
    while len(inner := [x for x in loop.body.body if isinstance(x, For)]) == 1:
        loop = inner[0]
    return [y for x in inner for y in _innermost_nests(x)] if inner else [nest]


def _tiled(form: _Form, nests: Sequence[For], search: _Search, grid: Grid) -> list[_Draft]:
    """The streams of a form in tiles; where it has several nests, those of each beside the best ones of those before it
    and the plainest of those behind it, without which arrays would be used by single elements, too."""
    tiles = {x.label: list(_tiles(form, x, search, grid)) for x in nests}
    chosen = {label: [replace(y, vectors=1, rows=()) for y in found[-1:]] for label, found in tiles.items()}
    drafts: list[_Draft] = []
    for label, choices in tiles.items():
        found: list[tuple[_Draft, RegisterTile]] = []
        for x in choices:
            others = [y for other, z in chosen.items() for y in ([x] if other == label else z)]
            made = search.draft(form, tuple(others))
            found += [(made, x)] if made is not None else []
        if found:
            found.sort(key=lambda y: y[0].least)
            drafts = [y[0] for y in found]
            chosen[label] = [found[0][1]]
        elif len(nests) > 1:
            chosen[label] = []
    return drafts


def _tiles(form: _Form, nest: For, search: _Search, grid: Grid) -> Iterator[RegisterTile]:
    """The tiles of a nest that are looked at; a machine without vectors has none."""
    if not patterns_of(search.machine).lane_counts:
        return
    for loop in (x for x in walk(nest) if isinstance(x, For)):
        if loop.step != 1 or form.legal.get(loop.label) is None:
            continue
        around = [x for x in _around(nest, loop) if x.step == 1 and form.legal.get(x.label) == ()]
        row = next((x for x in around if not _bounds_use(x, x.var)), None)
        size = sum(isinstance(x, Assign | Reduce) for x in walk(loop))
        for rows, vectors in (*grid, *_dividing(search, loop, grid)):
            if rows > 1 and row is None or rows * vectors > 1 and rows * vectors * size > MOST_COPIES:
                continue
            if _fits(search, loop, row, (rows, vectors)):
                named = ((row.label, rows),) if row is not None and rows > 1 else ()
                exact = search.machine.calling is not None
                made = RegisterTile(loop.label, _lanes(search, loop), vectors, named, exact)
                yield made
                if row is not None and _may_join(row, rows, vectors):
                    yield replace(made, joined=True)


def _dividing(search: _Search, lane: For, grid: Grid) -> Iterator[tuple[int, int]]:
    """One row of a number of vectors that divides those of a loop, where none of a grid does but 1; with the grids that
    have one row of one vector."""
    trip = constant(sub(lane.upper, lane.lower))
    if trip is None or (1, 1) not in grid:
        return
    count = -(-trip // _lanes(search, lane))
    if not any(vectors > 1 and count % vectors == 0 for _, vectors in grid):
        yield from ((1, x) for x in MORE_VECTORS if count % x == 0)


def _may_join(row: For, rows: int, vectors: int) -> bool:
    """Whether few rows are left over, which might run at once with the last ones before them."""
    trip = constant(sub(row.upper, row.lower))
    if trip is None or trip <= rows:
        return False
    return 0 < trip % rows <= rows // 2 and (rows + trip % rows) * vectors <= MOST_JOINED


def _lanes(search: _Search, lane: For) -> int:
    """How many lanes a loop wants: those of the widest elements in it."""
    kinds = [x.type.bits for x in reads(lane)]
    counts = patterns_of(search.machine).lane_counts
    room = max(x.bits for x in search.machine.files)
    return next((x for x in counts if x * max(kinds, default=0) <= room), counts[-1])


def _fits(search: _Search, lane: For, row: For | None, shape: tuple[int, int]) -> bool:
    """Whether a tile is no larger than its loops."""
    lanes = _lanes(search, lane)
    trip = _number(sub(lane.upper, lane.lower), search.sizes)
    rows = _number(sub(row.upper, row.lower), search.sizes) if row is not None else 1
    return (shape[1] == 1 or (shape[1] - 1) * lanes < trip) and shape[0] <= max(1, rows)


def _around(nest: For, loop: For) -> list[For]:
    """The loops around a loop in a nest, inner ones first."""
    return [x for x in walk(nest) if isinstance(x, For) and x is not loop and any(y is loop for y in walk(x.body))][
        ::-1
    ]


def _bounds_use(loop: For, name: str) -> bool:
    """Whether a loop inside has bounds that depend on a variable."""
    inside = [x for x in walk(loop.body) if isinstance(x, For)]
    return any(name in variables(y) for x in inside for y in (x.lower, x.upper))


def _number(x: Expr, sizes: Mapping[str, int]) -> int:
    known = constant(x)
    if known is not None:
        return known
    return evaluate(x, {**dict.fromkeys(variables(x), GUESS), **sizes})


def estimate(packed: Packed, lowered: LoweredStream, sizes: Mapping[str, Amount]) -> Amount:
    """How many packets are issued, for one set of sizes or each of several; stalls are not counted."""
    return issued_for(len(packed.code.packets), packed.passes, lowered, sizes)


def issued_for(
    packets: int, passes: Sequence[PacketPasses], lowered: LoweredStream, sizes: Mapping[str, Amount]
) -> Amount:  # fmt: skip
    """How many of some packets of a stream are issued, as `estimate`."""
    known = sizes_of(lowered, sizes)
    return issued(packets, passes, lambda name: trips_of(name, lowered.trips, known))
