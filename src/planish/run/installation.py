"""What of the things that Planish uses is found on this machine, and how to get the rest.

>>> python = Finding("needed", "Python", "3.11.7", "runs Planish")
>>> python.found, Finding("optional", "nvcc", "", "compiles CUDA", "install CUDA").found
(True, False)
"""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, get_args

from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.run.devices.driver import find_driver
from planish.run.devices.emulator import find_emulating_compiler
from planish.run.devices.hip_compiler import find_hip_compiler
from planish.run.devices.nvcc import find_nvcc
from planish.run.devices.nvrtc import find_nvrtc
from planish.run.devices.opencl import find_opencl
from planish.run.toolchains.blas import BlasName, find_blas
from planish.run.toolchains.emulator import find_emulator
from planish.run.toolchains.toolchain import Compiler, find_compilers, supports
from planish.target.load import load_target
from planish.target.machine import Target
from planish.version import VERSION

Need = Literal["needed", "optional"]

PACKAGES = (
    ("islpy", "polyhedra"),
    ("numpy", "arrays"),
    ("pycparser", "reads C"),
    ("pcpp", "preprocesses C without a compiler"),
    ("typer", "the command"),
    ("rich", "tables"),
    ("jinja2", "pages of reports"),
)
EXTRAS = (
    ("xdsl", "mlir", "reads MLIR"),
    ("optuna", "tune", "another search of `planish tune`"),
    ("ortools", "exact", "exact modulo schedules of VLIW machines"),
    ("distributed", "cluster", "tunes on several machines"),
    ("pygls", "editor", "serves editors (`planish lsp`)"),
    ("starlette", "explorer", "serves browsers (`planish explore`)"),
    ("uvicorn", "explorer", "serves browsers (`planish explore`)"),
    ("bitwuzla", "dev", "proves instruction rules in the tests"),
    ("torch", "", "operators of PyTorch on GPUs"),
)
_FOREIGN = (("aarch64", "Arm"), ("hexagon", "Hexagon"))


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that Planish uses: whether it needs it, its name, what is there of it ("": nothing), what it is for,
    and how to get it."""

    need: Need
    name: str
    detail: str
    purpose: str
    install: str = ""

    @property
    def found(self) -> bool:
        """Whether it is there."""
        return bool(self.detail)


def examine() -> tuple[Finding, ...]:
    """All that is looked for, in the order in which it matters."""
    compilers = find_compilers()
    return (
        *_basis(),
        *_compilers(compilers),
        *_machine(),
        *_foreign(),
        *_libraries(compilers),
        *_devices(),
        *_extras(),
    )


def is_usable(findings: Sequence[Finding]) -> bool:
    """Whether all is there that `planish build` needs."""
    return all(x.found for x in findings if x.need == "needed")


def _basis() -> Iterator[Finding]:
    yield Finding("needed", "planish", f"{VERSION}, {Path(__file__).parents[1]}", "this program")
    yield Finding("needed", "Python", platform.python_version(), "runs it")
    for name, purpose in PACKAGES:
        yield Finding("needed", name, _version(name), purpose, f"pip install {name}")
    root = Cache().root
    yield Finding("optional", "cache", _writable(root), "remembers builds", "set XDG_CACHE_HOME to a folder of yours")
    yield Finding(
        "needed", "temporary files", _writable(None), "compiled versions", "set TMPDIR to a folder that can be written"
    )


def _compilers(compilers: Sequence[Compiler]) -> Iterator[Finding]:
    first = f"{compilers[0]}, {compilers[0].path}" if compilers else ""
    yield Finding("needed", "C compiler", first, "compiles and checks versions", "apt install gcc")
    for compiler in compilers[1:]:
        yield Finding(
            "optional", compiler.name, f"{compiler}, {compiler.path}", "another compiler: --cc, planish bench"
        )
    if compilers:
        openmp = compilers[0].name if supports(compilers[0], "openmp") else ""
        yield Finding("optional", "OpenMP", openmp, "--threads", "apt install libgomp1, or libomp-dev for clang")
    polly = next((x.name for x in compilers if x.kind == "clang" and supports(x, "polly")), "")
    yield Finding("optional", "Polly", polly, "planish bench", "apt install clang libpolly-19-dev")
    yield Finding("optional", "nm", shutil.which("nm") or "", "compares objects of planish cc", "apt install binutils")


def _machine() -> Iterator[Finding]:
    yield Finding("optional", "processor", _describe(load_target("native")), "the target `native`")


def _describe(target: Target) -> str:
    vectors = f"{target.vector_bits} bit vectors" if target.vector_bits else "no vectors that are known"
    return f"{target.processor or target.architecture or 'any'}, {target.isa}, {vectors}, {target.cores} cores"


def _foreign() -> Iterator[Finding]:
    for architecture, name in _FOREIGN:
        emulator = find_emulator(architecture)
        found = "" if isinstance(emulator, str) else emulator[0]
        yield Finding("optional", f"emulator of {name}", found, f"checks code for {name}", "apt install qemu-user")
    cross = shutil.which("aarch64-linux-gnu-gcc") or ""
    yield Finding("optional", "compiler for Arm", cross, "--target armv8-neon", "apt install gcc-aarch64-linux-gnu")


def _libraries(compilers: Sequence[Compiler]) -> Iterator[Finding]:
    found = [name for name in get_args(BlasName) if compilers and _has_blas(name, compilers[0])]
    yield Finding("optional", "BLAS", ", ".join(found), "--blas", "apt install libopenblas-dev")


def _has_blas(name: str, compiler: Compiler) -> bool:
    try:
        find_blas(name, False, compiler)
    except PlanishError:
        return False
    return True


def _devices() -> Iterator[Finding]:
    emulating = find_emulating_compiler() or ""
    yield Finding("optional", "C++ compiler", emulating, "runs GPU kernels on this processor", "apt install g++")
    yield Finding(
        "optional", "nvcc", find_nvcc() or "", "--target cuda-…: registers, spills", "install the CUDA toolkit"
    )
    nvrtc = "found" if find_nvrtc() is not None else ""
    yield Finding("optional", "NVRTC", nvrtc, "GPU kernels from Python", "pip install 'planish[cuda]'")
    driver = "found" if find_driver() is not None else ""
    yield Finding("optional", "CUDA driver", driver, "runs kernels on a GPU", "install the driver of the GPU")
    hip = find_hip_compiler()
    yield Finding("optional", "HIP compiler", str(hip or ""), "checks kernels for AMD's GPUs", "apt install clang lld")
    opencl = "found" if find_opencl() is not None else ""
    yield Finding("optional", "OpenCL", opencl, "runs OpenCL kernels", "apt install pocl-opencl-icd ocl-icd-libopencl1")


def _extras() -> Iterator[Finding]:
    for name, extra, purpose in EXTRAS:
        how = f"pip install 'planish[{extra}]'" if extra else f"pip install {name}"
        yield Finding("optional", name, _version(name), purpose, how)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _writable(folder: Path | None) -> str:
    """A folder where files can be made (None: that of temporary ones), or ""."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder or tempfile.gettempdir())
    except OSError:
        return ""
