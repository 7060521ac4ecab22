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
from bench.promises.hexagon_packets import examine_hexagon, examine_selected
from bench.promises.vliw_baselines import naive_vector, unpipelined, untiled
from bench.promises.vliw_library import examine_library
from bench.promises.vliw_small import beside_papers, examine_small
from planish.build.machine_study import read_axis, study
from planish.build.packets import PacketResult, build_packets
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
FAR_QUICK = ("axpy_500001", "conv2d_3_512")
STUDY = ("constants.VPES=1,4,16", "units.VMAC.count=1,2,3")
STUDY_QUICK = ("constants.VPES=4,16", "units.VMAC.count=3")
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
    yield from ablation(paper)
    known = {x.result.function: x for x in paper}
    yield from examine_library(quick, lambda file, function: _cycles(known.get(function) or build_one(file, function)))
    yield from examine_small(quick)
    yield from beside_papers({x.result.function: x.result for x in paper if x.result.function in SMALL})
    yield from far_away(quick)
    yield from hardware(quick)
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
    yield from examine_hexagon(quick, stored)
    yield from examine_selected(quick, stored)


def ablation(built: Sequence[Built]) -> Iterator[Note]:
    """How many times as many cycles the paper's kernels take without tiles of registers, and list-scheduled."""
    machine = load_machine(MACHINE)
    good = [x.result for x in built if x.result.planned is not None and not x.result.message]
    for words, without in (("tiles of one vector and one row", untiled), ("nothing pipelined", unpipelined)):
        taken = [(without(x, machine), x.cycles) for x in good]
        found = [a / b for a, b in taken if a and b]
        yield Note(f"ablation, {words}: {mean_of(found):.2f}x as many cycles (geometric mean of {len(found)})")


def far_away(quick: bool) -> Iterator[Claim | Note]:
    """Kernels whose arrays do not fit near: whether they are right, and what is moved beside the least."""
    results: list[PacketResult] = []
    for x in build_all(FOLDER / "far.c", FAR_QUICK if quick else None):
        results.append(x.result)
        yield Note(describe(x))
        for line in x.result.blocks.describe() if x.result.blocks is not None else ():
            yield Note(f"{x.result.function}: {line}")
    right = sum(x.blocks is not None and not x.message for x in results)
    yield at_least("vliw.far.right", right, len(results))


def hardware(quick: bool) -> Iterator[Claim | Note]:
    """The study of machines: widths and multiplying units; a machine with more of both does no worse."""
    path = FOLDER / "study.c"
    axes = [read_axis(x) for x in (STUDY_QUICK if quick else STUDY)]
    found = study([Source(str(path), path.read_text())], MACHINE, axes, Options())
    gains = [(tuple(map(int, x.values)), found.mean(x)) for x in found.points]
    for values, gain in gains:
        yield Note(f"study, {', '.join(map(str, values))}: {gain:.2f}x of the first machine ({len(found.functions)})")
    worse = sum(
        a < b and gain > other for a, gain in gains for b, other in gains
        if all(x <= y for x, y in zip(a, b, strict=True))
    )  # fmt: skip
    yield at_least("vliw.study.points", len(found.points), 1 if quick else 6)
    yield at_most("vliw.study.not_monotone", worse, 0)


def build_all(path: Path, only: Sequence[str] | None) -> Iterator[Built]:
    """Each function of a file, one after the other."""
    source, machine = Source(str(path), path.read_text()), load_machine(MACHINE)
    names = only or list(_functions(source.text))
    for name in names:
        start = process_time()
        for result in build_packets(source, Options(functions=(name,)), machine):
            seconds = process_time() - start
            yield Built(result, naive_vector(result, machine), seconds)
            start = process_time()


def build_one(file: str, function: str) -> Built:
    """A function of one nest."""
    (built,) = build_all(FOLDER / file, (function,))
    return built


def _cycles(built: Built) -> int:
    return 0 if built.result.message else built.result.cycles


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
