"""Image kernels of 8 and 16 bits in the second-level cache: drop-ins beside compilers and Halide's best schedule.

    python -m bench.races.images --install              # fetches Halide into bench/results/halide first
    python -m bench.races.images                        # all kernels
    python -m bench.races.images gaussian3x3 --width 509

>>> raced = Raced("blur3x3", {"gcc": 0.4, "ours": 0.1, "blur3x3_vectors": 0.2, "blur3x3_two_rows": 0.15})
>>> print(raced)
blur3x3: gcc 0.4000, ours 0.1000, Halide 0.1500 (two_rows): 4.00x of compilers, 1.50x of Halide
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from bench.harness.places import PROGRAMS, RESULTS, RIVALS
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.toolchains.toolchain import Compiler, find_compilers
from planish.target.load import load_target

FOLDER = PROGRAMS / "kernels33"
KERNELS = (
    "gaussian3x3", "gaussian5x5", "gaussian7x7", "dilate3x3", "dilate5x5", "dilate7x7", "median3x3", "sobel3x3",
    "sobel5x5", "conv3x3a16", "conv3x3a32", "blur3x3", "blur5x5", "blur7x7",
)  # fmt: skip
ENVIRONMENT, PACKAGE = RESULTS / "halide", "halide==21.0.0"
NOT_INSTALLED = "Halide is not installed: python -m bench.races.images --install"
FLAGS = ("-O3", "-march=native", "-w")
WIDTH, HEIGHT, ROUNDS = 1024, 64, 41


class NotRun(Exception):
    """A contestant that cannot be compiled, or whose output is wrong."""


@dataclass(frozen=True, slots=True)
class Raced:
    """Nanoseconds a pixel of each contestant of a kernel, the medians of one race."""

    kernel: str
    times: Mapping[str, float]

    @property
    def halide(self) -> tuple[float, str] | None:
        """The best schedule of Halide, None where it did not take part."""
        mark = f"{self.kernel}_"
        return min(((y, x.removeprefix(mark)) for x, y in self.times.items() if x.startswith(mark)), default=None)

    @property
    def compilers(self) -> float:
        """The best compiler's time over ours."""
        named = [y for x, y in self.times.items() if x != "ours" and not x.startswith(f"{self.kernel}_")]
        return min(named) / self.times["ours"]

    @property
    def over_halide(self) -> float | None:
        """The time of Halide's best schedule over ours."""
        return self.halide[0] / self.times["ours"] if self.halide else None

    def __str__(self) -> str:
        plain = [f"{x} {y:.4f}" for x, y in self.times.items() if not x.startswith(f"{self.kernel}_")]
        ratios = [f"{self.compilers:.2f}x of compilers"]
        if self.halide and self.over_halide:
            plain.append(f"Halide {self.halide[0]:.4f} ({self.halide[1]})")
            ratios.append(f"{self.over_halide:.2f}x of Halide")
        return f"{self.kernel}: {', '.join(plain)}: {', '.join(ratios)}"


def race(kernel: str, folder: Path, width: int = WIDTH, height: int = HEIGHT, rounds: int = ROUNDS) -> Raced:
    """One race of a kernel; raises NotRun, PlanishError."""
    path = FOLDER / f"{kernel}.c"
    compilers = find_compilers()
    built = build_file(Source(path.name, path.read_text()), Options(measure=False))
    objects = [compile_as(c, path.read_text(), kernel, label_of(c), folder) for c in compilers]
    objects.append(compile_as(compilers[0], built.text, kernel, "ours", folder))
    schedules = compile_halide(kernel, folder)
    defines = [
        f"-DPIXEL={'uint16_t' if kernel.startswith('blur') else 'uint8_t'}",
        *(["-DROWS"] if kernel.startswith("blur") else ["-DWEIGHTS"] if kernel.startswith("conv") else []),
        "-DPLAIN(X)=" + " ".join(f"X({x})" for x in (*(label_of(c) for c in compilers), "ours")),
        *(["-DHALIDE(X)=" + " ".join(f"X({x.stem.replace('.', '_')})" for x in schedules)] if schedules else []),
    ]
    program = folder / f"{kernel}.race"
    main = Path(__file__).with_name("images.c")
    linked = [*map(str, (main, *objects, *schedules)), "-o", str(program), "-lm", "-lpthread", "-ldl"]
    run([str(compilers[0].path), "-O2", "-w", *defines, *linked])
    lines = run([str(program), str(width), str(height), str(rounds)]).splitlines()
    return Raced(kernel, {name: float(time) for name, time in (line.split() for line in lines)})


def compile_as(compiler: Compiler, text: str, kernel: str, label: str, folder: Path) -> Path:
    """The object of a kernel whose function is called `label`."""
    path = folder / f"{kernel}.{label}.c"
    path.write_text(text)
    made = path.with_suffix(".o")
    run([str(compiler.path), *FLAGS, f"-D{kernel}={label}", "-c", str(path), "-o", str(made)])
    return made


def compile_halide(kernel: str, folder: Path) -> list[Path]:
    """The objects of Halide's schedules of a kernel for this machine; none where it is not installed."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        return []
    features = {512: "avx512-skylake", 256: "avx2"}.get(load_target("native").vector_bits, "avx2")
    text = run([str(python), str(RIVALS / "halide_images.py"), features, str(folder), kernel])
    return [Path(x) for x in text.split()]


def run(command: Sequence[str], good: Sequence[int] = (0,)) -> str:
    """What a command prints; raises NotRun where it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in good:
        raise NotRun(f"{Path(command[0]).name}: {ended.stdout[-500:]}{ended.stderr[-1500:]}".strip())
    return ended.stdout


def install() -> None:
    """Halide in an environment of its own."""
    venv.create(ENVIRONMENT, with_pip=True)
    run([str(ENVIRONMENT / "bin" / "pip"), "install", "--quiet", PACKAGE])


def label_of(compiler: Compiler) -> str:
    """A compiler's name as a part of C names."""
    return compiler.name.replace("-", "_")


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced."""
    parser = argparse.ArgumentParser(description="Races image kernels: compilers, drop-ins, Halide.")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="only these; default: all")
    parser.add_argument("--width", type=int, default=WIDTH, help="pixels in a row, a multiple of 256 for Halide")
    parser.add_argument("--height", type=int, default=HEIGHT, help="rows, a multiple of 32 for Halide")
    parser.add_argument("--install", action="store_true", help="fetch Halide first")
    chosen = parser.parse_args(arguments)
    unknown = [x for x in chosen.kernels if x not in KERNELS]
    if unknown:
        parser.error(f"no kernel is called {', '.join(unknown)}: there are {', '.join(KERNELS)}")
    if chosen.install:
        install()
    if not ENVIRONMENT.exists():
        print(NOT_INSTALLED)
    raced = []
    with tempfile.TemporaryDirectory(prefix="planish-images-") as folder:
        for kernel in chosen.kernels or KERNELS:
            try:
                raced.append(race(kernel, Path(folder), chosen.width, chosen.height))
            except NotRun as reason:
                print(f"{kernel}: {reason}", flush=True)
                continue
            print(raced[-1], flush=True)
    if raced:
        over = [x.over_halide for x in raced if x.over_halide]
        print(f"geometric means: {geometric_mean(x.compilers for x in raced):.2f}x of the better compiler", end="")
        print(f", {geometric_mean(over):.2f}x of Halide" if over else "")
    return 0 if len(raced) == len(chosen.kernels or KERNELS) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
