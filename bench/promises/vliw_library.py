"""Routines as a vendor's library has them, written by hand for FT-Matrix, beside what is made of plain C.

A routine is a program of `bench/programs/vliw/library`: someone has chosen its lanes, blocks, unrolling, sums and what
is shifted instead of loaded, for any sizes. It gets the packets of the same scheduler, at the least interval, so that
what is compared is the program; its arrays are padded as it wants them, which costs it nothing.

>>> run = run_routine(CASES[0])
>>> run.wrong, run.cycles > 0
('', True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.promises.claim import Claim, Note, at_least
from planish.core.span import Source
from planish.ir.types import F32, I64
from planish.run.vliw.programs import run_code
from planish.vliw.description import load_machine
from planish.vliw.pack import pack
from planish.vliw.simulator.state import make_state
from planish.vliw.text import parse_program

LIBRARY = Path(__file__).resolve().parents[1] / "programs" / "vliw" / "library"
MACHINE, VECTOR, MOST_CYCLES = "ftmatrix", 32, 10_000_000
EACH_BAR, MEAN_BAR = 1.0, 1.2
Values = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """What a routine is called with, and what it is to leave in one of its arrays."""

    arrays: Mapping[str, Values]
    numbers: Mapping[str, int]
    wanted: Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class LibraryCase:
    """A function of a C file, and the routine that does the same, with its sizes."""

    file: str
    function: str
    routine: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoutineRun:
    """What a routine takes, and what is wrong with what it leaves."""

    cycles: int
    wrong: str = ""


CASES = (
    LibraryCase("papers.c", "matmul_96", "sgemm", (96, 96, 96)),
    LibraryCase("papers.c", "matmul_50", "sgemm", (50, 90, 70)),
    LibraryCase("library.c", "matmul_61", "sgemm", (61, 125, 67)),
    LibraryCase("library.c", "fir_1024", "fir", (1024, 32)),
    LibraryCase("library.c", "fir_1000", "fir", (1000, 23)),
    LibraryCase("library.c", "fir_777", "fir", (777, 65)),
    LibraryCase("papers.c", "autocor_512", "autocor", (512, 128)),
    LibraryCase("papers.c", "autocor_1000", "autocor", (1000, 100)),
    LibraryCase("papers.c", "autocor_2048", "autocor", (2048, 256)),
    LibraryCase("papers.c", "conv2d_3_64", "conv3x3", (64, 64)),
    LibraryCase("library.c", "conv2d_3_50", "conv3x3", (50, 90)),
    LibraryCase("library.c", "conv2d_3_93", "conv3x3", (93, 93)),
    LibraryCase("papers.c", "fft4_pass_1024", "fft4", (4, 64)),
    LibraryCase("library.c", "fft4_batch_60", "fft4", (16, 60)),
    LibraryCase("library.c", "fft4_pass_3000", "fft4", (5, 150)),
)


def run_routine(case: LibraryCase) -> RoutineRun:
    """A routine's cycles in the simulator, and whether it is right."""
    machine = load_machine(MACHINE)
    path = LIBRARY / f"{case.routine}.sa"
    code = pack(parse_program(Source(str(path), path.read_text()), machine), machine).code
    call = _CALLS[case.routine](np.random.default_rng(1), *case.sizes)
    state, places = make_state(machine), dict[str, int]()
    ends = dict.fromkeys((x.memory for x in code.parameters), 0)
    for x in code.parameters:
        if x.memory:
            places[x.name] = ends[x.memory]
            ends[x.memory] += 4 * _up(call.arrays[x.name].size, VECTOR)
            state.set_array(x.memory, places[x.name], call.arrays[x.name].ravel())
        state.set_register(x.register, places[x.name] if x.memory else call.numbers[x.name], I64)
    run = run_code(code, machine, state, MOST_CYCLES)
    if run.faults:
        return RoutineRun(run.cycles, str(run.faults[0]))
    for x in code.parameters:
        if x.name in call.wanted:
            wanted = call.wanted[x.name]
            found = run.state.array(x.memory, places[x.name], F32, wanted.size)
            if not np.array_equal(found, wanted.ravel()):
                return RoutineRun(run.cycles, f"{x.name} is wrong")
    return RoutineRun(run.cycles)


def examine_library(quick: bool, cycles: Callable[[str, str], int]) -> Iterator[Claim | Note]:
    """For each case how many times as many cycles the routine takes as the packets that are made of C, which `cycles`
    tells by file and function (0: there are none that are right); with `quick` one of each routine."""
    found: dict[str, list[float]] = {}
    for case in CASES:
        if quick and case.routine in found:
            continue
        run, ours = run_routine(case), cycles(case.file, case.function)
        ratio = run.cycles / ours if ours and not run.wrong else 0.0
        told = f"WRONG: {run.wrong}" if run.wrong else f"{run.cycles} cycles, {ratio:.2f}x"
        yield Note(f"{case.function}: {ours} cycles; {case.routine} by hand: {told}")
        found.setdefault(case.routine, []).append(ratio)
    for routine, ratios in found.items():
        yield at_least(f"vliw.medium.over_library.{routine}", min(ratios), EACH_BAR)
    ratios = [max(y, 1e-9) for x in found.values() for y in x]
    yield at_least("vliw.medium.over_library", float(np.exp(np.log(ratios).mean())), MEAN_BAR)


def _up(count: int, step: int) -> int:
    return ceil(count / step) * step


def _whole(random: np.random.Generator, *shape: int) -> Values:
    """Small whole numbers: sums of them are the same in any order."""
    return random.integers(-4, 5, shape).astype(np.float32)


def _fir(random: np.random.Generator, n: int, taps: int) -> LibraryCall:
    outputs, own = _up(n, 128), _up(taps, 4)
    h = np.zeros(own, np.float32)
    h[:taps] = _whole(random, taps)
    x = _whole(random, outputs + own + 160)
    y = np.correlate(x, h, "valid").astype(np.float32)[:outputs]
    arrays = {"h": h, "x": x, "y": np.zeros(outputs, np.float32)}
    return LibraryCall(arrays, {"blocks": outputs // 128, "groups": own // 4}, {"y": y})


def _autocor(random: np.random.Generator, n: int, lags: int) -> LibraryCall:
    own, all_ = _up(n, 4), _up(lags, 128)
    x = _whole(random, own + all_ + 160)
    s = np.zeros(own, np.float32)
    s[:n] = x[:n]
    r = np.correlate(x, s, "valid").astype(np.float32)[:all_]
    arrays = {"s": s, "x": x, "r": np.zeros(all_, np.float32)}
    return LibraryCall(arrays, {"blocks": all_ // 128, "groups": own // 4}, {"r": r})


def _conv3x3(random: np.random.Generator, height: int, width: int) -> LibraryCall:
    rows, columns = _up(height, 4), _up(width, VECTOR)
    given, w = _whole(random, rows + 2, columns + VECTOR), _whole(random, 3, 3)
    out = np.zeros((rows, columns), np.float32)
    wanted = sum(w[i, j] * given[i : i + rows, j : j + columns] for i in range(3) for j in range(3))
    vectors = columns // VECTOR
    numbers = {"fours": rows // 4, "pitch": 4 * given.shape[1], "opitch": 4 * columns, "strips2": vectors // 2}
    return LibraryCall({"w": w, "in": given, "out": out}, {**numbers, "strips1": vectors % 2}, {"out": wanted + out})


def _sgemm(random: np.random.Generator, m: int, n: int, k: int) -> LibraryCall:
    rows, terms, columns = _up(m, 6), _up(k, 2), _up(n, VECTOR)
    a, b = np.zeros((rows, terms), np.float32), np.zeros((terms, columns), np.float32)
    a[:m, :k], b[:k] = _whole(random, m, k), _whole(random, k, columns)
    vectors = columns // VECTOR
    numbers = {
        "sixes": rows // 6,
        "pairs": terms // 2,
        "pitch": 4 * terms,
        "bpitch": 4 * columns,
        "cpitch": 4 * columns,
    }
    numbers |= {"wide4": vectors // 4, **{f"wide{x}": int(vectors % 4 == x) for x in (1, 2, 3)}}
    return LibraryCall({"a": a, "b": b, "c": np.zeros((rows, columns), np.float32)}, numbers, {"c": a @ b})


def _fft4(random: np.random.Generator, butterflies: int, neighbours: int) -> LibraryCall:
    own = _up(neighbours, 2 * VECTOR)
    w, xr, xi = (_whole(random, *x) for x in ((butterflies, 6), *((4, butterflies, own),) * 2))
    x, turns = xr + 1j * xi, w[:, 0::2] + 1j * w[:, 1::2]
    e, f, g, h = x[0] + x[2], x[0] - x[2], x[1] + x[3], -1j * (x[1] - x[3])
    y = np.stack([e + g, *((z * turns[:, [i]]) for i, z in enumerate((f + h, e - g, f - h)))], 1)
    empty = np.zeros((butterflies, 4, own), np.float32)
    arrays = {"w": w, "xr": xr, "xi": xi, "yr": empty, "yi": empty}
    numbers = {"strips": own // 64, "butterflies": butterflies, "row": 4 * own, "quarter": 4 * own * butterflies}
    return LibraryCall(arrays, numbers, {"yr": y.real.astype(np.float32), "yi": y.imag.astype(np.float32)})


_CALLS: Mapping[str, Callable[..., LibraryCall]] = {
    "fir": _fir, "autocor": _autocor, "conv3x3": _conv3x3, "sgemm": _sgemm, "fft4": _fft4,
}  # fmt: skip
