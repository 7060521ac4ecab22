"""Random affine programs: their order, every strategy, random schedules, shapes, and the whole plan.

More of them by hand: `python -m tests.property.run --count 20000`, where each goes through every check.

>>> len(range(0, PROGRAMS, STEP))
20
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.property.checks import EVERY, run_check
from tests.property.programs import make_program
from tests.property.sampling import one_in, slow

from planish.ir.nest import Assign, For, If, Reduce
from planish.ir.traverse import walk

PROGRAMS = 500
"""Programs; a tenth of them is in the suite, and `-m slow` runs the others."""

STEP = 25

SLOW = frozenset({89, 161, 236, 337, 415})
"""Programs that are much work for isl; these are left to runs by hand."""


@pytest.mark.parametrize("first", one_in(10, range(0, PROGRAMS, STEP)))
def test_no_result_changes(first: int) -> None:
    count: Counter[str] = Counter()
    for seed in range(first, first + STEP):
        for name, every in EVERY.items():
            if seed % every == every - 1 and (every == 1 or seed not in SLOW):
                fault = run_check(name, make_program(seed), count)
                assert fault is None, fault
    assert count["order"] == count["same"] == STEP
    assert count["instances"] > STEP
    assert count["given up"] <= STEP // 4
    # The verdict on a schedule is worth something only if both verdicts occur.
    assert count["legal"] > 0 and count["illegal"] > 0
    assert count["automatic"] > 0 and count["candidates"] > 0


def test_programs_have_what_they_should() -> None:
    found: Counter[str] = Counter()
    for seed in range(200):
        kernel = make_program(seed).kernel
        statements = list(walk(kernel.body))
        loops = [s for s in statements if isinstance(s, For)]
        found["loops"] += len(loops)
        found["steps"] += any(s.step > 1 for s in loops)
        found["guards"] += any(isinstance(s, If) for s in statements)
        found["alternatives"] += any(isinstance(s, If) and bool(s.otherwise.body) for s in statements)
        found["sums"] += any(isinstance(s, Reduce) for s in statements)
        found["several"] += sum(isinstance(s, Assign | Reduce) for s in statements) > 1
        found["deep"] += _depth(loops) >= 4
        found["floats"] += any(a.type.is_float for a in kernel.arrays)
        found["assumptions"] += bool(kernel.assumptions)
    rare = {name: n for name, n in found.items() if n < 5}
    assert not rare and len(found) == 9


def _depth(loops: list[For]) -> int:
    return max((1 + _depth([s for s in walk(x.body) if isinstance(s, For)]) for x in loops), default=0)


@pytest.mark.parametrize("seed", [198, 389, slow(337), slow(415)])
def test_flow_where_the_library_is_wrong(seed: int) -> None:
    """isl's own flow analysis names the wrong write, fails, or takes very long for these."""
    fault = run_check("flow", make_program(seed), Counter())
    assert fault is None, fault
