"""Compiles the text of kernels for the emulator: an object whose functions C calls, on this processor.

    compile_emulated(text, 2, Path(folder))  # blocks and threads in a shuffled order
"""

from __future__ import annotations

import shutil
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.processes.process import Limits, run_process

HEADERS = tuple(Path(__file__).with_name(x) for x in ("emulator.h", "emulator_dialects.h"))
"""What kernels and the functions of the host call, in the languages of all devices."""
ORDERS = ("forward", "backward", "shuffled")
"""In which blocks run, and in each phase threads."""

_LIMITS = Limits(120.0)
_FLAGS = ("-std=c++17", "-O1", "-w", "-fPIC", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off", "-fwrapv")


def find_emulating_compiler() -> str | None:
    """A compiler of C++; None where there is none."""
    return shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")


def compile_emulated(text: str, order: int, folder: Path) -> Path:
    """An object of kernels that run in one of the `ORDERS`. Raises PlanishError E0801 where no compiler of C++ is here,
    E0803 where it refuses the text."""
    compiler = find_emulating_compiler()
    if compiler is None:
        advice = "install g++ or clang (Debian, Ubuntu: apt install g++)"
        raise PlanishError(Diagnostic("E0801", "no C++ compiler found on the path, to emulate kernels", help=advice))
    source, out = folder / "kernels.cu", folder / f"kernels-{ORDERS[order]}.o"
    source.write_text(text)
    included = [y for x in HEADERS for y in ("-include", str(x))]
    command = [compiler, *_FLAGS, f"-DPLANISH_ORDER={order}", *included, "-x", "c++", "-c", str(source)]
    finished = run_process([*command, "-o", str(out)], _LIMITS)
    if finished.code != 0 or not out.exists():
        said = finished.stderr.replace(f"{folder}/", "").strip() or finished.status
        raise PlanishError(Diagnostic("E0803", f"{compiler} refused the kernels:\n{said}"))
    return out
