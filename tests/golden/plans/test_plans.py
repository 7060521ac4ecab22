"""A sample of the plans that are kept: the same versions in the same order, with the same nests.

`pytest tests/golden/plans --bless` accepts other names of versions whose nests are the same. Other nests are accepted
by `python -m bench.guards.golden_plans --bless-nests`, which also compares all rows.
"""

from __future__ import annotations

import pytest

from bench.guards.golden_plans import (
    CLOCKS,
    MODES,
    SUITE_SECONDS,
    TARGETS,
    THREADS,
    choose_sample,
    compare_jobs,
    golden_file,
    list_jobs,
    list_settings,
    read_rows,
    write_rows,
)

GOLDEN = golden_file(None)
ROWS = read_rows(GOLDEN)
SAMPLE = choose_sample(ROWS.values(), SUITE_SECONDS)
JOBS = tuple(x for x in list_jobs(None, list_settings(TARGETS, MODES, CLOCKS, THREADS)) if x.name in SAMPLE)


def test_every_row_is_of_a_file_that_there_is() -> None:
    there = {x.name.split(" ")[0] for x in list_jobs(None, list_settings(TARGETS[:1], MODES[:1], CLOCKS[:1], (1,)))}
    assert {x.split(" ")[0] for x in ROWS} <= there


@pytest.mark.parametrize("job", JOBS, ids=[x.name for x in JOBS])
def test_the_plan_is_as_it_was(job: object, request: pytest.FixtureRequest) -> None:
    assert job in JOBS
    (done,) = (x.run() for x in JOBS if x == job)
    comparison = compare_jobs(ROWS, dict([done]))
    if request.config.getoption("--bless"):
        rows = read_rows(GOLDEN) | comparison.blessed(nests=False)
        write_rows(GOLDEN, rows)
        comparison = compare_jobs(rows, dict([done]))
    assert not comparison.differences(), comparison.report()
