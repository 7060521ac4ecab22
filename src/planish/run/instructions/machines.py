"""What runs instructions here: this processor with its compilers, or an emulator with a cross compiler.

>>> [x for x in x86_machines() if not x.compiler]
[]
"""

from __future__ import annotations

import platform
import shutil
from functools import cache
from pathlib import Path

from planish.isa.x86.features import options
from planish.run.instructions.compile import Machine
from planish.run.instructions.program import HOSTED, Dialect
from planish.run.process import Limits, run_process
from planish.run.toolchain import Compiler, find_compilers

_X86 = ("immintrin.h", "x86intrin.h", "ammintrin.h")
_X86_TYPES = """\
#define __int64 long long
#define __int32 int
#define __int16 short
#define __int8 signed char
"""
_ARM = ("arm_neon.h", "arm_acle.h")
_ARM_OPTION = "-march=armv8.2-a+crypto+fp16+dotprod+i8mm+bf16"
_ARM_PLAIN = ("-std=gnu11", _ARM_OPTION, "-static", "-ffp-contract=off")
_LIMITS = Limits(seconds=20)


def x86_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """What this processor can do, as the kernel calls it; nothing on other machines."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not cpuinfo.exists():
        return frozenset()
    lines = cpuinfo.read_text(errors="replace").splitlines()
    found = next((x for x in lines if x.startswith("flags")), "")
    return frozenset(found.partition(":")[2].split())


@cache
def x86_machines() -> tuple[Machine, ...]:
    """This processor by way of each of its compilers: gcc, and the newest clang. Where one of them does not know an
    intrinsic, or makes of it something else, another one may do."""
    flags = x86_flags()
    if not flags:
        return ()
    kinds: dict[str, Compiler] = {}
    for compiler in find_compilers():
        kinds.setdefault(compiler.kind, compiler)
    return tuple(_x86_machine(x, flags) for x in kinds.values())


@cache
def arm_machines() -> tuple[Machine, ...]:
    """An emulated AArch64 with what cross compiler there is: gcc for it, and the newest clang where its linker and the
    libraries are there."""
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if emulator is None or compiler is None:
        return ()
    run = (emulator, "-cpu", "max")
    found = [Machine("gcc for AArch64, emulated", (compiler, *_ARM_PLAIN), run, Dialect(_ARM))]
    clang = next((x for x in find_compilers() if x.kind == "clang"), None)
    if clang is not None:
        command = (str(clang.path), "--target=aarch64-linux-gnu", *_ARM_PLAIN)
        if _takes(clang, "--target=aarch64-linux-gnu"):
            found.append(Machine("clang for AArch64, emulated", command, run, Dialect(_ARM)))
    return tuple(found)


def _x86_machine(compiler: Compiler, flags: frozenset[str]) -> Machine:
    known = [x for x in options(flags) if _takes(compiler, x)]
    command = (str(compiler.path), "-std=gnu11", *known)
    return Machine(f"{compiler.kind} {compiler.version}", command, (), Dialect(_X86, HOSTED + _X86_TYPES))


def _takes(compiler: Compiler, option: str) -> bool:
    return run_process([str(compiler.path), option, "-fsyntax-only", "-xc", "/dev/null"], _LIMITS).code == 0
