"""Repeated sweeps in time tiles: a launch makes several sweeps, whose rim neighbouring blocks make as well.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> loops = "for i in 1 .. n - 1 {{ for j in 1 .. n - 1 {{ {0}[i, j] = {1}[i - 1, j] + {1}[i + 1, j - 1] }} }}"
>>> there, back = loops.format("B", "A"), loops.format("A", "B")
>>> text = f"kernel k(n, s; A: f32[n, n], B: f32[n, n]) {{ for t in 0 .. s {{ {there} {back} }} }}"
>>> cx = Context.of(parse_kernel(text), load_target("generic"))
>>> [x.name for x in DEVICE_TIME_TILES.apply(cx, DEVICE_TIME_TILES.match(cx)[0])]
['device-time-tiles, original']
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.gpu.elements import coarsen_threads
from planish.gpu.localise import localise
from planish.gpu.mapping import map_kernel
from planish.gpu.spmd import UnmappedError, make_launches
from planish.gpu.sweeps import NotSweepsError, find_sweeps, looks_like_sweeps
from planish.gpu.time_tiles import TimeTiles, choose_plan, make_time_tiles
from planish.ir.expr import index
from planish.ir.nest import Block, For, Kernel, Stmt
from planish.ir.traverse import map_block, used_names, walk
from planish.library.strategies.devices.threads import cost_of_mapped, match_orders, runs_deepest
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.auto.plan import Version, lower_schedule
from planish.schedule.auto.policies import Policy, compute_schedule
from planish.schedule.nodes import label_kernel, put_in_place


def _match(cx: Context) -> tuple[Policy, ...]:
    """The order of the source, where it has a loop over sweeps."""
    own = [x for x in match_orders(cx) if x.name in ("original", "distributed")]
    return tuple(own) if any(isinstance(x, For) and looks_like_sweeps(x) for x in walk(cx.kernel.body)) else ()


def _apply(cx: Context, policy: Policy) -> Made:
    prepared = cx.prepared
    schedule = compute_schedule(prepared.scop, prepared.dependences, prepared.dependences.order, policy)
    if schedule is None:
        return
    kernel = label_kernel(localise(lower_schedule(prepared, schedule, {})))
    taken, made, remarks = set(used_names(kernel)), list[TimeTiles](), list[Remark]()
    body = kernel.body
    for loop in [x for x in walk(body) if isinstance(x, For) and looks_like_sweeps(x)]:
        try:
            found = find_sweeps(loop)
        except NotSweepsError as error:
            remarks.append(Remark("time-tiles", "refused", f"`{loop.var}` in time tiles: {error}", loop.span))
            continue
        plan = choose_plan(found)
        if plan is None:
            told = f"`{loop.var}` in time tiles: no shape of blocks is expected to be faster than one sweep a launch"
            remarks.append(Remark("time-tiles", "refused", told, loop.span))
            continue
        made.append(tiles := make_time_tiles(found, plan, taken))
        body = put_in_place(body, loop.label, (replace(loop, lower=index(tiles.begin)),))
        remarks.append(Remark("time-tiles", "done", tiles.told, loop.span))
    yield from remarks if not made else ()
    if not made:
        return
    begins = tuple(x.begin for x in made)
    mapped = map_kernel(replace(kernel, sizes=(*kernel.sizes, *begins), body=body), cx.fp, (), (coarsen_threads,))
    if not mapped.nests or not runs_deepest(mapped.kernel):
        return
    try:
        launched = make_launches(mapped.kernel)
    except UnmappedError as error:
        yield Remark("time-tiles", "refused", f"the steps that are left: {error.reason}", error.span)
        return
    whole = replace(launched, sizes=kernel.sizes, body=_with_tiles(launched, made))
    order = Remark(f"schedule-{policy.name}", "done", policy.describe, cx.kernel.span, brief="")
    name = f"device-time-tiles, {policy.name}"
    every = (order, *mapped.remarks, *remarks)
    yield Version(name, schedule, whole, every, cost_of_mapped(mapped) - 1.0, bands=mapped.chosen)


def _with_tiles(kernel: Kernel, made: list[TimeTiles]) -> Block:
    """The launches of tiles before the loops that they leave the rest to."""
    before = {index(x.begin): x.before for x in made}
    rests = [x.lower for x in walk(kernel.body) if isinstance(x, For) and x.lower in before]
    # Tiles without their loop would be lost, and with two made twice.
    assert len(rests) == len(made) == len(set(rests)), "each loop is left as one that begins behind its tiles"

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        return (*before[stmt.lower], stmt) if isinstance(stmt, For) and stmt.lower in before else stmt

    return map_block(visit, kernel.body)


DEVICE_TIME_TILES = Strategy(
    "device-time-tiles", "repeated sweeps in overlapped time tiles, streamed along the first dimension",
    _match, _apply, share(0.4),
)  # fmt: skip
