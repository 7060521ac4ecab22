"""What a race leaves: times by contestant, who was left out and why, ratios and their geometric mean; kept as JSON.

>>> times = (Time("gcc", "compiler", "gcc", 2.0, 2.0, 2.0, 5), Time("ours gcc", "ours", "gcc", 0.5, 0.5, 0.5, 5))
>>> heat = Heat("kernel_gemm", {"n": 8}, times, (), "fused", "gcc", False)
>>> heat.ratio("compiler"), heat.ratio("polly")
(4.0, None)
>>> geometric_mean([1.0, 4.0])
2.0
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Team = Literal["compiler", "polly", "blas", "apart", "ours"]



@dataclass(frozen=True, slots=True)
class Time:
    """A contestant's seconds per call: the median over `rounds`, and the 10th and 90th percentile."""

    label: str
    team: Team
    compiler: str
    median: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A contestant that was not timed, and the reason."""

    label: str
    team: Team
    compiler: str
    reason: str


@dataclass(frozen=True, slots=True)
class Heat:
    """One function: all times, taken in turns in one process.

    `done` says what became of it, `builder` is the compiler with which its drop-in was chosen. `kept` means that the
    drop-in is the file as it was written, so the originals' times are ours.
    """

    function: str
    sizes: Mapping[str, int]
    times: tuple[Time, ...]
    left_out: tuple[LeftOut, ...]
    done: str
    builder: str
    kept: bool
    worst_relative: float = 0.0

    def best(self, team: Team, compiler: str | None = None) -> Time | None:
        """A team's fastest over its flags (with one compiler, where given); None where all were left out."""
        wanted: Team = "compiler" if team == "ours" and self.kept else team
        times = [t for t in self.times if t.team == wanted and compiler in (None, t.compiler)]
        return min(times, key=lambda t: t.median) if times else None

    def ratio(self, team: Team, compiler: str | None = None) -> float | None:
        """How many times faster ours is than a team, each at its best; with one compiler on both sides, where given."""
        theirs, ours = self.best(team, compiler), self.best("ours", compiler)
        return None if theirs is None or ours is None else theirs.median / ours.median

    @property
    def own_ratio(self) -> float | None:
        """The ratio under the compiler that the drop-in was chosen for: what "never slower" promises."""
        return self.ratio("compiler", self.builder)

    @property
    def verified(self) -> bool:
        """Whether the drop-in computes the same under its own compiler, with every set of flags."""
        failed = [x for x in self.left_out if x.team == "ours" and x.compiler == self.builder]
        return self.best("ours", self.builder) is not None and not failed


@dataclass(frozen=True, slots=True)
class Result:
    """One file: its functions, or the `error` that kept it from being built.

    `state` and `source` are digests of the compiler's own code and of the file: results of another state are stale.
    """

    file: str
    dataset: str
    state: str
    source: str
    machine: str
    compilers: tuple[str, ...]
    date: str
    build_seconds: float
    seconds: float
    heats: tuple[Heat, ...]
    error: str = ""

    @property
    def verified(self) -> bool:
        """Whether the file was built and every function of it computes the same."""
        return not self.error and all(heat.verified for heat in self.heats)


def geometric_mean(values: Iterable[float]) -> float:
    """The n-th root of the product of positive values; 0.0 for none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else 0.0


def ratios(results: Iterable[Result], team: Team) -> list[float]:
    """The ratio over a team of every function that has one."""
    found = (heat.ratio(team) for result in results for heat in result.heats)
    return [ratio for ratio in found if ratio is not None]


def own_ratios(results: Iterable[Result]) -> dict[str, float]:
    """By function: original over drop-in, under the compiler that the drop-in was chosen for."""
    found = {heat.function: heat.own_ratio for result in results for heat in result.heats}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def write_atomically(path: Path, text: str) -> None:
    """Puts a text file in place as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def save(path: Path, result: Result) -> None:
    """Stores a result as JSON."""
    write_atomically(path, json.dumps(asdict(result), indent=1) + "\n")


def load(path: Path) -> Result | None:
    """A stored result; None where there is none, or one of another format."""
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        heats = tuple(_heat(item) for item in data.pop("heats"))
        return Result(**{**data, "heats": heats, "compilers": tuple(data["compilers"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _heat(data: dict[str, Any]) -> Heat:
    times = tuple(Time(**item) for item in data.pop("times"))
    left_out = tuple(LeftOut(**item) for item in data.pop("left_out"))
    return Heat(**{**data, "times": times, "left_out": left_out})
