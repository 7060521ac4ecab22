"""The inputs of isl's own tests, where they are at hand: the nests run what is scheduled, in order.

They are not part of the repository: `scripts/fetch_isl_tests.sh` gets them; without them these tests are skipped.

"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.property.sampling import one_in

from planish.astgen.checking.judge import choose_sizes, times_of
from planish.astgen.checking.symbolic import verify_tree
from planish.astgen.checking.times import list_times
from planish.astgen.checking.verify import compare_traces
from planish.astgen.code_size.effort import EffortLimitError, compile_nest
from planish.astgen.formats import generate_input, load_input
from planish.core.diagnostic import PlanishError

ROOT = Path(__file__).parents[3]
PLACES = (ROOT / "build" / "isl-tests", ROOT.parent / "shared" / "anchors" / "isl-codegen")
FOLDER = next((place for place in PLACES if place.is_dir()), PLACES[0])
INPUTS = sorted(x for x in FOLDER.rglob("*") if x.suffix in (".st", ".in"))
PARTS = 16
STEPS = 200_000
RUNS = 2

UNBOUNDED = frozenset({"infinite2.st"})


def check(path: Path) -> int:
    """For how many values of the parameters the nest was run."""
    found = load_input(path)
    nest = generate_input(found)
    run, times = compile_nest(nest), times_of(found)
    done = 0
    for sizes in choose_sizes(found)[:RUNS]:
        try:
            trace = run(sizes, STEPS).trace
        except EffortLimitError:
            continue
        fault = compare_traces(trace, list_times(times, sizes))
        if fault is not None and found.schedule is not None and "set:" in found.source.text:
            # The children of a set may run in any order.
            assert verify_tree(nest, found.schedule).answer == "proven"
            fault = None
        assert fault is None, f"{path.name} for {sizes}: {fault}"
        done += 1
    return done


@pytest.mark.skipif(not INPUTS, reason="isl's own inputs are not here: scripts/fetch_isl_tests.sh gets them")
@pytest.mark.parametrize("part", one_in(8, range(PARTS)))
def test_nests_of_published_inputs(part: int) -> None:
    paths = INPUTS[part::PARTS]
    run = 0
    for path in paths:
        if path.name in UNBOUNDED:
            with pytest.raises(PlanishError) as refusal:
                generate_input(load_input(path))
            assert refusal.value.diagnostic.code == "E0512"
        else:
            run += check(path) > 0
    assert run >= 0.7 * len(paths)
