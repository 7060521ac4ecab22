"""What may be tuned of a band of loops: the size of each tile, the factor of each jammed loop, the loop with the lanes.

Bands and loops are numbered from 1, as remarks number them: `tile.1.2` is the tile of the second loop of the first
band; 0 leaves a loop whole.

>>> jam_values(4, 2), tile_values(8, 100, 48)
((1, 2), (0, 4, 8, 16, 32, 48, 64))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from planish.ir.nest import Array
from planish.schedule.arguments import Point, TuningArgument, TuningArguments, TuningConstraint, TuningFeature, Value
from planish.schedule.auto.tiling.band import Band
from planish.schedule.auto.tiling.band_features import list_band_features
from planish.schedule.auto.tiling.tile_sizes import BandPlan, choose_groups, footprint
from planish.target.machine import Target

MOST_BANDS = 4
"""Bands of one nest that are tuned, the deepest first: each multiplies the points."""
_JAMS, _TILES = (1, 2, 4, 8), (4, 8, 16, 32, 64, 128)
_VECTORS = (1, 2, 4, 8, 16, 32, 64)
"""Vectors in a tile of the loop with the lanes."""


def jam_values(extent: int | None, default: int) -> tuple[int, ...]:
    """The factors for a loop of so many iterations (None: unknown)."""
    fitting = {x for x in _JAMS if extent is None or x <= extent // 2}
    return tuple(sorted({1, default, *fitting}))


def tile_values(width: int, extent: int | None, default: int) -> tuple[int, ...]:
    """The tiles for a loop of so many iterations, with lanes of `width` elements if it has them."""
    fitting = {x for x in (*_TILES, *(width * x for x in _VECTORS)) if extent is None or x < extent}
    return tuple(sorted({0, default, *fitting}))


def tuned_bands(bands: Sequence[tuple[Band, BandPlan]]) -> tuple[int, ...]:
    """The places of the bands that are tuned: the deepest, in their order."""
    deepest = sorted(range(len(bands)), key=lambda n: (-_depth(bands[n][0]), n))[:MOST_BANDS]
    return tuple(sorted(deepest))


def list_band_arguments(
    bands: Sequence[tuple[Band, BandPlan]], target: Target, arrays: Mapping[str, Array]
) -> TuningArguments:
    """The arguments of the bands of a schedule, with what is planned as their defaults."""
    arguments: list[TuningArgument] = []
    constraints: list[TuningConstraint] = []
    features: list[TuningFeature] = []
    for place in tuned_bands(bands):
        band, plan = bands[place]
        own = _list_own(place + 1, band, plan, target, arrays)
        arguments += own.arguments
        constraints += own.constraints
        names = tuple(x.name for x in own.arguments)
        features += list_band_features(place + 1, band, plan, target, dict(arrays), names) if names else ()
    return TuningArguments(tuple(arguments), tuple(constraints), tuple(features))


def plan_at(
    number: int, band: Band, plan: BandPlan, point: Point, target: Target, arrays: dict[str, Array]
) -> BandPlan:  # fmt: skip
    """The plan of the band of that number at a point; what this does not name is as planned."""
    members, jam = range(len(band.members)), dict(plan.jam)
    lanes = point.get(f"lanes.{number}")
    if lanes is not None and int(lanes) - 1 != plan.lanes_member:
        member = int(lanes) - 1
        plan = replace(plan, lanes_member=member, groups=choose_groups(band, member, target, arrays))
    factors = {m: int(point.get(f"jam.{number}.{m + 1}") or jam.get(m, 1)) for m in members}
    given = [point.get(f"tile.{number}.{m + 1}") for m in members]
    tiles = tuple(plan.tiles[m] if x is None else int(x) for m, x in enumerate(given))
    order = [*jam, *(m for m in members if m not in jam)]
    return replace(plan, jam=tuple((m, factors[m]) for m in order if factors[m] > 1), tiles=tiles)


def _list_own(
    number: int, band: Band, plan: BandPlan, target: Target, arrays: Mapping[str, Array]
) -> TuningArguments:  # fmt: skip
    members, jam = range(len(band.members)), dict(plan.jam)
    width = max((target.lanes(arrays[x.access.array].type) for x in band.motions), default=1)
    arguments = []
    if len(members) > 1:
        arguments += [
            TuningArgument(
                f"tile.{number}.{m + 1}", tile_values(width, band.extents[m], plan.tiles[m]), plan.tiles[m],
                f"iterations of loop {m + 1} in a tile of band {number}",
            )
            for m in band.tileable
        ]  # fmt: skip
    if not band.irregular:
        arguments += [
            TuningArgument(
                f"jam.{number}.{m + 1}", jam_values(band.extents[m], jam.get(m, 1)), jam.get(m, 1),
                f"iterations of loop {m + 1} of band {number} side by side in registers",
            )
            for m in (band.movers if len(members) > 1 else ())
        ]  # fmt: skip
    lanes = tuple(sorted({plan.lanes_member, *band.movers, len(members) - 1}))
    if len(lanes) > 1:
        note = f"the loop of band {number} that is innermost, in lanes where it can be"
        arguments.append(TuningArgument(f"lanes.{number}", tuple(x + 1 for x in lanes), plan.lanes_member + 1, note))
    most = max(target.vector_registers, prod(factor for _, factor in plan.jam))
    jams = tuple(x.name for x in arguments if x.name.startswith("jam."))
    names = (*jams, *(x.name for x in arguments if x.name.startswith("lanes.")))
    constraints = []
    if jams:
        constraints += [
            TuningConstraint(jams, _within(most), f"at most {most} copies"),
            TuningConstraint(names, _lanes_apart(number, plan), "the loop with the lanes is not jammed"),
        ]
    tiles = tuple(x.name for x in arguments if x.name.startswith("tile."))
    if tiles:
        room = target.caches[-1].bytes
        fits = _fits(number, band, plan, target, dict(arrays), room)
        constraints.append(TuningConstraint(tiles, fits, f"a tile's data fit in {room >> 10} KiB"))
    return TuningArguments(tuple(x for x in arguments if len(x.values) > 1), tuple(constraints))


def _within(registers: int) -> Callable[[Mapping[str, Value]], bool]:
    """Whether copies fit in registers."""
    return lambda values: prod(int(x) for x in values.values()) <= registers


def _lanes_apart(number: int, plan: BandPlan) -> Callable[[Mapping[str, Value]], bool]:
    """Whether the loop with the lanes is not jammed, or is the one that the plan jams."""
    default = plan.lanes_member + 1

    def holds(values: Mapping[str, Value]) -> bool:
        lanes = int(values.get(f"lanes.{number}", default))
        planned = dict(plan.jam).get(lanes - 1, 1) if lanes == default else 1
        return int(values.get(f"jam.{number}.{lanes}", 1)) in (1, planned)

    return holds


def _fits(
    number: int, band: Band, plan: BandPlan, target: Target, arrays: dict[str, Array], room: int
) -> Callable[[Mapping[str, Value]], bool]:  # fmt: skip
    """Whether what a tile touches fits in the last cache; what is planned does. Of a loop that is left whole without a
    known end nothing is asked."""

    def holds(values: Mapping[str, Value]) -> bool:
        tiles = tuple(int(values.get(f"tile.{number}.{m + 1}", x)) for m, x in enumerate(plan.tiles))
        if tiles == plan.tiles:
            return True
        whole = tuple(t or band.extents[m] for m, t in enumerate(tiles))
        known = tuple(x for x in whole if x is not None)
        return len(known) < len(whole) or footprint(band, known, target, arrays) <= room

    return holds


def _depth(band: Band) -> int:
    return max((len(x.iterators) for x in band.statements), default=0)
