"""A built library inside a child process: its entry, called with arguments in guarded memory.

    library = Library(path, signature)
    arguments = Arguments(signature, draw(signature, case, "uniform"), "end")
    library.call(arguments)
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.run.calls.guarded_buffers import Guarded
from planish.run.calls.signature import CallCase, Distribution, Placement, Signature
from planish.run.sizes.random_arguments import Inputs, memory_dtype, to_memory

_RESULT_BYTES = 16
_DEFAULT_ENVIRONMENT = ctypes.c_void_p(-1)  # FE_DFL_ENV of glibc and musl
_INEXACT = {"x86_64": 0x20, "aarch64": 0x10}.get(platform.machine(), 0)


class LibraryError(Exception):
    """The file cannot be loaded, or it does not export the entry of the function."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The arguments of one call as they lie in memory: flat arrays by name, scalars as arrays of one element."""

    arrays: Mapping[str, npt.NDArray[Any]]
    scalars: Mapping[str, npt.NDArray[Any]]


MOST_REPEATED = 16
"""The bits of the widest integers of which scalars are found in arrays: wider ones are seldom compared for equality."""


def draw(signature: Signature, case: CallCase, distribution: Distribution) -> Drawn:
    """Random arguments for the case; the values that it gives are taken as they are."""
    source = Inputs(case.seed, distribution, case.spread)
    arrays: dict[str, npt.NDArray[Any]] = {}
    scalars: dict[str, npt.NDArray[Any]] = {}
    for parameter in signature.parameters:
        bounds = case.ranges.get(parameter.name)
        if parameter.name in signature.outcomes:
            count = case.elements.get(parameter.name, 0)
            arrays[parameter.name] = np.zeros(count, memory_dtype(parameter.type))
        elif parameter.kind == "array" and parameter.name in case.values:
            given = np.full(case.elements.get(parameter.name, 0), case.values[parameter.name])
            arrays[parameter.name] = to_memory(given, parameter.type)
        elif parameter.kind == "array":
            count, row = case.elements.get(parameter.name, 0), case.rows.get(parameter.name, 0)
            shape = tuple(case.shapes.get(parameter.name, ()))
            arrays[parameter.name] = source.array(parameter.type, count, shape, bounds, row)
            if parameter.name in case.rising and bounds is not None:
                source.rise(arrays[parameter.name], *bounds)
            if parameter.name in case.calm:
                source.calm(arrays[parameter.name], parameter.type, case.calm[parameter.name])
            if case.pool and bounds is None:
                source.strew(arrays[parameter.name], parameter.type, case.pool)
        elif parameter.name in case.values:
            given = np.array([case.values[parameter.name]])
            scalars[parameter.name] = to_memory(given, parameter.type)
        else:
            scalars[parameter.name] = source.scalar(parameter.type, bounds)
    if case.seed % 2:
        _repeat_scalars(signature, case, arrays, scalars)
    for parameter in signature.parameters:
        if parameter.name in case.ends:
            count, number, values = case.ends[parameter.name]
            for behind in {None, values}:
                arrays[parameter.name][:behind][-count:] = to_memory(np.array([number]), parameter.type)[0]
    return Drawn(arrays, scalars)


def _repeat_scalars(
    signature: Signature, case: CallCase, arrays: Mapping[str, npt.NDArray[Any]],
    scalars: Mapping[str, npt.NDArray[Any]],
) -> None:  # fmt: skip
    """Makes most of what lies in the second half of arrays of narrow integers scalars of the same type: an index that a
    mask is compared with is else in few of its elements, and never in neighbours."""
    random = np.random.default_rng(case.seed)
    for parameter in signature.parameters:
        narrow = parameter.kind == "array" and parameter.type.is_int and parameter.type.bits <= MOST_REPEATED
        alike = [scalars[x.name][0] for x in signature.parameters if x.type == parameter.type and x.name in scalars]
        if not narrow or not alike or parameter.name in (*case.ranges, *case.values, *case.calm, *signature.outcomes):
            continue
        half = arrays[parameter.name][arrays[parameter.name].size // 2 :]
        half[random.random(half.size) < 1 - 1 / 16] = random.choice(alike)


class Arguments:
    """Arguments in guarded memory, ready to be called with; `fill` sets them, as often as wanted."""

    def __init__(
        self, signature: Signature, drawn: Drawn, placement: Placement, absent: frozenset[str] = frozenset()
    ) -> None:
        self.signature, self.absent = signature, absent
        self.buffers = {name: Guarded(values.nbytes, placement) for name, values in drawn.arrays.items()}
        self.views = {p.name: self.buffers[p.name].view(memory_dtype(p.type)) for p in signature.arrays}
        self._scalars = dict(drawn.scalars)
        self._result = np.zeros(_RESULT_BYTES, np.uint8)
        addresses: list[int | None] = [
            None if p.name in absent
            else self.buffers[p.name].address if p.kind == "array"
            else self._scalars[p.name].ctypes.data
            for p in signature.parameters
        ]  # fmt: skip
        self.vector = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self.result_address = self._result.ctypes.data
        self.fill(drawn.arrays)

    def fill(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Copies arrays in, others stay as they are; and clears the place of the result."""
        for name, values in arrays.items():
            self.views[name][:] = values
        self._result[:] = 0

    def result(self) -> npt.NDArray[Any] | None:
        """The value that the function returned, as an array of one element; None for a void function."""
        if self.signature.outcome is None:
            return None
        found = self._result.view(memory_dtype(self.signature.outcome))[:1].copy()
        if self.signature.outcome is not self.signature.result:
            found[0] = self._place(int(found[0]))
        return found

    def _place(self, address: int) -> int:
        """An address as the number of the array in which it lies (from 1) and the bytes in front of it there; 0 for
        no address, -1 for others, of which nothing can be compared."""
        if not address:
            return 0
        for number, buffer in enumerate(self.buffers.values(), 1):
            if buffer.address <= address <= buffer.address + buffer.size:
                return number << 48 | address - buffer.address
        return -1

    def entered(self) -> int:
        """The bits of `entry_text`: which of the nests that are counted ran in the last call."""
        return int(self._result.view(np.uint64)[1])

    def spilled(self) -> str:
        """The first array beside which somebody wrote, or ""."""
        return next((name for name, buffer in self.buffers.items() if buffer.spilled()), "")


class Library:
    """The two entries that `entry_text` made. Raises LibraryError."""

    def __init__(self, path: str, signature: Signature) -> None:
        try:
            loaded = ctypes.CDLL(path)
            self._entry = loaded[signature.entry]
            self._timer = loaded[f"planish_time_{signature.function}"]
        except (OSError, AttributeError) as error:
            raise LibraryError(str(error)) from error
        self._entry.restype = None
        self._timer.restype = None

    def call(self, arguments: Arguments) -> bool:
        """Calls the function once in the default floating environment; whether any operation was rounded.

        A library linked with -ffast-math makes the processor flush small numbers to zero for everybody who loads it,
        hence the environment is set before each call.
        """
        clear_environment()
        self._entry(arguments.vector, ctypes.c_void_p(arguments.result_address))
        return was_rounded()

    def repeat(self, arguments: Arguments, times: int, run: bool, restore: Restore) -> None:
        """Restores arrays and calls the function, `times` times; without `run` it only restores. The contents that the
        first call gets are those that come next in `restore`."""
        self._timer(
            ctypes.c_long(times),
            ctypes.c_int(int(run)),
            arguments.vector,
            ctypes.c_void_p(arguments.result_address),
            ctypes.c_int(restore.count),
            restore.to,
            restore.source,
            restore.sizes,
            ctypes.c_long(restore.sets),
            ctypes.c_long(restore.next),
        )


def call_widely(path: str, signature: Signature, drawn: Drawn, absent: frozenset[str]) -> dict[str, npt.NDArray[Any]]:
    """What a library whose numbers are `long double` makes of the same arguments: the arrays, and "return" where a
    number is returned. Raises LibraryError."""
    try:
        entry = ctypes.CDLL(path)[signature.entry]
    except (OSError, AttributeError) as error:
        raise LibraryError(str(error)) from error
    entry.restype = None
    types = {p.name: p.type for p in signature.parameters}
    held = {
        name: values.astype(np.longdouble) if types[name].is_float else values.copy()
        for name, values in (*drawn.arrays.items(), *drawn.scalars.items())
    }
    places = [None if p.name in absent else held[p.name].ctypes.data for p in signature.parameters]
    vector = (ctypes.c_void_p * max(1, len(places)))(*places)
    result = np.zeros(2 * _RESULT_BYTES, np.uint8)
    clear_environment()
    entry(vector, ctypes.c_void_p(result.ctypes.data))
    out = {p.name: held[p.name] for p in signature.arrays}
    if signature.result is not None and signature.result.is_float:
        out["return"] = result.view(np.longdouble)[:1].copy()
    return out


class Restore:
    """What the C timing loop copies before each call: the arrays `names`, from their pristine contents, of which there
    may be several `sets` that take turns; `next` is the number of the one that comes next."""

    def __init__(
        self, arguments: Arguments, pristine: Sequence[Mapping[str, npt.NDArray[Any]]], names: tuple[str, ...]
    ) -> None:
        self.count, self.sets, self.next = len(names), max(1, len(pristine)), 0
        self._kept = [np.ascontiguousarray(each[name]) for each in pristine for name in names]
        room = max(1, self.count)
        self.to = (ctypes.c_void_p * room)(*(arguments.buffers[name].address for name in names))
        self.source = (ctypes.c_void_p * max(1, len(self._kept)))(*(kept.ctypes.data for kept in self._kept))
        self.sizes = (ctypes.c_ulong * room)(*(kept.nbytes for kept in self._kept[: self.count]))

    def advance(self, calls: int) -> None:
        """So many calls were made."""
        self.next = (self.next + calls) % self.sets


def clear_environment() -> None:
    """Default rounding, no flushing of small numbers, no flags raised."""
    _LIBM.fesetenv(_DEFAULT_ENVIRONMENT)


def was_rounded() -> bool:
    """Whether a floating operation of this thread was inexact since the flags were cleared (True where unknown)."""
    return not _INEXACT or bool(_LIBM.fetestexcept(_INEXACT))


@contextmanager
def kept_environment() -> Iterator[None]:
    """The floating environment of this thread is afterwards what it was, whatever the libraries loaded meanwhile do."""
    saved = ctypes.create_string_buffer(64)
    _LIBM.fegetenv(saved)
    try:
        yield
    finally:
        _LIBM.fesetenv(saved)


def _load_libm() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:
        return ctypes.CDLL(None)


_LIBM = _load_libm()
