"""One iteration a thread, or a few: independent loops in blocks and threads, in the order that maps most of them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> cx = Context.of(parse_kernel(text), load_target("generic"))
>>> [x.name for x in DEVICE_THREADS.apply(cx, DEVICE_THREADS.match(cx)[0])]
['device-threads, original']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.gpu.elements import coarsen_threads
from planish.gpu.localise import localise
from planish.gpu.mapping import Mapped, Technique, map_kernel
from planish.ir.nest import Assign, Block, For, Kernel, Reduce
from planish.ir.traverse import blocks_of
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.auto.plan import Version, lower_schedule
from planish.schedule.auto.policies import POLICIES, Policy, compute_schedule

TRIED = ("original", "distributed", "nofuse", "interchange")
"""The policies that order statements and loops for devices."""


def match_orders(cx: Context) -> tuple[Policy, ...]:
    """The policies whose orders may have independent loops."""
    return tuple(x for name in TRIED for x in POLICIES if x.name == name)


def make_mapped(cx: Context, policy: Policy, name: str, techniques: tuple[Technique, ...] = ()) -> Iterator[Version]:
    """The version of a policy whose nests are mapped; none where a statement that runs most often would run in one
    thread. Its cost ranks the mapped nests: what runs in one thread, single loops, launches. Policies often give the
    same order, which is mapped once."""
    prepared = cx.prepared
    schedule = compute_schedule(prepared.scop, prepared.dependences, prepared.dependences.order, policy)
    if schedule is None:
        return
    order = Remark(f"schedule-{policy.name}", "done", policy.describe, cx.kernel.span, brief="")
    alike = (x for x in cx.nests if x.name.startswith(f"{name}, ") and x.schedule.plain_is_equal(schedule))
    if (same := next(alike, None)) is not None:
        yield replace(same, name=f"{name}, {policy.name}", remarks=(order, *same.remarks[1:]))
        return
    kernel = localise(lower_schedule(prepared, schedule, {}))
    mapped = map_kernel(kernel, cx.fp, techniques, (coarsen_threads,))
    if techniques and not any(x.special for x in mapped.nests):
        return
    if mapped.nests and runs_deepest(mapped.kernel):
        remarks = (order, *mapped.remarks)
        cost = cost_of_mapped(mapped)
        yield Version(f"{name}, {policy.name}", schedule, mapped.kernel, remarks, cost, bands=mapped.chosen)


def cost_of_mapped(mapped: Mapped) -> float:
    """The rank of a mapped kernel as a number."""
    serial, single, launches = mapped.score
    return serial * 100.0 + single + launches / 100.0 - 0.5 * any(x.special for x in mapped.nests)


def runs_deepest(kernel: Kernel) -> bool:
    """Whether the statements in most loops all run in mapped ones."""
    depths: list[tuple[int, bool]] = []

    def visit(block: Block, depth: int, bound: bool) -> None:
        for stmt in block.body:
            if isinstance(stmt, Assign | Reduce):
                depths.append((depth, bound))
            mapped = isinstance(stmt, For) and bool(stmt.facts.axis)
            # Loops over threads are parts of loops over blocks.
            deeper = isinstance(stmt, For) and not stmt.facts.axis.startswith("thread")
            for part in blocks_of(stmt):
                visit(part, depth + deeper, bound or mapped)

    visit(kernel.body, 0, False)
    most = max((depth for depth, _ in depths), default=0)
    return all(bound for depth, bound in depths if depth == most)


def _apply(cx: Context, policy: Policy) -> Made:
    return make_mapped(cx, policy, "device-threads")


DEVICE_THREADS = Strategy(
    "device-threads", "one iteration a thread, or a few: independent loops become blocks and threads",
    match_orders, _apply, share(1.0),
)  # fmt: skip
