"""From a kernel to its versions: all legal, none twice, cheapest first; private cells shrink where they may."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from math import prod

import islpy as isl
import pytest
from bands import PRODUCT, SUM, find_band

from planish.build.lower import lower_region
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.expr import Load, Var
from planish.ir.nest import Alloc, Assign, For, Kernel, Let, Reduce
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import walk
from planish.ir.types import F32, INDEX
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto import plan as plan_module
from planish.schedule.auto.lower import lower, place
from planish.schedule.auto.plan import (
    Prepared,
    ScheduleDraft,
    Version,
    draft_version,
    plan,
    prepare,
    shape_schedule,
)
from planish.schedule.auto.policies import POLICIES, compute_schedule
from planish.schedule.auto.tiling.description import describe_band
from planish.schedule.auto.tiling.strip_mining import find_strips, leaf_bands, shape_band
from planish.schedule.auto.tiling.tile_sizes import choose
from planish.target.load import load_target

WIDE, GENERIC = load_target("x86-avx512"), load_target("generic")
ROWS = """kernel k(n, m; A: f64[n, m], B: f64[n]) {
  alloc t: f64[]
  for i in 0 .. n { t[] = 0.0  for j in 0 .. m { t[] += A[i, j] }  B[i] = t[] }
}"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", [WIDE, GENERIC])
@pytest.mark.parametrize("text", [PRODUCT, SUM, ROWS])
def test_every_version_respects_every_dependence(text: str, target: object, threads: int) -> None:
    assert target in (WIDE, GENERIC)
    prepared = prepare(parse_kernel(text))
    versions = plan(prepared, WIDE if target is WIDE else GENERIC, reassociate=False, threads=threads)
    assert versions
    for version in versions:
        assert find_violation(schedule_map(version.schedule), prepared.dependences.order) is None
        assert version.schedule.get_domain().is_equal(prepared.scop.domain)
    assert [v.cost for v in versions] == sorted(v.cost for v in versions)
    assert len({str(v.schedule) for v in versions}) == len(versions)


CHAIN = """kernel k(n; O: f32[8, n, n], X: f32[4, n + 2, n + 2], W: f32[8, 4, 3, 3]) {
  for f in 0 .. 8 { for y in 0 .. n { for x in 0 .. n { for c in 0 .. 4 { for r in 0 .. 3 { for s in 0 .. 3 {
  O[f, y, x] += X[c, y + r, x + s] * W[f, c, r, s] } } } } } }
}"""


def test_sums_in_their_order_run_many_at_a_time() -> None:
    prepared = prepare(parse_kernel(CHAIN))
    best = plan(prepared, WIDE, reassociate=False)[0]
    assert best.name == "inner-parallel"
    assert find_violation(schedule_map(best.schedule), prepared.dependences.order) is None
    said = next(x.message for x in best.remarks if x.id == "schedule-band")
    assert "lanes along loop 3 (parallel)" in said and "registers" in said
    assert all(x.name != "inner-parallel" for x in plan(prepared, WIDE, reassociate=True))


def test_sums_of_rows_are_made_side_by_side_where_each_keeps_its_order() -> None:
    prepared = prepare(parse_kernel(ROWS))
    for reassociate in (False, True):
        best = plan(prepared, WIDE, reassociate=reassociate)[0]
        assert find_violation(schedule_map(best.schedule), prepared.dependences.order) is None or reassociate
        rows = [x.message for x in best.remarks if "registers 8 of loop 1" in x.message and "lanes" not in x.message]
        assert bool(rows) is not reassociate


def test_a_schedule_that_reverses_a_dependence_is_no_version() -> None:
    prepared = prepare(parse_kernel("kernel k(n; A: f64[n]) { for i in 1 .. n { A[i] = A[i - 1] } }"))
    domain = prepared.scop.domain
    backward = isl.Schedule.from_domain(domain).insert_partial_schedule(
        isl.MultiUnionPwAff("[n] -> [{ S0[i] -> [(-i)] }]")
    )
    nothing = isl.UnionMap.empty(domain.get_space())
    draft = partial(draft_version, prepared, WIDE, POLICIES[-1], movable=nothing)
    assert shape_schedule(prepared, draft(backward)) is None
    assert shape_schedule(prepared, draft(prepared.scop.schedule)) is not None


def test_only_as_many_versions_as_asked_for_are_made() -> None:
    prepared = prepare(parse_kernel(ROWS))
    every = plan(prepared, WIDE, reassociate=True)
    (first,) = plan(prepared, WIDE, reassociate=True, most=1)
    assert len(every) > 1 and str(first.schedule) == str(every[0].schedule)


@pytest.mark.parametrize("strategy", POLICIES, ids=lambda s: s.name)
def test_strategies_give_legal_schedules(strategy: object) -> None:
    chosen = next(s for s in POLICIES if s is strategy)
    prepared = prepare(parse_kernel(ROWS))
    schedule = compute_schedule(prepared.scop, prepared.dependences, prepared.dependences.order, chosen)
    if chosen.name in ("inner-parallel", "inter-nest-tiling", "interchange", "block-wavefront", "time-skewing"):
        # Sums have one loop each, no two nests go through one array, none is in a loop, nothing is repeated.
        assert schedule is None
        return
    assert schedule is not None
    assert find_violation(schedule_map(schedule), prepared.dependences.order) is None


def shape_of(kernel: Kernel, name: str) -> int:
    return next(len(s.array.shape) for s in walk(kernel.body) if isinstance(s, Alloc) and s.array.name == name)


def test_private_cells_shrink_with_one_thread_and_stay_with_two() -> None:
    prepared = prepare(parse_kernel(ROWS))
    alone = {v.name: v for v in plan(prepared, WIDE, reassociate=False)}
    shared = {v.name: v for v in plan(prepared, WIDE, reassociate=False, threads=2)}
    assert any(shape_of(v.kernel, "t") == 0 for v in alone.values())
    for version in shared.values():
        assert shape_of(version.kernel, "t") == 1
        assert any(isinstance(s, For) and s.facts.parallel for s in walk(version.kernel.body))


def test_no_sum_of_floats_is_reordered_unasked() -> None:
    prepared = prepare(parse_kernel(SUM))
    for reassociate in (False, True):
        facts = [
            s.facts for v in plan(prepared, WIDE, reassociate=reassociate) for s in walk(v.kernel.body)
            if isinstance(s, For)
        ]  # fmt: skip
        assert any(f.simd and f.reductions for f in facts) == reassociate


def test_what_is_no_static_control_part_is_refused() -> None:
    with pytest.raises(NotAffineError):
        prepare(parse_kernel("kernel k(n; A: f64[n]) { for i in 0 .. n { for j in 0 .. i * n { A[i] = 0.0 } } }"))


@pytest.mark.parametrize("order", ["full-first", "rest-first", "whole"])
def test_a_shaped_band_runs_the_same_instances(order: str) -> None:
    found = find_band(PRODUCT, True)
    choice = choose(found.band, WIDE, found.arrays)
    kind = next(o for o in ("full-first", "rest-first", "whole") if o == order)
    shaped = shape_band(found.node, found.band, choice, kind).get_schedule()
    assert shaped.get_domain().is_equal(found.scop.domain)
    assert find_violation(schedule_map(shaped), found.dependences.order) is None
    for path in leaf_bands(shaped):
        assert path


def test_full_strips_hold_whole_multiples_only() -> None:
    found = find_band(PRODUCT, True)
    choice = choose(found.band, WIDE, found.arrays)
    full = find_strips(found.band, choice, True).full
    sizes = isl.UnionSet("[n, m, l] -> { S0[i, j, k] : n = 6 and m = 3 and l = 9 }")
    wanted = isl.UnionSet("[n, m, l] -> { S0[i, j, k] : 0 <= i < 4 and 0 <= j < 3 and 0 <= k < 8 }")
    assert full.intersect(sizes).is_equal(wanted.intersect(sizes))


def test_lowering_the_original_order_gives_the_kernel_back() -> None:
    kernel = parse_kernel(SUM)
    prepared = prepare(kernel)
    assert print_kernel(lower(prepared.scop, prepared.scop.schedule, ())) == print_kernel(kernel)


def test_a_statement_takes_its_place() -> None:
    stmt = Assign("A", (Var("i", INDEX),), Load("B", (Var("i", INDEX),), F32))
    assert place(stmt, {"i": Var("c", INDEX)}) == Assign("A", (Var("c", INDEX),), Load("B", (Var("c", INDEX),), F32))


def test_a_transposition_is_tiled() -> None:
    text = "kernel k(n, m; A: f64[n, m], B: f64[m, n]) { for i in 0 .. n { for j in 0 .. m { B[j, i] = A[i, j] } } }"
    best = plan(prepare(parse_kernel(text)), WIDE, reassociate=False)[0]
    assert max(s.step for s in walk(best.kernel.body) if isinstance(s, For)) > 1


SHARED = """kernel k(n; x: f64[n], y: f64[n], z: f64[n]) {
  for i in 0 .. n { alloc r: f64[]  r[] = 1.0 / (1.0 + x[i] * x[i])  y[i] = x[i] * r[]  z[i] = r[] * r[] }
}"""
NEAREST = """kernel k(n, m, d; q: f32[n, d], p: f32[m, d], least: f32[n]) {
  for i in 0 .. n {
    alloc best: f32[]  best[] = 3e38
    for j in 0 .. m {
      alloc s: f32[]  s[] = 0.0
      for k in 0 .. d { alloc t: f32[]  t[] = q[i, k] - p[j, k]  s[] += t[] * t[] }
      best[] min= s[]
    }
    least[i] = best[]
  }
}"""


def test_scalars_that_several_statements_use_are_computed_once() -> None:
    for version in plan(prepare(parse_kernel(SHARED)), WIDE, reassociate=True):
        text = print_kernel(version.kernel)
        assert text.count("/") == text.count("let r") == text.count("for "), text


@pytest.mark.parametrize("threads", [1, 2])
def test_no_array_is_larger_than_those_that_are_given(threads: int) -> None:
    versions = plan(prepare(parse_kernel(NEAREST)), WIDE, reassociate=True, threads=threads)
    assert versions
    for version in versions:
        allocated = [x.array for x in walk(version.kernel.body) if isinstance(x, Alloc)]
        assert all(len(x.shape) <= 1 for x in allocated), print_kernel(version.kernel)


def test_what_is_said_of_lanes_is_in_the_nest() -> None:
    tiled = 0
    for text in (NEAREST, SHARED, PRODUCT, SUM, ROWS):
        for version in plan(prepare(parse_kernel(text)), WIDE, reassociate=True):
            loops = [x for x in walk(version.kernel.body) if isinstance(x, For)]
            for message in (x.message for x in version.remarks if x.id == "schedule-band"):
                assert "lanes" not in message or any(x.facts.simd for x in loops)
                assert "reduction" not in message or any(x.facts.reductions for x in loops)
                factors = [int(x) for x in re.findall(r"(\d+) of loop", message)]
                assert ("registers" in message) == bool(factors)
                assert prod(factors) <= side_by_side(version.kernel)
                assert all(any(x.step > 1 and x.step % f == 0 for x in loops) for f in factors)
                tiled += bool(factors)
    assert tiled


def side_by_side(kernel: Kernel) -> int:
    """How many copies of one statement, at most, stand in the body of one loop."""
    bodies = [x.body.body for x in walk(kernel.body) if isinstance(x, For)]
    counts = (Counter(x.span for x in body if isinstance(x, Assign | Reduce | Let)) for body in bodies)
    return max((n for count in counts for n in count.values()), default=1)


def test_a_plan_that_the_nest_does_not_have_is_not_told() -> None:
    prepared = prepare(parse_kernel(PRODUCT))
    nothing = isl.UnionMap.empty(prepared.scop.domain.get_space())
    draft = draft_version(prepared, WIDE, POLICIES[-1], prepared.scop.schedule, nothing)
    (_, band, choice), *_ = draft.bands
    said = describe_band(band, choice, prepared.kernel).message
    assert "lanes" not in said and "registers" not in said and "tiles" not in said


def test_a_version_that_takes_too_long_to_shape_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(parse_kernel(ROWS))
    every = plan(prepared, WIDE, reassociate=False)
    first, shaped = every[0].name, plan_module.shape_schedule

    def shape(prepared: Prepared, draft: ScheduleDraft, *rest: bool) -> Version | None:
        found = isl.Set("[n, m] -> { [i, j] : 0 <= i < n and exists a : 3a = i + 2j and 0 <= j < m }")
        while draft.policy.name == first:
            found.lexmin()
        return shaped(prepared, draft, *rest)

    monkeypatch.setattr(plan_module, "SHAPING_LIMIT", plan_module.PASS)
    monkeypatch.setattr(plan_module, "shape_schedule", shape)
    left = plan(prepared, WIDE, reassociate=False)
    others = {x.name for x in every} - {first}
    assert others and others <= {x.name for x in left} and first not in {x.name for x in left}


def test_where_all_take_too_long_the_nest_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "SHAPING_LIMIT", 200)
    text = "void f(int n, float *a, float *b) { for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) a[i] += b[j]; }"
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    found = lower_region(region, Options(raising=False, measure=False), WIDE)
    assert not found.candidates
    assert [x.id for x in found.remarks if x.kind == "refused"] == ["schedule-none"]
