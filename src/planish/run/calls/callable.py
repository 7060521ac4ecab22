"""A built library inside this process: called with NumPy arrays after every argument was checked, without copies.

    function = NativeFunction(Path("axpy.so").read_bytes(), interface)
    function((2.0, x, y), {})
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.types import Type
from planish.run.calls.arguments import CallInterface
from planish.run.calls.binding import Seen, bind
from planish.run.calls.loaded_library import kept_environment
from planish.run.sizes.random_arguments import from_memory, memory_dtype, to_memory

_RESULT_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class PackedArguments:
    """The addresses of a call's arguments, and what lies there."""

    vector: ctypes.Array[ctypes.c_void_p]
    held: tuple[Any, ...]


class NativeFunction:
    """The entry of a library (built with `entry_text` in it).

    The interpreter lock is free during a call. `threads` above 1 is how many OpenMP threads a call may use.
    Raises PlanishError E0808 where the library cannot be loaded.
    """

    __slots__ = ("_entry", "_get_threads", "_seen", "_set_threads", "interface", "library", "threads")

    def __init__(self, library: bytes, interface: CallInterface, threads: int = 1) -> None:
        self.interface, self.threads = interface, threads
        self._seen: Seen = {}
        self.library = loaded = _load(library)
        self._entry = loaded[f"planish_entry_{interface.signature.function}"]
        self._entry.restype = None
        self._get_threads = self._set_threads = None
        if threads > 1 and hasattr(loaded, "omp_set_num_threads"):
            self._get_threads, self._set_threads = loaded["omp_get_max_threads"], loaded["omp_set_num_threads"]

    def __call__(self, given: Sequence[object], named: Mapping[str, object]) -> Any:
        """The function's value as NumPy's scalar; raises what `bind` raises."""
        return self.call_bound(bind(self.interface, given, named, self._seen))

    @property
    def address(self) -> int:
        """Where the entry is: a function of the arguments' addresses, and the result's."""
        return ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    def call_bound(self, values: Mapping[str, Any]) -> Any:
        """The function's value with arguments that `bind` has checked."""
        return self.call_packed(self.pack(values))

    def pack(self, values: Mapping[str, Any]) -> PackedArguments:
        """Arguments that `bind` has checked, as the entry of a library of this interface takes them."""
        signature = self.interface.signature
        held = [
            values[p.name] if p.kind == "array" else to_memory(np.array([values[p.name]]), p.type)
            for p in signature.parameters
        ]
        return PackedArguments((ctypes.c_void_p * max(1, len(held)))(*(x.ctypes.data for x in held)), tuple(held))

    def call_packed(self, arguments: PackedArguments) -> Any:
        """The function's value with arguments that `pack` made; they can be passed again."""
        signature = self.interface.signature
        result = np.zeros(_RESULT_BYTES, np.uint8)
        self._run(arguments.vector, ctypes.c_void_p(result.ctypes.data))
        return None if signature.result is None else _value(result, signature.result)

    def _run(self, vector: Any, result: ctypes.c_void_p) -> None:
        if self._get_threads is None or self._set_threads is None:
            self._entry(vector, result)
            return
        before = self._get_threads()
        self._set_threads(self.threads)
        try:
            self._entry(vector, result)
        finally:
            self._set_threads(before)


def _value(memory: np.ndarray[Any, np.dtype[np.uint8]], type: Type) -> Any:
    stored = memory.view(memory_dtype(type))[:1]
    if type.kind == "bfloat":
        return np.float32(from_memory(stored, type)[0])
    return np.bool_(stored[0]) if type.kind == "bool" else stored[0]


def _load(library: bytes) -> ctypes.CDLL:
    path = ""
    try:
        handle, path = tempfile.mkstemp(prefix="planish-", suffix=".so")
        with os.fdopen(handle, "wb") as file:
            file.write(library)
        with kept_environment():
            return ctypes.CDLL(path)
    except OSError as error:
        advice = "check the space and the permissions of the temporary folder (it must allow programs to run)"
        raise PlanishError(Diagnostic("E0808", f"cannot load the compiled library: {error}", help=advice)) from error
    finally:
        # What is loaded stays loaded; the file is not needed any more.
        if path and os.path.exists(path):
            os.unlink(path)
