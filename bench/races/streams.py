"""Functions that wait for memory, beside what moves as many bytes and beside OpenBLAS.

    python -m bench.races.streams          # prints the table
    python -m bench.races.streams dot      # only these

>>> Streamed("dot", 0.002, 0.0019, 0.0021).ratio
0.95
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.contest import Contestant, Course, Rules, admit, enlist_drop_ins
from bench.harness.places import PROGRAMS, RIVALS
from bench.harness.thresholds import Bar, keep
from bench.races import dense_algebra
from bench.rivals.blas_baselines import ONE_THREAD, Anchor, find_openblas
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import make_case
from planish.run.timing.clock import measure
from planish.run.toolchains.toolchain import compile_library

STREAMS, RIVAL = PROGRAMS / "streams", RIVALS / "streams_rivals.c"
IN_LIBRARY = ("dot", "axpy", "gemv", "transpose")
FAST = ("-O3", "-march=native", "-ffast-math", "-w")


@dataclass(frozen=True, slots=True)
class Streamed:
    """Seconds a call, the medians of one race: ours, what only moves the bytes, the library's (None: it has none)."""

    name: str
    ours: float
    moved: float
    library: float | None

    @property
    def ratio(self) -> float:
        """The faster one of the others over ours."""
        return round(min(x for x in (self.moved, self.library) if x is not None) / self.ours, 4)

    @property
    def bar(self) -> Bar:
        """For a figure."""
        rivals = {"what moves the bytes": self.moved, "OpenBLAS": self.library}
        return Bar(self.name, {x: y / self.ours for x, y in rivals.items() if y is not None})

    def __str__(self) -> str:
        library = "" if self.library is None else f", OpenBLAS {1e3 * self.library:.3g} ms"
        times = f"{1e3 * self.ours:.3g} ms, the bytes moved {1e3 * self.moved:.3g} ms{library}"
        return f"{self.name}: {times}: {self.ratio:.2f}"


def stream(program: dense_algebra.Program, library: Anchor, rules: Rules, folder: Path) -> Streamed:
    """One function, built by planish and raced; raises PlanishError."""
    options = Options(sizes=program.sizes, defines=program.defines, budget=rules.build_budget)
    built = build_file(Source(str(program.path), program.text), options)
    function = built.functions[-1].function
    signature = signature_of(function)
    assert signature is not None
    case, limits = make_case(function, (), program.sizes, seed=1), Limits(seconds=rules.time_limit)
    macros = tuple(f"-D{x}" for x in program.defines)
    entry = entry_text(signature)
    reference = compile_library(rules.compilers[0], program.text + entry, ("-O2", "-w", *macros), folder, limits, ())
    course = Course(reference, signature, case, case, folder, program.path.parent, rules)
    contestants = (*enlist_drop_ins(built, options, rules, folder), *_libraries(program, rules))
    entered = admit(program.name, contestants, course)
    for compiler in rules.compilers:
        flags = (*FAST, *macros, *program.rival_flags)
        entered[f"moved {compiler.name}"] = compile_library(compiler, program.rival + entry, flags, folder, limits, ())
    times = {x.label: x.median for x in measure(tuple(entered.items()), signature, case, rules.budget, 9)}

    def best(team: str) -> float | None:
        return min((y for x, y in times.items() if x.startswith(team)), default=None)

    ours, moved = best("ours"), best("moved")
    assert ours is not None and moved is not None
    return Streamed(program.name, ours, moved, best("library"))


def _libraries(program: dense_algebra.Program, rules: Rules) -> list[Contestant]:
    """The program that calls OpenBLAS, where it can."""
    if program.name not in IN_LIBRARY:
        return []
    flags = (*FAST, "-DLIBRARY", *program.rival_flags)
    return [Contestant(f"library {x.name}", "blas", x, program.rival, flags) for x in rules.compilers]


def stream_all(only: Sequence[str], rules: Rules, library: Anchor) -> list[Streamed]:
    """The functions by their names, or all."""
    os.environ.update(ONE_THREAD)
    wanted = dense_algebra.programs(1, library.path, STREAMS, RIVAL)
    with tempfile.TemporaryDirectory(prefix="planish-streams-") as folder:
        return [stream(x, library, rules, Path(folder)) for x in wanted if not only or x.name in only]


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced."""
    library = find_openblas()
    if not isinstance(library, Anchor):
        print(f"no OpenBLAS: {library}", file=sys.stderr)
        return 1
    for found in stream_all(arguments, dense_algebra.make_rules(False), library):
        keep("streams", [found.bar])
        print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
