"""What users write passes `mypy --strict`: symbols and `Annotated` as they are, names in quotes with the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planish.frontend.python.reader import read_python_source

PLAIN = """from typing import Annotated
import numpy as np
from numpy.typing import NDArray
import planish
from planish import f32, f64, kernel, size, sizes

n, m = sizes("n m")

@kernel
def scaled(k: size, a: f64, x: f64[n], y: f64[n, 2 * m + 1], z: Annotated[NDArray[np.float64], f64["n", "n"]]) -> None:
    for i in range(z.shape[0]):
        z[i, i] = a * x[i] + f32(2)

def run(x: NDArray[np.float64]) -> str:
    scaled(1, 2.0, x, x, x)
    function = planish.compile("double one(int n) { return n; }")
    value: float = function(3)
    return str(scaled.report) + scaled.source + str(value)
"""
QUOTED = """import planish
from planish import f64 as real, kernel, size

@planish.kernel
def product(A: planish.f64["N", "K"], B: planish.f64["K", "M"], C: real["N", "M"]) -> None:
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]

class Kernels:
    @staticmethod
    def plain(A: real["N", "N"]) -> float:
        return float(A[0, 0])

if True:
    def inner(x: real["N"]) -> None:
        @kernel(fp="strict")
        def doubled(y: real["N"]) -> None:
            for i in range(y.shape[0]):
                y[i] *= 2.0
        doubled(x)
"""


WRONG = 'def wrong(x: list["Nowhere"]) -> None: ...\n'


def check(folder: Path, texts: dict[str, str], configuration: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "mypy.ini").write_text(configuration)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "mypy.ini", *texts]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(x for x in sys.path if x)}
    settings.pop("MYPYPATH", None)
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=300, check=False)


def test_symbols_and_standard_annotations(tmp_path: Path) -> None:
    done = check(tmp_path, {"user.py": PLAIN}, "[mypy]\n")
    assert done.returncode == 0, done.stdout + done.stderr
    kernel = read_python_source(PLAIN, "user.py", "scaled").kernel
    assert [len(x.shape) for x in kernel.arrays] == [1, 2, 2]


def test_names_in_quotes_with_the_plugin(tmp_path: Path) -> None:
    """It takes nothing else away."""
    texts = {"right.py": PLAIN + QUOTED, "wrong.py": QUOTED + WRONG}
    done = check(tmp_path, texts, "[mypy]\nplugins = planish.mypy_plugin\n")
    errors = [x for x in done.stdout.splitlines() if ": error: " in x]
    assert errors and all(x.startswith("wrong.py:") and "Nowhere" in x for x in errors), done.stdout + done.stderr
    assert 'Name "Nowhere" is not defined' in errors[0]
