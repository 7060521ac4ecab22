"""The claims `idioms`: small loops of plain C become the instructions that an expert would write, or cheaper ones.

    print(*(line for row in rows("x86-avx2", "averages") for line in describe(row)), sep="\\n")
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import fsum
from pathlib import Path
from time import perf_counter

from bench.promises.claim import Claim, Note, at_least, at_most
from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.selected_strips import find_strips, lanes_of
from planish.library.loops.vector_strips.strip_nest import lane_loop
from planish.options import Options
from planish.select.instruction import VectorExtension, cost_of, cover_strip, extension_of
from planish.select.program import in_order
from planish.select.strip import read_strip
from planish.target.load import load_target

FOLDER = Path(__file__).resolve().parents[1] / "programs" / "idioms"
TARGETS = ("x86-avx512", "x86-avx2", "aarch64-neon")
SAMPLE = 6
"""With `quick`: one idiom of so many."""
BAR, WORST_BAR = 60, 5.0
_SLACK = 1.001


@dataclass(frozen=True, slots=True)
class Row:
    """An idiom on a target: how many lanes a strip has, its instructions with their numbers, or why there are none;
    what an expert would take for these lanes; both costs in cycles of throughput, loads and stores apart."""

    idiom: str
    target: str
    lanes: int
    chosen: Mapping[str, int]
    refused: str
    expected: Mapping[str, int]
    cost: float
    expected_cost: float
    seconds: float

    @property
    def is_selected(self) -> bool:
        """Whether there are instructions."""
        return not self.refused

    @property
    def is_met(self) -> bool:
        """Whether it is what was expected, or cheaper."""
        return self.is_selected and self.cost <= self.expected_cost * _SLACK


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """How many idioms have proven instructions on each target, and how many of these are what an expert would take, or
    cheaper; each that is not is named."""
    for target in TARGETS:
        found = list(rows(target, step=SAMPLE if quick else 1))
        for x in found:
            yield from map(Note, describe(x))
        short = target.rpartition("-")[2]
        bar = min(BAR, len(found))
        yield at_least(f"idioms.{short}.selected", sum(x.is_selected for x in found), bar)
        yield at_least(f"idioms.{short}.as_expected", sum(x.is_met for x in found), bar)
        yield at_most(f"idioms.{short}.worst_seconds", max(x.seconds for x in found), WORST_BAR)


def describe(row: Row) -> Iterator[str]:
    """A row of the table; what was expected where that is not met."""
    def named(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{count} {name}" if count > 1 else name for name, count in counts.items()) or "loads, stores"

    verdict = "ok " if row.is_met else "dearer" if row.is_selected else "none"
    text = row.refused or named(row.chosen)
    yield f"{row.target:14} {row.idiom:32} {verdict:6} {row.cost:5.2f} {text}"
    if not row.is_met:
        yield f"{'':14} {'':32} expert {row.expected_cost:5.2f} {named(row.expected)}"


def rows(target: str, family: str = "*", step: int = 1) -> Iterator[Row]:
    """The idioms of a family, or of all."""
    machine = load_target(target)
    registers = extension_of(machine)
    expected = _expected()
    at = 0
    for path in sorted(FOLDER.glob(f"{family}.c")):
        for function in read_file(Source(path.name, path.read_text()), Options(target=target)).functions:
            at += 1
            if (at - 1) % step == 0:
                yield _row(function, target, registers, expected.get(function.name, {}))


@cache
def _expected() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((FOLDER / "expected.toml").read_text())


def _row(
    function: CFunction, target: str, registers: VectorExtension, expected: Mapping[str, str]
) -> Row:
    wanted = dict(_counted(x) for x in expected.get(target.rpartition("-")[2], "").split(", ") if x)
    start = perf_counter()
    chosen: Counter[str] = Counter()
    lanes, refused = 0, ""
    try:
        lanes, chosen = _select(function, target, registers)
    except (NoCover, PlanishError) as error:
        refused = str(error)
    seconds = perf_counter() - start
    costs = [fsum(cost_of(registers, name) * count for name, count in x.items()) for x in (chosen, wanted)]
    return Row(function.name, target, lanes, chosen, refused, wanted, costs[0], costs[1], seconds)


def _select(function: CFunction, target: str, registers: VectorExtension) -> tuple[int, Counter[str]]:
    """The lanes of a strip and the instructions of a function's only loop; NoCover where there are none."""
    machine = load_target(target)
    if len(function.regions) != 1:
        raise NoCover("the loop is not read")
    (region,) = function.regions
    nest = plan_region(region, Options(target=target), machine).context.nest
    found = () if nest is None else find_strips(nest.kernel)
    if nest is None or len(found) != 1:
        raise NoCover("no loop of integers that strips are made of")
    lanes = lanes_of(found[0], nest.kernel, registers)
    loop = lane_loop(found[0], lanes)
    stores, _ = cover_strip(read_strip(loop, {x.name: x for x in nest.kernel.arrays}), registers)
    calls = [x for x in in_order([value for value, _, _ in stores]) if x.kind == "call"]
    return lanes, Counter(str(x.detail[0]) for x in calls)


def _counted(text: str) -> tuple[str, int]:
    """"2 _mm256_adds_epu8": a name, and how often."""
    count, _, name = text.rpartition(" ")
    return name, int(count or 1)
