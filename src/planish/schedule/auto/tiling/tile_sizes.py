"""Per band: the vectorised member, the unroll-and-jam factors, the tile sizes.

The lanes' member is the one whose memory traffic is cheapest: an access that stays costs nothing, a contiguous one a
vector, a strided one a scalar for each lane. Members along which an operand stays are jammed (unrolled inside the
lanes' loop), so that the operand is loaded once. Tiles minimise the lines loaded per instance while they
fit in a cache.

>>> tile_candidates(3, 2, 8)[0]
(4, 4, 8)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import inf, prod
from typing import assert_never

from planish.ir.index.polynomial import constant
from planish.ir.nest import Array
from planish.ir.types import Type
from planish.schedule.auto.tiling.band import Band, Motion, StatementGroup
from planish.schedule.auto.tiling.strides import StrideKind, stride_kind
from planish.target.machine import Target

JAM_TWO = (4, 4)
JAM_ONE = (8,)
LONGEST_JAM = 8
"""The iterations of a loop that is written out as a whole, at most."""
COLLIDING = 1024
"""Lines so many bytes apart share few sets of a cache."""
CROSSING = 16
"""The rows and columns of a block that is turned: two lines of the largest elements."""
LONG = 256
"""The iterations along the lanes of a block that is turned by jamming what crosses them."""

SHARED = 64
"""The widest tile of those that threads share."""

_SUM_UP, _USUAL_TRIPS = 8.0, 64
"""Cycles in which lanes are added up at the end of a loop, and the iterations of one of which nothing is known."""

_UNKNOWN = 16
"""Iterations of a loop that is not cut, where nothing is known of it."""

MOST_COMPARED = 4
"""Members of which all tiles are compared; those of more are grown."""


@dataclass(frozen=True, slots=True)
class BandPlan:
    """The plan for a band: `lanes_member` innermost, a loop for each of `groups`; `jam` factors and `tiles` by member.

    A tile of 0 leaves the member whole. `cost` is an estimate of cycles per instance, for comparing plans.
    """

    lanes_member: int
    groups: tuple[StatementGroup, ...]
    jam: tuple[tuple[int, int], ...]
    tiles: tuple[int, ...]
    cost: float

    @property
    def has_lanes(self) -> bool:
        """Whether any innermost loop runs in lanes."""
        return any(g.lanes != "serial" for g in self.groups)


def choose(band: Band, target: Target, arrays: dict[str, Array], ordered: bool = False) -> BandPlan:
    """The plan for `band` on `target`. `ordered`: sums of floats keep their order, so that some may be made at a time
    which lie in rows."""
    candidates = {*band.movers, len(band.members) - 1}
    plans = [_lane_cost(band, m, apart, target, arrays) for apart in _ways(band) for m in sorted(candidates)]
    cost, member, groups = min(plans, key=lambda x: x[0])
    rows = _choose_rows(band, plans) if ordered else None
    if rows is not None and rows[0] < cost:
        cost, member, groups, jam = rows
    else:
        jam = _choose_jam(band, member, groups)
    crossing = None if jam else _choose_crossing(band, member, groups, arrays)
    if crossing is not None:
        return BandPlan(member, groups, ((crossing, JAM_ONE[0]),), _long_blocks(band, member, crossing), cost)
    # Blocks of a lone loop without lanes are what the loop is, and hide it from compilers.
    is_lone = len(band.members) == 1 and all(x.lanes == "serial" for x in groups)
    tiles = _choose_tiles(band, member, jam, target, arrays) if band.tileable and not is_lone else ()
    return BandPlan(member, groups, jam, tiles or tuple(0 for _ in band.members), cost)


def choose_groups(band: Band, member: int, target: Target, arrays: dict[str, Array]) -> tuple[StatementGroup, ...]:
    """The groups of statements with a loop each where `member` is innermost: those that cost the least."""
    return min((_lane_cost(band, member, x, target, arrays) for x in _ways(band)), key=lambda x: x[0])[2]


def _ways(band: Band) -> tuple[bool, ...]:
    """Whether statements have loops apart: what is to be tried."""
    return (False, True) if len(band.statements) > 1 else (False,)


def footprint(band: Band, tiles: tuple[int, ...], target: Target, arrays: dict[str, Array]) -> int:
    """The bytes of the lines of the first cache that one tile of a band touches."""
    return _bytes(_groups([m for m in band.motions if m.access.index]), tiles, target.cache(1).line, arrays)


def share_out(choice: BandPlan) -> BandPlan:
    """The plan for several threads, which share the outermost loop over tiles: shares are as even as these are many."""
    first = next((m for m, tile in enumerate(choice.tiles) if tile), None)
    tiles = tuple(min(x, SHARED) if m == first else x for m, x in enumerate(choice.tiles))
    return replace(choice, tiles=tiles)


def _element(motion: Motion, arrays: dict[str, Array]) -> Type:
    return arrays[motion.access.array].type


def _dominant_motions(band: Band) -> list[Motion]:
    dominant = band.dominant
    return [m for m in band.motions if m.statement in dominant]


def _lane_cost(
    band: Band, member: int, apart: bool, target: Target, arrays: dict[str, Array]
) -> tuple[float, int, tuple[StatementGroup, ...]]:
    """Cost per instance with `member` innermost; later members win ties, since they were innermost before."""
    groups = band.lanes(member, apart)
    kind = {name: g.lanes for g in groups for name in g.names}
    home = {name: g for g in groups for name in g.names}
    motions = _dominant_motions(band)
    if not motions:
        return (float(len(band.members) - member), member, groups)
    held = {(home[x.statement.name], x.access.array, x.steps[member]): x.statement for x in reversed(motions)}
    total = 0.0
    trips = max(1, band.extents[member] or _USUAL_TRIPS)
    for motion in motions:
        width = _filled(target.lanes(_element(motion, arrays)), band.extents[member])
        cost = _access_cost(stride_kind(motion.steps[member]), width)
        if kind[motion.statement.name] == "serial":
            cost = 0.5 * cost + 1.5
        elif kind[motion.statement.name] == "reduction":
            cost = 1.05 * cost + _SUM_UP / trips / len(motions)
            # What another statement of a lone loop has in a register is not loaded once more.
            first = held[home[motion.statement.name], motion.access.array, motion.steps[member]]
            cost = 0.0 if band.is_lone and first is not motion.statement else cost
        total += cost
    preference = 0.001 * (len(band.members) - 1 - member) + 0.0005 * len(groups)
    return (total / len(motions) + preference, member, groups)


def _filled(width: int, extent: int | None) -> int:
    """The lanes of a vector that a member fills."""
    return width if extent is None else max(1, min(width, extent))


def _access_cost(kind: StrideKind, width: int) -> float:
    """Cycles for one element of an access in a loop over lanes, `width` of which make a vector."""
    match kind:
        case "none":
            return 0.2 / width
        case "unit":
            return 1.0 / width
        case "reverse":
            return 1.5 / width
        case "near":
            return min(1.0, 3.0 / width)
        case "far":
            return 1.2
        case _:
            assert_never(kind)


def _choose_jam(band: Band, member: int, groups: tuple[StatementGroup, ...]) -> tuple[tuple[int, int], ...]:
    """Members to unroll inside the lanes' loop, with factors: those along which most vectors stay."""
    kind = {name: g.lanes for g in groups for name in g.names}
    if any(kind[s.name] == "serial" for s in band.dominant) or band.irregular:
        return ()
    motions = _dominant_motions(band)
    vectors = [x for x in motions if any(x.steps[member])]
    staying = {m: {n for n, x in enumerate(vectors) if not any(x.steps[m])} for m in band.movers}
    useful = [
        m for m, stay in staying.items()
        if m != member and len(stay) * 4 >= len(motions) and _holds(band.extents[m], JAM_TWO[0])
    ]  # fmt: skip
    if not band.permutable:
        return _chain_jam(band, useful)
    if len(useful) < 2:
        return tuple(zip(useful, JAM_ONE, strict=False))

    def left(pair: Iterable[int]) -> tuple[float, int]:
        """The part of the vectors' accesses that is left; then how many are windows, which tend to be short."""
        factors = dict(zip(pair, JAM_TWO, strict=True))
        shares = (prod(f for m, f in factors.items() if n in staying[m]) for n in range(len(vectors)))
        return sum(1 / x for x in shares), sum(_is_offset(m, motions) for m in factors)

    pairs = sorted(combinations(useful, 2), reverse=True)
    return tuple(zip(min(pairs, key=left), JAM_TWO, strict=True))


def _choose_rows(
    band: Band, plans: Sequence[tuple[float, int, tuple[StatementGroup, ...]]]
) -> tuple[float, int, tuple[StatementGroup, ...], tuple[tuple[int, int], ...]] | None:
    """The best of the plans whose innermost loop is a sum in its order, with some sums at a time, whose rows wait for
    nothing of each other: processors add up several in the time of one. None where lanes are neighbours in memory."""
    if any(_is_smooth(band, member, groups) for _, member, groups in plans):
        return None
    (jam,) = JAM_ONE
    rows = max((m for m in band.free if _holds(band.extents[m], jam)), default=None)
    if rows is None or band.irregular:
        return None
    names = {x.name for x in band.statements}
    found = [
        (cost / jam, member, groups, ((rows, jam),)) for cost, member, groups in plans
        if len(groups) == 1 and groups[0].lanes == "serial" and member != rows and band.targets_stay(member, names)
    ]  # fmt: skip
    return min(found, key=lambda x: x[0], default=None)


def _is_smooth(band: Band, member: int, groups: tuple[StatementGroup, ...]) -> bool:
    """Whether lanes along a member carry no dependence, and all that they touch stays or lies side by side."""
    kinds = {stride_kind(x.steps[member]) for x in _dominant_motions(band)}
    return all(x.lanes == "parallel" for x in groups) and kinds <= {"none", "unit"}


def _chain_jam(band: Band, useful: list[int]) -> tuple[tuple[int, int], ...]:
    """Free members, and a short loop at the end of a chain, whose sums are loaded and stored once for all of it."""
    last = len(band.members) - 1
    steps = band.extents[last]
    if not useful or last in band.free or steps is None or not 1 < steps <= LONGEST_JAM:
        return tuple(zip(useful, JAM_ONE, strict=False))
    return (useful[0], JAM_ONE[0] if steps <= JAM_TWO[0] else JAM_TWO[0]), (last, steps)


def _holds(extent: int | None, size: int) -> bool:
    return extent is None or extent >= size


def _is_offset(member: int, motions: list[Motion]) -> bool:
    """Whether a member moves an access along a subscript in which it is added to another one."""
    return any(
        x.steps[member][d] and any(step[d] for m, step in enumerate(x.steps) if m != member)
        for x in motions for d in range(len(x.steps[member]))
    )  # fmt: skip


def tile_candidates(members: int, lanes_member: int, width: int) -> list[tuple[int, ...]]:
    """Tile sizes to compare: powers of two, the lanes' member in whole vectors."""
    return list(product(*(_sizes(m == lanes_member, width) for m in range(members))))


def _sizes(lanes: bool, width: int) -> tuple[int, ...]:
    return tuple(width << n for n in range(7)) if lanes else (4, 8, 16, 32, 64, 128)


def room_for_sweeps(target: Target) -> int:
    """The bytes of the second cache that what is swept over may fill."""
    return target.cache(2).share // 4 * 3


def _choose_tiles(
    band: Band, member: int, jam: tuple[tuple[int, int], ...], target: Target, arrays: dict[str, Array]
) -> tuple[int, ...]:
    """The tile with the least lines loaded per instance whose data fit in half of the second cache; in more of it
    where nothing is kept in registers: what sweeps leave behind is used again sooner than all of a tile is."""
    motions = [m for m in band.motions if m.access.index]
    if len(band.members) < 2 or not motions:
        return ()
    width = max(target.lanes(_element(m, arrays)) for m in motions)
    room = target.cache(2).share // 2 if jam else room_for_sweeps(target)
    groups = _groups(motions)
    crossed = _crossed_members(motions, member, arrays)
    if crossed:
        return tuple(CROSSING if m in crossed else 1 for m in range(len(band.members)))
    whole, members, tileable = _whole_members(band, motions, member), range(len(band.members)), band.tileable
    if _is_streamed(groups, member):
        length = _row_length(groups, member, width, target, arrays)
        return tuple(length if m == member and not _fits(x, length) else 0 for m, x in enumerate(band.extents))

    def score(tiles: tuple[int, ...]) -> float:
        touched = _bytes(groups, tiles, target.cache(1).line, arrays)
        return inf if touched > room else touched / prod(tiles) * (1.0 + 16.0 * width / tiles[member])

    if len(band.members) <= MOST_COMPARED and band.permutable:
        every = tile_candidates(len(band.members), member, width)
        tiles = _best((_within(x, band.extents) for x in every), score)
    else:
        smallest = {member: width, **dict(jam), **{m: _UNKNOWN for m in members if m not in tileable}}
        start = tuple(smallest.get(m, 1) for m in members)
        largest = tuple(_sizes(m == member, width)[-1] if m in tileable else _UNKNOWN for m in members)
        tiles = _best(_growing(_within(start, band.extents), _within(largest, band.extents), score), score)
    whole |= {m for m in members if m not in tileable}
    return tuple(0 if m in whole or t == band.extents[m] else t for m, t in enumerate(tiles))


def _is_streamed(groups: list[Motion], member: int) -> bool:
    """Whether two members go through matrices, of which nothing is used again, along their rows, and besides these only
    through vectors."""
    matrices = [x for x in groups if all(any(step) for step in x.steps)]
    return (
        0 < len(matrices) < len(groups) and all(len(x.steps) == 2 for x in groups)
        and all(stride_kind(x.steps[member]) == "unit" for x in matrices)
        and all(len(x.steps[0]) == 1 or x in matrices for x in groups)
    )  # fmt: skip


def _row_length(
    groups: list[Motion], member: int, width: int, target: Target, arrays: dict[str, Array]
) -> int:
    """As much of a row as parts of vectors fit in the first cache: memory is fastest where it is read on and on."""
    size = sum(_element(x, arrays).size for x in groups if any(x.steps[member]) and not all(map(any, x.steps)))
    count = target.cache(1).share // 4 * 3 // max(1, size)
    return max(width, 1 << count.bit_length() - 1)


def _fits(extent: int | None, length: int) -> bool:
    return extent is not None and extent <= length


def _within(tiles: tuple[int, ...], extents: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(t if e is None else min(t, max(e, 1)) for t, e in zip(tiles, extents, strict=True))


def _best(candidates: Iterable[tuple[int, ...]], score: Callable[[tuple[int, ...]], float]) -> tuple[int, ...]:
    """The first candidate that is better by a fiftieth than those before; () where none fits."""
    best: tuple[int, ...] = ()
    least = inf
    for tiles in candidates:
        found = score(tiles)
        if found < least * 0.98:
            best, least = tiles, found
    return best


def _growing(
    tiles: tuple[int, ...], largest: tuple[int, ...], score: Callable[[tuple[int, ...]], float]
) -> Iterator[tuple[int, ...]]:
    """Tiles that fit, each the one before with the member doubled for which that is best."""
    while score(tiles) < inf:
        yield tiles
        more = (
            tuple(min(2 * t, x) if m == d else t for m, (t, x) in enumerate(zip(tiles, largest, strict=True)))
            for d in range(len(tiles))
        )
        tiles = min((x for x in more if x != tiles), key=score, default=())
        if not tiles:
            return


def _crossed_members(motions: list[Motion], member: int, arrays: dict[str, Array]) -> set[int]:
    """The lanes' member and those that cross it, where the lines that are crossed may lie in few sets of a cache, so
    that few of them stay there."""
    crossing = _crossing(motions, member, lambda x: _may_collide(x, member, arrays))
    return crossing | {member} if crossing else set()


def _crossing(motions: list[Motion], member: int, counts: Callable[[Motion], bool]) -> set[int]:
    """The members that cross the lanes', where nothing is used twice: an access that `counts` goes along the lines that
    it touches by one of them, and from line to line by the lanes' member, as a transposition does."""
    if any(not any(step) for x in motions for step in x.steps):
        return set()
    return {
        m for x in motions if stride_kind(x.steps[member]) == "far" and counts(x)
        for m, step in enumerate(x.steps) if stride_kind(step) in ("unit", "reverse")
    }  # fmt: skip


def _choose_crossing(
    band: Band, member: int, groups: tuple[StatementGroup, ...], arrays: dict[str, Array]
) -> int | None:
    """The one member that crosses the lanes', if it may be jammed: so all of a line is used while it is in registers,
    however many lines lie in one set of a cache. What is stored must not be read elsewhere in a strip."""
    kind = {name: g.lanes for g in groups for name in g.names}
    motions = [x for x in band.motions if x.access.index]
    stored = {(x.write.array, x.write.index) for x in band.statements}
    apart = all(y.array != array or y.index == at for x in band.statements for y in x.accesses for array, at in stored)
    if band.irregular or not apart or any(kind[x.name] != "parallel" for x in band.statements):
        return None
    found = _crossing(motions, member, lambda x: True) - {member}
    (crossing,) = found if len(found) == 1 else (member,)
    fits = crossing in band.free and _holds(band.extents[crossing], JAM_ONE[0])
    return crossing if fits and crossing != member else None


def _long_blocks(band: Band, member: int, crossing: int) -> tuple[int, ...]:
    """Blocks of as many lines as are jammed, each read on for some pages: the others are near when they are used."""
    sizes = {member: LONG, crossing: JAM_ONE[0]}
    tiles = (sizes.get(m, 1) for m in range(len(band.members)))
    return tuple(0 if x is not None and x <= t else t for t, x in zip(tiles, band.extents, strict=True))


def _may_collide(motion: Motion, member: int, arrays: dict[str, Array]) -> bool:
    """Whether an access may go on by a multiple of a quarter of a page, as far as extents are known."""
    array, stride = arrays[motion.access.array], 0
    for step, extent in zip(motion.steps[member], array.shape, strict=True):
        known = 0 if not stride else constant(extent) if extent is not None else None
        if known is None:
            return True
        stride = stride * known + step
    return stride * array.type.size % COLLIDING == 0


def _whole_members(band: Band, motions: list[Motion], lanes_member: int) -> set[int]:
    """Members that no tile helps: every access moves along each member, no two accesses meet, and none crosses in one
    loop the lines along which it moves in another (as a transposition does)."""
    reuse = any(not any(x.steps[m]) for x in motions for m in range(len(band.members)))
    shared = len({(x.access.array) for x in motions}) < len({(x.access.array, str(x.access.index)) for x in motions})
    crossing = any(
        stride_kind(x.steps[lanes_member]) == "far" and any(stride_kind(s) in ("unit", "reverse") for s in x.steps)
        for x in motions
    )
    return set() if reuse or shared or crossing else set(range(len(band.members)))


def _groups(motions: list[Motion]) -> list[Motion]:
    """One access for each array and direction of motion; its neighbours share the lines."""
    return list({(m.access.array, m.steps): m for m in motions}.values())


def _bytes(groups: Iterable[Motion], tiles: tuple[int, ...], line: int, arrays: dict[str, Array]) -> int:
    """The bytes of the lines that some accesses touch in a tile."""
    return sum(_lines(g, tiles, line, arrays) for g in groups) * line


def _lines(motion: Motion, tiles: tuple[int, ...], line: int, arrays: dict[str, Array]) -> int:
    """Cache lines that one access touches in a tile."""
    subscripts = len(motion.steps[0]) if motion.steps else 0
    extents = [1 + sum(abs(motion.steps[m][d]) * (t - 1) for m, t in enumerate(tiles)) for d in range(subscripts)]
    if not extents:
        return 1
    last = extents[-1] * _element(motion, arrays).size
    return prod(extents[:-1]) * (1 + last // line)

