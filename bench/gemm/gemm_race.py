"""Races our matrix multiplication against the libraries of `blas_baselines`, on one core and one thread, driven from C.

    python -m bench.gemm.gemm_race                                           # the libraries among themselves
    python -m bench.gemm.gemm_race --ours own.so --symbol gemm 64 256x48x9   # squares, or m x n x k

Ours is a function on row-major arrays, with TA, TB and TC as `gemm_types.h` says for f32, f64, bf16, u8s8 and i16:

    void gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, TC alpha, const TA *A, ptrdiff_t lda, const TB *B, ptrdiff_t ldb,
              TC beta, TC *C, ptrdiff_t ldc);

All take turns in one process with the same data; GFLOPS (of integers: GOPS) are by this thread's processor time, the
median of the rounds. `peak` is what multiply-adds alone reach in the same rounds, or the instruction for such products.
Every result is compared with that of plain loops, integers exactly.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from bench.harness.record import geometric_mean
from bench.rivals.blas_baselines import ONE_THREAD, Anchor, find_anchors

Shape = tuple[int, int, int]
ElementType = Literal["f32", "f64", "bf16", "u8s8", "i16"]

DRIVER = Path(__file__).with_suffix(".c")
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-Wall", "-Wextra")
FLOATS: Sequence[ElementType] = ("f32", "f64")
LINKED = ("libxsmm", "onednn-matmul")
"""The styles that are called through headers, and are part of the driver."""
OURS, PEAK = "ours", "peak"
SCORE = ("gflops", "best", "seconds", "wall", "error")
SQUARES = ("16", "32", "64", "128", "256", "512", "1024")
ROUNDS, SECONDS_A_SHAPE = 7, 3.0
WRONG = 1


class RaceError(Exception):
    """The race could not be held, or a contestant computed something else."""


@dataclass(frozen=True, slots=True)
class Result:
    """One shape: what each contestant reached, by its name.

    `gflops` are of the median round and `best` of the fastest; `seconds` is a call's processor time in the median
    round, `wall` what passed meanwhile. `errors` are the largest distances from plain loops' result.
    """

    shape: Shape
    dtype: ElementType
    rounds: int
    peak: float
    gflops: Mapping[str, float]
    best: Mapping[str, float]
    seconds: Mapping[str, float]
    wall: Mapping[str, float]
    errors: Mapping[str, float]

    @property
    def strongest(self) -> str:
        """The fastest of the libraries."""
        return max((name for name in self.gflops if name != OURS), key=lambda name: self.gflops[name])

    @property
    def ratio(self) -> float | None:
        """Ours over the strongest, where we take part."""
        return self.gflops[OURS] / self.gflops[self.strongest] if OURS in self.gflops else None


def race(
    ours: Path | None,
    symbol: str,
    shapes: Sequence[Shape],
    dtype: ElementType = "f32",
    rounds: int = ROUNDS,
    seconds_a_shape: float = SECONDS_A_SHAPE,
    beta: float = 0.0,
    pad: int = 0,
    anchors: Sequence[Anchor] | None = None,
    fixed: bool = False,
) -> list[Result]:
    """Races the libraries and ours (None: the libraries alone) on every shape.

    A shape's rounds end early when `seconds_a_shape` are over, yet not before the third. Where `beta` is 0, C holds
    what is no number. `pad` elements lie between two rows of every array. `fixed`: our symbol finds a function
    for a shape, `Fixed (*)(m, n, k, lda, ldb, ldc)` in gemm_contestants.h. Raises RaceError.
    """
    found = [x for x in (find_anchors() if anchors is None else anchors) if dtype in x.symbols]
    entered = [f for x in found if x.style not in LINKED for f in (x.name, x.style, str(x.path), x.symbols[dtype])]
    if all(x.style == "libxsmm" for x in found):  # which does not take every shape
        raise RaceError("there is no library to race against: python -m bench.rivals.blas_baselines --install")
    if ours is not None:
        entered += [OURS, "fixed" if fixed else "plain", str(ours.resolve()), symbol]
    environment = dict(ONE_THREAD)
    for anchor in found:
        environment |= anchor.environment
    with tempfile.TemporaryDirectory(prefix="planish-race-") as folder:
        driver = build_driver(Path(folder), dtype, found)
        command = [str(driver), str(rounds), str(seconds_a_shape), str(beta), str(pad), *entered]
        lines = "".join(f"{m} {n} {k}\n" for m, n, k in shapes)
        finished = subprocess.run(command, input=lines, capture_output=True, text=True, env=environment)
    if finished.returncode:
        how = "a wrong result" if finished.returncode == WRONG else f"the driver ended with {finished.returncode}"
        raise RaceError(f"{how}\n{finished.stderr.strip()}")
    return [parse_result(line, dtype) for line in finished.stdout.splitlines()]


def build_driver(folder: Path, dtype: ElementType, anchors: Sequence[Anchor]) -> Path:
    """The program that runs the race for one element type, with those anchors in it that are not loaded."""
    driver = folder / "gemm_race"
    command = ["gcc", *FLAGS, f"-DELEMENT_{dtype.upper()}", str(DRIVER), "-o", str(driver)]
    for anchor in anchors:
        if anchor.style == "libxsmm":
            # It wants a BLAS to fall back to; this substitute is none, so that it cannot call another contestant.
            archives = (str(anchor.path), str(anchor.path.with_name("libxsmmnoblas.a")))
            command += [f"-DLIBXSMM_DISPATCH={anchor.symbols[dtype]}", *archives, "-lpthread", "-lrt"]
        elif anchor.style == "onednn-matmul":
            command += ["-DONEDNN_MATMUL", str(anchor.path)]
    finished = subprocess.run([*command, "-ldl", "-lm"], capture_output=True, text=True)
    if finished.returncode:
        raise RaceError(f"the driver cannot be built\n{finished.stderr.strip()}")
    return driver


def parse_result(line: str, dtype: ElementType) -> Result:
    """A line of the driver."""
    said = json.loads(line)
    scores = said["scores"]
    peak = scores.pop(PEAK)["best"]
    m, n, k = said["shape"]
    columns = ({name: score[key] for name, score in scores.items()} for key in SCORE)
    return Result((m, n, k), dtype, said["rounds"], peak, *columns)


def format_table(results: Sequence[Result]) -> str:
    """GFLOPS: shapes in rows, contestants in columns; then the peak, and ours over it and over the best library."""
    names = sorted({name: None for result in results for name in result.gflops}, key=OURS.__eq__)
    rows = [["type", "m", "n", "k", *names, PEAK, *(["x best", "of peak"] if OURS in names else [])]]
    for result in results:
        reached = [f"{result.gflops[name]:.1f}" if name in result.gflops else "-" for name in names]
        row = [result.dtype, *map(str, result.shape), *reached, f"{result.peak:.1f}"]
        if result.ratio is not None:
            row += [f"{result.ratio:.3f}", f"{result.gflops[OURS] / result.peak:.0%}"]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def format_summary(results: Sequence[Result]) -> str:
    """How far results lie from plain loops', and the geometric mean of ours over each shape's best library."""
    lines = [f"largest error: {max(max(result.errors.values()) for result in results):.2g}"]
    ratios = [result.ratio for result in results if result.ratio is not None]
    if ratios:
        lines.append(f"geometric mean over the best library: {geometric_mean(ratios):.3f} ({len(ratios)} shapes)")
    return "\n".join(lines)


def parse_shape(text: str) -> Shape:
    """`64` for a square, `64x48x32` for m, n and k."""
    sizes = [int(size) for size in text.split("x")]
    if len(sizes) == 1:
        sizes *= 3
    if len(sizes) != 3 or min(sizes) < 1:
        raise ValueError(text)
    m, n, k = sizes
    return m, n, k


def main(arguments: Sequence[str]) -> int:
    """0 where all computed the same, 1 otherwise."""
    asked = _parser().parse_args(arguments)
    types: Sequence[ElementType] = [asked.dtype] if asked.dtype else FLOATS
    shapes = asked.shapes or [parse_shape(text) for text in SQUARES]
    anchors = find_anchors()
    for anchor in anchors:
        print(anchor)
    try:
        for dtype in types:
            results = race(
                asked.ours, asked.symbol, shapes, dtype, asked.rounds, asked.seconds, asked.beta, asked.pad, anchors
            )
            print(f"\n{format_table(results)}\n{format_summary(results)}", flush=True)
    except RaceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Races matrix multiplication on one core against the best libraries.")
    default = ", ".join(SQUARES)
    parser.add_argument("shapes", nargs="*", type=parse_shape, metavar="SHAPE", help=f"N or MxNxK; default: {default}")
    parser.add_argument("--ours", type=Path, metavar="LIB", help="our shared library; default: we take no part")
    parser.add_argument("--symbol", default="gemm", metavar="NAME", help="our function in it (gemm)")
    parser.add_argument("--dtype", choices=get_args(ElementType), help=f"default: {' and '.join(FLOATS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"samples of everyone ({ROUNDS})")
    parser.add_argument("--seconds", type=float, default=SECONDS_A_SHAPE, metavar="S", help="most for a shape (3)")
    parser.add_argument("--beta", type=float, default=0.0, choices=(0.0, 1.0), help="what C is multiplied by first (0)")
    parser.add_argument("--pad", type=int, default=0, metavar="N", help="elements between two rows of an array (0)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
