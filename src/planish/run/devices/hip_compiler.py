"""What clang says of kernels of HIP, without ROCm: vector registers, bytes of scratch memory and of shared memory.

>>> said = "remark: Function Name: _Z9k_kernel0iPf [-R]\\nremark:     VGPRs: 13 [-R]\\nremark:     AGPRs: 2 [-R]\\n" \\
...     "remark:     ScratchSize [bytes/lane]: 8 [-R]\\nremark:     LDS Size [bytes/block]: 64 [-R]\\n"
>>> read_resources(said)
{'k_kernel0': KernelUsage(registers=15, spilled=8, shared=64)}
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import PURE_FUNCTIONS
from planish.run.devices.nvcc import KernelUsage, kernel_name
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import Compiler, find_compilers

NAMES = Path(__file__).with_name("hip_names.h")

_LIMITS = Limits(300.0)
_FLAGS = (
    "-x", "hip", "-nogpuinc", "-nogpulib", "--cuda-device-only", "-fdeclspec", "-O3", "-std=c++17", "-w",
    "-Rpass-analysis=kernel-resource-usage", "-S", "-include", str(NAMES),
)  # fmt: skip
_LINE = re.compile(r"remark:\s+([\w /\[\]]+): (\w+)")
_WITHOUT_LIBRARY = frozenset(re.findall(r"\b(\w+)\(", NAMES.read_text())) | {
    f"{x}{suffix}" for x in re.findall(r"ARY\((\w+)\)", NAMES.read_text()) for suffix in ("", "f")
}


@cache
def find_hip_compiler() -> Compiler | None:
    """A clang that makes code for AMD's GPUs; None where there is none."""
    for compiler in find_compilers():
        if compiler.kind == "clang":
            if "amdgcn" in run_process([str(compiler.path), "--print-targets"], _LIMITS).stdout:
                return compiler
    return None


def compile_hip(text: str, architecture: str, flags: Sequence[str] = ()) -> Mapping[str, KernelUsage]:
    """What kernels take, by their names; nothing of kernels that call functions of ROCm's library. Raises PlanishError
    E0801 where there is no compiler, E0803 where it refuses the text."""
    compiler = find_hip_compiler()
    if compiler is None:
        raise PlanishError(Diagnostic("E0801", "no clang for AMD's GPUs found on the path"))
    called = {x for x in re.findall(r"\b(\w+)\(", text) if x.removesuffix("f") in PURE_FUNCTIONS or x in PURE_FUNCTIONS}
    if called - _WITHOUT_LIBRARY:
        return {}
    with tempfile.TemporaryDirectory(prefix="planish-hip-") as name:
        folder = Path(name)
        source = folder / "kernels.hip.cpp"
        # Launches are not compiled, and kernels that nothing launches have to be seen from outside.
        source.write_text(text.replace("static __global__", "__global__"))
        command = [str(compiler.path), *_FLAGS, *flags, f"--offload-arch={architecture}", str(source)]
        finished = run_process([*command, "-o", str(folder / "k.s")], _LIMITS)
    said = f"{finished.stdout}\n{finished.stderr}"
    if finished.code != 0:
        raise PlanishError(Diagnostic("E0803", f"{compiler.name} refused the kernels:\n{said.strip()}"))
    return read_resources(said)


def read_resources(said: str) -> dict[str, KernelUsage]:
    """What clang has said of kernels, by their names in the text."""
    found: dict[str, dict[str, int]] = {}
    name = ""
    for what, value in _LINE.findall(said):
        if what == "Function Name":
            name = kernel_name(value)
            found[name] = {}
        elif value.isdigit():
            found[name][what] = int(value)
    return {
        name: KernelUsage(
            told["VGPRs"] + told.get("AGPRs", 0),
            max(told["ScratchSize [bytes/lane]"], 4 * (told.get("VGPRs Spill", 0) + told.get("SGPRs Spill", 0))),
            told["LDS Size [bytes/block]"],
        )
        for name, told in found.items()
    }  # fmt: skip
