"""Compiles the functions of the host that launch kernels by the driver of CUDA.

    compile_launches(text, Path(folder))  # an object to be linked with a function that calls them
"""

from __future__ import annotations

from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.devices.emulator import find_emulating_compiler
from planish.run.processes.process import Limits, run_process

HEADER = Path(__file__).with_name("launches.h")
_LIMITS = Limits(120.0)
_FLAGS = ("-std=c++17", "-O2", "-w", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fwrapv")


def compile_launches(text: str, folder: Path) -> Path:
    """An object. Raises PlanishError E0801 where no compiler of C++ is here, E0803 where it refuses the text."""
    compiler = find_emulating_compiler()
    if compiler is None:
        advice = "install g++ or clang (Debian, Ubuntu: apt install g++)"
        raise PlanishError(Diagnostic("E0801", "no C++ compiler found on the path, to launch kernels", help=advice))
    source, out = folder / "launches.cpp", folder / "launches.o"
    source.write_text(text)
    command = [compiler, *_FLAGS, "-include", str(HEADER), "-x", "c++", "-c", str(source), "-o", str(out)]
    finished = run_process(command, _LIMITS)
    if finished.code != 0 or not out.exists():
        said = finished.stderr.replace(f"{folder}/", "").strip() or finished.status
        raise PlanishError(Diagnostic("E0803", f"{compiler} refused the functions that launch kernels:\n{said}"))
    return out
