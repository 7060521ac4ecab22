"""The claims `gemm`: micro-kernels, the whole product beside the libraries, refusals.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

from bench.gemm import gemm_race, mca, microkernels
from bench.gemm.gemm_ours import build_ours
from bench.gemm.gemm_race import ElementType, Result, Shape
from bench.gemm.small_ours import FINDER, build_small
from bench.harness.places import ROOT
from bench.harness.record import geometric_mean
from bench.promises.claim import Claim, Note, at_least, below
from bench.rivals.blas_baselines import has_avx512
from planish.ir.types import BY_NAME
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.vectors import find_vectors

SQUARES = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
RESNET: Sequence[Shape] = (
    (12544, 64, 147), (3136, 64, 64), (3136, 64, 576), (3136, 256, 64), (3136, 64, 256), (784, 128, 256),
    (784, 128, 1152), (784, 512, 128), (196, 256, 512), (196, 256, 2304), (196, 1024, 256), (49, 512, 1024),
    (49, 512, 4608), (49, 2048, 512),
)  # fmt: skip
"""The convolutions of ResNet-50 as products, for one picture."""
THIN: Sequence[Shape] = tuple((m, 4096, 4096) for m in (1, 2, 4, 8, 16))
SMALL: Sequence[Shape] = tuple((m, n, k) for k in (32, 256) for m in range(1, 34) for n in range(1, 34))
NAMED = ("openblas", "blis", "mkl")
"""The libraries that squares, convolutions and thin shapes of f32 and f64 are raced against; all others against all."""
ELEMENTS: Sequence[ElementType] = ("f32", "f64", "bf16", "u8s8")
ROUNDS = 15
"""Of the races over squares, where a percent counts."""
RACES = 3
"""So many races over squares, each in a process of its own."""
REFUSALS = "tests/unit/schedule"
MARKS = ("_is_refused", "_are_refused")
"""How the names of tests end in which a step has to be refused, with the reason."""


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All claims; `quick` races fewer shapes. Only our libraries are stored, which take minutes to build first."""
    if stored:
        yield Note("nothing of this is stored: measure it without --stored")
        return
    yield from examine_micro(quick)
    yield from examine_neon()
    yield from examine_products(quick)
    yield from examine_refusals()


def examine_micro(quick: bool) -> Iterator[Claim | Note]:
    """Micro-kernels by themselves, their edges, and the time to make them."""
    depths = (128, 256) if quick else (128, 256, 512)
    for extension, bar in (("avx512", 0.985), ("avx2", 0.95)):
        try:
            found = microkernels.run_solo(extension, "f32", depths)
        except RuntimeError as error:
            yield Note(f"skipped {extension}: {str(error).splitlines()[0]}")
            continue
        best = [max((x for x in found if x.depth == depth), key=lambda x: x.share) for depth in depths]
        told = ", ".join(f"{x.name} {x.share:.1%} at {x.depth}" for x in best)
        yield Note(f"{extension}: {told}, of {best[0].peak:.0f} GFLOPS")
        yield at_least(f"micro.{extension}.share", min(x.share for x in best), bar)
    vectors = find_vectors("avx512", BY_NAME["f32"])
    one, edges = microkernels.time_making(vectors, 14, 2)
    yield below("micro.seconds", one, 0.3)
    yield below("micro.edges.seconds", edges, 10)
    if not has_avx512():
        yield Note("skipped the edges: they are timed with AVX-512")
        return
    rows = microkernels.run_edges(vectors, 14, 2, 128, rounds=3 if quick else 9)
    slowest = min(rows, key=lambda row: row[3] / row[2])
    yield Note(f"slowest of {len(rows)} edges against the whole tile in a buffer: {slowest[0]} x {slowest[1]}")
    yield at_least("micro.edges.over_buffer", slowest[3] / slowest[2], 1.0)


def examine_neon() -> Iterator[Claim | Note]:
    """The inner loop of the Neon kernel as llvm-mca reads it; that it computes the right thing is a test's to say."""
    yield Note("Neon kernels are run under an emulator by tests/targets/test_microkernels.py")
    text = microkernels.make_text([Tile(find_vectors("neon", BY_NAME["f32"]), 8, 3)])
    try:
        if mca.find_exo() is not None:
            theirs = [mca.read_loop(mca.make_neon(8, 12).text, cpu).share for cpu in mca.CPUS]
            yield Note(f"Exo's kernel: {', '.join(f'{share:.1%}' for share in theirs)} of the bound")
        for cpu in mca.CPUS:
            yield at_least(f"micro.neon.{cpu}.share", mca.read_loop(text, cpu).share, 0.95)
    except RuntimeError as error:
        yield Note(f"skipped: {str(error).splitlines()[0]}")
        return
    yield Note("cortex-a76: LLVM 19 models it as cortex-a57, and the bound is that model's")


def examine_products(quick: bool) -> Iterator[Claim | Note]:
    """The whole product beside the libraries."""
    anchors = gemm_race.find_anchors()
    yield Note(f"libraries: {', '.join(f'{x.name} {x.version}' for x in anchors) or 'none'}")
    if not anchors:
        yield Note("skipped: python -m bench.rivals.blas_baselines --install")
        return
    named = [x for x in anchors if x.name in NAMED]
    sizes = [(n, n, n) for n in (SQUARES[::3] if quick else SQUARES)]
    for element in ELEMENTS:
        # oneDNN is the strongest where elements are narrow; for f32 the issue names its rivals.
        rivals = named if element in ("f32", "f64") else anchors
        try:
            ours = build_ours(element)
        except RuntimeError as error:
            yield Note(f"skipped {element}: {str(error).splitlines()[-1]}")
            continue
        races = [
            gemm_race.race(ours, "gemm", sizes, element, rounds=ROUNDS, anchors=rivals)
            for _ in range(1 if quick else RACES)
        ]
        yield from judge(f"squares.{element}", take_middle(races), 1.03, 0.97)
    ours = build_ours("f32")
    shapes = RESNET[::4] if quick else RESNET
    yield from judge("resnet.f32", gemm_race.race(ours, "gemm", shapes, "f32", anchors=named), 1.05)
    thin = gemm_race.race(ours, "gemm", THIN[::2] if quick else THIN, "f32", anchors=named)
    yield from judge("thin.f32", thin, None, 1.0)
    if not has_avx512():
        yield Note("skipped small sizes: their kernels are for AVX-512 here")
        return
    small = SMALL[:: 101 if quick else 7]
    yield Note(f"small: {len(small)} of the {len(SMALL)} shapes, a kernel made for each, as libxsmm does")
    fixed = build_small(small)
    raced = gemm_race.race(fixed, FINDER, small, "f32", rounds=3, seconds_a_shape=0.2, anchors=anchors, fixed=True)
    yield from judge("small.f32", raced, 1.1)


def take_middle(races: Sequence[Sequence[Result]]) -> list[Result]:
    """Of each shape the result in the middle of several races: where a process finds its memory moves small sizes."""
    return [sorted(found, key=lambda x: x.ratio or 0.0)[len(races) // 2] for found in zip(*races, strict=True)]


def judge(
    name: str, results: Sequence[Result], geomean: float | None, least: float | None = None
) -> Iterator[Claim | Note]:
    """The claims on a race: the geometric mean over the best library of each shape, and the least ratio."""
    ratios = {result.shape: result.ratio or 0.0 for result in results}
    told = ", ".join(f"{'x'.join(map(str, shape))} {ratio:.2f}" for shape, ratio in list(ratios.items())[:16])
    yield Note(f"{name}, over the best library: {told}")
    if geomean is not None:
        yield at_least(f"{name}.geomean", geometric_mean(ratios.values()), geomean)
    if least is not None:
        yield at_least(f"{name}.least", min(ratios.values()), least)


def examine_refusals() -> Iterator[Claim | Note]:
    """How many tests there are in which a step must be refused, with the reason."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", REFUSALS]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    # The function's name tells, not its file's or its case's.
    names = [line.split("::")[1].partition("[")[0] for line in listed if "::" in line]
    refused = [name for name in names if any(name.endswith(mark) for mark in MARKS)]
    yield at_least("refusals.tests", len(refused), 60)
