"""Emitted functions compiled and called on NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.nest import Kernel
from planish.ir.types import Type

FLAGS = ("-std=c11", "-O1", "-fwrapv", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
"""Signed overflow wraps as in the IR; no warning is let through."""


def compile_text(text: str, folder: Path, compiler: str = "gcc", flags: Sequence[str] = ()) -> ctypes.CDLL:
    """The text as a loaded library; AssertionError with the compiler's words."""
    source, library = folder / "k.c", folder / "k.so"
    source.write_text(text)
    command = [compiler, *FLAGS, *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return ctypes.CDLL(str(library))


def compile_kernels(
    kernels: Sequence[Kernel], folder: Path, compiler: str = "gcc", flags: Sequence[str] = (),
    headers: Sequence[str] = (), **options: Any,
) -> list[Any]:  # fmt: skip
    """Functions `k0`, `k1`, … that take the kernels' parameters."""
    texts = [emit_function(kernel, f"k{i}", **options) for i, kernel in enumerate(kernels)]
    exports = [f"void *get{i}(void) {{ return (void *)k{i}; }}\n" for i in range(len(kernels))]
    library = compile_text(emit_prologue(texts, headers=headers) + "".join(exports), folder, compiler, flags)
    return [_function(library, i, kernel) for i, kernel in enumerate(kernels)]


def _function(library: ctypes.CDLL, number: int, kernel: Kernel) -> Any:
    getter = getattr(library, f"get{number}")
    getter.restype = ctypes.c_void_p
    kinds: list[Any] = [ctypes.c_ssize_t] * len(kernel.sizes)
    kinds += [c_type(x.type) for x in kernel.scalars] + [ctypes.c_void_p] * len(kernel.arrays)
    return ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(getter())


def c_type(type: Type) -> Any:
    """ctypes' name of a type."""
    match type.kind:
        case "bool":
            return ctypes.c_bool
        case "float":
            return ctypes.c_float if type.bits == 32 else ctypes.c_double
        case _:
            return getattr(ctypes, f"c_{type.kind}{type.bits}")


def call(function: Any, kernel: Kernel, values: Mapping[str, Any]) -> int:
    """Call a compiled kernel on values as the interpreter takes them; gives what it returns."""
    names = [*kernel.sizes, *(x.name for x in kernel.scalars)]
    pointers = [values[x.name].ctypes.data for x in kernel.arrays]
    return int(function(*(values[x] for x in names), *pointers))


def canonical(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of an array, with all NaNs alike (their payloads are nobody's promise)."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()
