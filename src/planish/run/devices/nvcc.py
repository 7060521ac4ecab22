"""What the compiler of CUDA says of kernels, where it is here: registers, spills and shared memory of each.

>>> said = "Compiling entry function 'k_kernel0' for 'sm_90'\\n 0 bytes stack frame, 8 bytes spill stores, 4 bytes " \\
...     "spill loads\\nptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem\\n"
>>> read_usage(said)
{'k_kernel0': KernelUsage(registers=32, spilled=12, shared=1024)}
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.processes.process import Limits, run_process

_LIMITS = Limits(300.0)
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")
_MANGLED = re.compile(r"_Z\w*?\d+([A-Za-z_]\w*_kernel\d+)")


@dataclass(frozen=True, slots=True)
class KernelUsage:
    """The registers of a thread, the bytes that it spills and loads again, and the shared bytes of a block."""

    registers: int
    spilled: int
    shared: int


def find_nvcc() -> str | None:
    """The compiler of CUDA; None where it is not here."""
    return shutil.which("nvcc")


def compile_cubin(text: str, architecture: str, flags: Sequence[str] = ()) -> Mapping[str, KernelUsage]:
    """What kernels take, by their names. Raises PlanishError E0801 where there is no nvcc, E0803 where it refuses the
    text."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise PlanishError(Diagnostic("E0801", "no nvcc found on the path", help="install the CUDA toolkit"))
    with tempfile.TemporaryDirectory(prefix="planish-nvcc-") as name:
        folder = Path(name)
        source = folder / "kernels.cu"
        source.write_text(text)
        command = [nvcc, "-O3", *flags, f"-arch={architecture}", "-cubin", "-Xptxas", "-v", "-w", str(source), "-o"]
        finished = run_process([*command, str(folder / "kernels.cubin")], _LIMITS)
    said = f"{finished.stdout}\n{finished.stderr}"
    if finished.code != 0:
        raise PlanishError(Diagnostic("E0803", f"nvcc refused the kernels:\n{said.strip()}"))
    return read_usage(said)


def kernel_name(symbol: str) -> str:
    """The name of a kernel in the text.

    >>> kernel_name("_Z9k_kernel0iPf"), kernel_name("k_kernel0")
    ('k_kernel0', 'k_kernel0')
    """
    mangled = _MANGLED.match(symbol)
    return mangled[1] if mangled else symbol


def read_usage(said: str) -> dict[str, KernelUsage]:
    """What ptxas has said of kernels, by their names in the text."""
    out: dict[str, KernelUsage] = {}
    name, spilled = "", 0
    for line in said.splitlines():
        if entry := _ENTRY.search(line):
            name, spilled = kernel_name(entry[1]), 0
        if spills := _SPILLS.search(line):
            spilled = int(spills[1]) + int(spills[2])
        if (used := _USED.search(line)) and name:
            out[name] = KernelUsage(int(used[1]), spilled, int(used[2] or 0))
    return out
