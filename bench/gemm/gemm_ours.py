"""Our matrix product as a shared library, made by `planish kernel gemm --header` and a C compiler.

    library = build_ours("f32")   # kept in bench/results/gemm until planish changes
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.harness.contest import compiler_state
from bench.harness.places import RESULTS

HERE = Path(__file__).resolve().parent
FOLDER = RESULTS / "gemm"
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC")
NAMES = {"f32": "sgemm", "f64": "dgemm", "bf16": "bgemm", "u8s8": "u8gemm", "i16": "i16gemm"}
"""What follows `planish_` in the header of each element type."""

SHIM = """
#include <stddef.h>
#define ELEMENT_{element}
#include "gemm_types.h"
#include "{header}"
void gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Sum alpha, const Left *A, ptrdiff_t lda, const Right *B, ptrdiff_t ldb,
          Sum beta, Sum *C, ptrdiff_t ldc)
{{
  planish_{name}(m, n, k, lda, ldb, ldc, alpha, beta, (void *)A, (void *)B, (void *)C);
}}
"""


def build_ours(element: str, compiler: str = "gcc") -> Path:
    """The library with the function `gemm` of the race; RuntimeError where it cannot be made."""
    name = NAMES[element]
    folder = FOLDER / compiler_state()
    library = folder / f"{name}-{compiler}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / f"{name}.h"
    if not header.exists():
        command = [sys.executable, "-m", "planish", "kernel", "gemm", "--header", "--dtype", element, "-o", str(header)]
        run_tool(command)
    source = folder / f"{name}.c"
    source.write_text(SHIM.format(element=element.upper(), header=header.name, name=name))
    run_tool([compiler, *FLAGS, f"-I{HERE}", str(source), "-o", str(library)])
    return library


def run_tool(command: Sequence[str]) -> None:
    """Runs a command; RuntimeError with what it said where it fails."""
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{finished.stderr}")
