"""Schedule trees and the nests made of them: `NAME.txt` holds a tree, a line of dashes, and the nest.

`pytest tests/golden/astgen --bless` writes what comes out now; look at the difference afterwards.

>>> split_case("a\\n---\\nb\\n")
('a\\n', 'b\\n')
"""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from planish.astgen.checking.verify import compare_traces, list_instances, record, trace_nest
from planish.astgen.generate import generate
from planish.ir.nest import LoopFacts
from planish.ir.text.printer import print_stmt

RULE = "---\n"
CASES = sorted(Path(__file__).parent.glob("*.txt"))
SIZES = ({"n": 0, "m": 0}, {"n": 1, "m": 3}, {"n": 7, "m": 4}, {"n": 12, "m": 9}, {"n": 6, "m": 3})
FACTS = {"lanes": LoopFacts(simd=True), "threads": LoopFacts(parallel=True)}


def split_case(text: str) -> tuple[str, str]:
    """The tree and the nest of a case; the nest is empty in a new one."""
    tree, _, nest = text.partition(RULE)
    return tree, nest


def _context(node: isl.ScheduleNode) -> isl.Set:
    context = isl.Set("[n, m] -> { : }")
    first = node.get_child(0)
    kind: object = first.get_type()
    if kind == isl.schedule_node_type.context:
        context = context.intersect(first.context_get_context().params())
    return context


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_nest(path: Path, request: pytest.FixtureRequest) -> None:
    tree, wanted = split_case(path.read_text())
    schedule = isl.Schedule(tree)
    block = generate(schedule, record, frozenset({"n", "m"}), facts=FACTS.get)
    context = _context(schedule.get_root())
    ran = 0
    for sizes in SIZES:
        here = isl.Set(f"[n, m] -> {{ : n = {sizes['n']} and m = {sizes['m']} }}")
        if here.is_subset(context):
            assert compare_traces(trace_nest(block, sizes), list_instances(schedule, sizes)) is None
            ran += 1
    assert ran >= 2
    nest = print_stmt(block).rstrip("\n") + "\n"
    if request.config.getoption("--bless"):
        path.write_text(tree + RULE + nest)
        return
    assert nest == wanted


def test_there_are_cases() -> None:
    assert len(CASES) >= 20
