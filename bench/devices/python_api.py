"""Functions for GPUs from Python on a real GPU: right with tensors, CuPy and NumPy, and what a call takes.

    PYTHONPATH=src python3 -m bench.devices.python_api

Needs Planish with its dependencies, PyTorch, a GPU, and NVRTC or nvcc; CuPy where it is here. Prints one JSON object:
for each function and library of arrays the largest difference from float64, and microseconds a call beside PyTorch's
own, medians of rounds in turns, queue never full: what the processor does to start work, and what that takes on the
device.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import planish
from bench.devices.python_texts import AXPY, AXPY_APART, CONV, DOT, HEAT_APART
from planish.core.cache import Cache

ROUNDS, CALLS = 30, 50

Made = dict[str, Any]


def main() -> int:
    """Check and time; 1 where something is wrong or fails."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    out: Made = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "python": sys.version.split()[0]}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("conv", conv), ("axpy", axpy), ("heat", heat), ("dot", dot), ("refusals", refusals)):
            begun = time.perf_counter()
            try:
                out[name] = part(Cache(folder))
                failed = failed or not out[name].pop("right")
            except Exception as error:  # a later part is told all the same
                out[name] = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()[-1500:]}
                failed = True
            out[name]["seconds"] = round(time.perf_counter() - begun, 2)
            print(name, json.dumps(out[name]), file=sys.stderr, flush=True)
    print(json.dumps(out))
    return 1 if failed else 0


def compiled(text: str, cache: Cache, made: Made) -> planish.CompiledFunction:
    """A function for the card that is here, and what it took to build it, and to take it from the cache."""
    for what in ("build_s", "again_s"):
        begun = time.perf_counter()
        function = planish.compile(text, target="cuda", cache=cache)
        made[what] = round(time.perf_counter() - begun, 2)
    made["kernels"] = function.report.transformed
    return function


def conv(cache: Cache) -> Made:
    """A convolution: an array whose rows lie apart, a small one, a result; as an operator with a gradient."""
    made: Made = {}
    function = compiled(CONV, cache, made)
    image, weights = torch.rand(1030, 2052, device="cuda"), torch.rand(3, 3, device="cuda")
    view, out = image[:, :2050], torch.zeros(1028, 2048, device="cuda")
    want = torch.nn.functional.conv2d(view[None, None].double(), weights[None, None].double())[0, 0]
    function(1030, 2050, 2052, view, weights, out)
    made["torch"] = difference(out, want)
    out.zero_()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        function(view, weights, out)
    torch.cuda.current_stream().wait_stream(side)
    made["torch, other stream"] = difference(out, want)
    if (cupy := cupy_or_none()) is not None:
        result = cupy.zeros((1028, 2048), cupy.float32)
        function(1030, 2050, 2052, cupy.asarray(view), cupy.asarray(weights), result)
        made["cupy"] = difference(torch.as_tensor(result.get(), device="cuda"), want)
    given = (image.cpu().numpy()[:, :2050], weights.cpu().numpy(), np.zeros((1028, 2048), np.float32))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function(1030, 2050, 2052, *given)
    made["numpy"] = difference(torch.as_tensor(given[2], device="cuda"), want)
    made["numpy, told"] = [str(x.message) for x in told]
    operator = function.as_torch_op(
        "planish_check::conv", backward=lambda ctx, g: (conv_transposed(ctx, g), weights_gradient(ctx, g)),
    )  # fmt: skip
    part, asked, other = view[:40, :50], weights.clone().requires_grad_(), weights.clone().requires_grad_()
    operator(part, asked, 40, 50, 2052).square().sum().backward()
    torch.nn.functional.conv2d(part[None, None], other[None, None]).square().sum().backward()
    assert asked.grad is not None and other.grad is not None
    made["gradient"] = difference(asked.grad, other.grad.double())
    traced = torch.compile(lambda x, y: 2 * operator(x, y, 1030, 2050, 2052), fullgraph=True, backend="aot_eager")
    made["traced"] = difference(traced(view, weights), 2 * want)
    if jax_array := jax_or_none(view.contiguous().cpu().numpy()):
        out.zero_()
        function(1030, 2050, 2050, jax_array[0], weights, out)
        made["jax"] = difference(out, want)
    small = torch.rand(34, 34, device="cuda"), weights, torch.zeros(32, 32, device="cuda")
    planes = small[0][None, None], small[1][None, None]
    made["µs"] = in_turns({
        "planish, sizes given": lambda: function(34, 34, 34, *small),
        "planish, sizes inferred": lambda: function(*small),
        "planish, operator": lambda: operator(small[0], small[1], 34, 34, 34),
        "torch conv2d": lambda: torch.nn.functional.conv2d(*planes),
        "torch mul": lambda: torch.mul(small[2], 2.0, out=small[2]),
    })  # fmt: skip
    limits = {"torch": 1e-5, "torch, other stream": 1e-5, "cupy": 1e-5, "numpy": 1e-5, "gradient": 1e-3, "traced": 1e-5}
    made["right"] = made["kernels"] and all(made[x] <= y for x, y in limits.items() if x in made)
    return made


def conv_transposed(ctx: Any, gradient: Any) -> Any:
    """The gradient of the image."""
    _, weights = ctx.saved_tensors
    return torch.nn.functional.conv_transpose2d(gradient[None, None], weights[None, None])[0, 0]


def weights_gradient(ctx: Any, gradient: Any) -> Any:
    """The gradient of the weights."""
    image, _ = ctx.saved_tensors
    return torch.nn.functional.conv2d(image[None, None], gradient[None, None])[0, 0]


def axpy(cache: Cache) -> Made:
    """A sum that is written in place, with a number; arrays that overlap, where the original has to run."""
    made: Made = {}
    function = compiled(AXPY, cache, made)
    x, y = torch.rand(100_003, device="cuda"), torch.rand(100_003, device="cuda")
    want = y.double() + 2.5 * x.double()
    function(2.5, x, y)
    made["torch"] = difference(y, want)
    memory = torch.ones(64, device="cuda")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function(60, 1.0, memory[:60], memory[4:])
    made["overlap"] = difference(memory, torch.arange(64, device="cuda") // 4 + 1)
    made["overlap, told"] = [str(x.message) for x in told]
    graph, replayed = torch.cuda.CUDAGraph(), torch.zeros(1000, device="cuda")
    ones = torch.ones(1000, device="cuda")
    with torch.cuda.graph(graph):
        function(1.0, ones, replayed)
    for _ in range(3):
        graph.replay()
    made["graph"] = difference(replayed, torch.full((1000,), 3.0, device="cuda"))
    a, b = torch.rand(1024, device="cuda"), torch.rand(1024, device="cuda")
    operator = function.as_torch_op("planish_check::axpy")
    made["µs"] = in_turns({
        "planish": lambda: function(1024, 0.5, a, b), "planish, operator": lambda: operator(0.5, a, b),
        "torch add_": lambda: b.add_(a, alpha=0.5), "torch add": lambda: torch.add(b, a, alpha=0.5),
    })  # fmt: skip
    made["right"] = made["kernels"] and max(made["torch"], made["overlap"], made["graph"]) <= 1e-6
    return made


def heat(cache: Cache) -> Made:
    """Launches in a loop of the host, over arrays with declared extents."""
    made: Made = {}
    function = compiled(HEAT_APART, cache, made)
    a = torch.rand(515, 515, device="cuda")
    b, want = a.clone(), a.double()
    for _ in range(10):
        inner = 0.25 * (want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:])
        want = want.clone()
        want[1:-1, 1:-1] = inner
    function(10, a, b)
    made["torch"] = difference(a, want)
    x, y = torch.rand(66, 66, device="cuda"), torch.rand(66, 66, device="cuda")
    steps = {"planish, 1 step": lambda: function(1, 66, x, y), "10 steps": lambda: function(10, 66, x, y)}
    made["µs"] = in_turns(steps)
    made["right"] = made["kernels"] and made["torch"] <= 1e-5
    return made


def dot(cache: Cache) -> Made:
    """A value that comes back."""
    made: Made = {}
    function = compiled(DOT, cache, made)
    x, y = (torch.rand(1_000_003, dtype=torch.float64, device="cuda") for _ in range(2))
    made["torch"] = abs(float(function(x, y)) / float(x @ y) - 1)
    a, b = x[:1024], y[:1024]
    made["µs"] = in_turns({"planish": lambda: function(a, b), "torch dot().item()": lambda: torch.dot(a, b).item()})
    made["right"] = made["kernels"] and made["torch"] <= 1e-12
    return made


def refusals(cache: Cache) -> Made:
    """What does not fit is refused, in words of the library."""
    made: Made = {}
    function = planish.compile(AXPY_APART, target="cuda", cache=cache)
    x, y = torch.rand(10, device="cuda"), torch.rand(10, device="cuda")
    for name, call in {
        "type": lambda: function(1.0, x.double(), y), "length": lambda: function(11, 1.0, x, y),
        "gradient": lambda: function(1.0, x, y.clone().requires_grad_()), "restrict": lambda: function(1.0, y, y),
        "stride": lambda: function(1.0, torch.rand(20, device="cuda")[::2], y),
    }.items():  # fmt: skip
        try:
            call()
            made[name] = "was not refused"
        except (TypeError, ValueError) as error:
            made[name] = str(error)
    made["right"] = "was not refused" not in made.values()
    return made


def difference(found: Any, wanted: Any) -> float:
    """The largest difference, in parts of the largest element."""
    return float((found.double() - wanted.double()).abs().max() / wanted.double().abs().max().clamp_min(1e-30))


def cupy_or_none() -> Any:
    """CuPy, where it is here."""
    return importlib.import_module("cupy") if importlib.util.find_spec("cupy") else None


def jax_or_none(values: np.ndarray[Any, Any]) -> list[Any]:
    """An array of JAX on the GPU; none where JAX has none there."""
    if importlib.util.find_spec("jax") is None:
        return []
    jax = importlib.import_module("jax")
    try:
        return [jax.device_put(values, jax.devices("gpu")[0])]
    except RuntimeError:
        return []


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Microseconds of the processor a call, until it comes back, and until the device is done; medians of rounds in
    which all take turns."""
    for call in calls.values():
        for _ in range(5):
            call()
    torch.cuda.synchronize()
    back: dict[str, list[float]] = {x: [] for x in calls}
    done: dict[str, list[float]] = {x: [] for x in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(CALLS):
                call()
            between = time.perf_counter()
            torch.cuda.synchronize()
            back[name].append((between - begun) / CALLS * 1e6)
            done[name].append((time.perf_counter() - begun) / CALLS * 1e6)
    return {x: [round(statistics.median(y[x]), 2) for y in (back, done)] for x in calls}


if __name__ == "__main__":
    sys.exit(main())
