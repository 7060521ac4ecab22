"""Calls of C functions on arrays of the host: originals, and what stands in their place and copies to the device.

arrays = host_values(head, sizes, {"A": (800, 1100)}, seed=1)
seconds = time_original(library, head, arrays)
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy

from bench.devices.manifest import Built, HostFunction, find_head, value_of
from bench.devices.native import type_of

_ARRAY = re.compile(r"\b(?:double|float)\s+(\w+)((?:\[\d+\])+)")
_NUMPY = {"float *": numpy.float32, "double *": numpy.float64}


def shapes_of(source: str, function: str) -> dict[str, tuple[int, ...]]:
    """Shapes of the array parameters of a function, whose extents are numbers."""
    met = re.search(rf"\b{function}\s*\(([^{{;]*)\)\s*\{{", source)
    found = _ARRAY.findall(met[1]) if met else []
    return {name: tuple(int(x) for x in re.findall(r"\d+", extents)) for name, extents in found}


def host_values(
    head: HostFunction, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], seed: int
) -> dict[str, Any]:  # fmt: skip
    """Values of all parameters by name: scalars are 1.25."""
    random = numpy.random.default_rng(seed)
    out: dict[str, Any] = {}
    for x in head.parameters[1:]:
        if x.type in _NUMPY:
            out[x.name] = random.uniform(-0.5, 1.0, shapes[x.name]).astype(_NUMPY[x.type])
        else:
            out[x.name] = sizes.get(x.name, 1.25)
    return out


def call_original(library: ctypes.CDLL, head: HostFunction, values: Mapping[str, Any]) -> float:
    """Seconds of a call of a C file's function."""
    function = getattr(library, head.name)
    function.restype = type_of(head.parameters[0])
    return call_timed(function, head.parameters[1:], values)


def call_timed(function: Any, parameters: Any, values: Mapping[str, Any]) -> float:
    """Seconds of a call with values by the names of parameters. Raises RuntimeError where it returns an error."""
    function.argtypes = [type_of(x) for x in parameters]
    given = [x.ctypes.data if hasattr(x, "ctypes") else x for x in (value_of(values, y.name) for y in parameters)]
    begun = time.perf_counter()
    status = function(*given)
    seconds = time.perf_counter() - begun
    if isinstance(status, int) and status and function.restype is ctypes.c_int:
        raise RuntimeError(f"it returned {status}")
    return seconds


def bind_copied(library: ctypes.CDLL, built: Built) -> Callable[[Mapping[str, Any]], float]:
    """The functions that copy the caller's arrays to the device and back, in order; a call gives seconds."""
    functions = []
    for x in built.launches:
        made = getattr(library, x.name.removesuffix("_launch"))
        made.restype = ctypes.c_int
        functions.append((made, [y for y in x.parameters if y.name not in ("workspace", "stream")]))

    def call(values: Mapping[str, Any]) -> float:
        return sum(call_timed(made, parameters, values) for made, parameters in functions)

    return call


def read_original(built: Built, folder: Path, function: str) -> tuple[HostFunction, dict[str, tuple[int, ...]]]:
    """The head of a C file's function, and the shapes of its arrays."""
    source = (folder / built.source).read_text()
    return find_head(source, function), shapes_of(source, function)
