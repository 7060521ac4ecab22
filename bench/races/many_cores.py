"""The same drop-ins on 1, 2, 4, ... threads of a machine with many cores: prepared here, run where Python and gcc are.

    python -m bench.races.many_cores prepare FOLDER --threads 16      # builds the drop-ins, without a clock
    python FOLDER/many_cores.py run FOLDER --out times.json           # compiles and times them, within a minute

>>> Times("gemm", {1: 0.04, 16: 0.005}).ratio
8.0
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FLAGS = ("-O3", "-march=native", "-fopenmp", "-w", "-shared", "-fPIC")
SECONDS = 55.0
"""The time of a run, in all."""
REPEATS = 3
"""Calls with each number of threads, at most."""
CASES: Mapping[str, Mapping[str, int]] = {
    "jacobi-2d": {"tsteps": 100, "n": 1300}, "heat-3d": {"tsteps": 100, "n": 120},
    "seidel-2d": {"tsteps": 50, "n": 2000}, "fdtd-2d": {"tmax": 100, "nx": 1000, "ny": 1200},
    "adi": {"tsteps": 10, "n": 1000},
    "jacobi-1d": {"tsteps": 500, "n": 2000}, "cholesky": {"n": 2000}, "syrk": {"m": 1000, "n": 1200},
    "gemm": {"ni": 1000, "nj": 1100, "nk": 1200}, "lu": {"n": 2000},
}  # fmt: skip
"""Files of PolyBench with the sizes of LARGE; the stencils in fewer repetitions."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds a call by the number of threads, the best of all calls."""

    name: str
    seconds: Mapping[int, float]

    @property
    def ratio(self) -> float:
        """How many times as fast the most threads are as one."""
        return round(self.seconds[min(self.seconds)] / self.seconds[max(self.seconds)], 2)


def prepare(folder: Path, threads: int) -> None:
    """The drop-ins for one thread and for several, what their arguments are, and this file."""
    root = Path(__file__).resolve().parents[2]
    suite = root / "examples" / "polybench"
    folder.mkdir(parents=True, exist_ok=True)
    cases = {}
    for name, sizes in CASES.items():
        given = ",".join(f"{x}={y}" for x, y in sizes.items())
        for count in (1, threads):
            out = folder / f"{name}-{count}"
            command = [
                sys.executable, "-m", "planish", "build", str(suite / f"{name}.c"), "--threads", str(count),
                "--no-measure", "--no-trials", "-D", "LARGE_DATASET", "-I", str(suite), "--size", given, "-o", str(out),
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True)
            print(f"{name}, {count} threads: {done.stdout.strip().splitlines()[1:2] or done.stderr[-300:]}", flush=True)
        cases[name] = {"sizes": dict(sizes), "arguments": list_arguments((suite / f"{name}.c").read_text(), sizes)}
    shutil.copy(suite / "polybench.h", folder / "polybench.h")
    shutil.copy(__file__, folder / "many_cores.py")
    (folder / "cases.json").write_text(json.dumps({"threads": threads, "cases": cases}, indent=1))


def list_arguments(text: str, sizes: Mapping[str, int]) -> list[list[object]]:
    """The arguments of a file's function: sizes, scalars, and arrays with their elements.

    >>> list_arguments("void kernel_f(int n, DATA_TYPE a, DATA_TYPE A[N][N]) {", {"n": 3})
    [['int', 3], ['double', 1.5], ['array', 9]]
    >>> list_arguments("void kernel_f(DATA_TYPE POLYBENCH_3D(A, N, N, N, n, n, n)) {", {"n": 3})
    [['array', 27]]
    """
    plain = re.sub(r"POLYBENCH_(\d)D\(([^)]*)\)", _declare, text)
    head = plain[plain.index("void kernel_") :]
    head = head[head.index("(") + 1 : head.index(")")]
    out: list[list[object]] = []
    for part in (x.strip() for x in head.replace("\n", " ").split(",")):
        if part.startswith("int "):
            out.append(["int", sizes[part.split()[-1]]])
        elif "[" in part:
            count = 1
            for extent in part.split("[")[1:]:
                count *= sizes[extent.rstrip("] ").strip().lower()]
            out.append(["array", count])
        else:
            out.append(["double", 1.5])
    return out


def _declare(macro: re.Match[str]) -> str:
    """A macro of PolyBench as the array that it declares."""
    name, *extents = macro[2].replace(" ", "").split(",")
    return name + "".join(f"[{x}]" for x in extents[: int(macro[1])])


def run(folder: Path, counts: Sequence[int]) -> dict[str, object]:
    """The times of all that was prepared; each number of threads in a process of its own."""
    known = json.loads((folder / "cases.json").read_text())
    end = time.monotonic() + SECONDS
    out: dict[str, object] = {"cores": os.cpu_count(), "threads": known["threads"], "seconds": {}}
    times: dict[str, dict[str, float]] = {}
    builds = []
    for name in known["cases"]:
        for made in (1, known["threads"]):
            source, library = folder / f"{name}-{made}" / f"{name}.c", folder / f"{name}-{made}.so"
            command = ["gcc", *FLAGS, "-DLARGE_DATASET", f"-I{folder}", str(source), "-o", str(library), "-lm"]
            builds.append(subprocess.Popen(command))
    for x in builds:
        x.wait()
    for name in known["cases"]:
        times[name] = {}
        for made, count in [(1, 1), *((known["threads"], x) for x in counts)]:
            left = end - time.monotonic()
            if left < 1:
                break
            command = [sys.executable, __file__, "call", str(folder), name, str(made)]
            environment = {**os.environ, "OMP_NUM_THREADS": str(count)}
            try:
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=left)
                times[name][f"{made}/{count}"] = float(done.stdout)
            except (subprocess.TimeoutExpired, ValueError):
                times[name][f"{made}/{count}"] = -1.0
        print(name, " ".join(f"{x}: {1e3 * y:.3f} ms" for x, y in times[name].items()), flush=True)
    out["seconds"] = times
    return out


def call(folder: Path, name: str, made: str) -> float:
    """Seconds a call, the best of some within half a second."""
    case = json.loads((folder / "cases.json").read_text())["cases"][name]
    function = ctypes.CDLL(str(folder / f"{name}-{made}.so"))[f"kernel_{name.replace('-', '_')}"]
    arrays = [fill(x[1]) if x[0] == "array" else None for x in case["arguments"]]
    best, end = float("inf"), time.monotonic() + 0.5
    for _ in range(REPEATS):
        values: list[object] = []
        for (kind, value), array in zip(case["arguments"], arrays, strict=True):
            if array is not None:
                refill(array)
                values.append(array)
            else:
                values.append(ctypes.c_int(value) if kind == "int" else ctypes.c_double(value))
        begin = time.perf_counter()
        function(*values)
        best = min(best, time.perf_counter() - begin)
        if time.monotonic() > end:
            break
    return best


def fill(count: int) -> ctypes.Array[ctypes.c_double]:
    """An array of small numbers."""
    out = (ctypes.c_double * count)()
    refill(out)
    return out


def refill(array: ctypes.Array[ctypes.c_double]) -> None:
    """The numbers that an array begins with: a matrix of them has a diagonal that is large."""
    count = len(array)
    side = round(count**0.5)
    pattern = (ctypes.c_double * 1009)(*((x * 7 % 101) / 997 for x in range(1009)))
    size, whole = ctypes.sizeof(pattern), ctypes.sizeof(array)
    ctypes.memmove(array, pattern, min(size, whole))
    done = min(size, whole)
    while done < whole:
        step = min(done, whole - done)
        ctypes.memmove(ctypes.addressof(array) + done, ctypes.addressof(array), step)
        done += step
    if side * side == count:
        for i in range(side):
            array[i * side + i] = float(side)


def main(arguments: Sequence[str]) -> int:
    """0; 1 where nothing was prepared."""
    parser = argparse.ArgumentParser(prog="many_cores")
    parser.add_argument("what", choices=("prepare", "run", "call"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    match given.what:
        case "prepare":
            prepare(given.folder, given.threads)
        case "call":
            print(call(given.folder, *given.rest))
        case _:
            counts = [x for x in (1, 2, 4, 8, 16) if x <= (os.cpu_count() or 1)]
            found = run(given.folder, counts)
            if given.out:
                given.out.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
