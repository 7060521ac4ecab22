"""Compiles what was prepared into shared objects, and calls their functions by names of parameters.

own = Native(path, "cuda", torch)
call = own.bind_function(launch, {"n": 4, "a": tensor}); status = call()
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.devices.manifest import Built, HostFunction, Manifest, Parameter, read_parameters, value_of

_TYPES = {
    "ptrdiff_t": ctypes.c_ssize_t, "size_t": ctypes.c_size_t, "int": ctypes.c_int, "long": ctypes.c_long,
    "float": ctypes.c_float, "double": ctypes.c_double, "cudaStream_t": ctypes.c_void_p, "void": None,
}  # fmt: skip
LONGEST = 120.0
CHECKED: Mapping[str, tuple[str, ...]] = {"original": ("-O2", "-ffp-contract=off")}
"""How C files are compiled that kernels are compared with."""
FAST: Mapping[str, tuple[str, ...]] = {
    "gcc": ("-O3", "-ffast-math", "-march=native"),
    "gcc_threads": ("-O3", "-ffast-math", "-march=native", "-ftree-parallelize-loops=16", "-fopenmp"),
}
"""How those are compiled that kernels are timed beside."""
_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def type_of(parameter: Parameter) -> Any:
    """The type of ctypes. Raises KeyError where there is none."""
    return ctypes.c_void_p if parameter.type.endswith("*") else _TYPES[parameter.type.removeprefix("unsigned ")]


class Native:
    """A shared object whose functions are called on arrays of a place, in the stream that torch uses."""

    def __init__(self, path: Path, place: str, torch: Any, heads: Mapping[str, HostFunction] | None = None):
        self.place = place
        self._torch = torch
        self._library = ctypes.CDLL(str(path))
        self._heads = dict(heads or {})

    def has(self, name: str) -> bool:
        """Whether there is such a function."""
        return hasattr(self._library, name)

    def call_sized(self, function: HostFunction, values: Mapping[str, Any]) -> int:
        """The bytes that a function of sizes tells."""
        made = getattr(self._library, function.name)
        made.restype = ctypes.c_size_t
        made.argtypes = [type_of(x) for x in function.parameters]
        return int(made(*(value_of(values, x.name) for x in function.parameters)))

    def bind_function(self, function: HostFunction, values: Mapping[str, Any]) -> Callable[[], int]:
        """A call of a launch with values by the names of its parameters; the stream is torch's. Raises KeyError where a
        value is missing."""
        made = getattr(self._library, function.name)
        made.restype = ctypes.c_int
        made.argtypes = [type_of(x) for x in function.parameters]
        stream = self._torch.cuda.current_stream().cuda_stream if self.place == "cuda" else None
        known = {"stream": stream, **values}
        given = [_plain(value_of(known, x.name)) for x in function.parameters]
        # The tensors are kept, since the call only has their addresses.
        return _Call(made, given, list(values.values()))

    def bind(self, name: str, *values: Any) -> Callable[[], int]:
        """A call of a function of `heads`, with values in the order of its parameters but the stream."""
        head = self._heads[name]
        return self.bind_function(head, dict(zip([x.name for x in head.parameters], values, strict=False)))


class _Call:
    """A function with its arguments."""

    __slots__ = ("_function", "_given", "_kept")

    def __init__(self, function: Any, given: list[Any], kept: list[Any]):
        self._function, self._given, self._kept = function, given, kept

    def __call__(self) -> int:
        return int(self._function(*self._given))


def _plain(value: Any) -> Any:
    return value.data_ptr() if hasattr(value, "data_ptr") else value


def anchor_heads(text: str) -> dict[str, HostFunction]:
    """The functions of anchors.cu by their names."""
    met = re.finditer(r"^int (anchor_\w+)\((.*)\)$", text, re.M)
    return {x[1]: HostFunction(x[1], read_parameters(x[2])) for x in met}


def object_of(built: Built, folder: Path) -> Path:
    """Where its shared object is."""
    return folder / "objects" / f"{built.name}.so"


def original_of(built: Built, folder: Path, kind: str = "original") -> Path:
    """Where the shared object of its C file is."""
    return folder / "objects" / f"{built.name}.{kind}.so"


def compile_all(manifest: Manifest, folder: Path, place: str, jobs: int) -> dict[str, dict[str, Any]]:
    """Compile all texts: seconds, registers and spills by kernel, or the error, by name."""
    (folder / "objects").mkdir(exist_ok=True)
    todo: list[tuple[str, list[str]]] = []
    for x in manifest.built:
        if x.text:
            todo.append((x.name, _device_command(folder / x.text, object_of(x, folder), x.flags, place, folder)))
        for kind, flags in (FAST if x.sizes else CHECKED).items():
            out = original_of(x, folder, kind)
            command = ["gcc", *flags, "-shared", "-fPIC", "-w", str(folder / x.source), "-lm", "-o", str(out)]
            todo.append((f"{x.name}.{kind}", command))
    anchors = _device_command(folder / "anchors.cu", folder / "objects" / "anchors.so", (), place, folder)
    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda x: _compile(*x), [("anchors", anchors), *todo]))
    return dict(done)


def _device_command(text: Path, out: Path, flags: tuple[str, ...], place: str, folder: Path) -> list[str]:
    if place == "cuda":
        given = list(flags) or ["-O3", "-arch=sm_90"]
        return ["nvcc", *given, "-Xptxas", "-v", "-w", "-shared", "-Xcompiler", "-fPIC", str(text), "-o", str(out)]
    emulator = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off"]
    header = ["-fwrapv", "-DPLANISH_ORDER=0", "-include", str(folder / "emulator.h")]
    return ["g++", *emulator, *header, "-x", "c++", str(text), "-o", str(out)]


def _compile(name: str, command: list[str]) -> tuple[str, dict[str, Any]]:
    begun = time.perf_counter()
    if shutil.which(command[0]) is None:
        return name, {"error": f"{command[0]} is not here"}
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return name, {"error": f"not compiled in {LONGEST:.0f} s"}
    out: dict[str, Any] = {"seconds": round(time.perf_counter() - begun, 2)}
    if ran.returncode:
        out["error"] = f"{ran.stdout}{ran.stderr}"[-2000:]
    if usage := read_usage(ran.stderr + ran.stdout):
        out["usage"] = usage
    return name, out


def read_usage(said: str) -> dict[str, dict[str, int]]:
    """Registers, spilled bytes and shared bytes by kernel, as ptxas tells them.

    >>> read_usage("Compiling entry function '_Z9f_kernel0i' for 'sm_90'\\nUsed 8 registers, 16 bytes smem")
    {'_Z9f_kernel0i': {'registers': 8, 'spilled': 0, 'shared': 16}}
    """
    out: dict[str, dict[str, int]] = {}
    name, spilled = "", 0
    for line in said.splitlines():
        if entry := _ENTRY.search(line):
            name, spilled = entry[1], 0
        if spills := _SPILLS.search(line):
            spilled = int(spills[1]) + int(spills[2])
        if (used := _USED.search(line)) and name:
            out[name] = {"registers": int(used[1]), "spilled": spilled, "shared": int(used[2] or 0)}
    return out
