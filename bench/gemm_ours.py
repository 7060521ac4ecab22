"""Our matrix product as a shared library, made by `planish kernel gemm --header` and a C compiler.

    library = build_ours("f32")   # kept in bench/results/gemm until planish changes
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from contest import compiler_state
from record import RESULTS

FOLDER = RESULTS / "gemm"
FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-std=gnu11", "-shared", "-fPIC")
C_TYPES = {"f32": ("float", "sgemm"), "f64": ("double", "dgemm")}

SHIM = """
#include "{header}"
void gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, {type} alpha, const {type} *A, ptrdiff_t lda, const {type} *B,
          ptrdiff_t ldb, {type} beta, {type} *C, ptrdiff_t ldc)
{{
  planish_{name}(m, n, k, lda, ldb, ldc, alpha, beta, (void *)A, (void *)B, (void *)C);
}}
"""


def build_ours(element: str, compiler: str = "gcc") -> Path:
    """The library with the function `gemm` of the race; RuntimeError where it cannot be made."""
    kind, name = C_TYPES[element]
    folder = FOLDER / compiler_state()
    library = folder / f"{name}-{compiler}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / f"{name}.h"
    if not header.exists():
        command = [sys.executable, "-m", "planish", "kernel", "gemm", "--header", "--dtype", element, "-o", str(header)]
        _check(command)
    source = folder / f"{name}.c"
    source.write_text(SHIM.format(header=header.name, type=kind, name=name))
    _check([compiler, *FLAGS, str(source), "-o", str(library)])
    return library


def _check(command: list[str]) -> None:
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{finished.stderr}")
