"""Cross compilation: the compiler for a target, and the emulator that runs its code where the processor is another one.

>>> from planish.target.load import load_target
>>> is_foreign(load_target("native")), is_foreign(load_target("generic"))
(False, False)
>>> compiler_for(load_target("generic"), None) == choose_compiler(None)
True
"""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.toolchains.emulator import build_caller, find_emulator
from planish.run.toolchains.toolchain import Compiler, choose_compiler, find_compilers, supports
from planish.target.machine import Target

_BY_CLANG = ("hexagon",)
"""Processors that gcc makes no code for."""
_HOSTS = {"amd64": "x86_64", "arm64": "aarch64"}
"""What some systems call a processor that Linux calls otherwise."""


@dataclass(frozen=True, slots=True)
class Runner:
    """What calls libraries: the command of an emulator (see `planish.run.toolchains.emulated`), () where this
    processor does; or why nothing can."""

    command: tuple[str, ...] = ()
    missing: str = ""

    @property
    def emulator(self) -> str:
        """The emulator's name, "" where there is none."""
        return Path(self.command[0]).name if self.command else ""


def is_foreign(target: Target) -> bool:
    """Whether the target's processor is of another kind than this one, so that only an emulator runs its code."""
    host = platform.machine().lower()
    return target.architecture not in ("", _HOSTS.get(host, host))


def compiler_for(target: Target, preferred: str | None) -> Compiler:
    """The compiler for a target's code: the preferred one (as of `choose_compiler`), or else, where the processor is of
    another kind, gcc's cross compiler, or the newest clang that has what it needs for that.

    Raises PlanishError E0801 where there is none, E0802 where the preferred one is not there, E0809 where that makes no
    code for the target.
    """
    if preferred is not None or not is_foreign(target):
        compiler = choose_compiler(preferred)
        # A target that compilers know nothing of has no flags to ask for.
        if not takes(compiler, target):
            raise PlanishError(_refusal(compiler, target))
        return compiler
    name = f"{_triple(target)}-gcc"
    if shutil.which(name) is not None:
        return choose_compiler(name)
    found = next((x for x in find_compilers() if x.kind == "clang" and takes(x, target)), None)
    if found is None:
        wanted = "clang and lld" if target.architecture in _BY_CLANG else name
        advice = f"install {wanted} (Debian, Ubuntu: apt install {_package(target)}), or name one with --cc"
        raise PlanishError(Diagnostic("E0801", f"no C compiler for {target.name} found on the path", help=advice))
    return found


def preprocessor_for(target: Target, preferred: str | None) -> tuple[str, ...]:
    """The compiler, with flags, whose macros and headers say what a file is for a target on another processor; () where
    this machine's do, or there is none. (Files for processors with a narrower `long` are read with a wide one.)"""
    if not is_foreign(target) or target.long_bits != 64:
        return ()
    try:
        compiler = compiler_for(target, preferred)
    except PlanishError:
        return ()
    return (str(compiler.path), *target.flags_for(compiler.kind))


def takes(compiler: Compiler, target: Target) -> bool:
    """Whether a compiler makes and links code for a target."""
    flags = target.flags_for(compiler.kind)
    return not flags or supports(compiler, flags)


def _refusal(compiler: Compiler, target: Target) -> Diagnostic:
    flags = " ".join(target.flags_for(compiler.kind))
    fit = [x.name for x in find_compilers() if takes(x, target)]
    cross = f"{_triple(target)}-gcc"
    fit += [cross] if is_foreign(target) and shutil.which(cross) is not None else []
    others = ", ".join(fit) or (f"apt install {_package(target)}" if is_foreign(target) else "none that was found")
    message = f"{compiler} makes no code for {target.name}: it does not take {flags}"
    return Diagnostic("E0809", message, help=f"name one that does with --cc: {others}")


def _triple(target: Target) -> str:
    """What cross compilers for a target's processor begin with."""
    return f"{target.architecture}-linux-gnu"


def _package(target: Target) -> str:
    """Debian's package of a compiler for a target's processor."""
    if target.architecture in _BY_CLANG:
        return "clang lld"
    return f"gcc-{_triple(target).replace('_', '-')}"


def runner_for(target: Target, compiler: Compiler, folder: Path) -> Runner:
    """What calls libraries for a target; the program that an emulator runs is made in `folder`."""
    if not is_foreign(target):
        return Runner()
    emulator = find_emulator(target.architecture)
    if isinstance(emulator, str):
        return Runner(missing=f"{emulator} (Debian, Ubuntu: apt install qemu-user)")
    try:
        return Runner((*emulator, str(build_caller(compiler, target.flags_for(compiler.kind), folder))))
    except PlanishError as error:
        return Runner(missing=f"no program for {Path(emulator[0]).name} can be made: {error.diagnostic.message}")
