"""What a nest does with large arrays: in C that says the same as the reference interpreter, some hundred times as fast.

compiled_meaning(kernel, values)   # as `planish.vliw.streams.oracle.meaning`
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planish.emit.c.expression import c_type
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.nest import Kernel
from planish.run.toolchains.toolchain import choose_compiler, compile_library
from planish.vliw.streams.image import Values

_FLAGS = ("-O2", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")


def compiled_meaning(kernel: Kernel, values: Values) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays as the kernel leaves them, as flat vectors. PlanishError E0801 where there is no C compiler."""
    arrays = {x.name: np.array(values[x.name]).reshape(-1).copy() for x in kernel.arrays}
    scalars = [np.array([values[x.name]], x.type.numpy) for x in kernel.scalars]
    sizes = np.array([int(values[x]) for x in kernel.sizes] or [0], "int64")
    with tempfile.TemporaryDirectory(prefix="planish-") as name:
        path = compile_library(choose_compiler(None), _text(kernel), _FLAGS, Path(name))
        function = ctypes.CDLL(str(path)).planish_meaning
        function(ctypes.c_void_p(sizes.ctypes.data), _addresses(scalars), _addresses(list(arrays.values())))
    return arrays


def _addresses(arrays: Sequence[np.ndarray[Any, Any]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(x.ctypes.data for x in arrays))


def _text(kernel: Kernel) -> str:
    """The function, and one that takes its arguments from arrays."""
    function = emit_function(kernel, "nest", strict=True, exact=True)
    given = [f"sizes[{n}]" for n, _ in enumerate(kernel.sizes)]
    given += [f"*({c_type(x.type)} *)scalars[{n}]" for n, x in enumerate(kernel.scalars)]
    given += [f"arrays[{n}]" for n, _ in enumerate(kernel.arrays)]
    head = "void planish_meaning(const int64_t *sizes, void *const *scalars, void *const *arrays)"
    return f"{emit_prologue([function], settings=None)}\n{head}\n{{\n  nest({', '.join(given)});\n}}\n"
