"""Machines that run instructions here: this processor with its compilers, or an emulator with a cross compiler.

>>> [x for x in x86_machines() if not x.compiler]
[]
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache

from planish.isa.vendors.x86.features import options
from planish.run.instructions.compile import Machine
from planish.run.instructions.program import HOSTED, Dialect
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import Compiler, find_compilers, host_features
from planish.target.probe import probe_host

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
_SVE = ("arm_sve.h",)
_SVE_TYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
              *(f"float{bits}" for bits in (16, 32, 64)))  # fmt: skip
_SVE_LENGTHS = (128, 256, 512, 2048)
_LIMITS = Limits(seconds=20)


@dataclass(frozen=True, slots=True)
class Emulator:
    """A program that runs those of another processor."""

    path: str
    version: str


def find_emulator(name: str) -> Emulator | None:
    """The emulator of that name, or its static build; None where neither is here."""
    path = shutil.which(name) or shutil.which(f"{name}-static")
    if path is None:
        return None
    lines = run_process([path, "--version"], _LIMITS).stdout.splitlines()
    return Emulator(path, lines[0] if lines else name)


def x86_flags() -> frozenset[str]:
    """What this processor can do, as the kernel calls it; nothing on other machines."""
    name, _, found = host_features().partition(":")
    return frozenset(found.split()) if name.strip() == "flags" else frozenset()


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
    emulator = find_emulator("qemu-aarch64")
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if emulator is None or compiler is None:
        return ()
    run = (emulator.path, "-cpu", "max")

    def machine(kind: str, command: tuple[str, ...]) -> Machine:
        return Machine(f"{kind} for AArch64, emulated", command, run, Dialect(_ARM), processor=emulator.version)

    found = [machine("gcc", (compiler, *_ARM_PLAIN))]
    clang = next((x for x in find_compilers() if x.kind == "clang"), None)
    if clang is not None:
        target = "--target=aarch64-linux-gnu"
        if _takes(clang, target):
            found.append(machine("clang", (str(clang.path), target, *_ARM_PLAIN)))
    return tuple(found)


@cache
def sve_machines() -> tuple[Machine, ...]:
    """An emulated AArch64 with SVE, for some lengths of its registers; what is right at each of them is right."""
    emulator = find_emulator("qemu-aarch64")
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if emulator is None or compiler is None:
        return ()
    found = []
    for length in _SVE_LENGTHS:
        option = "-march=armv8.2-a+sve"
        command = (compiler, "-std=gnu11", option, f"-msve-vector-bits={length}", "-static", "-ffp-contract=off")
        # In user mode QEMU's registers have 512 bits at most, unless it is told otherwise.
        run = (emulator.path, "-cpu", f"max,sve-max-vq={length // 128},sve-default-vector-length={length // 8}")
        name = f"gcc for AArch64 with SVE of {length} bits, emulated"
        found.append(Machine(name, command, run, Dialect(_SVE, HOSTED + _fixed(length)), processor=emulator.version,
                             length=length))  # fmt: skip
    return tuple(found)


def _fixed(length: int) -> str:
    """Types of SVE of a known size in place of those that have none, under their names."""
    lines = []
    for x in _SVE_TYPES:
        kind = f"sv{x}_t"
        lines += [f"typedef {kind} fixed_{kind} __attribute__((arm_sve_vector_bits({length})));",
                  f"#define {kind} fixed_{kind}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _x86_machine(compiler: Compiler, flags: frozenset[str]) -> Machine:
    wanted = options(flags)
    known = wanted if _takes(compiler, *wanted) else tuple(x for x in wanted if _takes(compiler, x))
    command = (str(compiler.path), "-std=gnu11", *known)
    dialect = Dialect(_X86, HOSTED + _X86_TYPES)
    processor = f"{probe_host().description} {host_features()}"
    return Machine(f"{compiler.kind} {compiler.version}", command, (), dialect, processor=processor)


def _takes(compiler: Compiler, *options: str) -> bool:
    return run_process([str(compiler.path), *options, "-fsyntax-only", "-xc", "/dev/null"], _LIMITS).code == 0
