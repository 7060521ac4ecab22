"""Cost tables of instructions: micro-operations, latency, and the ports that they occupy.

>>> found = Cost(1, 4, 0.5, (("FP0", 0.5), ("FP1", 0.5)))
>>> Cost.parsed(found.plain()) == found
True
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

PROCESSORS: Mapping[str, Mapping[str, str]] = {
    "x86": {"znver4": "Zen 4", "skylake-avx512": "Skylake-X", "icelake-server": "Ice Lake"},
    "arm": {"neoverse-n1": "Neoverse N1", "neoverse-v1": "Neoverse V1", "cortex-a76": "Cortex-A76 (as Cortex-A57)",
            "apple-m1": "Apple M1 (as Cyclone)"},
    "hvx": {"hexagonv60": "Hexagon v60", "hexagonv66": "Hexagon v66", "hexagonv68": "Hexagon v68",
            "hexagonv73": "Hexagon v73"},
}  # fmt: skip
"""The processors of each architecture, as LLVM calls them and as people do; of two LLVM 19 has no models of their own,
and takes those of older ones."""

CYCLES: Mapping[str, str] = {"hvx": "packets"}
"""What costs are counted in where that is no cycle."""

_SUFFIX = ".json.gz"


@dataclass(frozen=True, slots=True)
class Cost:
    """`operations`: micro-operations. `latency`: cycles until the result is there. `throughput`: cycles from one to the
    next where nothing waits. `ports`: for how many cycles each unit is kept busy, on average."""

    operations: int
    latency: int
    throughput: float
    ports: tuple[tuple[str, float], ...]

    def plain(self) -> list[Any]:
        """As lists and numbers; `parsed` reads it."""
        return [self.operations, self.latency, self.throughput, [list(x) for x in self.ports]]

    @classmethod
    def parsed(cls, plain: list[Any]) -> Cost:
        """The cost that `plain` gave."""
        operations, latency, throughput, ports = plain
        return cls(operations, latency, throughput, tuple((name, cycles) for name, cycles in ports))


@dataclass(frozen=True, slots=True)
class Costs:
    """What the instructions of an architecture cost, by their names and by processors; `source` says who says so."""

    source: str
    records: Mapping[str, Mapping[str, list[Any]]]

    def of(self, name: str) -> dict[str, Cost]:
        """The costs of an instruction by processors: none where nothing is known."""
        return {processor: Cost.parsed(plain) for processor, plain in self.records.get(name, {}).items()}

    def packed(self) -> bytes:
        """The bytes of a file: the same for the same costs."""
        content = {"source": self.source, "costs": {x: dict(y) for x, y in sorted(self.records.items())}}
        return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0)

    @classmethod
    def unpacked(cls, data: bytes) -> Costs:
        """What a file of ours holds."""
        found = json.loads(gzip.decompress(data))
        return cls(found["source"], found["costs"])


def costs_file(isa: str) -> str:
    """The name of the file of an architecture."""
    return isa + _SUFFIX


@cache
def load_costs(isa: str) -> Costs | None:
    """The costs that come with Planish; None for an architecture of which none are known."""
    file = files("planish.isa").joinpath("costs", costs_file(isa))
    return Costs.unpacked(file.read_bytes()) if file.is_file() else None


def collect_costs(source: str, found: Iterable[tuple[str, str, Cost]]) -> Costs:
    """The costs of instructions, each with its processor."""
    records: dict[str, dict[str, list[Any]]] = {}
    for name, processor, cost in found:
        records.setdefault(name, {})[processor] = cost.plain()
    return Costs(source, records)
