"""The schedules in examples/astgen: proven, run, and legal where they stand for a stencil.

>>> len(STENCILS)
5
"""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from planish.astgen.checking.judge import MOST_STEPS, choose_sizes, times_of, verify_input
from planish.astgen.checking.times import list_times
from planish.astgen.checking.verify import compare_traces
from planish.astgen.code_size.effort import compile_nest
from planish.astgen.code_size.isl_codegen import rival_nest
from planish.astgen.formats import generate_input, load_input
from planish.astgen.option_names import check_options, find_idle_options
from planish.poly.isl.schedule_tree import Kind, kind_of

FOLDER = Path(__file__).parents[3] / "examples" / "astgen"
EXAMPLES = sorted(x for x in FOLDER.iterdir() if x.suffix in (".st", ".in"))

RING = "(exists e : -1 <= e <= 1 and (y = x + e or y = x + e + 2{n} or y = x + e - 2{n})) and 0 <= x, y < 2{n}"
NEAR = "-1 <= y - x <= 1"
FLOW_1D = "[steps, n] -> {{ S[t, x] -> S[t + 1, y] : {0} }}"
FLOW_2D = "[steps, n, m] -> {{ S[t, x, z] -> S[t + 1, y, z] : {0}; S[t, w, x] -> S[t + 1, w, y] : {1} }}"

STENCILS = {
    "periodic.in": FLOW_1D.format(RING.format(n="n")),
    "periodic-tiled.st": FLOW_1D.format(RING.format(n="n")),
    "wrap-around.st": FLOW_2D.format(RING.format(n="n"), RING.format(n="m")),
    "hexagonal-heat-1d.st": FLOW_1D.format(NEAR),
    "hexagonal-heat-2d.st": FLOW_2D.format(NEAR, NEAR),
}
"""What each instance of a stencil hands to the next step."""


def test_there_is_every_kind_of_node() -> None:
    found: set[str] = set()

    def visit(node: isl.ScheduleNode) -> None:
        found.add(kind_of(node).name)
        for i in range(node.n_children()):
            visit(node.get_child(i))

    for path in EXAMPLES:
        schedule = load_input(str(path)).schedule
        if schedule is not None:
            visit(schedule.get_root())
    assert found >= {kind.name for kind in Kind} - {"error"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_it_is_proven(path: Path) -> None:
    found = load_input(str(path))
    check_options(found)
    assert not find_idle_options(found)
    nest = generate_input(found)
    verdict = verify_input(found, nest, ())
    assert verdict.answer == "proven", verdict.detail


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_it_runs_as_scheduled(path: Path) -> None:
    found = load_input(str(path))
    run, times = compile_nest(generate_input(found)), times_of(found)
    instances = 0
    for sizes in choose_sizes(found):
        wanted = list_times(times, sizes)
        instances += len(wanted)
        assert compare_traces(run(sizes, MOST_STEPS).trace, wanted) is None, sizes
    assert instances > 10


@pytest.mark.parametrize("name", STENCILS)
def test_a_stencil_is_legal(name: str) -> None:
    """Whatever an instance hands on is used at a later time."""
    times = times_of(load_input(str(FOLDER / name)))
    instances = times.relation.domain()
    flow = isl.UnionMap(STENCILS[name]).intersect_domain(instances).intersect_range(instances)
    assert not flow.is_empty()
    moved = flow.apply_domain(times.relation).apply_range(times.relation)
    assert moved.is_subset(isl.UnionMap.from_map(times.later()))
    # The opposite direction is illegal, so that the test can fail.
    assert not moved.reverse().is_subset(isl.UnionMap.from_map(times.later()))


def test_tiles_of_a_phase_are_independent() -> None:
    """Instances of different hexagons of one phase and one time are not connected."""
    times = times_of(load_input(str(FOLDER / "hexagonal-heat-1d.st")))
    instances = times.relation.domain()
    flow = isl.UnionMap(STENCILS["hexagonal-heat-1d.st"]).intersect_domain(instances).intersect_range(instances)
    moved = isl.Map.from_union_map(flow.apply_domain(times.relation).apply_range(times.relation))
    within, out = isl.dim_type.in_, isl.dim_type.out
    phase = moved.equate(within, 0, out, 0).equate(within, 1, out, 1)
    assert not phase.is_empty()
    assert phase.is_subset(phase.equate(within, 2, out, 2))


def test_what_isl_loses_is_found() -> None:
    """isl 0.28 takes the two instances at a time for one."""
    found = load_input(str(FOLDER / "several-at-once.in"))
    verdict = verify_input(found, rival_nest(found), ())
    if verdict.answer == "proven":
        pytest.skip("this version of isl is right")
    assert verdict.answer == "differs"
    assert "is scheduled, and does not run" in verdict.detail
