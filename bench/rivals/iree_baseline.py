"""A convolution as IREE compiles and runs it on one core, an anchor for ours: seconds of the processor a call.

    python -m bench.rivals.iree_baseline --install     # fetches IREE into bench/results/iree (0.3 GB) first
    python -m bench.rivals.iree_baseline               # 3x3, 64 channels and features, 56 x 56, both orders

>>> print(Shape(64, 3, 8, 3, 2).image, Shape(64, 3, 8, 3, 2).flops)
17 221184
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.places import RESULTS

ENVIRONMENT = RESULTS / "iree"
PACKAGES = ("iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0")
NOT_INSTALLED = "not installed: python -m bench.rivals.iree_baseline --install"
ORDERS = ("nchw", "nhwc")
"""Channels first, as in our text, and last, which is another task."""
_REPETITIONS = 7


@dataclass(frozen=True, slots=True)
class Shape:
    """A layer for one image whose border is there already: features, channels, the output's side, the window's, the
    stride."""

    features: int
    channels: int
    side: int
    window: int
    stride: int = 1

    @property
    def image(self) -> int:
        """The side of the image."""
        return (self.side - 1) * self.stride + self.window

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.features * self.channels * self.side**2 * self.window**2

    def types(self, order: str) -> tuple[str, str, str]:
        """The types of image, weights and output."""
        f, c, s, w, i = self.features, self.channels, self.side, self.window, self.image
        shapes = ((1, c, i, i), (f, c, w, w), (1, f, s, s)) if order == "nchw" else (
            (1, i, i, c), (w, w, c, f), (1, s, s, f))  # fmt: skip
        x, weights, out = ("x".join(map(str, (*shape, "f32"))) for shape in shapes)
        return x, weights, out

    def text(self, order: str) -> str:
        """The function in MLIR."""
        x, w, out = (f"tensor<{t}>" for t in self.types(order))
        name = "conv_2d_nchw_fchw" if order == "nchw" else "conv_2d_nhwc_hwcf"
        steps = f"dilations = dense<1> : tensor<2xi64>, strides = dense<{self.stride}> : tensor<2xi64>"
        return (
            f"func.func @conv(%x: {x}, %w: {w}) -> {out} {{\n  %zero = arith.constant 0.0 : f32\n"
            f"  %empty = tensor.empty() : {out}\n"
            f"  %none = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}\n"
            f"  %out = linalg.{name} {{{steps}}} ins(%x, %w : {x}, {w}) outs(%none : {out}) -> {out}\n"
            f"  return %out : {out}\n}}\n"
        )


def find_iree() -> Path | None:
    """The folder of its commands, or None."""
    return ENVIRONMENT / "bin" if (ENVIRONMENT / "bin" / "iree-benchmark-module").exists() else None


def install() -> None:
    """Fetches IREE from PyPI into an environment of its own."""
    venv.create(ENVIRONMENT, with_pip=True)
    command = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *PACKAGES], check=True)


def time_iree(shape: Shape, order: str) -> float:
    """Seconds of the processor a call, the median of some repetitions, on the last core; RuntimeError where IREE is
    missing or fails."""
    commands = find_iree()
    if commands is None:
        raise RuntimeError(f"IREE is {NOT_INSTALLED}")
    x, w, _ = shape.types(order)
    with tempfile.TemporaryDirectory(prefix="planish-iree-") as folder:
        source, made = Path(folder, "conv.mlir"), Path(folder, "conv.vmfb")
        source.write_text(shape.text(order))
        target = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
        _run(commands / "iree-compile", *target, "--iree-llvmcpu-target-cpu=host", str(source), "-o", str(made))
        told = _run(
            commands / "iree-benchmark-module", "--device=local-sync", f"--module={made}", "--function=conv",
            f"--input={x}=0.5", f"--input={w}=0.25", "--benchmark_min_time=0.3s", "--benchmark_format=json",
            f"--benchmark_repetitions={_REPETITIONS}",
        )  # fmt: skip
    found = next(x for x in json.loads(told[told.index("{") :])["benchmarks"] if x.get("aggregate_name") == "median")
    return float(found["cpu_time"]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[str(found["time_unit"])]


def _run(*command: str | Path) -> str:
    core = max(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(core), *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"IREE failed:\n{done.stderr[-2000:]}")
    return done.stdout


def main(arguments: Sequence[str]) -> int:
    """0 where both orders are timed, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Times a convolution of IREE's.")
    parser.add_argument("--install", action="store_true", help="fetch IREE into bench/results/iree first")
    if parser.parse_args(arguments).install:
        install()
    shape = Shape(64, 64, 56, 3)
    try:
        for order in ORDERS:
            seconds = time_iree(shape, order)
            print(f"{order}: {1e3 * seconds:.3g} ms, {shape.flops / seconds / 1e9:.1f} Gflop/s")
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
