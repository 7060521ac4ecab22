"""Micro-kernels as Exo's users write them, an anchor for ours: the C and the seconds that making it took.

    python -m bench.rivals.exo_baseline --install               # fetches Exo into bench/results/exo (0.1 GB) first
    python -m bench.rivals.exo_baseline --extension avx512 --rows 32 --columns 14 > exo.c

A kernel is f(NULL, k, A, B, C), where A is [k][rows], B is [k][columns], and C is [columns][rows] in one piece.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.places import RESULTS

ENVIRONMENT = RESULTS / "exo"
PACKAGE = "exo-lang==1.0.0"
SCHEDULE = Path(__file__).with_name("exo_schedule.py")
NOT_INSTALLED = "not installed: python -m bench.rivals.exo_baseline --install"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its function, its C, and how long scheduling and generating it took."""

    name: str
    text: str
    seconds: float


def find_exo() -> Path | None:
    """The Python of the environment that Exo is installed in, or None."""
    installed = any(ENVIRONMENT.glob("lib/python*/site-packages/exo"))
    return ENVIRONMENT / "bin" / "python" if installed else None


def install() -> None:
    """Fetches Exo from PyPI into an environment of its own."""
    venv.create(ENVIRONMENT, with_pip=True)
    command = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, PACKAGE], check=True)


def make_neon(rows: int, columns: int) -> Kernel:
    """A tile of so many rows and columns, both multiples of 4; RuntimeError where Exo is missing or fails."""
    return _make("neon", rows, columns)


def make_avx512(rows: int, columns: int) -> Kernel:
    """The same with AVX-512, rows being a multiple of 16."""
    return _make("avx512", rows, columns)


def _make(extension: str, rows: int, columns: int) -> Kernel:
    python = find_exo()
    if python is None:
        raise RuntimeError(f"exo is {NOT_INSTALLED}")
    command = [str(python), str(SCHEDULE), extension, str(rows), str(columns)]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"exo failed:\n{finished.stderr}")
    said = json.loads(finished.stdout)
    return Kernel(said["name"], said["text"], said["seconds"])


def main(arguments: Sequence[str]) -> int:
    """0 where the kernel is made, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Makes a micro-kernel with Exo.")
    parser.add_argument("--install", action="store_true", help="fetch Exo into bench/results/exo first")
    parser.add_argument("--extension", choices=("neon", "avx512"), default="neon")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--columns", type=int, default=12)
    asked = parser.parse_args(arguments)
    if asked.install:
        install()
    try:
        kernel = _make(asked.extension, asked.rows, asked.columns)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print(kernel.text)
    print(f"{kernel.name}: {kernel.seconds:.2f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
