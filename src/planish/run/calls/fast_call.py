"""Calls of compiled functions in about a microsecond: an extension that knows calls by their integers and shapes.

    call = make_fast_call(native)        # `native` itself where the extension cannot be made
    call(2.0, x, y)

What differs from calls before goes through `bind`, with its checks and messages; so do all other types of arguments.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from planish.core.cache import Cache, key
from planish.core.diagnostic import PlanishError
from planish.ir.types import Type
from planish.run.calls.arguments import CallInterface
from planish.run.calls.binding import array_dtype, bind
from planish.run.calls.callable import NativeFunction
from planish.run.sizes.random_arguments import memory_dtype
from planish.run.toolchains.toolchain import choose_compiler

_SOURCE = Path(__file__).with_name("fast_call.c")
_NAME = "planish_fast_call"
_MOST = 32
_SECONDS = 60


def make_fast_call(native: NativeFunction) -> Callable[..., Any]:
    """A function of Python's arguments that does what `native` does with them, and raises what it raises."""

    def slow(*given: object, **named: object) -> Any:
        return native(given, named)

    interface = native.interface
    parameters = _parameters(interface)
    result = _scalar(interface.signature.result) if interface.signature.result is not None else ("-", 0)
    if native.threads > 1 or parameters is None or result is None or (made := _extension()) is None:
        return slow
    names = [x.name for x in interface.signature.parameters]
    integers = [kind == "i" for kind, *_ in parameters]

    def resolve(given: tuple[object, ...]) -> tuple[int, ...]:
        values = bind(interface, given, {})
        return tuple(int(values[x]) if whole else 0 for x, whole in zip(names, integers, strict=True))

    arrays = [x for x in interface.arguments if x.kind == "array"]
    pairs = tuple(
        (names.index(a.name), names.index(b.name)) for a, b in combinations(arrays, 2)
        if (a.apart or b.apart) and (a.written or b.written)
    )  # fmt: skip
    type = interface.signature.result
    value = None if type is None else np.bool_ if type.kind == "bool" else memory_dtype(type).type
    orders = _orders(interface, names)
    fast: Callable[..., Any] = made(
        native.address, parameters, orders, pairs, *result, value, np.ndarray, resolve, slow
    )  # fmt: skip
    return fast


def _parameters(interface: CallInterface) -> tuple[tuple[str, int, str, bool, float], ...] | None:
    """Kind, bytes, format of elements, whether it is written, and default of each parameter of the C function; None
    where there is one that the extension does not know."""
    arguments = {x.name: x for x in interface.arguments}
    out = []
    for p in interface.signature.parameters:
        argument = arguments[p.name]
        if p.kind == "array":
            dtype = array_dtype(argument.type)
            out.append(("a", dtype.itemsize, np.zeros(1, dtype).data.format, argument.written, 0.0))
        elif (found := _scalar(p.type)) is not None:
            out.append(("i" if found[0] == "u" else found[0], found[1], "", False, float(argument.default or 0)))
        else:
            return None
    return tuple(out) if len(out) <= _MOST else None


def _scalar(type: Type) -> tuple[str, int] | None:
    """Kind and bytes of a value in memory."""
    if type.kind == "bool":
        return "?", 1
    if type.is_int and type.size <= 8:
        return ("u" if type.kind == "uint" else "i"), type.size
    return ("f", type.size) if type.kind == "float" and type.size in (4, 8) else None


def _orders(interface: CallInterface, names: list[str]) -> tuple[tuple[int, ...] | None, ...]:
    """Which parameter each argument is, by the number of arguments; None for numbers that do not do."""
    shown = [x for x in interface.arguments if not x.hidden]
    needed = [x for x in shown if x.name not in interface.inferable and x.default is None]
    out: list[tuple[int, ...] | None] = []
    for count in range(len(shown) + 1):
        taken = (shown if count > len(needed) else needed)[:count]
        whole = {x.name for x in needed} <= {x.name for x in taken}
        out.append(tuple(names.index(x.name) for x in taken) if whole else None)
    return tuple(out)


@functools.cache
def _extension() -> Callable[..., Any] | None:
    """The extension's type; None where there is no compiler, or nothing to compile it with."""
    include = sysconfig.get_paths()["include"]
    if sysconfig.get_config_var("Py_GIL_DISABLED") or not Path(include, "Python.h").exists():
        return None
    try:
        compiler = choose_compiler(None)
        cache, address = Cache(), key("fast-call", sys.version, compiler.stamp, _SOURCE.read_text())
        library = cache.get(address)
        with tempfile.TemporaryDirectory(prefix="planish-") as folder:
            path = os.path.join(folder, f"{_NAME}.so")
            if library is None:
                flags = ["-O2", "-shared", "-fPIC", "-w", f"-I{include}"]
                command = [str(compiler.path), *flags, str(_SOURCE), "-o", path]
                subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
                cache.put(address, Path(path).read_bytes())
            else:
                Path(path).write_bytes(library)
            loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
            spec = importlib.util.spec_from_loader(_NAME, loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        made: Callable[..., Any] = module.FastCall
        return made
    except (PlanishError, OSError, ImportError, subprocess.SubprocessError):
        return None
