"""Every former name of a version or a remark leads to what it is called now, wherever users give names."""

from __future__ import annotations

import pytest

from planish.build.dump import parse_stage
from planish.core.former_names import FORMER_CODES, FORMER_VERSIONS, current_code, current_version, tell_former
from planish.core.reasons import help_for, meaning_of
from planish.library.registry import STRATEGIES, find_strategy
from planish.report.strategies import explain_strategy

UNCHANGED = {"unchanged", "parallel-loops"}
"""Parts of names that no strategy has for itself: the order as written, and marks on loops of any version."""
NAMES = {y for x in STRATEGIES for y in (x.name, *x.variants)}
KERNEL = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"


@pytest.mark.parametrize(("former", "name"), FORMER_VERSIONS.items())
def test_former_names_of_versions(former: str, name: str) -> None:
    assert former not in NAMES and name not in FORMER_VERSIONS
    assert current_version(former) == current_version(name) == name
    assert current_version(f"original, {former}, streamed") == f"original, {name}, nontemporal"
    assert current_version(f"{former} by 8") == f"{name}-8"
    (record,) = parse_stage(f"#: nest k 1 {former} by 4, {former}\n{KERNEL}\n")
    assert record.version == f"{name}-4, {name}"
    if name not in UNCHANGED:
        assert find_strategy(former) is find_strategy(name)
        assert explain_strategy(former).startswith(f"note: {tell_former(former, name)}\n")
        assert not explain_strategy(name).startswith("note")


@pytest.mark.parametrize(("former", "id"), FORMER_CODES.items())
def test_former_ids_of_remarks(former: str, id: str) -> None:
    assert id not in FORMER_CODES and current_code(former) == current_code(id) == id
    assert meaning_of(former) == meaning_of(id) and help_for(former) == help_for(id)


def test_names_that_counted() -> None:
    assert current_version("passes of 2 x 4, 8 x 8") == "fft-passes-2x4-8x8"
    assert find_strategy("passes of 2 x 4").name == find_strategy("fft-passes-2x4").name == "fft-passes"
    assert find_strategy("2 stages at a time, one thread").name == "one-thread"
    assert find_strategy("cascade").name == "biquad-simd" and find_strategy("lu-panel").name == "panels"
