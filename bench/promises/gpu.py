"""The claims `gpu`: PolyBench as kernels in the emulator, planted faults, registers; without a GPU.

for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from unittest.mock import patch

from bench.devices.table import claims_of
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.promises.gpu_dialects import WANTED, examine_dialects
from planish.build import device_checks
from planish.build.device_checks import DeviceBuild, build_for_device
from planish.build.devices import DevicePlan, plan_devices
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.run.devices.emulator import compile_emulated, find_emulating_compiler
from planish.run.devices.nvcc import find_nvcc
from planish.target.device import load_device

ROOT = Path(__file__).resolve().parents[2]
POLYBENCH = ROOT / "examples" / "polybench"
FAULTS = ROOT / "bench" / "programs" / "gpu" / "faults.c"
SEQUENTIAL = ("durbin", "nussinov", "seidel-2d")
"""Those whose statements that run most often depend on each other in every order that is tried."""
STORED = ROOT / "bench" / "results" / "gpu.json"
SWEEPS = {"heat2d_5_steps": 5.0, "heat2d_9_steps": 5.0, "heat3d_steps": 10.0}
"""Repeated sweeps that are made in time tiles, and the seconds in which their kernels are generated."""
QUICK = ("gemm", "jacobi-2d", "atax")
TARGET = "cuda-sm90"


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """How many of PolyBench's kernels are launched, and are right in three orders; which faults are found; spills."""
    if find_emulating_compiler() is None:
        yield Note("no compiler of C++ is here, so that nothing is emulated")
        return
    names = QUICK if quick else tuple(sorted(x.stem for x in POLYBENCH.glob("*.c")))
    kernels = launched = wrong = spilled = calls = 0
    for name in names:
        begun = process_time()
        built = _build(POLYBENCH / f"{name}.c")
        own = sum(len(x.text.kernels) for x in built.nests if x.text is not None and x.region.start in built.used)
        used = ", ".join(x.version for x in built.nests if x.region.start in built.used) or "on the host"
        most = max((x.registers for x in built.usage.values()), default=0)
        told = f", at most {most} registers" if built.usage else ""
        yield Note(f"{name}: {used}: {own} kernels, {built.calls} calls{told} ({process_time() - begun:.1f} s)")
        kernels, calls, launched = kernels + own, calls + built.calls, launched + bool(built.used)
        wrong += len(built.wrong)
        spilled += sum(x.spilled for x in built.usage.values())
    wanted = len([x for x in names if x not in SEQUENTIAL])
    yield at_least("gpu.polybench.launched", launched, wanted)
    yield at_most("gpu.polybench.wrong", wrong, 0)
    yield Note(f"{kernels} kernels in {launched} of {len(names)} programs; {calls} calls in three orders")
    if find_nvcc() is not None:
        yield at_most("gpu.polybench.spilled_bytes", spilled, 0)
    else:
        yield Note("no nvcc is here: registers and spills are not known")
    yield from _planted(quick)
    yield from _time_tiles(tuple(SWEEPS)[: 1 if quick else None])
    yield from examine_dialects(names, {"opencl": 4, "hip-gfx942": 4} if quick else WANTED)
    yield from _stored_run()


def _stored_run() -> Iterator[Note]:
    """What a run on a device has stored, told but not claimed: it is not measured here and now."""
    if not STORED.exists():
        told = "nothing is claimed of times, of occupancy, or of what a device makes of the kernels"
        yield Note(f"no GPU was asked: {told}")
        return
    content = json.loads(STORED.read_text())
    facts = content["facts"]
    run = f"{facts.get('card', '?')}, {facts['date']}, commit {facts['commit']}"
    yield Note(f"one run of bench/gpu_device.py on {run}:")
    for claim in claims_of(content):
        yield Note(f"{claim.name} {claim.value:.4g} beside {claim.bar:g}")


def _build(file: Path) -> DeviceBuild:
    return build_for_device(Source(str(file), file.read_text()), Options(fp="strict"), load_device(TARGET))


def _time_tiles(names: tuple[str, ...]) -> Iterator[Claim | Note]:
    """Whether repeated sweeps are in time tiles, right and without spills, and how long their kernels take to make."""
    tiled = wrong = spilled = 0
    for name in names:
        file, begun = FAULTS.parent / f"{name}.c", process_time()
        plan_devices(Source(str(file), file.read_text()), Options(fp="strict"), load_device(TARGET))
        yield at_most(f"gpu.time_tiles.{name}.generation_seconds", process_time() - begun, SWEEPS[name])
        built = _build(file)
        tiled += any(x.version.startswith("device-time-tiles") for x in built.nests if x.region.start in built.used)
        wrong += len(built.wrong)
        spilled += sum(x.spilled for x in built.usage.values())
    yield at_least("gpu.time_tiles.tiled", tiled, len(names))
    yield at_most("gpu.time_tiles.wrong", wrong, 0)
    if find_nvcc() is not None:
        yield at_most("gpu.time_tiles.spilled_bytes", spilled, 0)


def _planted(quick: bool) -> Iterator[Claim | Note]:
    """Faults of three kinds, each planted alone, in the order in which it is looked for: forward, then backward."""
    source, device = Source(str(FAULTS), FAULTS.read_text()), load_device(TARGET)
    found = planted = 0
    for function in ("scale_rows", "smooth", "product"):
        options = Options(fp="strict", functions=(function,))
        plan = plan_devices(source, options, device)
        text = _text_of(plan, source, options)
        for what, fault in list(_faults(text))[: 1 if quick else None]:
            planted += 1
            if _is_found(fault, plan, source, options):
                found += 1
            else:
                yield Note(f"{function}: not found: {what}")
    yield at_least("gpu.faults.found_share", found / max(planted, 1), 0.95)
    yield Note(f"{found} of {planted} planted faults were found")


def _text_of(plan: DevicePlan, source: Source, options: Options) -> str:
    """The text of the kernels as it is compiled for the emulator."""
    seen: list[str] = []

    def note(text: str, order: int, folder: Path) -> Path:
        seen.append(text)
        return compile_emulated(text, order, folder)

    with patch.object(device_checks, "compile_emulated", note), patch.object(
        device_checks, "plan_devices", lambda *_: plan
    ):  # fmt: skip
        build_for_device(source, options, load_device(TARGET), orders=(0,))
    return seen[0]


def _faults(text: str) -> Iterator[tuple[str, str]]:
    """Texts with one fault each: a barrier less, a block less, a guard too wide, a sum that is too short."""
    for kind, form, other in (
        ("a barrier less", r"__syncthreads\(\);", ""),
        ("a block less", r"(ptrdiff_t planish_[xy] = )(.*);", r"\1(\2) - 1;"),
        ("a guard too wide", r"if \((\w+_t_) < ", r"if (\1 <= "),
        ("a sum too short", r"_in < 16;", "_in < 15;"),
    ):
        for number, met in enumerate(re.finditer(form, text)):
            yield f"{kind} ({number})", text[: met.start()] + met.expand(other) + text[met.end() :]


def _is_found(text: str, plan: DevicePlan, source: Source, options: Options) -> bool:
    """Whether some order tells a text from the original."""

    def faulty(_: str, order: int, folder: Path) -> Path:
        return compile_emulated(text, order, folder)

    with patch.object(device_checks, "compile_emulated", faulty), patch.object(
        device_checks, "plan_devices", lambda *_: plan
    ):  # fmt: skip
        try:
            return bool(build_for_device(source, options, load_device(TARGET), orders=(0, 1)).wrong)
        except PlanishError:
            return True
