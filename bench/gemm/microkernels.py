"""Micro-kernels of the library by themselves, beside the machine's peak and beside a kernel that does the whole tile.

    python -m bench.gemm.microkernels                # the best tiles, by depth
    python -m bench.gemm.microkernels --figure FILE  # solo mode as SVG: tiles, a whole one in a buffer, plain C
    python -m bench.gemm.microkernels --edges        # every tile up to the largest, beside the whole tile in a buffer
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figures.solo_figure import draw_figure
from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.types import BY_NAME
from planish.library.kernels.gemm.microkernel import Panel, Tile, make_micro
from planish.library.kernels.vectors import Vectors, find_vectors

DRIVER = Path(__file__).with_name("solo.c")
C_TYPES = {"f32": "float", "f64": "double"}
FLAGS = ("-O3", "-march=native", "-std=gnu11")
DEPTHS = (16, 32, 64, 128, 256, 512)
TILES = {
    ("avx512", "f32"): ((14, 2), (8, 3), (9, 3), (6, 4), (28, 1)),
    ("avx512", "f64"): ((14, 2), (8, 3)),
    ("avx2", "f32"): ((6, 2), (4, 3), (4, 2)),
    ("avx2", "f64"): ((6, 2), (4, 3)),
}
ROUNDS = 25
FIGURE_DEPTH = 256
"""The k of the figure's tiles."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel: what it reached at a depth, its share of what multiply-adds alone reached beside it (the median of the
    rounds), that peak, seconds a call."""

    name: str
    columns: int
    depth: int
    gflops: float
    share: float
    peak: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Run:
    """A call to be timed: a tile's kernel, for so many columns of C and steps of k."""

    tile: Tile
    columns: int
    depth: int

    @property
    def line(self) -> str:
        """The driver's input."""
        name = self.tile.name
        return f"{name} {2 * self.tile.rows * self.columns} {self.columns} {self.depth} {int(self.tile.masked)}\n"


def make_text(tiles: Sequence[Tile], panel: Panel | None = None, extra: str = "") -> str:
    """The C of some tiles' kernels, each a public function."""
    made = [make_micro(tile, panel).kernel for tile in tiles]
    texts = [emit_function(kernel, kernel.name, noalias=True).removeprefix("static ") for kernel in made]
    headers = sorted({header for kernel in made for header in headers_of(kernel)})
    return emit_prologue([*texts, extra] if extra else texts, (), headers)


def time_runs(text: str, runs: Sequence[str], vectors: Vectors, rounds: int = ROUNDS) -> list[Timed]:
    """The text's functions timed; RuntimeError where the compiler or the driver fails."""
    size = vectors.type.size
    defines = [f"-DREAL={C_TYPES[str(vectors.type)]}", f"-DBYTES={size * vectors.lanes}"]
    with tempfile.TemporaryDirectory(prefix="planish-solo-") as folder:
        source, library, driver = (Path(folder) / name for name in ("kernels.c", "kernels.so", "solo"))
        source.write_text(text)
        _check(["gcc", *FLAGS, "-shared", "-fPIC", str(source), "-o", str(library)])
        _check(["gcc", *FLAGS, *defines, str(DRIVER), "-o", str(driver), "-ldl"])
        output = _check([str(driver), str(library), str(rounds)], "".join(runs))
    return [_parse(line) for line in output.splitlines()]


def _check(command: Sequence[str], given: str = "") -> str:
    finished = subprocess.run(command, input=given, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{finished.stderr}")
    return finished.stdout


def _parse(line: str) -> Timed:
    said = json.loads(line)
    return Timed(**said)


def run_solo(extension: str, element: str, depths: Sequence[int] = DEPTHS, rounds: int = ROUNDS) -> list[Timed]:
    """The extension's best tiles at some depths."""
    vectors = find_vectors(extension, BY_NAME[element])
    tiles = [Tile(vectors, rows, count) for rows, count in TILES[extension, element]]
    runs = [Run(tile, tile.columns, depth).line for tile in tiles for depth in depths]
    return time_runs(make_text(tiles), runs, vectors, rounds)


def buffered_text(whole: Tile) -> str:
    """What BLIS does at an edge: the whole tile into a buffer, the part that is wanted from there to C."""
    rows, columns, name = whole.rows, whole.columns, whole.name
    kind = C_TYPES[str(whole.vectors_of.type)]
    bodies = []
    for height in range(1, rows + 1):
        bodies.append(
            f"void buffered_{height}(ptrdiff_t n, ptrdiff_t k, ptrdiff_t ldc, void *A, void *B, {kind} *C)\n{{\n"
            f"  _Alignas(64) {kind} tile[{rows}][{columns}];\n  {name}_first(k, {columns}, A, B, tile);\n"
            f"  for (int i = 0; i < {height}; i++)\n"
            "    for (ptrdiff_t j = 0; j < n; j++) C[i * ldc + j] += tile[i][j];\n}\n"
        )
    return "\n".join(bodies)


def edge_tile(vectors: Vectors, rows: int, columns: int) -> Tile:
    """The kernel for a tile at the edge."""
    return Tile(vectors, rows, -(-columns // vectors.lanes), columns % vectors.lanes != 0)


def run_edges(
    vectors: Vectors, rows: int, count: int, depth: int, rounds: int = ROUNDS
) -> list[tuple[int, int, float, float]]:
    """For every tile up to the largest: its rows, columns, seconds, and those of the whole tile into a buffer."""
    whole = Tile(vectors, rows, count)
    panel = Panel(rows, whole.columns)
    shapes = [(m, n) for m in range(1, rows + 1) for n in range(1, whole.columns + 1)]
    tiles = {edge_tile(vectors, m, n) for m, n in shapes} | {Tile(vectors, rows, count, first=True)}
    text = make_text(sorted(tiles, key=lambda x: x.name), panel, buffered_text(whole))
    runs = []
    for m, n in shapes:
        runs += [Run(edge_tile(vectors, m, n), n, depth).line, f"buffered_{m} {2 * m * n} {n} {depth} 1\n"]
    timed = time_runs(text, runs, vectors, rounds)
    pairs = zip(timed[::2], timed[1::2], strict=True)
    return [(m, n, a.seconds, b.seconds) for (m, n), (a, b) in zip(shapes, pairs, strict=True)]


def plain_text(whole: Tile, shapes: Sequence[tuple[int, int]]) -> str:
    """The product of the same panels as anyone would write it, for the compiler to do its best."""
    rows, columns, kind = whole.rows, whole.columns, C_TYPES[str(whole.vectors_of.type)]
    return "\n".join(
        f"void plain_{m}x{n}(ptrdiff_t k, ptrdiff_t ldc, {kind} *restrict A, {kind} *restrict B, {kind} *restrict C)\n"
        f"{{\n  for (ptrdiff_t p = 0; p < k; p++)\n    for (int i = 0; i < {m}; i++)\n"
        f"      for (int j = 0; j < {n}; j++) C[i * ldc + j] += A[p * {rows} + i] * B[p * {columns} + j];\n}}\n"
        for m, n in shapes
    )


def list_shapes(whole: Tile) -> list[tuple[int, int]]:
    """The tiles of the figure: each quarter of the largest one's rows by each half vector of its columns."""
    rows = dict.fromkeys(-(-whole.rows * quarter // 4) for quarter in (1, 2, 3, 4))
    half = max(1, whole.vectors_of.lanes // 2)
    return [(m, n) for m in rows for n in range(half, whole.columns + 1, half)]


def run_tiles(whole: Tile, shapes: Sequence[tuple[int, int]], depth: int, rounds: int = ROUNDS) -> list[list[Timed]]:
    """For some tiles: the kernel of each, the whole one into a buffer, and plain C."""
    vectors, panel = whole.vectors_of, Panel(whole.rows, whole.columns)
    tiles = {edge_tile(vectors, m, n) for m, n in shapes} | {Tile(vectors, whole.rows, whole.vectors, first=True)}
    extra = buffered_text(whole) + plain_text(whole, shapes)
    runs = []
    for m, n in shapes:
        runs.append(Run(edge_tile(vectors, m, n), n, depth).line)
        runs += [f"buffered_{m} {2 * m * n} {n} {depth} 1\n", f"plain_{m}x{n} {2 * m * n} {n} {depth} 0\n"]
    timed = time_runs(make_text(sorted(tiles, key=lambda x: x.name), panel, extra), runs, vectors, rounds)
    return [timed[start : start + 3] for start in range(0, len(timed), 3)]


def make_figure(extension: str, element: str, rounds: int = ROUNDS) -> str:
    """The figure of solo mode for an extension; RuntimeError where it cannot be run."""
    whole = Tile(find_vectors(extension, BY_NAME[element]), *TILES[extension, element][0])
    shapes = list_shapes(whole)
    found = run_tiles(whole, shapes, FIGURE_DEPTH, rounds)
    solo = run_solo(extension, element, rounds=rounds)
    peak = median(x.peak for x in [*solo, *(x for row in found for x in row)])
    kinds = ("made for the tile", f"the tile of {whole.rows} x {whole.columns} in a buffer", "plain C, compiled")
    bars = {
        f"{m}x{n}": {kind: x.share * peak for kind, x in zip(kinds, row, strict=True)}
        for (m, n), row in zip(shapes, found, strict=True)
    }
    lines: dict[str, dict[int, float]] = {}
    for x in solo:
        lines.setdefault(x.name.rpartition("_")[2], {})[x.depth] = x.share * peak
    title = f"Micro-kernels by themselves: {extension}, {element}; tiles at k = {FIGURE_DEPTH}"
    return draw_figure(title, bars, lines, peak)


def time_making(vectors: Vectors, rows: int, count: int) -> tuple[float, float]:
    """Seconds to schedule and generate the largest tile's kernel, and those of all tiles at its edges."""
    whole = Tile(vectors, rows, count)
    make_text([whole])
    start = time.perf_counter()
    make_text([whole])
    one = time.perf_counter() - start
    edges = [Tile(vectors, m, c, True) for m in range(1, rows + 1) for c in range(1, count + 1)]
    start = time.perf_counter()
    make_text(edges, Panel(rows, whole.columns))
    return one, time.perf_counter() - start


def main(arguments: Sequence[str]) -> int:
    """Prints a table for each extension that this machine has."""
    parser = argparse.ArgumentParser(description="Times micro-kernels by themselves.")
    parser.add_argument("--edges", action="store_true", help="every tile up to the largest of AVX-512, f32")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="the figure of solo mode, as SVG")
    parser.add_argument("--extension", default="avx512", choices=sorted({x for x, _ in TILES}), help="of the figure")
    parser.add_argument("--dtype", default="f32", choices=sorted(C_TYPES), help="of the figure")
    asked = parser.parse_args(arguments)
    if asked.figure:
        asked.figure.write_text(make_figure(asked.extension, asked.dtype))
        print(f"wrote {asked.figure}")
        return 0
    if asked.edges:
        for m, n, ours, theirs in run_edges(find_vectors("avx512", BY_NAME["f32"]), 14, 2, 128):
            print(f"{m:3} x {n:2}: {ours * 1e9:7.1f} ns, whole tile {theirs * 1e9:7.1f} ns: {theirs / ours:.2f}x")
        return 0
    for extension, element in TILES:
        print(f"{extension} {element}: share of the peak at k = {', '.join(map(str, DEPTHS))}")
        found = run_solo(extension, element)
        for start in range(0, len(found), len(DEPTHS)):
            row = found[start : start + len(DEPTHS)]
            shares = " ".join(f"{x.share:6.1%}" for x in row)
            print(f"  {row[0].name:28} {shares}   of {row[-1].peak:.0f} GFLOPS")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
