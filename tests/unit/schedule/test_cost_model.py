"""The performance model tells schedules apart by what they do to ports, latencies and caches."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl
import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.scop.extraction import Scop, extract_scop
from planish.schedule.auto.cost.cache_traffic import Room, missed_lines
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.cost.instance_counts import NoEstimateError, sample_domain
from planish.schedule.auto.cost.loop_tree import leaves, read_loops
from planish.schedule.auto.cost.recurrences import Latencies, recurrence_bound
from planish.schedule.auto.plan import draft_versions, prepare
from planish.target.load import load_target

WIDE = load_target("x86-avx512")
CLOCK = Latencies(add=4, divide=14, forward=5)


def scop_of(arrays: str, loops: str) -> Scop:
    return extract_scop(parse_kernel(f"kernel k(n; {arrays}) {{ {loops} }}"))


def misses(scop: Scop, sizes: Mapping[str, int], bytes: int) -> float:
    return sum(missed_lines(read_loops(scop.schedule, scop, sizes), Room(bytes, 64)).values())


@pytest.mark.parametrize(("bytes", "least", "most"), [(1 << 14, 0.9, 1.1), (1 << 17, 0.12, 0.15)])
def test_columns_miss_a_line_for_each_element_unless_all_lines_of_a_column_fit(
    bytes: int, least: float, most: float
) -> None:
    scop = scop_of("A: f64[n, n], x: f64[n]", "for i in 0 .. n { for j in 0 .. n { x[i] += A[j, i] } }")
    assert least < misses(scop, {"n": 1000}, bytes) / 1000**2 < most


@pytest.mark.parametrize(("random", "rows", "least", "most"), [
    (False, 500, 0.0, 0.0), (True, 500, 0.0, 0.0), (False, 900, 1.0, 1.1), (True, 900, 0.3, 0.6),
    (True, 4000, 0.9, 1.1),
])  # fmt: skip
def test_what_is_a_little_larger_than_a_cache_that_replaces_any_line_is_in_part_still_there(
    random: bool, rows: int, least: float, most: float
) -> None:
    scop = scop_of("A: f64[n, 128], x: f64[n]", "for i in 0 .. n { for j in 0 .. 128 { x[i] += A[i, j] } }")
    loops = read_loops(scop.schedule, scop, {"n": rows})
    missed = sum(missed_lines(loops, Room(1 << 20, 64, random=random)).values())
    assert least <= missed / (rows * 16) <= most


@pytest.mark.parametrize(("body", "gain"), [
    ("x[i] = x[i - 1] * 0.5 + y[i]", 3.0),
    ("x[i] = (x[i - 1] + y[i]) / 3.0", 5.0),
    ("x[i] = x[i - 1] * y[i]", 0.9),  # what it is multiplied by is another one each time
    ("x[i] = x[i - 2] * 0.5 + y[i]", 0.9),  # two that do not wait for each other
])  # fmt: skip
def test_recurrences_by_blocks_wait_once_for_a_block(body: str, gain: float) -> None:
    loops = f"for t in 0 .. 9 {{ for i in 2 .. n {{ {body} }} }}"
    prepared = prepare(parse_kernel(f"kernel k(n; x: f64[n], y: f64[n]) {{ {loops} }}"))
    strict, free = (draft_versions(prepared, WIDE, reassociate=x)[0].cost for x in (False, True))
    assert gain < strict / free < 4 * gain + 1.0


def test_rows_of_a_stencil_are_used_three_times_where_three_of_them_fit() -> None:
    body = "for i in 1 .. n - 1 { for j in 0 .. n { B[i, j] = A[i - 1, j] + A[i, j] + A[i + 1, j] } }"
    scop = scop_of("A: f64[n, n], B: f64[n, n]", body)
    few, many = (misses(scop, {"n": 2000}, x) / (2000**2 / 8) for x in (1 << 14, 1 << 17))
    assert 4.5 < few < 5.5 and 2.9 < many < 3.2  # what is stored to comes and goes


def test_sweeps_that_share_a_loop_over_blocks_share_lines() -> None:
    sweeps = [f"for i in 0 .. 8 {{ for j in 0 .. n {{ {x} }} }}" for x in ("x[8 * b + i] += A", "y[j] += A")]
    first, second = (x.replace("A ", "A[8 * b + i, j] ") for x in sweeps)
    arrays = "A: f64[8 * n, n], x: f64[8 * n], y: f64[n]"
    together = scop_of(arrays, f"for b in 0 .. n {{ {first} {second} }}")
    apart = scop_of(arrays, f"for b in 0 .. n {{ {first} }} for b in 0 .. n {{ {second} }}")
    once, twice = (misses(x, {"n": 500}, 1 << 17) / 500**2 for x in (together, apart))
    assert 1.0 < once < 1.1 and 2.0 < twice < 2.2


def test_a_triangle_has_the_instances_that_it_has() -> None:
    domain = isl.Set("[n] -> { S[i, j, k] : 0 <= k < j < i < n }")
    assert abs(sample_domain(domain, {"n": 600}).count / (600**3 / 6) - 1) < 0.2


def test_what_has_no_end_is_not_estimated() -> None:
    with pytest.raises(NoEstimateError):
        sample_domain(isl.Set("{ S[i] : 0 <= i }"), {})


@pytest.mark.parametrize(
    ("body", "cycles"),
    [
        ("x[i] = y[i] * 2.0", 0.0),
        ("x[i] = x[i - 1] + y[i]", 4.0),
        ("x[i] = x[i - 2] / y[i]", 7.0),
        ("x[i] = y[i - 1] + z[i] y[i] = x[i] / 3.0", 18.0),
        ("s[0] += x[i]", 4.0),
        ("s[0] += s[i] * x[i]", 9.0),  # may be the same place: it is stored and loaded
    ],
)
def test_a_loop_takes_as_long_as_its_longest_recurrence(body: str, cycles: float) -> None:
    arrays = "x: f64[n], y: f64[n], z: f64[n], s: f64[n]"
    (loop,) = read_loops((scop := scop_of(arrays, f"for i in 2 .. n {{ {body} }}")).schedule, scop, {"n": 1000})
    assert recurrence_bound(tuple(leaves((loop,))), 0, CLOCK) == pytest.approx(cycles, abs=0.1)


def test_the_best_schedule_of_two_sweeps_over_a_matrix_reads_it_once() -> None:
    nests = "for i in 0 .. n { for j in 0 .. n { %s } }"
    text = nests % "x[i] += A[i, j] * y[j]" + nests % "z[i] += A[j, i] * w[j]"
    arrays = "A: f64[n, n], x: f64[n], y: f64[n], z: f64[n], w: f64[n]"
    prepared = prepare(parse_kernel(f"kernel k(n; {arrays}) {{ {text} }}"))
    best, *others = draft_versions(prepared, WIDE, reassociate=True, sizes={"n": 3000})
    assert best.policy.name == "inter-nest-tiling" and others


def test_recurrences_go_along_rows_unless_these_are_few_enough_for_lanes_across() -> None:
    """Lanes across long rows miss the table of pages with each element."""
    nest = "for i in 0 .. n { for j in 1 .. n { p[i, j] = 1.0 / (p[i, j - 1] + A[j, i]) } }"
    prepared = prepare(parse_kernel(f"kernel k(n; p: f64[n, n], A: f64[n, n]) {{ {nest} }}"))
    model = CostModel(prepared.scop, WIDE, {"n": 200})
    large = CostModel(prepared.scop, WIDE, {"n": 3000})
    across = next(x for x in draft_versions(prepared, WIDE, reassociate=True) if x.policy.name == "maxfuse")
    assert across.shaped is not None
    near, far = (x.estimate(across.shaped[0]) for x in (model, large))
    pages = [sum(x.moved[-1] for x in y.loops) / z.instances for y, z in ((near, model), (far, large))]
    assert pages[0] == 0.0 and pages[1] > 1.0


def test_sizes_of_arrays_with_constant_extents_are_their_extents() -> None:
    loops = "for i in 0 .. n { for j in 0 .. n { x[i] += A[i, j] } }"
    fixed, free = (scop_of(f"A: f64[{e}, {e}], x: f64[{e}]", loops) for e in ("400", "n"))
    assert [dict(CostModel(x, WIDE).sizes) for x in (fixed, free)] == [{"n": 400}, {"n": 1000}]
    assert CostModel(fixed, WIDE, {"n": 50}).sizes == {"n": 50}


def test_two_products_of_rows_too_long_for_the_first_cache_share_blocks_of_rows() -> None:
    arrays = "A: f64[2100, 1900], p: f64[1900], q: f64[2100], r: f64[2100], s: f64[1900]"
    loops = "for i in 0 .. n { for j in 0 .. m { s[j] += r[i] * A[i, j] q[i] += A[i, j] * p[j] } }"
    prepared = prepare(parse_kernel(f"kernel k(n, m; {arrays}) {{ {loops} }}"))
    (first, *_) = draft_versions(prepared, WIDE, reassociate=True)
    assert first.policy.name == "inter-nest-tiling"
