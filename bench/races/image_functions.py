"""Functions over images as users write them (interleaved channels, rows some bytes apart): drop-ins beside compilers.

    python -m bench.races.image_functions                       # all of bench/programs/images
    python -m bench.races.image_functions --only bgra_to_gray   # one function

>>> str(Raced("fill", {"gcc": 0.4, "clang": 0.2, "ours_gcc": 0.1, "ours_clang": 0.1}))
'fill: gcc 0.400, clang 0.200, ours_gcc 0.100, ours_clang 0.100: 2.00x of the better compiler, 2.00x with each compiler'
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
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
SLOWER = 0.97
"""What is below this ratio is counted as slower."""
CALLS: dict[str, str] = tomllib.loads((FOLDER / "calls.toml").read_text())
"""How each function is called: images of `W` times `H` pixels, rows of pixels `S` bytes apart, of planes `P`."""


@dataclass(frozen=True, slots=True)
class Raced:
    """Nanoseconds a pixel of each contestant of a function; infinite where its result is wrong."""

    function: str
    times: Mapping[str, float]

    @property
    def over_compilers(self) -> float:
        """The better compiler's time over that of our better one."""
        ours = [x for x in self.times if x.startswith(OURS)]
        return min(y for x, y in self.times.items() if x not in ours) / min(self.times[x] for x in ours)

    @property
    def over_each(self) -> float:
        """The least of each compiler's time over that of the drop-in by the same compiler."""
        return min(y / self.times[f"{OURS}_{x}"] for x, y in self.times.items() if not x.startswith(OURS))

    def __str__(self) -> str:
        plain = ", ".join(f"{x} {y:.3f}" for x, y in self.times.items())
        ratios = f"{self.over_compilers:.2f}x of the better compiler, {self.over_each:.2f}x with each compiler"
        return f"{self.function}: {plain}: {ratios}"


def race(
    path: Path, only: Sequence[str], folder: Path, sizes: tuple[int, int, int, int], measure: bool
) -> Iterator[Raced]:
    """Races the functions of a file; raises NotRun, PlanishError."""
    text = path.read_text()
    functions = [x for x in only if f" {x}(" in text]
    compilers = find_compilers()
    began = time.monotonic()
    built = build_file(Source(path.name, text), Options(measure=measure))
    print(f"{path.name}: built in {time.monotonic() - began:.1f} s", flush=True)
    header = folder / f"{path.stem}.h"
    header.write_text(built.header)
    (folder / f"{path.stem}.ours.c").write_text(built.text)
    contestants = [(label_of(x), x, path) for x in compilers]
    contestants += [(f"{OURS}_{label_of(x)}", x, folder / f"{path.stem}.ours.c") for x in compilers]
    objects = [compile_as(*x, folder) for x in contestants]
    labels = [x for x, _, _ in contestants]
    contents = folder / f"{path.stem}.contestants.h"
    contents.write_text(f'#include "{header.name}"\n' + _declared(text, functions, labels))
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


def _declared(text: str, functions: Sequence[str], labels: Sequence[str]) -> str:
    names = [f"extern __typeof__({x}) {y}_{x};" for x in functions for y in labels]
    entries = []
    for x in functions:
        result = "" if f"void {x}(" in text else "result = "
        entries += [f"F({x}, {y}, {result}{y}_{x}({CALLS[x]}))" for y in labels]
    return "\n".join([*names, "#define FUNCTIONS(F) \\\n  " + " \\\n  ".join(entries), ""])


def compile_as(label: str, compiler: Compiler, path: Path, folder: Path) -> Path:
    """The object of a file whose functions' names begin with the label."""
    made = folder / f"{path.stem.removesuffix('.ours')}.{label}.o"
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
    parser.add_argument("--measure", action="store_true", help="let builds time their versions")
    parser.add_argument("--offset", type=int, default=0, help="bytes from a multiple of 64 to where images begin")
    parser.add_argument("--keep", type=Path, help="a folder for what is made")
    chosen = parser.parse_args(arguments)
    unknown = [x for x in chosen.only if x not in CALLS]
    if unknown:
        parser.error(f"no function is called {', '.join(unknown)}: there are {', '.join(CALLS)}")
    raced = []
    sizes = chosen.width, chosen.height, chosen.rounds, chosen.offset
    with tempfile.TemporaryDirectory(prefix="planish-images-") as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(FOLDER.glob("*.c")):
            if not any(f" {x}(" in path.read_text() for x in chosen.only):
                continue
            try:
                for x in race(path, chosen.only, folder, sizes, chosen.measure):
                    raced.append(x)
                    print(x, flush=True)
            except NotRun as reason:
                print(f"{path.name}: {reason}", flush=True)
    if raced:
        for what, ratios in (
            ("the better compiler", [x.over_compilers for x in raced]),
            ("each compiler", [x.over_each for x in raced]),
        ):
            print(f"{len(raced)} functions, geometric mean {geometric_mean(ratios):.2f}x of {what}, ", end="")
            print(f"worst {min(ratios):.2f}x, {sum(x < SLOWER for x in ratios)} below {SLOWER}x")
    return 0 if len(raced) == len(chosen.only) and all(y < float("inf") for x in raced for y in x.times.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
