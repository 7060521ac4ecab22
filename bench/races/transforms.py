"""Fourier transforms from their definition in plain C beside FFTW and pocketfft, complex numbers of f32.

    python -m bench.races.transforms         # prints the table
    python -m bench.races.transforms 256     # only this size

>>> Transformed(64, 1, 18e-9, 27e-9, None).over_fftw
1.5
"""

from __future__ import annotations

import ctypes
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.contest import Contestant, Course, Rules, admit, enlist_drop_ins
from bench.harness.places import PROGRAMS, RIVALS
from bench.harness.thresholds import Bar, keep
from bench.races import dense_algebra
from bench.rivals.blas_baselines import find_fftw, find_scipy
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import make_case
from planish.run.timing.clock import measure
from planish.run.toolchains.toolchain import compile_library

FOLDER = PROGRAMS / "transforms"
SIZES = (64, 256, 1024)
_NUMBERS = 1 << 15
"""pocketfft is called for rows of so many numbers together: a call from Python costs microseconds."""
_ROUNDS = 15


@dataclass(frozen=True, slots=True)
class Transformed:
    """Seconds a transform, the medians of one race each: ours and FFTW's for one row, ours over pocketfft's for many
    (None: there is none)."""

    size: int
    rows: int
    ours: float
    fftw: float
    over_pocketfft: float | None

    @property
    def over_fftw(self) -> float:
        """FFTW's time over ours."""
        return round(self.fftw / self.ours, 4)

    @property
    def bar(self) -> Bar:
        """For a figure."""
        other = {} if self.over_pocketfft is None else {"pocketfft": self.over_pocketfft}
        return Bar(f"{self.size} numbers", {"FFTW": self.over_fftw, **other})

    def __str__(self) -> str:
        flops = 5 * self.size * math.log2(self.size)
        other = "" if self.over_pocketfft is None else f", {self.over_pocketfft:.2f} over pocketfft ({self.rows} rows)"
        rates = f"{flops / self.ours / 1e9:.1f} GFLOPS, FFTW {flops / self.fftw / 1e9:.1f}"
        return f"{self.size}: {1e9 * self.ours:.0f} ns, {rates}: {self.over_fftw:.2f}{other}"


def transform(size: int, rules: Rules, folder: Path) -> Transformed:
    """One size, built by planish and raced; raises PlanishError."""
    text, rival = (FOLDER / "dft.c").read_text(), (RIVALS / "fftw.c").read_text()
    sizes, defines = {"rows": 1}, (f"SIZE={size}",)
    options = Options(sizes=sizes, defines=defines, budget=rules.build_budget)
    built = build_file(Source(str(FOLDER / "dft.c"), text), options)
    function = built.functions[-1].function
    signature = signature_of(function)
    assert signature is not None
    case, limits = make_case(function, (), sizes, seed=1), Limits(seconds=rules.time_limit)
    compiler, entry = rules.compilers[0], entry_text(signature)
    macros = tuple(f"-D{x}" for x in defines)
    reference = compile_library(compiler, text + entry, ("-O2", "-w", *macros, "-lm"), folder, limits, ())
    course = Course(reference, signature, case, case, folder, FOLDER, rules)
    entered = admit(f"{size}", enlist_drop_ins(built, options, rules, folder), course)
    entered |= admit(f"{size}", [Contestant("fftw", "blas", compiler, rival, ("-O2", *macros, "-lfftw3f"))], course)
    times = {x.label: x.median for x in measure(tuple(entered.items()), signature, case, rules.budget, 9)}
    ours = min((x for x in times if x.startswith("ours")), key=lambda x: times[x])
    rows = _NUMBERS // size
    over = _beside_scipy(entered[ours], size, rows) if not isinstance(find_scipy(), str) else None
    return Transformed(size, rows, times[ours], times["fftw"], over)


def _beside_scipy(library: Path, size: int, rows: int) -> float:
    """pocketfft's time over that of a library of ours, both called from Python in a process of its own, where SciPy
    is found."""
    command = [sys.executable, "-m", "bench.races.transforms", "--scipy", str(library), str(size), str(rows)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    ratio: float = json.loads(found.stdout)
    return ratio


def time_beside_scipy(library: str, size: int, rows: int) -> float:
    """pocketfft's time over ours, the median of rounds in which both take turns."""
    sys.path.append(str(find_scipy()))
    fft = import_module("scipy.fft")
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, size, 2), dtype=np.float32)
    y = np.empty_like(x)
    numbers = x.view(np.complex64)[..., 0]
    function = ctypes.CDLL(library).dft
    pointers = [ctypes.c_void_p(z.ctypes.data) for z in (x, y)]

    def ours() -> Any:
        return function(rows, *pointers)

    def theirs() -> Any:
        return fft.fft(numbers, workers=1)

    ours()
    off = abs(y.view(np.complex64)[..., 0] - theirs()).max() / abs(y).max()
    assert off < 1e-5, f"the results differ by {off}"
    times = [(_seconds(ours), _seconds(theirs)) for _ in range(_ROUNDS)]
    return statistics.median(y for _, y in times) / statistics.median(x for x, _ in times)


def _seconds(call: Callable[[], Any]) -> float:
    """Seconds that fifty calls take."""
    start = time.perf_counter()
    for _ in range(50):
        call()
    return time.perf_counter() - start


def transform_all(only: Sequence[int], rules: Rules) -> Iterator[Transformed]:
    """Some sizes, or all."""
    with tempfile.TemporaryDirectory(prefix="planish-transforms-") as folder:
        for size in SIZES:
            if not only or size in only:
                yield transform(size, rules, Path(folder))


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced."""
    if arguments[:1] == ["--scipy"]:
        print(json.dumps(time_beside_scipy(arguments[1], *map(int, arguments[2:]))))
        return 0
    missing = find_fftw()
    if missing:
        print(f"no FFTW: {missing}", file=sys.stderr)
        return 1
    for found in transform_all(tuple(map(int, arguments)), dense_algebra.make_rules(False)):
        keep("transforms", [found.bar])
        print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
