"""Compiles kernels to code of a device by NVRTC, the compiler of CUDA as a library, or by nvcc where that is not here.

    code = compile_kernels(text, "sm_90", exact=False)

NVRTC comes with the toolkit of CUDA, with PyTorch, and by `pip install 'planish[cuda]'`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.devices.nvcc import find_nvcc
from planish.run.processes.process import Limits, run_process

_LIMITS = Limits(300.0)
_TYPES = """\
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;
"""
_MATH = """\
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL ((double)INFINITY)
"""
HEADERS = {"math.h": _MATH, "stddef.h": "typedef long ptrdiff_t;\n", "stdint.h": _TYPES}
"""The headers that kernels name: NVRTC reads none of this machine's, and has functions of math.h by itself."""
_FLAGS = ("-std=c++17", "-D_Bool=bool", "-w")


def compile_kernels(text: str, architecture: str, exact: bool) -> bytes:
    """The code of kernels for an architecture ("sm_90"); `exact`: a product and a sum are rounded apart. Raises
    PlanishError E0852 where no compiler of CUDA is here, E0803 where it refuses the text."""
    flags = (*_FLAGS, *(("-fmad=false",) if exact else ()))
    library = find_nvrtc()
    if library is not None:
        return _compile_by_library(library, text, (f"--gpu-architecture={architecture}", *flags))
    return _compile_by_command(text, (f"-arch={architecture}", "-O3", *flags))


def has_compiler() -> bool:
    """Whether there is NVRTC, or nvcc."""
    return find_nvrtc() is not None or find_nvcc() is not None


@lru_cache(maxsize=1)
def find_nvrtc() -> ctypes.CDLL | None:
    """NVRTC: of a package of Python, or of the system; None where there is none."""
    for name in (*_packaged(), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", *_installed()):
        try:
            # It looks for this by its name alone, which is known once it is loaded.
            for part in sorted(Path(name).parent.glob("libnvrtc-builtins.so*")) if "/" in name else ():
                ctypes.CDLL(str(part))
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _packaged() -> Iterator[str]:
    for folder in sys.path:
        root = Path(folder or ".") / "nvidia"
        for pattern in ("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            yield from (str(x) for x in sorted(root.glob(pattern), reverse=True) if _is_main(x))


def _installed() -> Iterator[str]:
    for pattern in ("cuda*/lib64/libnvrtc.so.*", "cuda*/targets/*/lib/libnvrtc.so.*"):
        yield from (str(x) for x in sorted(Path("/usr/local").glob(pattern), reverse=True) if _is_main(x))


def _is_main(path: Path) -> bool:
    return re.fullmatch(r"libnvrtc\.so\.\d+", path.name) is not None


def _compile_by_library(library: ctypes.CDLL, text: str, options: Sequence[str]) -> bytes:
    program = ctypes.c_void_p()
    texts = (ctypes.c_char_p * len(HEADERS))(*(x.encode() for x in HEADERS.values()))
    names = (ctypes.c_char_p * len(HEADERS))(*(x.encode() for x in HEADERS))
    made = library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", len(HEADERS), texts, names)
    if made != 0:
        raise PlanishError(Diagnostic("E0803", f"NVRTC does not take the kernels (error {made})"))
    try:
        given = (ctypes.c_char_p * len(options))(*(x.encode() for x in options))
        if library.nvrtcCompileProgram(program, len(options), given) != 0:
            said = _read(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
            message = said.rstrip(b"\0").decode(errors="replace").strip()
            raise PlanishError(Diagnostic("E0803", f"NVRTC refused the kernels ({' '.join(options)}):\n{message}"))
        return _read(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(size_of: ctypes._NamedFuncPointer, read: ctypes._NamedFuncPointer, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    error = size_of(program, ctypes.byref(size))
    out = ctypes.create_string_buffer(max(1, size.value))
    if error == 0:
        error = read(program, out)
    if error != 0:
        raise PlanishError(Diagnostic("E0803", f"NVRTC does not give what it made of the kernels (error {error})"))
    return out.raw[: size.value]


def _compile_by_command(text: str, flags: Sequence[str]) -> bytes:
    nvcc = find_nvcc()
    if nvcc is None:
        raise PlanishError(Diagnostic("E0852", "no compiler of CUDA is here: neither NVRTC nor nvcc"))
    with tempfile.TemporaryDirectory(prefix="planish-nvcc-") as name:
        source, out = Path(name) / "kernels.cu", Path(name) / "kernels.cubin"
        source.write_text(text)
        finished = run_process([nvcc, *flags, "-cubin", str(source), "-o", str(out)], _LIMITS)
        if finished.code != 0 or not out.exists():
            said = finished.stderr.replace(f"{name}/", "").strip() or finished.status
            raise PlanishError(Diagnostic("E0803", f"nvcc refused the kernels:\n{said}"))
        return out.read_bytes()
