"""The BLAS libraries of this machine: found, asked what their functions are called and how wide their integers are.

>>> check_name("blis")
'blis'
>>> str(Blas("openblas", BlasInterface(), ("-lopenblas",)))
'openblas, integers of 32 bits: -lopenblas'
"""

from __future__ import annotations

import difflib
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.formats.blas.interface import BlasInterface
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import Compiler

BlasName = Literal["openblas", "blis", "mkl", "cblas"]

_LINKED: Mapping[BlasName, tuple[tuple[str, ...], ...]] = {
    "openblas": (("openblas",), ("openblas64",), ("openblas64_",), ("openblas_64",)),
    "blis": (("blis",), ("blis64",)),
    "mkl": (("mkl_intel_lp64", "mkl_sequential", "mkl_core"), ("mkl_intel_ilp64", "mkl_sequential", "mkl_core")),
    "cblas": (("cblas",), ("blas",), ("blas64",), ("openblas",), ("openblas64",), ("blis",)),
}
"""What a linker is asked for, for each library in its builds."""

_FILES: Mapping[BlasName, tuple[str, ...]] = {
    "openblas": ("libscipy_openblas.so", "libscipy_openblas64_.so", "libopenblas*.so.0"),
    "blis": ("libblis*.so.4", "libblis*.so.5"),
    "mkl": ("libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"),
    "cblas": ("libcblas.so.3", "libblas.so.3"),
}
"""Files that no linker finds by itself: of packages for Python, and of what is installed to run programs only."""

_PACKAGES: Mapping[BlasName, tuple[str, str]] = {
    "openblas": ("apt install libopenblas-dev, or pip install scipy-openblas32",
                 "apt install libopenblas64-dev, or pip install scipy-openblas64"),
    "blis": ("apt install libblis-dev", "apt install libblis64-dev"),
    "mkl": ("pip install mkl, or apt install libmkl-dev", "apt install libmkl-dev"),
    "cblas": ("apt install libopenblas-dev, or libatlas-base-dev", "apt install libopenblas64-dev"),
}  # fmt: skip
"""What to install for integers of 32 and of 64 bits."""

_SPELLINGS = tuple(product(("", "scipy_"), ("", "64_")))
"""What builds put before and behind the names of their functions."""

_PROBE = """\
#include <stdint.h>
double {name}(int64_t n, const double *x, int64_t x_step, const double *y, int64_t y_step);
int main(void)
{{
  /* Of this number, 32 bits are 1, and 64 bits are negative: then there is nothing to add. */
  const double x = 3.0, y = 2.0, found = {name}(-4294967295, &x, 1, &y, 1);
  return found == 6.0 ? 32 : found == 0.0 ? 64 : 1;
}}
"""
_LIMITS = Limits(seconds=30)


@dataclass(frozen=True, slots=True)
class Blas:
    """A library: `link` are the flags that link it."""

    name: BlasName
    interface: BlasInterface
    link: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}, integers of {64 if self.interface.wide else 32} bits: {' '.join(self.link)}"


def check_name(name: str) -> BlasName:
    """The name of a library that can be asked for; PlanishError E0847 for others."""
    for known in _LINKED:
        if name == known:
            return known
    near = difflib.get_close_matches(name, _LINKED, 1)
    advice = f"did you mean `{near[0]}`?" if near else f"it is one of {', '.join(_LINKED)}"
    raise PlanishError(Diagnostic("E0847", f"there is no BLAS called `{name}`", help=advice))


def find_blas(name: str, wide: bool, compiler: Compiler) -> Blas:
    """The library of that name that the compiler links and that runs here, with integers of 64 bits where `wide`.

    Raises PlanishError E0846 where there is none, E0847 for a name that is none, E0849 where all that there are have
    integers of another width.
    """
    known = check_name(name)
    others: list[Blas] = []
    for link in _candidates(known):
        found = _ask(known, link, compiler)
        if found is not None and found.interface.wide == wide:
            return found
        others += [found] if found is not None else []
    advice = _PACKAGES[known][wide]
    if others:
        here, wanted = (32, 64) if wide else (64, 32)
        message = f"the {known} here ({' '.join(others[0].link)}) has integers of {here} bits, not of {wanted}"
        change = "leave out --ilp64" if wide else "ask for it with --ilp64"
        raise PlanishError(Diagnostic("E0849", message, help=f"{change}, or install another one: {advice}"))
    bits = 64 if wide else 32
    message = f"no {known} with integers of {bits} bits was found that {compiler.name} links"
    raise PlanishError(Diagnostic("E0846", message, help=f"install it (Debian, Ubuntu: {advice})"))


def _candidates(name: BlasName) -> Iterator[tuple[str, ...]]:
    """The flags to try: what the linker finds, then files that lie elsewhere."""
    for names in _LINKED[name]:
        yield tuple(f"-l{x}" for x in names)
    for pattern in _FILES[name]:
        for folder in _folders():
            for path in sorted(folder.glob(pattern)):
                yield str(path), f"-Wl,-rpath,{path.parent}"


@lru_cache(maxsize=1)
def _folders() -> tuple[Path, ...]:
    """Where libraries lie besides the linker's own folders: in Python's packages, in folders of their own."""
    packages = Path(sysconfig.get_path("purelib"))
    own = [packages / "scipy_openblas32" / "lib", packages / "scipy_openblas64" / "lib", Path(sys.prefix) / "lib"]
    system = [x for place in ("/usr/lib", "/usr/local/lib", "/usr/lib64") for x in (Path(place), *_below(Path(place)))]
    return tuple(x for x in dict.fromkeys((*own, *system)) if x.is_dir())


def _below(place: Path) -> Iterator[Path]:
    """Folders that a system keeps its libraries in."""
    for pattern in ("*-linux-gnu", "*-linux-gnu/blis*", "*-linux-gnu/*blas*", "*blas*", "*blis*"):
        yield from sorted(place.glob(pattern))


@lru_cache(maxsize=256)
def _ask(name: BlasName, link: tuple[str, ...], compiler: Compiler) -> Blas | None:
    """The library behind some flags, by a program that calls it; None where it does not link or not run."""
    files = [Path(x) for x in link if x.startswith("/")]
    content = b"".join(x.read_bytes() for x in files)
    for prefix, suffix in _SPELLINGS:
        interface = BlasInterface(prefix, suffix)
        symbol = interface.named("ddot")
        if files and symbol.encode() + b"\0" not in content:
            continue
        bits = _run_probe(_PROBE.format(name=symbol), link, compiler)
        if bits in (32, 64):
            return Blas(name, BlasInterface(prefix, suffix, bits == 64), link)
    return None


def _run_probe(text: str, link: tuple[str, ...], compiler: Compiler) -> int | None:
    """What a program's exit code is; None where it cannot be built or run."""
    with tempfile.TemporaryDirectory(prefix="planish-blas-") as name:
        source, program = Path(name) / "probe.c", Path(name) / "probe"
        source.write_text(text)
        try:
            made = run_process([str(compiler.path), "-w", str(source), "-o", str(program), *link, "-lm"], _LIMITS)
            return run_process([str(program)], _LIMITS).code if made.code == 0 else None
        except OSError:
            return None
