"""The same C built with `--threads 2` and without, on two cores: what waits for arithmetic, and what waits for memory.

    python -m bench.races.two_cores               # prints the table
    python -m bench.races.two_cores gemm conv2d   # only these
    python -m bench.races.two_cores streams/dot   # of those that wait for memory, which have no bar in the figure

>>> Pair("gemm", 0.04, 0.02).ratio
2.0
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.harness.contest import Contestant, Course, Rules, admit, enlist_drop_ins
from bench.harness.places import EXAMPLES, PROGRAMS
from bench.harness.suite import evaluate_length
from bench.harness.thresholds import Bar, keep
from bench.races import dense_algebra
from bench.races.convolutions import FIRST, FOLDER, LAYERS
from bench.races.dsp import LENGTHS
from bench.races.polybench import POLYBENCH
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import make_case
from planish.run.timing.clock import measure
from planish.run.toolchains.toolchain import compile_library

DATASET = "LARGE"
KERNELS = ("gemm", "symm", "syrk", "syr2k", "trmm", "cholesky", "lu", "nussinov", "floyd-warshall")
"""The files of PolyBench that wait for arithmetic and have a claim of their own."""
CONVOLUTION = "conv2d"
STREAMS = PROGRAMS / "streams"
STAGES = PROGRAMS / "stages" / "walsh.c"
SIGNALS = EXAMPLES / "dsp"
SIGNALS_OF_ONE = (
    "autocorrelation", "complex_mul", "conv2d", "dct8x8", "fft_radix2", "fft_radix4", "fir", "histogram",
    "iir_biquad_cascade", "lms", "matvec", "median", "prefix_sum", "quantised_dot", "sobel",
)  # fmt: skip
"""The files of the DSP examples with one function."""
LOSS = 0.97
"""Two cores that are not so many times as fast as one lose, whatever the machine does besides."""


@dataclass(frozen=True, slots=True)
class Task:
    """A file, what it is built with, and where its headers are; `lengths`: of arrays of which its text does not say."""

    name: str
    path: Path
    sizes: Mapping[str, int]
    defines: tuple[str, ...]
    lengths: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds a call, the medians of one race: built for one core, and for two."""

    name: str
    one: float
    two: float

    @property
    def ratio(self) -> float:
        """How many times as fast two cores are."""
        return round(self.one / self.two, 4)

    @property
    def bar(self) -> Bar:
        """For a figure."""
        return Bar(self.name, {"one core": self.ratio})

    def __str__(self) -> str:
        times = f"{1e3 * self.one:.4g} ms on one core, {1e3 * self.two:.4g} ms on two"
        return f"{self.name}: {times}: {self.ratio:.2f}{' (a loss)' if self.ratio < LOSS else ''}"


def list_tasks() -> list[Task]:
    """All that are raced."""
    defines, layer = POLYBENCH.defines(DATASET), LAYERS[FIRST]
    files = [(x, POLYBENCH.sizes(x, DATASET)) for x in POLYBENCH.files(KERNELS)]
    tasks = [Task(x.stem, x, sizes, defines) for x, sizes in files]
    return [*tasks, Task(CONVOLUTION, FOLDER / "conv2d.c", layer.sizes, layer.defines), *list_others()]


def list_others() -> Iterator[Task]:
    """Those that mostly wait for memory: streams, stages, signals."""
    for path in sorted(STREAMS.glob("*.c")):
        found = re.findall(r"^#define (\w+) (\d+)$", path.read_text(), re.MULTILINE)
        sizes = {x.lower(): int(y) for x, y in found}
        yield Task(f"streams/{path.stem}", path, sizes, tuple(f"{x}={y}" for x, y in found))
    yield Task("stages/walsh", STAGES, {"n": 1 << 18}, ("TYPE=float",), {"a": 1 << 18})
    known = tomllib.loads((SIGNALS / "sizes.toml").read_text())
    for name in SIGNALS_OF_ONE:
        sizes = known[name]["large"]
        lengths = {x: evaluate_length(y, sizes) for x, y in LENGTHS[name].items()}
        yield Task(f"dsp/{name}", SIGNALS / f"{name}.c", sizes, (), lengths)


def pair(task: Task, rules: Rules, folder: Path) -> Pair:
    """One file, built twice and raced; raises PlanishError."""
    text, include = task.path.read_text(), task.path.parent
    options = Options(sizes=task.sizes, defines=task.defines, include_dirs=(include,), budget=rules.build_budget)
    macros, limits = tuple(f"-D{x}" for x in task.defines), Limits(seconds=rules.time_limit)
    contestants: list[Contestant] = []
    for threads in (1, 2):
        chosen = replace(options, threads=threads)
        built = build_file(Source(str(task.path), text), chosen)
        found = enlist_drop_ins(built, chosen, rules, folder)
        contestants += [replace(x, label=f"{threads} {x.label}") for x in found]
    function = built.functions[-1].function
    signature = signature_of(function)
    assert signature is not None
    case, entry = make_case(function, (), task.sizes, seed=1), entry_text(signature)
    case = replace(case, elements={**case.elements, **task.lengths})
    strict = ("-O2", "-w", *macros)
    reference = compile_library(rules.compilers[0], text + entry, strict, folder, limits, (include,))
    course = Course(reference, signature, case, case, folder, include, rules)
    entered, times = admit(task.name, contestants, course), dict[str, float]()
    for compiler in rules.compilers:
        # Threads of one compiler's library wait for work where those of another one's are to run.
        own = tuple((x.label, entered[x.label]) for x in contestants if x.compiler == compiler and x.label in entered)
        times |= {x.label: x.median for x in measure(own, signature, case, rules.budget / 2, 9, cores=2)}
    one, two = (min(y for x, y in times.items() if x.startswith(f"{n} ")) for n in (1, 2))
    return Pair(task.name, one, two)


def pair_all(only: Sequence[str], rules: Rules) -> Iterator[Pair]:
    """The files by their names, or all."""
    for name in [x for x in os.environ if x.startswith("OMP_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="planish-two-") as folder:
        for task in list_tasks():
            if not only or task.name in only:
                yield pair(task, rules, Path(folder))


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced, 1 where there are no two cores."""
    if len(os.sched_getaffinity(0)) < 2:
        print("there are no two cores here", file=sys.stderr)
        return 1
    for found in pair_all(arguments, dense_algebra.make_rules(False)):
        if "/" not in found.name:
            keep("cores", [found.bar])
        print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
