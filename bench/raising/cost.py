"""What raising costs: the seconds for each PolyBench kernel in a process of its own, and what that adds to its build.

    python -m bench.raising.cost examples/polybench/gemm.c   # prints the seconds for this file in a fresh process

>>> round(share_of([Cost("a", 0.1, 2.0), Cost("b", 0.2, 4.0)]), 3)
0.05
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.guards.build_time import time_build
from bench.harness.progress import Progress
from bench.harness.suite import read_source
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.raising.match.operation_index import load_operations
from planish.raising.nests import raise_kernel
from planish.raising.tdl.constants import specialise_all

WITHOUT = "--no-raise"
"""The option of `planish build` that leaves raising out."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A file: the seconds that raising takes it, and those of a build without it."""

    file: str
    seconds: float
    build_seconds: float


def share_of(costs: Sequence[Cost]) -> float:
    """What raising adds to the builds of all files."""
    return sum(x.seconds for x in costs) / max(sum(x.build_seconds for x in costs), 1e-9)


def measure(files: Sequence[Path], cache: Path, show: bool = True) -> list[Cost]:
    """Raises and builds the files one after the other, each in a process of its own; what operations are compared by is
    kept in a cache, which has to have it already."""
    progress = Progress(len(files), show=show)
    out: list[Cost] = []
    try:
        for file in files:
            progress.begin(file.stem)
            built = time_build(file, 600.0, (WITHOUT,), measured=True)
            out.append(Cost(file.stem, raise_apart(file, cache), built.seconds))
            progress.finish(f"{out[-1].seconds:.2f} s of {out[-1].build_seconds:.2f} s")
    finally:
        progress.close()
    return out


def raise_apart(file: Path, cache: Path) -> float:
    """The seconds of raising a file in a process of its own, with a cache in some folder."""
    path = os.pathsep.join(x for x in sys.path if x)
    command = [sys.executable, "-m", "bench.raising.cost", str(file)]
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(cache)}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


def raise_file(file: Path) -> float:
    """The seconds of raising a file here, with what has to be read for it."""
    functions = read_file(read_source(file), Options(include_dirs=(file.parent,))).functions
    regions = [x for function in functions for x in function.regions]
    started = time.perf_counter()
    operations = load_operations(Cache())
    for region in regions:
        try:
            raise_kernel(region.kernel, specialise_all(operations, region.kernel))
        except NotAffineError:
            continue
    return time.perf_counter() - started


if __name__ == "__main__":
    print(raise_file(Path(sys.argv[1])))
