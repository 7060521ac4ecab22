"""Programs of PolyBench on the device beside their C files on the host's cores: for information, without a bar.

found = measure_program(torch, built, Path("gpu"), "cuda", call)  # rates in runs a second
"""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy

from bench.devices.host_calls import bind_copied, call_original, host_values, read_original
from bench.devices.manifest import Built
from bench.devices.native import FAST, object_of, original_of
from bench.devices.timing import run_rounds

SEED = 3
TOLERANCE = 1e-9
LARGEST_DRY = 40


def measure_program(
    torch: Any, built: Built, folder: Path, place: str, bind: Callable[[Mapping[str, Any]], Callable[[], int]],
    seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """Rates of the kernels on arrays of the device (`own`), of the function that copies (`own_copied`), and of the C
    file by gcc on one core and on all."""
    function = f"kernel_{built.program.removeprefix('polybench-').replace('-', '_')}"
    head, shapes = read_original(built, folder, function)
    sizes = dict(built.sizes) if place == "cuda" else {x: min(y, LARGEST_DRY) for x, y in built.sizes.items()}
    taken: dict[str, float] = {}
    results: dict[str, dict[str, Any]] = {}
    for kind in FAST:
        values = host_values(head, sizes, shapes, SEED)
        taken[kind] = call_original(ctypes.CDLL(str(original_of(built, folder, kind))), head, values)
        results[kind] = values
    copied = bind_copied(ctypes.CDLL(str(object_of(built, folder))), built)
    results["own_copied"] = host_values(head, sizes, shapes, SEED)
    copied(results["own_copied"])
    again = [copied(host_values(head, sizes, shapes, SEED)) for _ in range(3)]
    taken["own_copied"] = statistics.median(again)
    given = host_values(head, sizes, shapes, SEED)
    on_device = {x: torch.from_numpy(y).to(place) if hasattr(y, "ctypes") else y for x, y in given.items()}
    call = bind(on_device)
    call()
    results["own"] = {x: y.cpu().clone().numpy() if hasattr(y, "cpu") else y for x, y in on_device.items()}
    times = run_rounds(torch, place, {"own": [call]}, seconds)["own"]
    far = {x: _difference(results[x], results["gcc"]) for x in ("own", "own_copied")}
    wrong = {x: f"differs by {y:.2g} from gcc" for x, y in far.items() if not y <= TOLERANCE}
    taken["own"] = times.median
    rates = {x: {"rate": 1 / y, "seconds": y, "rounds": len(times.seconds)} for x, y in taken.items()}
    return {"sizes": sizes, "unit": "runs/s", "sets": 1, "rates": rates, "wrong": wrong, "bars": {}}


def _difference(ours: Mapping[str, Any], wanted: Mapping[str, Any]) -> float:
    """The largest difference of any array beside its largest value."""
    worst = 0.0
    for name, x in wanted.items():
        if hasattr(x, "ctypes"):
            scale = float(numpy.abs(x).max()) or 1.0
            worst = max(worst, float(numpy.abs(ours[name] - x).max()) / scale)
    return worst
