"""Random nests and random scripts: a legal one computes the same; its text makes the same program again.

More of them by hand: `python -m tests.property.run --of scripts --count 20000`.

>>> len(range(0, SCRIPTS, STEP))
20
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.property.sampling import one_in
from tests.property.scripts import SCRIPT_CHECKS, check_script, make_script

from planish.schedule.steps import STEPS

SCRIPTS = 500
"""Scripts; a tenth of them is in the suite, and `-m slow` runs the others."""

STEP = 25


@pytest.mark.parametrize("first", one_in(10, range(0, SCRIPTS, STEP)))
def test_legal_scripts_change_no_result(first: int) -> None:
    count: Counter[str] = Counter()
    for seed in range(first, first + STEP):
        faults = check_script(seed, SCRIPT_CHECKS, count)
        assert not faults, faults[0]
    # An instance that is lost or added is a fault of the step itself, which the check found.
    assert count["E0611"] == 0


def test_scripts_have_what_they_should() -> None:
    count: Counter[str] = Counter()
    for seed in range(120):
        make_script(seed, count)
    for code in ("E0604", "E0606", "E0610", "E0613"):
        assert count[code] > 2
    rare = {name for name, kind in STEPS.items() if not count[kind.__name__]}
    # What fixes sizes would be another program, and some have few places.
    seldom = {"fuse", "split_dim", "reorder_dims", "hoist", "set_layout", "reuse_buffer", "pad_dim", "fold_dim", "sink"}
    elsewhere = {"assume", "partial_eval", "rename", "parallelise", "set_precision", "factor_out", "fold_factor"}
    # A nest of a device has blocks, threads and barriers (tests/unit/gpu).
    devices = {
        "map_blocks", "map_threads", "promote_shared", "promote_registers", "bounding_box", "guard_loop",
        "tree_reduction", "map_team", "split_reduction", "promote_row", "begin_early", "promote_tile",
        "sink_guard", "drop_guard", "coalesce", "double_buffer", "flatten_loops",
    }  # fmt: skip
    assert rare <= {*elsewhere, *devices, "replace", "inline", "prefetch", *seldom, "widen", "swap"}
