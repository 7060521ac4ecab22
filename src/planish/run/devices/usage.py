"""What the compiler of a device says of kernels, where there is one here.

>>> usage_of("", "opencl", "")
{}
"""

from __future__ import annotations

from collections.abc import Mapping

from planish.run.devices.hip_compiler import compile_hip, find_hip_compiler
from planish.run.devices.nvcc import KernelUsage, compile_cubin, find_nvcc


def has_compiler(dialect: str) -> bool:
    """Whether there is a compiler here that says what kernels in a language take."""
    return (dialect == "cuda" and find_nvcc() is not None) or (dialect == "hip" and find_hip_compiler() is not None)


def usage_of(text: str, dialect: str, architecture: str, exact_flag: str = "") -> Mapping[str, KernelUsage]:
    """The usage of each kernel by its name, compiled with a flag if one is given; nothing where no compiler is here.
    Raises PlanishError E0803 where one refuses the text."""
    if not has_compiler(dialect):
        return {}
    flags = (exact_flag,) if exact_flag else ()
    compile_kernels = compile_cubin if dialect == "cuda" else compile_hip
    return compile_kernels(text, architecture, flags)
