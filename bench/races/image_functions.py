"""Functions over images as users write them (interleaved channels, rows some bytes apart): drop-ins beside compilers.

    python -m bench.races.image_functions                       # all of bench/programs/images
    python -m bench.races.image_functions --only bgra_to_gray   # one function

>>> str(Raced("fill", {"gcc": 0.4, "clang": 0.2, "ours": 0.1}))
'fill: gcc 0.400, clang 0.200, ours 0.100: 2.00x of the better compiler'
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from bench.harness.places import PROGRAMS
from bench.races.images import FLAGS, HEIGHT, ROUNDS, WIDTH, NotRun, label_of, run
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.toolchains.toolchain import Compiler, find_compilers

FOLDER = PROGRAMS / "images"
OURS = "ours"
CALLS = {
    "abs_gradient": "in[0], P, W, H, out[0], P",
    "sobel_dy": "in[0], P, W, H, (int16_t *)out[0], S",
    "laplace_abs": "in[0], P, W, H, (int16_t *)out[0], P",
    "bgra_to_gray": "in[0], W, H, S, out[0], P",
    "rgb_to_gray": "in[0], S, W, H, out[0], P",
    "gray_to_bgra": "in[0], W, H, P, out[0], S, 255",
    "bgr_to_rgb": "in[0], W, H, S, out[0], S",
    "yuv444_to_bgr": "in[0], P, in[1], P, in[2], P, W, H, out[0], S",
    "bgr_to_luma": "in[0], S, W, H, out[0], P",
    "split_uv": "in[0], S, W, H, out[0], P, out[1], P",
    "split_bgr": "in[0], S, W, H, out[0], out[1], out[2], P",
    "merge_bgra": "in[0], in[1], in[2], in[3], P, W, H, out[0], S",
    "binarise": "in[0], P, W, H, 100, 255, 0, out[0], P",
    "count_greater": "in[0], P, W, H, 100",
    "fill_where": "in[0], P, W, H, 3, 77, out[0], P",
    "grow_range": "in[0], P, W, H, out[0], P, out[1], P",
    "shift_range": "in[0], P, W, H, out[0], P, out[1], P",
    "update_average": "in[0], W, H, P, (int16_t *)out[0]",
    "add_feature_difference": "in[0], P, W, H, in[1], P, in[2], P, 500, out[0], P",
    "mean3x3": "in[0], S, W, H, 3, out[0], S",
    "blur_rgb": "in[0], S, W, H, out[0], S",
    "median_rhomb": "in[0], P, W, H, out[0], P",
    "erode3x3": "in[0], P, W, H, out[0]",
    "alpha_blend": "in[0], S, W, H, 3, in[1], P, out[0], S",
    "alpha_blend_gray": "in[0], P, W, H, in[1], P, out[0], P",
    "premultiply": "in[0], S, W, H, out[0], S",
    "absolute_difference": "in[0], P, in[1], P, W, H, out[0], P",
    "reduce2x2": "in[0], P, W / 2, H / 2, out[0], P",
    "reduce2x2_bgra": "in[0], S, W / 2, H / 2, out[0], S",
    "stretch2x2": "in[0], P, W / 2, H / 2, out[0], P",
    "blend_rows": "in[0], in[1], W * H, 5, out[0]",
    "histogram": "in[0], W, H, P, bins",
    "squared_difference_sum": "in[0], P, in[1], P, W, H",
    "statistic": "in[0], P, W, H, out[0], out[1], out[2]",
    "local_binary_pattern": "in[0], P, W, H, out[0], P",
    "map_levels": "in[0], P, W, H, in[1], out[0], P",
    "value_sum": "in[0], P, W, H",
    "square_sum": "in[0], P, W, H",
    "correlation_sum": "in[0], P, in[1], P, W, H",
    "absolute_difference_sum": "in[0], P, in[1], P, W, H",
    "masked_difference_sum": "in[0], in[1], in[2], P, 3, W, H",
    "masked_sum": "in[0], P, W, H, in[1], P, 100",
    "masked_square_sum": "in[0], P, W, H, in[1], P, 100",
    "count_between": "(int16_t *)in[0], P, W, H, -100, 9000",
    "row_sums": "in[0], P, W, H, (uint32_t *)out[0]",
    "column_sums": "in[0], P, W, H, (uint32_t *)out[0]",
    "signed_dot": "(int8_t *)in[0], (int8_t *)in[1], (size_t)W * H",
    "change_index": "out[0], P, W, H, 3, 77",
    "fill_holes": "out[0], P, W, H, 3",
    "propagate": "in[0], P, W, H, in[1], P, 200, 220, 40, out[0], P",
    "edge_grow": "in[0], P, W, H, out[0], P",
    "edge_adjust": "out[1], P, W, H, out[0], P, 100",
    "count_range": "in[0], P, W, H, in[1], in[2], P, out[0], out[1], P",
    "average_images": "in[0], P, in[1], P, W, H, out[0], P",
    "saturated_subtraction": "in[0], in[1], P, W, H, out[0]",
    "int16_to_gray": "(int16_t *)in[0], S, W, H, out[0], P",
    "mix_weighted": "in[0], in[1], P, W, H, out[0]",
    "blend_uniform": "in[0], S, W, H, 3, 77, out[0], S",
    "multiply_high": "(uint16_t *)in[0], (uint16_t *)in[1], (size_t)W * H, (uint16_t *)out[0]",
    "gaussian5x5": "in[0], P, W, H, out[0]",
    "median3x3": "in[0], P, W, H, out[0]",
    "dilate3x3": "in[0], P, W, H, out[0]",
    "texture_gradient": "in[0], P, W, H, 16, 7, out[0]",
    "sharpen": "in[0], P, W, H, out[0]",
    "sobel_magnitude": "in[0], P, W, H, (uint16_t *)out[0], P",
    "bilinear_columns": "in[0], in[1], (size_t)W * H, out[0]",
    "integral_sum": "in[0], P, W, H, (uint32_t *)out[0], W",
    "split_bgra": "in[0], S, W, H, out[0], out[1], out[2], out[3], P",
    "merge_uv": "in[0], in[1], P, W, H, out[0], S",
    "merge_bgr": "in[0], in[1], in[2], P, W, H, out[0], S",
    "bgra_to_bgr": "in[0], W, H, S, out[0], S",
    "gray_to_bgr": "in[0], W, H, P, out[0], S",
    "palette_to_bgra": "in[0], W, H, P, (uint32_t *)in[1], (uint32_t *)out[0], W",
    "stretch_contrast": "in[0], P, W, H, 30, 300, out[0]",
    "rgb_to_chroma": "in[0], S, W, H, out[0], out[1], P",
}
"""How each function is called: images of `W` times `H` pixels, rows of pixels `S` bytes apart, of planes `P`."""
RETURNING = (
    "count_greater", "squared_difference_sum", "value_sum", "square_sum", "correlation_sum", "absolute_difference_sum",
    "masked_difference_sum", "masked_sum", "masked_square_sum", "count_between", "signed_dot",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Raced:
    """Nanoseconds a pixel of each contestant of a function; infinite where its result is wrong."""

    function: str
    times: Mapping[str, float]

    @property
    def over_compilers(self) -> float:
        """The better compiler's time over ours."""
        return min(y for x, y in self.times.items() if x != OURS) / self.times[OURS]

    def __str__(self) -> str:
        plain = ", ".join(f"{x} {y:.3f}" for x, y in self.times.items())
        return f"{self.function}: {plain}: {self.over_compilers:.2f}x of the better compiler"


def race(path: Path, only: Sequence[str], folder: Path, sizes: tuple[int, int, int]) -> Iterator[Raced]:
    """Races the functions of a file; raises NotRun, PlanishError."""
    text = path.read_text()
    functions = [x for x in only if f" {x}(" in text]
    compilers = find_compilers()
    began = time.monotonic()
    built = build_file(Source(path.name, text), Options(measure=False))
    print(f"{path.name}: built in {time.monotonic() - began:.1f} s", flush=True)
    header = folder / f"{path.stem}.h"
    header.write_text(built.header)
    (folder / f"{path.stem}.ours.c").write_text(built.text)
    contestants = [(label_of(x), x, path) for x in compilers]
    contestants.append((OURS, compilers[0], folder / f"{path.stem}.ours.c"))
    objects = [compile_as(*x, folder) for x in contestants]
    labels = [x for x, _, _ in contestants]
    contents = folder / f"{path.stem}.contestants.h"
    contents.write_text(f'#include "{header.name}"\n' + _declared(functions, labels))
    program = folder / f"{path.stem}.race"
    main = Path(__file__).with_suffix(".c")
    linked = [str(main), *map(str, objects), "-o", str(program), "-lm"]
    run([str(compilers[0].path), "-O2", "-w", "-include", str(contents), *linked])
    times: dict[str, dict[str, float]] = {x: {} for x in functions}
    for line in run([str(program), *map(str, sizes)], (0, 1)).splitlines():
        function, label, took = line.split()
        known = times[function].setdefault(label, float("inf") if took == "differs" else float(took))
        if took == "differs":
            print(f"{function}: the result of {label} differs", flush=True)
            assert known == float("inf")
    yield from (Raced(x, y) for x, y in times.items())


def _declared(functions: Sequence[str], labels: Sequence[str]) -> str:
    names = [f"extern __typeof__({x}) {y}_{x};" for x in functions for y in labels]
    entries = []
    for x in functions:
        result = "result = " if x in RETURNING else ""
        entries += [f"F({x}, {y}, {result}{y}_{x}({CALLS[x]}))" for y in labels]
    return "\n".join([*names, "#define FUNCTIONS(F) \\\n  " + " \\\n  ".join(entries), ""])


def compile_as(label: str, compiler: Compiler, path: Path, folder: Path) -> Path:
    """The object of a file whose functions' names begin with the label."""
    made = folder / f"{path.stem.split('.')[0]}.{label}.o"
    renamed = [f"-D{x}={label}_{x}" for x in CALLS]
    run([str(compiler.path), *FLAGS, *renamed, f"-I{path.parent}", "-c", str(path), "-o", str(made)])
    return made


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced and are right."""
    parser = argparse.ArgumentParser(description="Races functions over images: compilers, drop-ins.")
    parser.add_argument("--only", nargs="*", default=list(CALLS), metavar="FUNCTION", help="these; default: all")
    parser.add_argument("--width", type=int, default=WIDTH, help="pixels in a row")
    parser.add_argument("--height", type=int, default=HEIGHT, help="rows")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is timed, at most 999")
    parser.add_argument("--keep", type=Path, help="a folder for what is made")
    chosen = parser.parse_args(arguments)
    unknown = [x for x in chosen.only if x not in CALLS]
    if unknown:
        parser.error(f"no function is called {', '.join(unknown)}: there are {', '.join(CALLS)}")
    raced = []
    with tempfile.TemporaryDirectory(prefix="planish-images-") as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(FOLDER.glob("*.c")):
            if not any(f" {x}(" in path.read_text() for x in chosen.only):
                continue
            try:
                for x in race(path, chosen.only, folder, (chosen.width, chosen.height, chosen.rounds)):
                    raced.append(x)
                    print(x, flush=True)
            except NotRun as reason:
                print(f"{path.name}: {reason}", flush=True)
    if raced:
        ratios = [x.over_compilers for x in raced]
        print(f"{len(raced)} functions, geometric mean {geometric_mean(ratios):.2f}x of the better compiler, ", end="")
        print(f"worst {min(ratios):.2f}x")
    return 0 if len(raced) == len(chosen.only) and all(x.times[OURS] < float("inf") for x in raced) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
