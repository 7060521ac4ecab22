"""Builds all programs as kernels of a device, with `planish build`, into a folder that travels to the device.

    python bench/gpu_device.py prepare .gpu [--only gemm,dot] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.devices.manifest import FILE, Built, Manifest, read_flags, read_launches, read_manifest
from bench.devices.programs import PROGRAMS, SOURCES, Version

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "src" / "planish" / "run" / "devices" / "emulator.h"
ANCHORS = Path(__file__).with_name("anchors.cu")
TARGET = "cuda-sm90"
POLYBENCH = ROOT / "examples" / "polybench"
SUITE = ("gemm", "2mm", "syrk", "atax", "mvt", "covariance", "doitgen", "jacobi-2d", "fdtd-2d", "heat-3d")
"""Programs of PolyBench that are timed beside their C files, at its large sizes."""
LONGEST = 400.0
MOST_BYTES = 64 << 20


def main(arguments: list[str]) -> int:
    """Prepare a folder; 1 where something did not compile."""
    parser = argparse.ArgumentParser(prog="gpu_device.py prepare")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="PROGRAM or PROGRAM.VERSION, with commas; others stay as they are")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", default=TARGET)
    given = parser.parse_args(arguments)
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    only = set(filter(None, given.only.split(",")))
    wanted = [x for x in _orders() if not only or {x.program, f"{x.program}.{x.version.name}"} & only]
    shutil.copy(EMULATOR, folder)
    shutil.copy(ANCHORS, folder)
    with ThreadPoolExecutor(given.jobs) as pool:
        built = tuple(pool.map(lambda x: _build(x, folder, given.target), wanted))
    fresh = built
    if only and (folder / FILE).exists():
        anew = {x.name: x for x in built}
        built = tuple(anew.pop(x.name, x) for x in read_manifest(folder).built) + tuple(anew.values())
    Manifest(built, _commit()).write(folder)
    failed = _compile_all(fresh, folder, given.jobs)
    size = sum(x.stat().st_size for x in folder.rglob("*") if x.is_file())
    launched = sum(bool(x.launches) for x in built)
    print(f"{launched} of {len(built)} are launched; {size / 1e6:.1f} MB in {folder}")
    return 1 if failed or size > MOST_BYTES else 0


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True, slots=True)
class Order:
    """A program to be built: its C file, a function of it, a version, the sizes at which it is timed."""

    program: str
    source: Path
    function: str
    version: Version
    sizes: Mapping[str, int]


def _orders() -> Iterator[Order]:
    for x in PROGRAMS:
        for version in x.versions:
            yield Order(x.name, SOURCES / f"{x.source}.c", x.function or x.name, version, {})
    sizes = tomllib.loads((POLYBENCH / "sizes.toml").read_text())
    for name in SUITE:
        function = f"kernel_{name.replace('-', '_')}"
        yield Order(f"polybench-{name}", POLYBENCH / f"{name}.c", function, Version(), sizes[name]["large"])


def _copy_original(order: Order, into: Path) -> None:
    """The C file, without the headers of its own folder."""
    if not order.sizes:
        shutil.copy(order.source, into / "original.c")
        return
    command = ["gcc", "-E", "-P", "-DLARGE_DATASET", str(order.source), "-o", str(into / "original.c")]
    subprocess.run(command, check=True)


def _build(order: Order, folder: Path, target: str) -> Built:
    """A version of a program as `planish build` makes it."""
    source, version = order.source, order.version
    name = f"{order.program}.{version.name}"
    into = folder / name
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    _copy_original(order, into)
    command = [sys.executable, "-m", "planish", "build", str(source), "--target", target, "-o", str(into), "--force"]
    command += ["--function", order.function]
    if version.script:
        command += ["--script", str(SOURCES / version.script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "160"}
    try:
        ran = subprocess.run(
            [*command, *version.options], capture_output=True, text=True, env=environment, timeout=LONGEST
        )
        said = f"{ran.stdout}{ran.stderr}".replace(f"{into}/", "").replace(f"{ROOT}/", "").strip()
    except subprocess.TimeoutExpired:
        said = f"not built in {LONGEST:.0f} s"
    stem, plain = source.stem, f"{name}/original.c"
    header = into / f"{stem}_device.h"
    if not header.exists():
        print(f"{name}: on the host\n{_indented(said)}", flush=True)
        return Built(order.program, version.name, plain, said=said, refused=_last(said), sizes=order.sizes)
    text = (into / f"{stem}.cu").read_text()
    heads = header.read_text()
    print(f"{name}: {text.count('__global__')} kernels", flush=True)
    return Built(
        order.program, version.name, plain, f"{name}/{stem}.cu", read_flags(text),
        read_launches(heads), read_launches(heads, "workspace"), said, sizes=order.sizes,
    )  # fmt: skip


def _indented(text: str) -> str:
    return "\n".join(f"    {x}" for x in text.splitlines())


def _last(text: str) -> str:
    lines = [x for x in text.splitlines() if "refused" in x or "error" in x or "not " in x]
    return (lines or text.splitlines() or [""])[0]


def _compile_all(built: tuple[Built, ...], folder: Path, jobs: int) -> int:
    """How many texts nvcc refuses; 0 where it is not here."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("no nvcc is here: the texts are compiled on the device's machine only")
        return 0
    texts = [(x.text, x.flags) for x in built if x.text] + [("anchors.cu", ("-O3", "-arch=sm_90"))]

    def compile_one(given: tuple[str, tuple[str, ...]]) -> int:
        command = [nvcc, *given[1], "-cubin", "-w", given[0], "-o", f"{given[0]}bin"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        (folder / f"{given[0]}bin").unlink(missing_ok=True)
        if ran.returncode:
            print(f"{given[0]}: nvcc refused it\n{_indented(ran.stderr)}")
        return ran.returncode != 0

    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(compile_one, texts))
