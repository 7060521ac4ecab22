"""What a model of tuning looks at besides the arguments of a band: bytes of a tile by cache, loads, copies, registers.

The features are those of analytical models (working sets, as in Wolf and Lam, "A Data Locality Optimizing Algorithm",
1991; loads that unroll-and-jam saves, as in Callahan, Cocke and Kennedy, "Estimating Interlock and Improving Balance
for Pipelined Architectures", 1988), each on a scale of powers of two. None of them asks the polyhedral library.

>>> clipped(8.0, 1.0), clipped(1e9, 1.0), clipped(1.0, 1e9)
(3.0, 4.0, -4.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2, prod

from planish.ir.nest import Array
from planish.schedule.arguments import TuningFeature, Value
from planish.schedule.auto.tiling.band import Band
from planish.schedule.auto.tiling.strides import stride_kind
from planish.schedule.auto.tiling.tile_sizes import BandPlan, footprint
from planish.target.machine import Target

USUAL = 1000
"""Iterations of a loop of which nothing is known."""
FARTHEST = 4.0
"""Powers of two behind which it does not matter how much larger something is."""


def clipped(value: float, unit: float) -> float:
    """How many powers of two a value is above a unit, within bounds."""
    return max(-FARTHEST, min(FARTHEST, log2(max(value, 1e-9) / unit)))


def list_band_features(
    number: int, band: Band, plan: BandPlan, target: Target, arrays: dict[str, Array], names: tuple[str, ...]
) -> tuple[TuningFeature, ...]:  # fmt: skip
    """The features of the band of that number, whose arguments have some `names`."""
    members = range(len(band.members))
    planned = dict(plan.jam)
    extents = [x or USUAL for x in band.extents]

    def jam(values: Mapping[str, Value], m: int) -> int:
        return int(values.get(f"jam.{number}.{m + 1}", planned.get(m, 1)))

    def tiles(values: Mapping[str, Value]) -> tuple[int, ...]:
        given = (int(values.get(f"tile.{number}.{m + 1}", plan.tiles[m])) for m in members)
        return tuple(min(t or extent, extent) for t, extent in zip(given, extents, strict=True))

    def lanes(values: Mapping[str, Value]) -> int:
        return int(values.get(f"lanes.{number}", plan.lanes_member + 1)) - 1

    def room(level: int, size: int) -> Callable[[Mapping[str, Value]], float]:
        return lambda values: clipped(footprint(band, tiles(values), target, arrays), size)

    def lines(values: Mapping[str, Value]) -> float:
        return clipped(footprint(band, tiles(values), target, arrays) / prod(tiles(values)), 1.0)

    def loads(values: Mapping[str, Value]) -> float:
        """Accesses for each instance: one that stays along a jammed loop is made once for all its copies."""
        shares = (1 / prod(jam(values, m) for m in members if not any(x.steps[m])) for x in band.motions)
        return clipped(sum(shares), 1.0)

    def registers(values: Mapping[str, Value]) -> float:
        """Vectors that live at a time beside the registers that there are."""
        inside = lanes(values)
        kept = {(x.access.array, str(x.access.index)): x for x in band.motions}.values()
        live = sum(prod(jam(values, m) for m in members if m != inside and any(x.steps[m])) for x in kept)
        return clipped(live, target.vector_registers)

    def strides(values: Mapping[str, Value]) -> float:
        """The part of the accesses that the lanes neither share nor find side by side."""
        kinds = [stride_kind(x.steps[lanes(values)]) for x in band.motions]
        return sum(x in ("near", "far") for x in kinds) / max(1, len(kinds))

    made: list[tuple[str, Callable[[Mapping[str, Value]], float]]] = [
        *((f"level{x.level}", room(x.level, x.share)) for x in target.caches),
        ("lines", lines), ("loads", loads), ("registers", registers), ("strides", strides),
        ("trips", lambda values: clipped(tiles(values)[lanes(values)], 64)),
    ]  # fmt: skip
    return tuple(TuningFeature(f"{name}.{number}", names, of) for name, of in made)
