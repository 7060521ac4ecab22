"""What LLVM makes of a file of MLIR, to be called with NumPy arrays: the judge of what our front-end understood."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TOOLS = ("mlir-opt-19", "mlir-translate-19", "clang-19")
_PASSES = (
    "--convert-linalg-to-loops", "--lower-affine", "--convert-scf-to-cf", "--expand-strided-metadata", "--lower-affine",
    "--convert-arith-to-llvm", "--arith-expand", "--convert-math-to-llvm", "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm", "--convert-index-to-llvm",
    "--reconcile-unrealized-casts",
)  # fmt: skip


def missing_tools() -> str:
    """The tools that are not here, "" if all are."""
    return ", ".join(x for x in TOOLS if shutil.which(x) is None)


@dataclass(frozen=True, slots=True)
class Memref:
    """A memref argument: memory, and how it is seen; strides count elements."""

    memory: np.ndarray[Any, Any]
    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]


def dense(array: np.ndarray[Any, Any]) -> Memref:
    """All of an array."""
    return Memref(array, 0, array.shape, tuple(s // array.itemsize for s in array.strides))


def lower(path: Path, folder: Path) -> ctypes.CDLL:
    """Compile a file of MLIR with LLVM's own tools; raises CalledProcessError, with what they said."""
    llvm = folder / "kernel.mlir"
    _run("mlir-opt-19", *_PASSES, str(path), "-o", str(llvm))
    _run("mlir-translate-19", "--mlir-to-llvmir", str(llvm), "-o", str(folder / "kernel.ll"))
    library = folder / "kernel.so"
    _run("clang-19", "-w", "-O1", "-shared", "-fPIC", str(folder / "kernel.ll"), "-lm", "-o", str(library))
    return ctypes.CDLL(str(library))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def call(library: ctypes.CDLL, function: str, arguments: Sequence[Memref | int | float | np.generic]) -> None:
    """Call a function with memrefs, taken apart as LLVM does, and scalars of the types of NumPy."""
    flat: list[Any] = []
    for x in arguments:
        if isinstance(x, Memref):
            address = ctypes.c_void_p(x.memory.ctypes.data)
            flat += [address, address, *(ctypes.c_int64(n) for n in (x.offset, *x.extents, *x.strides))]
        else:
            flat.append(_SCALARS[np.asarray(x).dtype.name](x.item() if isinstance(x, np.generic) else x))
    entry = getattr(library, function)
    entry.restype = None
    entry(*flat)


_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool, "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip
