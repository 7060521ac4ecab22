"""A version that is slower in some calls is only used in others: by a condition on sizes, in the call's guard."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planish.build.emit import make_drop_ins
from planish.build.lower import known_arguments, lower_region
from planish.build.time import Race, choose_fastest
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.text.printer import print_expr
from planish.options import Options
from planish.run.calls.signature import CallCase
from planish.run.size_condition import find_limit, limit_candidate
from planish.run.timing.clock import timing_of
from planish.target.load import load_target

AXPY = """
void axpy(int n, double a, const double *x, int incx, double *y, int incy)
{
    for (int i = 0; i < n; i++)
        y[i * incy] += a * x[i * incx];
}
"""
OPTIONS = Options(target="generic", measure=False)


def case(**values: int) -> CallCase:
    return CallCase(values, {})


@pytest.mark.parametrize(
    ("fast", "slow", "limit"),
    [
        ([case(n=9000, incx=1, incy=1), case(n=900, incx=2, incy=2)], [case(n=10, incx=1, incy=1)], "n >= 900"),
        ([case(n=10, incx=1, incy=1)], [case(n=900, incx=1, incy=1)], "n <= 10"),
        ([case(n=9000, incx=1, incy=1), case(n=9, incx=1, incy=2)], [case(n=900, incx=4, incy=1)], "incx <= 1"),
        ([case(n=10, incx=1, incy=1), case(n=1000, incx=1, incy=1)], [case(n=100, incx=1, incy=1)], None),
    ],
)
def test_a_condition_tells_calls_apart(fast: list[CallCase], slow: list[CallCase], limit: str | None) -> None:
    function = read_c(Source("axpy.c", AXPY), fp="reassociate").functions[0]
    plan = lower_region(function.regions[0], OPTIONS, load_target("generic"), 1)
    assert plan.prepared is not None
    kernel, known = plan.prepared.kernel, known_arguments(plan, function)
    found = find_limit(kernel, known, [x.values for x in fast], [x.values for x in slow])
    assert (None if found is None else print_expr(found)) == limit


def test_the_condition_is_asked_before_the_call() -> None:
    file = read_c(Source("axpy.c", AXPY), fp="reassociate")
    plan = lower_region(file.functions[0].regions[0], OPTIONS, load_target("generic"), 1)
    assert plan.prepared is not None
    known = known_arguments(plan, file.functions[0])
    fast, slow = [case(n=900, incx=1, incy=1)], [case(n=900, incx=4, incy=1)]
    limited = limit_candidate(plan.candidates[0], plan.prepared.kernel, known, fast, slow)
    assert limited is not None
    versions, _ = make_drop_ins((plan,), file, OPTIONS)
    assert not any("incx <= 1" in x for made in versions for x in made.shipped[0].guards)
    versions, _ = make_drop_ins((replace(plan, versions=(limited,)),), file, OPTIONS)
    assert all(any("incx <= 1" in x for x in made.shipped[0].guards) for made in versions)


def test_a_race_is_lost_by_all_samples() -> None:
    def race(*after: float) -> Race:
        return Race(case(n=1), timing_of("x", [1.0, 1.0, 1.0]), timing_of("y", after))

    assert race(1.2, 1.1, 1.1).is_lost
    assert race(1.05, 1.04).is_lost  # 0.96 of the original's speed: what a claim would not accept
    assert not race(1.02, 1.03).is_lost
    assert race(1.1, 1.1, 1.05).joined(race(1.1, 1.2, 1.3)).is_lost
    assert not race(1.1, 1.1, 0.9).joined(race(0.9, 0.9, 1.0)).is_lost  # the machine was busy once
    assert race(1.2, 1.2, 1.0).seems_lost and not race(1.2, 1.2, 1.0).is_lost  # and here, too


def test_of_equally_fast_versions_the_simplest_is_chosen() -> None:
    assert choose_fastest({"a": 1.00, "b": 1.02, "c": 1.2}, 2.0, {"a": 500, "b": 100, "c": 10}) == "b"
    assert choose_fastest({"a": 1.02, "b": 1.00}, 2.0) == "a"
    assert choose_fastest({"a": 1.02, "b": 1.00}, 1.03, {"a": 1, "b": 2}) == "b"
