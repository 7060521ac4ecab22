"""Image kernels as pipelines of Halide, each with a few schedules that its users would try; run by Halide's own Python.

    python -m bench.races.images --install                        # fetches Halide into bench/results/halide first
    bench/results/halide/bin/python bench/rivals/halide_images.py avx512 FOLDER gaussian3x3 …

writes FOLDER/NAME.SCHEDULE.o for each, with a function `NAME_SCHEDULE(input buffer, [weights,] output buffer)`, and the
names of the files to its output. Own pipelines, of what the C files of bench/programs/kernels33 compute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import halide as hl

ROUND_UP = hl.TailStrategy.RoundUp
U8, U16, U32, I8, I16, I32 = (hl.UInt(8), hl.UInt(16), hl.UInt(32), hl.Int(8), hl.Int(16), hl.Int(32))
X, Y, XI, YI, YO = (hl.Var(n) for n in ("x", "y", "xi", "yi", "yo"))
TARGETS = {
    "avx512": ("x86-64-linux-avx-avx2-avx512-avx512_skylake-avx512_cannonlake-fma-f16c-sse41", 512),
    "avx512-skylake": ("x86-64-linux-avx-avx2-avx512-avx512_skylake-fma-f16c-sse41", 512),
    "avx2": ("x86-64-linux-avx-avx2-fma-f16c-sse41", 256),
}
WITHOUT_CHECKS = "-no_asserts-no_bounds_query-no_runtime"
BINOMIAL = {3: (1, 2, 1), 5: (1, 4, 6, 4, 1), 7: (1, 6, 15, 20, 15, 6, 1)}


class Pipeline:
    """An output with its inputs, and the stages that can be stored a row, or a tile, ahead."""

    def __init__(self, type: hl.Type) -> None:
        self.source = hl.ImageParam(type, 2, "source")
        self.inputs, self.stages, self.out = [self.source], [], hl.Func("out")

    def at(self, row: int, column: int, type: hl.Type | None = None) -> hl.Expr:
        """The pixel at a distance from the output's."""
        value = self.source[X + column, Y + row]
        return value if type is None else hl.cast(type, value)

    def stage(self, value: hl.Expr) -> hl.Func:
        """A function that may be stored."""
        self.stages.append(hl.Func(f"stage{len(self.stages)}"))
        self.stages[-1][X, Y] = value
        return self.stages[-1]


def weighted(values: list[hl.Expr], weights: tuple[int, ...]) -> hl.Expr:
    """The sum of values times weights."""
    return chain(lambda a, b: a + b, [v if w == 1 else v * w for v, w in zip(values, weights, strict=True)])


def chain(function: Callable[[hl.Expr, hl.Expr], hl.Expr], values: list[hl.Expr]) -> hl.Expr:
    """The values joined by a function of two."""
    joined = values[0]
    for value in values[1:]:
        joined = function(joined, value)
    return joined


def gaussian(n: int) -> Pipeline:
    """Binomial weights down the columns, then along the rows."""
    p, wide = Pipeline(U8), U32 if n == 7 else U16
    column = p.stage(weighted([p.at(i, 0, U16) for i in range(n)], BINOMIAL[n]))
    total = weighted([hl.cast(wide, column[X + i, Y]) for i in range(n)], BINOMIAL[n])
    p.out[X, Y] = hl.cast(U8, {3: (total + 8) >> 4, 5: total >> 8, 7: total >> 12}[n])
    return p


def dilate(n: int) -> Pipeline:
    """The greatest of a square."""
    p = Pipeline(U8)
    column = p.stage(chain(hl.max, [p.at(i, 0) for i in range(n)]))
    p.out[X, Y] = chain(hl.max, [column[X + i, Y] for i in range(n)])
    return p


def median3x3() -> Pipeline:
    """The middle one of the greatest least, the middle middle and the least greatest of three columns."""
    p = Pipeline(U8)

    def middle(a: hl.Expr, b: hl.Expr, c: hl.Expr) -> hl.Expr:
        return hl.max(hl.min(hl.max(a, b), c), hl.min(a, b))

    column = [p.at(i, 0) for i in range(3)]
    high, low, mid = p.stage(chain(hl.max, column)), p.stage(chain(hl.min, column)), p.stage(middle(*column))
    rows = [[f[X + i, Y] for i in range(3)] for f in (high, low, mid)]
    p.out[X, Y] = middle(chain(hl.min, rows[0]), chain(hl.max, rows[1]), middle(*rows[2]))
    return p


def sobel3x3() -> Pipeline:
    """Absolute gradients, added and cut."""
    p = Pipeline(U8)
    along, down = hl.Func("along"), hl.Func("down")
    along[X, Y] = weighted([p.at(0, i, U16) for i in range(3)], BINOMIAL[3])
    down[X, Y] = weighted([p.at(i, 0, U16) for i in range(3)], BINOMIAL[3])
    total = hl.absd(along[X, Y], along[X, Y + 2]) + hl.absd(down[X, Y], down[X + 2, Y])
    p.out[X, Y] = hl.cast(U8, hl.min(total, 255))
    return p


def sobel5x5() -> Pipeline:
    """Two gradients of two scales each."""
    p = Pipeline(U8)

    def five(row: int, column: int, down: int, along: int) -> hl.Expr:
        values = [p.at(3 + row + k * down, 3 + column + k * along, U16) for k in (-2, -1, 0, 1, 2)]
        return weighted(values, (1, 1, 2, 1, 1))

    x = hl.absd(2 * five(-2, 0, 0, 1), 2 * five(2, 0, 0, 1)) + hl.absd(five(-1, 0, 0, 1), five(1, 0, 0, 1))
    y = hl.absd(2 * five(0, -2, 1, 0), 2 * five(0, 2, 1, 0)) + hl.absd(five(0, -1, 0, 1), five(0, 1, 0, 1))
    p.out[X, Y] = hl.saturating_add(hl.cast(U8, hl.min(x, 255)), hl.cast(U8, hl.min(y, 255)))
    return p


def convolution(type: hl.Type) -> Pipeline:
    """Nine weights that are known when it runs, summed in a type."""
    p = Pipeline(U8)
    weights = hl.ImageParam(I8, 2, "weights")
    p.inputs.append(weights)
    taps = [(p.at(i, j, I16), hl.cast(I16, weights[j, i])) for i in range(3) for j in range(3)]
    total = chain(lambda a, b: a + b, [hl.cast(type, a) * hl.cast(type, b) for a, b in taps])
    p.out[X, Y] = hl.cast(U8, hl.clamp(total >> 4, 0, 255))
    return p


def blur(n: int) -> Pipeline:
    """Means of n along rows, then down columns, in 16 bits."""
    p = Pipeline(U16)
    along = p.stage(chain(lambda a, b: a + b, [p.at(0, i) for i in range(n)]) / n)
    p.out[X, Y] = chain(lambda a, b: a + b, [along[X, Y + i] for i in range(n)]) / n
    return p


PIPELINES: dict[str, Callable[[], Pipeline]] = {
    **{f"gaussian{n}x{n}": lambda n=n: gaussian(n) for n in (3, 5, 7)},
    **{f"dilate{n}x{n}": lambda n=n: dilate(n) for n in (3, 5, 7)},
    **{f"blur{n}x{n}": lambda n=n: blur(n) for n in (3, 5, 7)},
    "median3x3": median3x3, "sobel3x3": sobel3x3, "sobel5x5": sobel5x5,
    "conv3x3a16": lambda: convolution(I16), "conv3x3a32": lambda: convolution(I32),
}  # fmt: skip


def tiles(p: Pipeline, lanes: int, rows: int) -> None:
    """Tiles of one vector by some rows."""
    p.out.tile(X, Y, XI, YI, lanes, rows, ROUND_UP).vectorize(XI).unroll(YI)


def stages_in_rows(p: Pipeline, lanes: int) -> None:
    """Stages of one row ahead."""
    p.out.vectorize(X, lanes, ROUND_UP)
    for f in p.stages:
        f.compute_at(p.out, Y).vectorize(X, lanes, ROUND_UP).align_storage(X, lanes)


def stages_in_tiles(p: Pipeline, lanes: int) -> None:
    """Stages of four rows ahead."""
    p.out.tile(X, Y, XI, YI, lanes, 4, ROUND_UP).vectorize(XI).unroll(YI)
    for f in p.stages:
        f.compute_at(p.out, Y).tile(X, Y, XI, YI, lanes, 4, ROUND_UP).vectorize(XI).unroll(YI).align_storage(X, lanes)


def sliding_rows(p: Pipeline, lanes: int) -> None:
    """Stages that slide down strips of 32 rows."""
    p.out.split(Y, YO, Y, 32).vectorize(X, lanes, ROUND_UP)
    for f in p.stages:
        f.store_at(p.out, YO).compute_at(p.out, Y).vectorize(X, lanes, ROUND_UP).align_storage(X, lanes)


def sliding_registers(p: Pipeline, lanes: int) -> None:
    """Stages that slide down strips of one vector."""
    p.out.split(Y, YO, YI, 32).split(X, X, XI, lanes, ROUND_UP).reorder(XI, YI, X, YO).vectorize(XI)
    for f in p.stages:
        f.store_in(hl.MemoryType.Stack).store_at(p.out, X).compute_at(p.out, YI).vectorize(X, lanes, ROUND_UP)


def stages_in_registers(p: Pipeline, lanes: int) -> None:
    """Stages of tiles of one vector by eight rows."""
    p.out.tile(X, Y, XI, YI, lanes, 8, ROUND_UP).vectorize(XI).unroll(YI)
    for f in p.stages:
        f.compute_at(p.out, X).vectorize(X, lanes, ROUND_UP).unroll(Y).store_in(hl.MemoryType.Stack)


SCHEDULES: dict[str, tuple[bool, Callable[[Pipeline, int], None]]] = {
    "vectors": (False, lambda p, n: p.out.vectorize(X, n, ROUND_UP)),
    "two_vectors": (False, lambda p, n: p.out.vectorize(X, 2 * n, ROUND_UP)),
    "two_rows": (False, lambda p, n: tiles(p, n, 2)),
    "four_rows": (False, lambda p, n: tiles(p, n, 4)),
    "staged_rows": (True, stages_in_rows),
    "staged_tiles": (True, stages_in_tiles),
    "sliding_rows": (True, sliding_rows),
    "sliding_registers": (True, sliding_registers),
    "staged_registers": (True, stages_in_registers),
}
"""Each with whether it is only for pipelines that have stages."""


def compile_all(name: str, target: str, folder: Path) -> Iterator[Path]:
    """The objects of a kernel, one for each schedule that Halide takes."""
    features, bits = TARGETS[target]
    for schedule, (staged, apply) in SCHEDULES.items():
        pipeline = PIPELINES[name]()
        if staged and not pipeline.stages:
            continue
        path = folder / f"{name}.{schedule}.o"
        try:
            apply(pipeline, bits // pipeline.source.type().bits())
            whole = hl.Target(features + WITHOUT_CHECKS)
            pipeline.out.compile_to_object(str(path), pipeline.inputs, f"{name}_{schedule}", whole)
        except hl.HalideError as refused:
            print(f"{path.name}: {refused}", file=sys.stderr)
            continue
        yield path


def main(arguments: list[str]) -> int:
    """0; the names of the objects are printed."""
    target, folder, *names = arguments
    for name in names or PIPELINES:
        for path in compile_all(name, target, Path(folder)):
            print(path, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
