"""The claims `selection`: strips of image and network kernels are selected and proven, how long that takes, and how
fast the image kernels are beside compilers and Halide.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from time import process_time

from bench.promises import idioms, loops
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.promises.hvx_packets import ANCHORS, count_packets, missing_tools
from bench.races.images import KERNELS, NOT_INSTALLED, NotRun, race
from bench.sweeps.selected_strips import judge_all, parse, runnable
from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.library.loops.vector_strips.selected_pieces import select_nests
from planish.options import Options
from planish.select.instruction import extension_of
from planish.target.load import load_target

FOLDER = Path(__file__).resolve().parents[1] / "programs" / "kernels33"
TARGETS = ("x86-avx512", "x86-avx2", "aarch64-neon", "hexagon-hvx")
SAMPLE = 4
"""With `quick`: one file of so many."""
FUZZ, FUZZ_SAMPLE = 5000, 3
"""Random nests that are judged on each target, and so many with `quick`."""
MEDIAN_BAR, WORST_BAR, HALIDE_BAR = 1.0, 5.0, 1.3
ALIGNED_BAR, UNALIGNED_BAR = 0.75, 0.45
"""Packets of Hexagon, of what Halide takes where it knows that rows are aligned, and where it does not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A kernel on a target: the pieces that were selected, why others were not, and the seconds of the processor."""

    file: str
    selected: int
    refused: tuple[str, ...]
    seconds: float


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """How many files have all pieces of their nests selected and proven on each target, and the processor's seconds
    that a file takes, the tables of instructions read before."""
    files = sorted(FOLDER.glob("*.c"))[:: SAMPLE if quick else 1]
    for name in TARGETS:
        select_kernel(files[0], name)  # reads the tables
        outcomes = [select_kernel(x, name) for x in files]
        for x in outcomes:
            for reason in x.refused:
                yield Note(f"{name} {x.file}: {reason}")
        done = [x for x in outcomes if x.selected and not x.refused]
        short = name.rpartition("-")[2]
        yield at_least(f"selection.{short}.files", len(done), len(files))
        unproven = sum("not proven" in reason for x in outcomes for reason in x.refused)
        pieces = sum(x.selected for x in outcomes)
        yield at_least(f"selection.{short}.proven", pieces / max(1, pieces + unproven), 1.0)
        tried = [x.seconds for x in outcomes if x.seconds]
        if tried:
            yield at_most(f"selection.{short}.median_seconds", median(tried), MEDIAN_BAR)
            yield at_most(f"selection.{short}.worst_seconds", max(tried), WORST_BAR)
    yield from examine_packets(quick)
    yield Note("proofs take the normal form, cases, or all values: no solver; SVE has no strips yet")
    yield from examine_fuzz(quick)
    yield from idioms.examine(quick, stored)
    if not stored:
        yield from race_images(quick)
        yield from loops.examine(quick, stored)


def examine_fuzz(quick: bool) -> Iterator[Claim | Note]:
    """Random nests of integers: executed in strips, none may be wrong, or fail. Each is kept once it is judged, as by
    `python -m bench.sweeps.selected_strips --count 5000`."""
    options = parse([])
    count = FUZZ_SAMPLE if quick else FUZZ
    targets, reasons = runnable(options.targets.split(","))
    yield from map(Note, reasons)
    for target in targets:
        faults = 0
        for x in judge_all([(seed, target) for seed in range(count)], options):
            if x["fault"]:
                faults += 1
                yield Note(f"{target} seed {x['seed']}: {x['fault']}: {x['detail'][:300]}")
        yield at_most(f"selection.{target}.fuzz_faults_of_{count}", faults, 0)


def race_images(quick: bool) -> Iterator[Claim | Note]:
    """The drop-ins of the image kernels for this machine, built without a clock, beside the better compiler and the
    best schedule of Halide: geometric means, and the worst of each."""
    raced = []
    with tempfile.TemporaryDirectory(prefix="planish-images-") as folder:
        for kernel in KERNELS[:: SAMPLE if quick else 1]:
            try:
                raced.append(race(kernel, Path(folder)))
                yield Note(str(raced[-1]))
            except NotRun as reason:
                yield Note(f"{kernel}: {reason}")
    if not raced:
        return
    yield at_least("selection.images.worst_over_compilers", min(x.compilers for x in raced), 1.0)
    over = [x.over_halide for x in raced if x.over_halide]
    if not over:
        yield Note(NOT_INSTALLED)
        return
    yield at_least("selection.images.over_halide", geometric_mean(over), HALIDE_BAR)
    yield at_least("selection.images.worst_over_halide", min(over), 1.0)


def examine_packets(quick: bool) -> Iterator[Claim | Note]:
    """Packets for 128 bytes of output of drop-ins for Hexagon, beside clang's code and what Halide 21 takes."""
    missing = missing_tools()
    if missing:
        yield Note(f"packets of Hexagon: {missing}")
        return
    known, unknown = [], []
    for name, (unaligned, aligned) in list(ANCHORS.items())[: 2 if quick else None]:
        found = count_packets(name)
        counted = f"{found.ours:.1f} packets ({found.version}), clang {found.clang:.1f}, autohvx {found.autohvx:.1f}"
        yield Note(f"hexagon-hvx {name}: {counted}, Halide {unaligned}, {aligned} where rows are aligned")
        if found.ours:
            known.append(found.ours / aligned)
            unknown.append(found.ours / unaligned)
    if known:
        yield at_most("selection.hvx.packets_of_aligned_halide", geometric_mean(known), ALIGNED_BAR)
        yield at_most("selection.hvx.packets_of_halide", geometric_mean(unknown), UNALIGNED_BAR)


def select_kernel(path: Path, target: str) -> Outcome:
    """The pieces, in strips of one row, of all nests of a file."""
    options, machine = Options(target=target), load_target(target)
    registers = extension_of(machine)
    selected, refused, seconds = 0, [], 0.0
    try:
        functions = read_file(Source(path.name, path.read_text()), options).functions
    except PlanishError as error:
        return Outcome(path.stem, 0, (str(error),), 0.0)
    for function in functions:
        for region in function.regions:
            nest = plan_region(region, options, machine).context.nest
            start = process_time()
            found = [] if nest is None else list(select_nests(nest.kernel, registers))
            seconds += process_time() - start
            selected += sum(len(x.pieces) for x in found)
            refused += [f"{function.name}: {reason}" for x in found for reason in x.left]
            if not found:
                refused.append(f"{function.name}: no loop of integers that strips are made of")
    return Outcome(path.stem, selected, tuple(refused), seconds)
