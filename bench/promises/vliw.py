"""The claims `vliw`: kernels of signal processing as packets of FT-Matrix, in one simulator with naive streams.

for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median
from time import process_time

from bench.promises.claim import Claim, Note, at_least, at_most
from planish.build.packets import PacketResult, build_packets, naive_vector
from planish.core.span import Source
from planish.options import Options
from planish.vliw.description import load_machine

FOLDER = Path(__file__).resolve().parents[1] / "programs" / "vliw"
MACHINE = "ftmatrix"
QUICK = {
    "papers.c": ("autocor_16", "conv2d_3_8", "matmul_4", "matmul_8"),
    "signals.c": ("fir", "dot", "axpy", "complex_multiply", "viterbi_step"),
}
"""With `quick`: these functions."""

FAMILIES = ("autocor", "fft", "conv2d", "matmul")
SMALL = ("autocor_16", "autocor_64", "autocor_100", "fft_16", "conv2d_3_8", "conv2d_5_11", "conv2d_3_13", "matmul_4",
         "matmul_8", "matmul_9")  # fmt: skip
"""The kernels of fewer than 256 floats in a matrix or signal."""
PAPER_BAR, SIGNALS_BAR, LEAST_BAR, SMALL_SECONDS, MEDIUM_SECONDS = 20.0, 6.0, 0.95, 5.0, 60.0


@dataclass(frozen=True, slots=True)
class Built:
    """A function's packets, the cycles of its naive vectors (0: there are none), and the seconds of the processor that
    planning and checking took."""

    result: PacketResult
    vectors: int
    seconds: float


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Cycles of each kernel beside a naive scalar stream (list-scheduled, nothing pipelined) and a naive vector stream
    (one vector at a time, list-scheduled); whether all are right; how many inner loops have their least interval."""
    paper: list[Built] = []
    signals: list[Built] = []
    for name, into in (("papers.c", paper), ("signals.c", signals)):
        for x in build_all(FOLDER / name, QUICK[name] if quick else None):
            into.append(x)
            yield Note(describe(x))
    both = [*paper, *signals]
    yield at_least("vliw.right", sum(x.result.planned is not None and not x.result.message for x in both), len(both))
    yield at_least("vliw.paper.over_naive_scalar", mean_of(x.result.speedup for x in paper), PAPER_BAR)
    for family in FAMILIES:
        own = [x.result.speedup for x in paper if x.result.function.startswith(family)]
        if own:
            yield Note(f"{family}: {mean_of(own):.1f}x over naive scalar (geometric mean of {len(own)})")
    over = [x.vectors / x.result.cycles for x in paper if x.vectors and x.result.cycles]
    yield Note(f"paper's kernels: {mean_of(over):.2f}x over naive vectors (geometric mean of {len(over)})")
    yield at_least("vliw.signals.over_naive_scalar", mean_of(x.result.speedup for x in signals), SIGNALS_BAR)
    loops = [y for x in both if x.result.planned is not None for y in x.result.planned.packed.loops]
    if loops:
        least = sum(x.interval == x.least for x in loops) / len(loops)
        yield at_least("vliw.loops.least_interval", least, LEAST_BAR)
    for label, bar, small in (("small", SMALL_SECONDS, True), ("medium", MEDIUM_SECONDS, False)):
        times = [x.seconds for x in paper if (x.result.function in SMALL) == small]
        if times:
            yield at_most(f"vliw.{label}.worst_seconds", max(times), bar)
            yield Note(f"{label}: median {median(times):.1f} s, with all checks")


def build_all(path: Path, only: Sequence[str] | None) -> Iterator[Built]:
    """Each function of a file, one after the other."""
    source, machine = Source(str(path), path.read_text()), load_machine(MACHINE)
    names = only or list(_functions(source.text))
    for name in names:
        start = process_time()
        for result in build_packets(source, Options(function=name), machine):
            seconds = process_time() - start
            yield Built(result, naive_vector(result, machine), seconds)
            start = process_time()


def _functions(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line and line[0].isalpha() and "(" in line:
            yield line.partition("(")[0].split()[-1].lstrip("*")


def describe(built: Built) -> str:
    """A line for a function."""
    x = built.result
    if x.planned is None:
        return f"{x.function}: refused: {x.remarks[0].message}"
    if x.message:
        return f"{x.function}: WRONG: {x.message}"
    loops = ", ".join(f"{y.interval} (least {y.least})" for y in x.planned.packed.loops) or "none"
    vectors = f"{built.vectors / x.cycles:.1f}x over naive vectors, " if built.vectors else ""
    return (
        f"{x.function}: {x.cycles} cycles, naive scalar {x.naive}, {x.speedup:.1f}x; {vectors}{x.planned.described}; "
        f"II {loops}; multiplying units {x.busy:.0%}; {built.seconds:.1f} s"
    )


def mean_of(values: Iterator[float] | Sequence[float]) -> float:
    """The geometric mean; what failed counts as 1."""
    logs = [log(max(x, 1e-9)) if x else 0.0 for x in values]
    return exp(sum(logs) / len(logs)) if logs else 0.0
