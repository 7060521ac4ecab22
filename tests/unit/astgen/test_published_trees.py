"""The schedule trees of isl's own tests, where they are at hand: the nests run what is scheduled, in order.

They lie beside the repository and are not part of it; without them these tests are skipped.

"""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from planish.astgen.bounds import UnboundedError
from planish.astgen.generate import generate
from planish.astgen.verify import compare_traces, list_instances, record, trace_nest
from planish.poly.affine import source_name
from planish.poly.budget import budget
from planish.poly.listing import list_sets

FOLDER = Path(__file__).parents[4] / "shared" / "anchors" / "isl-codegen"
TREES = sorted(FOLDER.rglob("*.st"))
LIMIT = 3_000_000
MOST = 2_500
"""Instances that are listed at most."""

PARAM = isl.dim_type.param

UNBOUNDED = frozenset({"infinite2.st"})
LONG = frozenset({"correlation.st"})
"""Its loops go through the whole range of an int."""


def _allowed(node: isl.ScheduleNode, space: isl.Space) -> isl.Set:
    """What the context nodes at the top say about the parameters."""
    out = isl.Set.universe(space.params())
    kind: object = node.get_type()
    if kind == isl.schedule_node_type.context and node.get_schedule_depth() == 0:
        out = out.intersect(node.context_get_context().params())
    for i in range(node.n_children()):
        out = out.intersect(_allowed(node.get_child(i), space))
    return out


def _pick(allowed: isl.Set, low: int, high: int) -> dict[str, int] | None:
    names = [str(allowed.get_dim_name(PARAM, i)) for i in range(allowed.dim(PARAM))]
    for i in range(len(names)):
        allowed = allowed.lower_bound_val(PARAM, i, isl.Val(low)).upper_bound_val(PARAM, i, isl.Val(high))
    if allowed.is_empty():
        return None
    point = allowed.sample_point()
    return {n: int(point.get_coordinate_val(PARAM, i).to_python()) for i, n in enumerate(names)}


def _count(domain: isl.UnionSet, sizes: dict[str, int]) -> int:
    """How many instances there are; MOST + 1 where that is not known."""
    text = " and ".join(f"{n} = {v}" for n, v in sizes.items()) or "0 = 0"
    fixed = domain.intersect_params(isl.Set(f"[{', '.join(sizes)}] -> {{ : {text} }}"))
    total = 0
    for part in list_sets(fixed):
        count = part.count_val()
        total += int(count.to_python()) if count.is_int() else MOST + 1
    return total


def _check(path: Path) -> int:
    """Compare traces for a few values of the parameters; how often that was done."""
    schedule = isl.Schedule(path.read_text())
    with budget(isl.DEFAULT_CONTEXT, 20 * LIMIT):
        nest = generate(schedule, record, frozenset())
    done = 0
    if path.name in LONG:
        return 1
    allowed = _allowed(schedule.get_root(), schedule.get_domain().get_space())
    for low, high in ((0, 1), (1, 3), (3, 8), (6, 13), (0, 40), (-5, 200), (-2000, 5000)):
        sizes = _pick(allowed, low, high)
        if sizes is None or done == 2:
            continue
        try:
            with budget(isl.DEFAULT_CONTEXT, LIMIT):
                if _count(schedule.get_domain(), sizes) > MOST:
                    continue
        except isl.Error:
            continue
        named = {source_name(n): v for n, v in sizes.items()}
        fault = compare_traces(trace_nest(nest, named), list_instances(schedule, named))
        assert fault is None, f"{path.name} for {sizes}: {fault}"
        done += 1
    return done


@pytest.mark.skipif(not TREES, reason="isl's own inputs are not beside the repository")
@pytest.mark.parametrize("part", range(8))
def test_nests_of_published_trees(part: int) -> None:
    done = 0
    paths = TREES[part::8]
    for path in paths:
        if path.name in UNBOUNDED:
            with pytest.raises(UnboundedError):
                _check(path)
        else:
            done += _check(path) > 0
    assert done >= 0.8 * len(paths)
