"""Costs of HVX instructions, read from LLVM's description of Hexagon: the units of each itinerary class, and the cycles
in which it reads and writes.

>>> timings = '''class DepHVXItinV66 {
... InstrItinData <tc_a, [InstrStage<1, [SLOT2, SLOT3], 0>, InstrStage<1, [CVI_MPY0, CVI_MPY1]>], [9, 7, 5, 5],
...   [HVX_FWD, HVX_FWD, HVX_FWD, HVX_FWD]> }'''
>>> defined = '''def V6_vmac : HInst<
... (outs HvxVR:$Vx32), (ins HvxVR:$Vx32in, HvxVR:$Vu32, HvxVR:$Vv32), "", tc_a, T>, E, Requires<[UseHVXV60]> {
... }'''
>>> hexagon_costs(timings, defined)["V6_vmac"]
{'hexagonv66': Cost(operations=1, latency=2, throughput=0.5, \
ports=(('MPY0', 0.5), ('MPY1', 0.5), ('SLOT2', 0.5), ('SLOT3', 0.5)))}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.isa.costs.tables import PROCESSORS, Cost, Costs, collect_costs

HEXAGON_PLACES = ("usr/src/llvm-*/llvm/lib/Target/Hexagon",)
"""Where LLVM's description of Hexagon is looked for, below the root of files."""

_TIMINGS, _INSTRUCTIONS = "HexagonDepIICHVX.td", "HexagonDepInstrInfo.td"
_PAIRS = {
    "XLSHF": ("XLANE", "SHIFT"), "MPY01": ("MPY0", "MPY1"), "ALL_NOMEM": ("XLANE", "SHIFT", "MPY0", "MPY1"),
    "ALL": ("XLANE", "SHIFT", "MPY0", "MPY1", "LD", "ST"),
}  # fmt: skip
"""What is several units at once."""

_USUAL_READ = 7
"""The cycle in which most instructions read registers of vectors."""

_CLASS = re.compile(r"class DepHVXItinV(\d+) \{(.*?)(?=^class |\Z)", re.M | re.S)
_TIMING = re.compile(
    r"InstrItinData\s*<(\w+),\s*(?:/\*.*?\*/\s*)?\[((?:InstrStage<[^>]*>[,\s]*)*)\],"
    r"\s*\[([\d,\s]*)\],\s*\[([\w,\s]*)\]\s*>"
)
_STAGE = re.compile(r"InstrStage<\d+,\s*\[([^\]]*)\]")
_DEFINED = re.compile(r"^def (V6_\w+) : HInst<(.*?)^\}", re.M | re.S)
_NEEDS = re.compile(r"\bUseHVXV(\d+)")


@dataclass(frozen=True, slots=True)
class _Timing:
    """A class of instructions: for how long it keeps units busy, and the cycles in which it writes its results and
    reads its operands; those that are vectors are marked."""

    ports: tuple[tuple[str, float], ...]
    cycles: tuple[tuple[int, bool], ...]

    def cost(self, results: int) -> Cost:
        """What an instruction with so many results costs. A packet has two cycles."""
        written = [cycle for cycle, vector in self.cycles[:results] if vector]
        read = [cycle for cycle, vector in self.cycles[results:] if vector] or [_USUAL_READ]
        latency = (max(written) - min(read) + 1) // 2 if written else 0
        return Cost(1, latency, max((busy for _, busy in self.ports), default=0.0), self.ports)


def read_hexagon_costs(folder: str, names: Iterable[str]) -> Costs:
    """The costs of instructions by LLVM's description in a folder. PlanishError E0101 … where there is none, E0660
    where nothing is found in it."""
    wanted = "LLVM's description of Hexagon (its folder llvm/lib/Target/Hexagon)"
    timings, defined = (read_input(str(Path(folder) / x), wanted).source.text for x in (_TIMINGS, _INSTRUCTIONS))
    found = hexagon_costs(timings, defined)
    if not found:
        message = f"nothing in {folder} says what instructions cost"
        raise PlanishError(Diagnostic("E0660", message, help="versions 15 to 19 of LLVM are known to do"))
    version = re.search(r"\d+\.\d+\.\d+", str(Path(folder).resolve()))
    told = f"the itineraries of LLVM {version[0] if version else ''}".strip()
    return collect_costs(told, ((x, *y) for x in names for y in found.get(x, {}).items()))


def hexagon_costs(timings: str, defined: str) -> dict[str, dict[str, Cost]]:
    """The costs of all instructions, by their names and by processors."""
    known = {int(x[1]): dict(_timings(x[2])) for x in _CLASS.finditer(timings)}
    versions = [(x, int(x.removeprefix("hexagonv"))) for x in PROCESSORS["hvx"]]
    found = {}
    for name, text in _DEFINED.findall(defined):
        kind, needs = re.search(r"\btc_\w+", text), _NEEDS.search(text)
        outs = re.search(r"\(outs([^)]*)\)", text)
        if kind is None or needs is None or outs is None:
            continue
        costs = {
            processor: known[version][kind[0]].cost(outs[1].count("$"))
            for processor, version in versions
            if version >= int(needs[1]) and kind[0] in known.get(version, {})
        }
        if costs:
            found[name] = costs
    return found


def _timings(text: str) -> Iterator[tuple[str, _Timing]]:
    for name, stages, cycles, forwards in _TIMING.findall(text):
        ports: dict[str, float] = {}
        for stage in _STAGE.findall(stages):
            choices = _words(stage)
            for x in choices:
                for unit in _PAIRS.get(x, (x,)):
                    ports[unit] = round(ports.get(unit, 0) + 1 / len(choices), 3)
        places = zip(_words(cycles), _words(forwards), strict=False)
        yield name, _Timing(tuple(sorted(ports.items())), tuple((int(x), y == "HVX_FWD") for x, y in places))


def _words(text: str) -> list[str]:
    return [x.strip().removeprefix("CVI_") for x in text.split(",") if x.strip()]
