"""OpenCL, where it is here: whether there is a device, and objects of programs for it.

    found = find_opencl()
    compile_for_opencl(host_text, Path(folder))  # to be linked with found.link
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import find_compilers

_DONE = re.compile("^  return planish_status;", re.M)
_LIMITS = Limits(60.0)
_PROBE = """\
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
int main(void)
{
  cl_platform_id platform;
  cl_device_id device;
  char name[256] = "";
  if (clGetPlatformIDs(1, &platform, NULL) != 0) return 1;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != 0) return 1;
  if (clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL) != 0) return 1;
  return puts(name) < 0;
}
"""


@dataclass(frozen=True, slots=True)
class OpenClDevice:
    """The first device of OpenCL by its name, and the flags with which programs are linked."""

    name: str
    link: tuple[str, ...] = ("-lOpenCL",)


@cache
def find_opencl() -> OpenClDevice | None:
    """The device; None where there is none, or no header or library of OpenCL, or no compiler of C."""
    compiler = next(iter(find_compilers()), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory(prefix="planish-opencl-") as name:
        source, program = Path(name) / "probe.c", Path(name) / "probe"
        source.write_text(_PROBE)
        made = run_process([str(compiler.path), str(source), "-o", str(program), "-lOpenCL"], _LIMITS)
        if made.code != 0 or not program.exists():
            return None
        ran = run_process([str(program)], _LIMITS)
    return OpenClDevice(ran.stdout.strip()) if ran.code == 0 else None


def compile_for_opencl(text: str, folder: Path) -> Path:
    """An object of the functions of the host, which stop where a device does not run a kernel: else the original would
    run in its place, and nothing be checked. Raises PlanishError E0801 where no compiler of C is here, E0803 where it
    refuses the text."""
    compiler = next(iter(find_compilers()), None)
    if compiler is None:
        raise PlanishError(Diagnostic("E0801", "no C compiler found on the path"))
    source, out = folder / "kernels_opencl.c", folder / "kernels_opencl.o"
    checked, stops = _DONE.subn("  if (planish_status != 0) abort();\n  return planish_status;", text)
    assert stops, "functions of the host return their status"
    source.write_text(f"#include <stdlib.h>\n{checked}")
    made = run_process([str(compiler.path), "-O1", "-w", "-fPIC", "-c", str(source), "-o", str(out)], _LIMITS)
    if made.code != 0 or not out.exists():
        said = made.stderr.replace(f"{folder}/", "").strip() or made.status
        raise PlanishError(Diagnostic("E0803", f"the functions of the host were refused:\n{said}"))
    return out
