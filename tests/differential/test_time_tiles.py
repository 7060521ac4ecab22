"""Repeated sweeps in time tiles on a GPU: bit-identical in the emulator, planted faults are found, refusals say why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planish.build import device_checks
from planish.build.device_checks import DeviceBuild, build_for_device
from planish.core.span import Source
from planish.gpu import time_tiles
from planish.gpu.overlap import BlockTile
from planish.gpu.sweeps import NotSweepsError, find_sweeps
from planish.ir.nest import For
from planish.ir.text.parser import parse_kernel
from planish.options import Options
from planish.run.devices.emulator import find_emulating_compiler
from planish.target.device import load_device

emulated = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")


def two_sweeps(head: str, loops: str, there: str, back: str) -> str:
    return f"void f({head}) {{ for (int t = 0; t < steps; t++) {{ {loops} {there} {loops} {back} }} }}"


PLANE = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
FAR = "for (int row = 2; row < n - 2; row++) for (int x = 2; x < m - 2; x++)"
SPACE = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) for (int k = 1; k < n - 1; k++)"
CROSS = "{0}[i][j] = 0.2f * ({1}[i][j] + {1}[i - 1][j] + {1}[i + 1][j] + {1}[i][j - 1] + {1}[i][j + 1]);"
LONG = (
    "{0}[row * m + x] = w * {1}[row * m + x] + c[row * m + x] * ({1}[(row - 2) * m + x] + {1}[(row + 2) * m + x]"
    " + {1}[row * m + x - 2] + {1}[row * m + x + 1]);"
)
SKEWED = "{0}[i][j] = 0.5 * {1}[i - 1][j - 1] + 0.25 * {1}[i + 1][j + 1] + {1}[i - 1][j + 1] + i;"
STAR = "{0}[i][j][k] = 0.5f * {1}[i][j][k] + 0.25f * ({1}[i - 1][j][k] + {1}[i][j + 1][k] + {1}[i + 1][j][k - 1]);"

PROGRAMS = {
    "cross": two_sweeps("int n, int steps, float a[n][n], float b[n][n]", PLANE, CROSS.format("b", "a"),
                        CROSS.format("a", "b")),
    "far": two_sweeps("int n, int m, int steps, float w, float *restrict a, float *restrict b, const float *restrict c",
                      FAR, LONG.format("b", "a"), LONG.format("a", "b")),
    "copied": two_sweeps("int steps, int n, double a[n][n], double b[n][n]", PLANE, SKEWED.format("b", "a"),
                         "a[i][j] = b[i][j];"),
    "space": two_sweeps("int n, int steps, float a[n][n][n], float b[n][n][n]", SPACE, STAR.format("b", "a"),
                        STAR.format("a", "b")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles so small that calls of the emulator have several along each axis."""
    monkeypatch.setattr(time_tiles, "TILES", {2: (BlockTile((32,)),), 3: (BlockTile((8, 16), 2),)})
    monkeypatch.setattr(time_tiles, "MOST_SWEEPS", 3)
    monkeypatch.setattr(time_tiles, "LEAST_GAIN", 0.0)
    monkeypatch.setattr(device_checks, "LARGER", (23, 71))


def build(name: str, orders: tuple[int, ...]) -> DeviceBuild:
    source = Source(f"{name}.c", PROGRAMS[name])
    return build_for_device(source, Options(fp="strict"), load_device("cuda-sm90"), orders=orders)


@emulated
@pytest.mark.parametrize("name", PROGRAMS)
def test_time_tiles_compute_the_same_bits(name: str) -> None:
    built = build(name, (0, 1, 2) if name == "cross" else (2,))
    assert built.used and not built.wrong and built.calls >= 10, built.remarks
    assert built.nests[0].version.startswith("device-time-tiles")


MIXED = {
    "double and float": ("double", "float", "{0}[i][j] = 0.25f * ({1}[i - 1][j] + {1}[i + 1][j] - {1}[i][j - 1]);"),
    "int and short": ("int", "short", "{0}[i][j] = {1}[i - 1][j] / 3 + {1}[i + 1][j] - {1}[i][j + 1];"),
    "float and int": ("float", "int", "{0}[i][j] = {1}[i][j - 1] / 3 + {1}[i][j] / 4 - {1}[i][j + 1] / 3;"),
}


@emulated
@pytest.mark.parametrize("name", MIXED)
def test_sweeps_of_several_types_are_launched_alone(name: str) -> None:
    one, other, cell = MIXED[name]
    head = f"int n, int steps, {one} a[n][n], {other} b[n][n]"
    source = Source("f.c", two_sweeps(head, PLANE, cell.format("b", "a"), cell.format("a", "b")))
    built = build_for_device(source, Options(fp="strict"), load_device("cuda-sm90"), orders=(2,))
    assert built.used and not built.wrong, built.remarks
    assert built.nests[0].version.startswith("device-threads")


FAULTS: dict[str, Callable[[str], str]] = {
    "no barrier": lambda x: x.replace("__syncthreads();", "", 1),
    "a narrower rim": lambda x: x.replace("thread_x >= 3", "thread_x >= 2", 1),
    "rows that another block makes": lambda x: x.replace(">= i_first", ">= i_first - 4", 1),
    "a row that is not made yet": lambda x: x.replace("(copy + 1) % 4]", "(copy + 0) % 4]", 1),
    "a sweep too few": lambda x: x.replace("3 * t_tiles", "4 * t_tiles", 1),
}


@emulated
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = device_checks.compile_emulated

    def faulty(text: str, order: int, folder: Path) -> Path:
        planted = FAULTS[fault](text)
        assert planted != text, "the fault is not in the text"
        return real(planted, order, folder)

    monkeypatch.setattr(device_checks, "compile_emulated", faulty)
    assert build("cross", (0, 1)).wrong, fault


NEAR_MISSES = {
    "A[i] = A[i - 1] + A[i + 1]": "reads what it writes",
    "B[i] = A[i - 1] } for i in 1 .. n { A[i] = C[i] + B[2 * i]": "distances that are not constant",
    "B[i] = A[i] + B[i]} for i in 1 .. n { A[i] = B[i]": "not what the sweep before makes",
    "B[i] = A[t] } for i in 1 .. n { A[i] = B[i]": "depends on `t`",
    "B[i] = A[i] } for i in t .. n { A[i] = B[i]": "its bounds change",
    "B[i] = A[i] } for i in 1 .. n { B[i] = A[i + 1]": "several sweeps write one array",
    "B[i] = A[i] + C[i64(A[i + 1])] } for i in 1 .. n { A[i] = B[i]": "`C` are read from what sweeps make",
    "D[i] = f64(A[i]) } for i in 1 .. n { A[i] = f32(D[i])": "several types",
    "S[i] = i16(L[i - 1]) } for i in 1 .. n { L[i] = i32(S[i])": "several types",
}


@pytest.mark.parametrize("body", NEAR_MISSES)
def test_other_loops_are_no_sweeps(body: str) -> None:
    arrays = ", ".join(f"{x}: f32[n]" for x in "ABC") + ", D: f64[n], S: i16[n], L: i32[n]"
    kernel = parse_kernel(f"kernel k(n, s; {arrays}) {{ for t in 0 .. s {{ for i in 1 .. n {{ {body} }} }} }}")
    loop = kernel.body.body[0]
    assert isinstance(loop, For)
    with pytest.raises(NotSweepsError, match=NEAR_MISSES[body]):
        find_sweeps(loop)
