"""The libraries that experts multiply matrices with, as they are found here, each with its best kernels.

    python -m bench.rivals.blas_baselines              # says what is found, and why something is not
    python -m bench.rivals.blas_baselines --install    # fetches OpenBLAS and MKL (0.7 GB) into bench/results first

BLIS, libxsmm and oneDNN are Debian's: `apt-get install libblis4-serial libxsmm-dev libdnnl-dev`.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Literal

from bench.harness.places import RESULTS

ANCHORS = RESULTS / "anchors"
PACKAGES = ("scipy-openblas32", "mkl", "scipy")
"""SciPy has pocketfft."""
LIBXSMM, LIBXSMM_HEADER = Path("/usr/lib/libxsmm.a"), Path("/usr/include/libxsmm_version.h")
FFTW_HEADER = Path("/usr/include/fftw3.h")
ONEDNN_HEADER = Path("/usr/include/oneapi/dnnl/dnnl_version.h")
NOT_INSTALLED = "not installed: python -m bench.rivals.blas_baselines --install"

ONE_THREAD: Mapping[str, str] = {
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""The environment in which none of them starts a thread.

It has to be all of the environment: settings that are inherited, such as OPENBLAS_CORETYPE, may hold a library back.
"""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A library, its function for each element type, and the environment in which it is at its best.

    `style` says how the functions are called: `cblas_sgemm` and its like (with sizes of 32 bits), `dnnl_sgemm` and its
    like, libxsmm's dispatchers, which return a kernel for one shape, or oneDNN's primitives, also made for one shape.
    """

    name: str
    version: str
    path: Path
    symbols: Mapping[str, str]
    style: Literal["cblas", "onednn", "libxsmm", "onednn-matmul"] = "cblas"
    environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self.environment.items())
        return f"{self.name} {self.version}: {', '.join(dict.fromkeys(self.symbols.values()))}{settings}"


def find_anchors() -> list[Anchor]:
    """All that are here; of the others it prints why they are not."""
    anchors = []
    for name, found in (
        ("openblas", find_openblas()),
        ("mkl", find_mkl()),
        ("blis", find_blis()),
        ("libxsmm", find_libxsmm()),
        ("onednn", find_onednn()),
        ("onednn-matmul", find_onednn_matmul()),
    ):
        if isinstance(found, Anchor):
            anchors.append(found)
        else:
            print(f"no {name}: {found}", file=sys.stderr)
    return anchors


def find_openblas() -> Anchor | str:
    """SciPy's build of OpenBLAS from PyPI, or why it cannot take part; built without bf16, and it knows no integers."""
    path = next(ANCHORS.rglob("libscipy_openblas.so"), None)
    if path is None:
        return NOT_INSTALLED
    wanted = {"f32": "scipy_cblas_sgemm", "f64": "scipy_cblas_dgemm", "bf16": "scipy_cblas_sbgemm"}
    return Anchor("openblas", _version("scipy-openblas32"), path, _exported(path, wanted))


def find_mkl() -> Anchor | str:
    """MKL from PyPI, or why it cannot take part.

    On processors that are not Intel's it keeps to kernels without AVX-512, and no documented setting changes that.
    There bf16 is as fast as f32, and integers are half as fast: a twentieth (u8s8) and a tenth (i16) of the peak.
    """
    path = next(ANCHORS.rglob("libmkl_rt.so.*"), None)
    if path is None:
        return NOT_INSTALLED
    wanted = {
        "f32": "cblas_sgemm",
        "f64": "cblas_dgemm",
        "bf16": "cblas_gemm_bf16bf16f32",
        "u8s8": "cblas_gemm_s8u8s32",  # of rows, A is the unsigned one
        "i16": "cblas_gemm_s16s16s32",
    }
    layers = {"MKL_THREADING_LAYER": "SEQUENTIAL", "MKL_INTERFACE_LAYER": "LP64"}
    return Anchor("mkl", _version("mkl"), path, _exported(path, wanted), environment=layers)


def find_blis() -> Anchor | str:
    """The system's BLIS without threads, or why it cannot take part; PyPI's has no CBLAS."""
    path = next(Path("/usr/lib").glob("*-linux-gnu/blis-serial/libblis.so.4"), None)
    if path is None:
        return "not installed: apt-get install libblis4-serial"
    wanted = {"f32": "cblas_sgemm", "f64": "cblas_dgemm"}
    library = ctypes.CDLL(str(path))
    library.bli_info_get_version_str.restype = ctypes.c_char_p
    version = library.bli_info_get_version_str().decode()
    return Anchor("blis", version, path, _exported(path, wanted), environment=_choose_blis_kernels(library))


def find_libxsmm() -> Anchor | str:
    """The system's libxsmm, a static library, or why it cannot take part.

    Its kernels for narrower types want one operand interleaved beforehand, which is another product than ours.
    """
    if not LIBXSMM.exists() or not LIBXSMM_HEADER.exists():
        return "not installed: apt-get install libxsmm-dev"
    found = re.search(r'LIBXSMM_CONFIG_VERSION "([^"]+)"', LIBXSMM_HEADER.read_text())
    symbols = {"f32": "libxsmm_smmdispatch", "f64": "libxsmm_dmmdispatch"}
    return Anchor("libxsmm", found[1] if found else "of unknown version", LIBXSMM, symbols, "libxsmm")


def find_onednn() -> Anchor | str:
    """The system's oneDNN by its functions for products, or why it cannot take part.

    It chooses by what the processor can do, whoever made it: `DNNL_VERBOSE=1` says so.
    """
    path = next(Path("/usr/lib").glob("*-linux-gnu/libdnnl.so"), None)
    if path is None or not ONEDNN_HEADER.exists():
        return "not installed: apt-get install libdnnl-dev"
    numbers = re.findall(r"DNNL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", ONEDNN_HEADER.read_text())
    wanted = {"f32": "dnnl_sgemm", "bf16": "dnnl_gemm_bf16bf16f32", "u8s8": "dnnl_gemm_u8s8s32"}
    return Anchor("onednn", ".".join(numbers), path, _exported(path, wanted), "onednn")


def find_onednn_matmul() -> Anchor | str:
    """The same library by its primitives, which know the shape beforehand, or why it cannot take part."""
    found = find_onednn()
    if isinstance(found, str):
        return found
    if not found.version.startswith("2."):
        return f"its version is {found.version}, and primitives are made as version 2 does"
    symbols = dict.fromkeys(found.symbols, "dnnl_matmul")
    return replace(found, name="onednn-matmul", symbols=symbols, style="onednn-matmul")


def has_avx512() -> bool:
    """Whether this processor has AVX-512, whoever made it."""
    return "avx512f" in Path("/proc/cpuinfo").read_text().split()


def install() -> None:
    """Fetches the libraries that are on PyPI into `ANCHORS`, without what they need for threads."""
    # Not --target, which leaves out a wheel's data files: they are all that MKL's consists of.
    options = ("--quiet", "--disable-pip-version-check", "--ignore-installed", "--no-deps", "--only-binary", ":all:")
    command = [sys.executable, "-m", "pip", "install", *options, "--prefix", str(ANCHORS), *PACKAGES]
    subprocess.run(command, check=True)


def find_fftw() -> str:
    """Why there is no FFTW; nothing where there is."""
    return "" if FFTW_HEADER.exists() else "not installed: apt-get install libfftw3-dev"


def find_scipy() -> Path | str:
    """The folder to import SciPy from, or why there is none."""
    found = next((x.parent for x in ANCHORS.rglob("scipy/fft/__init__.py")), None)
    return NOT_INSTALLED if found is None else found.parent.parent


def _choose_blis_kernels(library: ctypes.CDLL) -> Mapping[str, str]:
    # A processor that is newer than the library gets plain C. Kernels are asked for by their number, which differs from
    # version to version; those for AVX-512 come before any that could be chosen instead.
    library.bli_arch_string.restype = ctypes.c_char_p
    library.bli_init()
    names = [library.bli_arch_string(i) for i in range(library.bli_arch_query_id() + 1)]
    return {"BLIS_ARCH_TYPE": str(names.index(b"skx"))} if has_avx512() and b"skx" in names else {}


def _version(package: str) -> str:
    folders = [str(path) for path in ANCHORS.rglob("*-packages")]
    return next((x.version for x in distributions(name=package, path=folders)), "of unknown version")


def _exported(path: Path, wanted: Mapping[str, str]) -> Mapping[str, str]:
    # To look into the file is enough, and loads nothing: who calls a function that is not there hears of it.
    names = path.read_bytes()
    return {element: symbol for element, symbol in wanted.items() if symbol.encode() + b"\0" in names}


def main(arguments: Sequence[str]) -> int:
    """0 where at least one library is found, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Finds the libraries that GEMM is raced against.")
    parser.add_argument("--install", action="store_true", help="fetch those on PyPI into bench/results/anchors first")
    if parser.parse_args(arguments).install:
        install()
    anchors = find_anchors()
    for anchor in anchors:
        print(anchor)
    return 0 if anchors else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
