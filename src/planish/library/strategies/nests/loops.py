"""Automatic schedules: statements fused or distributed by a policy, tiled, jammed and vectorised by the cost model.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
>>> [(x.policy.name, LOOPS.cost_of(cx, x) >= LOOPS.least(cx)) for x in LOOPS.match(cx)]
[('maxfuse', True), ('distributed', True)]
"""

from __future__ import annotations

from planish.library.strategy import LOOPS as BEST
from planish.library.strategy import Context, Made, Strategy, cost_of_cycles, share
from planish.schedule.arguments import TuningArguments
from planish.schedule.auto.draft_arguments import draft_at, list_draft_arguments
from planish.schedule.auto.plan import ScheduleDraft, draft_versions, lower_draft
from planish.schedule.auto.policies import POLICIES, POLICY_NAMES


def _draft(cx: Context) -> tuple[ScheduleDraft, ...]:
    asked = cx.wanted.split(", ")
    policies = tuple(x for x in POLICIES if x.name in asked) or POLICIES
    return draft_versions(
        cx.prepared, cx.target, reassociate=cx.reassociate, threads=cx.threads, policies=policies, sizes=cx.sizes
    )  # fmt: skip


def _lower(cx: Context, draft: ScheduleDraft) -> Made:
    draft = draft_at(cx.prepared, draft, cx.point, cx.target)
    made = lower_draft(cx.prepared, draft, cx.threads, cx.reassociate)
    # What gives way to a plainer plan may be what another policy is.
    known = {str(x.schedule) for x in cx.candidates if x.name in POLICY_NAMES}
    return () if made is None or str(made.schedule) in known else (made,)


def _cost(cx: Context, draft: ScheduleDraft) -> float:
    return cost_of_cycles(draft.cost)


def _arguments(cx: Context, draft: ScheduleDraft, version: str) -> TuningArguments:
    return list_draft_arguments(cx.prepared, draft, cx.target)


LOOPS = Strategy(
    "loops", "automatic schedules: fusion, tiling, register blocking and vectorisation by the cost model",
    _draft, _lower, share(BEST), _cost, _arguments, variants={x.name: x.describe for x in POLICIES},
)  # fmt: skip
