"""Planish: C loop nests in, verified and faster drop-in C out. The public names load when they are first used.

>>> import planish
>>> planish.f32["n", "m"]
f32[n, m]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from planish.version import VERSION as __version__

if TYPE_CHECKING:
    from planish.api import (
        CompiledFunction,
        Instruction,
        KernelFunction,
        Program,
        Report,
        compile,
        instr,
        instructions,
        kernel,
        program,
        tune,
    )
    from planish.core.cache import Cache
    from planish.core.diagnostic import PlanishError
    from planish.frontend.python.annotations import (
        boolean,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        size,
        sizes,
        u8,
        u16,
        u32,
        u64,
    )

__all__ = [
    "Cache", "CompiledFunction", "Instruction", "KernelFunction", "PlanishError", "Program", "Report", "__version__",
    "boolean", "compile", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "instr", "instructions", "kernel", "program",
    "size", "sizes", "tune", "u8", "u16", "u32", "u64",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(
        (
            "CompiledFunction", "Instruction", "KernelFunction", "Program", "Report", "compile", "instr",
            "instructions", "kernel", "program", "tune",
        ),
        "planish.api",
    ),
    "Cache": "planish.core.cache",
    "PlanishError": "planish.core.diagnostic",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'planish' has no attribute '{name}'")
    # Subcommands of the command line must not wait for the compiler, which takes a third of a second to import.
    value = getattr(import_module(_HOMES.get(name, "planish.frontend.python.annotations")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
