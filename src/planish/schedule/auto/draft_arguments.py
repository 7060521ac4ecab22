"""What may be tuned of an automatic schedule, and the draft of one at a point.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import draft_versions, prepare
>>> from planish.target.load import load_target
>>> loops = "for i in 0 .. n { for j in 0 .. n { y[i] += A[i, j] * x[j] } }"
>>> prepared = prepare(parse_kernel("kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { %s }" % loops))
>>> target = load_target("x86-avx2")
>>> draft = draft_versions(prepared, target, reassociate=True)[0]
>>> [x.name for x in list_draft_arguments(prepared, draft, target).arguments]
['tile.1.1', 'tile.1.2', 'jam.1.1', 'jam.1.2', 'lanes.1']
>>> draft_at(prepared, draft, Point.of({"tile.1.1": 32}), target).bands[0][2].tiles
(32, 2048)
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.nest import Array
from planish.schedule.arguments import Point, TuningArguments
from planish.schedule.auto.plan import Prepared, ScheduleDraft
from planish.schedule.auto.tiling.band_arguments import list_band_arguments, plan_at, tuned_bands
from planish.target.machine import Target


def list_draft_arguments(prepared: Prepared, draft: ScheduleDraft, target: Target) -> TuningArguments:
    """The arguments of the deepest bands of a draft, with what is drafted as their defaults."""
    return list_band_arguments([(band, plan) for _, band, plan in draft.bands], target, _arrays(prepared))


def draft_at(prepared: Prepared, draft: ScheduleDraft, point: Point, target: Target) -> ScheduleDraft:
    """The draft with its bands as a point has them; itself where the point is as it is drafted. Whether it is legal is
    found out when it is lowered: plans that break a dependence give way to simpler ones."""
    arrays, bands = _arrays(prepared), [*draft.bands]
    for place in tuned_bands([(band, plan) for _, band, plan in draft.bands]):
        path, band, plan = bands[place]
        bands[place] = (path, band, plan_at(place + 1, band, plan, point, target, arrays))
    return draft if tuple(bands) == draft.bands else replace(draft, bands=tuple(bands), shaped=None)


def _arrays(prepared: Prepared) -> dict[str, Array]:
    scop = prepared.scop
    return {x.name: x for x in (*scop.kernel.arrays, *scop.locals)}
