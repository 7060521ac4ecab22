"""A function whose nests are kernels of a GPU: called with arrays of the device as they are, or with NumPy's.

    function = DeviceFunction(code, interface, driver)
    function((image, weights, result), {"stream": torch.cuda.current_stream()})

Arrays on the device are used there, in the order of the caller's stream; the call comes back when all is launched.
Arrays of the host are copied, and the call comes back when the results are there.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.calls.arguments import CallInterface
from planish.run.calls.binding import Seen, assign, bind_named
from planish.run.calls.callable import NativeFunction, PackedArguments
from planish.run.devices.arrays import SeenArray, UnseenArrayError, in_words_of, see, stream_of, tell_written
from planish.run.devices.driver import DeviceContext, Driver, LaunchCall

_DECLINED = "these sizes or arrays cannot be launched (more than 32 bits of elements, arrays that overlap)"


class PlanishDeviceWarning(RuntimeWarning):
    """A call that did not run on the GPU, or not as one may expect, and why; its results are right."""


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A function as it is built: a library for arrays of the host, whose nests are copied to the device and back; one
    whose nests decline what cannot be launched, where all its arrays may stay on the device; the code of the kernels
    with their names, empty where nothing is launched; and `why` the second one is empty."""

    host: bytes
    resident: bytes
    kernels: bytes
    names: tuple[str, ...]
    why: str = ""


class EmulatedFunction:
    """A function whose kernels run on this processor, in an emulator; it takes arrays of NumPy and tensors of PyTorch
    that are on the host."""

    __slots__ = ("_native", "_seen", "interface")

    def __init__(self, library: bytes, interface: CallInterface) -> None:
        self._native, self.interface = NativeFunction(library, interface), interface
        self._seen: Seen = {}

    def __call__(self, given: Sequence[object], named: Mapping[str, object]) -> Any:
        """As `DeviceFunction`; `stream` is taken, and changes nothing."""
        raw, _ = _split(self.interface, given, named)
        views = _views(self.interface, raw)
        for name, x in views.items():
            if x.on_device:
                where = f"{self.interface.signature.function}: `{name}`"
                raise TypeError(f"{where} is on a GPU, but with emulate=True kernels run on the processor")
        result = self._native.call_bound(_bound(self.interface, raw, views, self._seen))
        _tell(self.interface, raw)
        return result


class DeviceFunction:
    """The function on a device. Raises PlanishError E0853 where the driver refuses the code, E0808 where a library
    cannot be loaded."""

    __slots__ = ("_driver", "_host", "_kernels", "_resident", "_seen", "_told", "code", "interface")

    def __init__(self, code: DeviceCode, interface: CallInterface, driver: Driver) -> None:
        self.code, self.interface, self._driver = code, interface, driver
        self._host = NativeFunction(code.host, interface)
        self._resident = NativeFunction(code.resident, interface) if code.resident else None
        self._kernels: dict[int, ctypes.Array[ctypes.c_void_p]] = {}
        self._seen: Seen = {}
        self._told: set[str] = set()

    def __call__(self, given: Sequence[object], named: Mapping[str, object]) -> Any:
        """The function's value as NumPy's scalar. `stream`, where no parameter has that name, is the order of launches,
        if not the current one of the library that the arrays are of.

        Raises TypeError and ValueError for arguments that do not fit, of which nothing was touched then, and
        PlanishError E0853 for what the driver refuses.
        """
        raw, stream = _split(self.interface, given, named)
        views = _views(self.interface, raw)
        values = _bound(self.interface, raw, views, self._seen)
        on_device = [x for x in views.values() if x.on_device]
        if not on_device and not self.code.names:
            self._tell(f"it runs on the processor: {self.code.why}")
            result = self._host.call_bound(values)
            _tell(self.interface, raw)
            return result
        if not on_device:
            with self._driver.within(context := self._context(self._driver.current() or 0)):
                self._tell("arrays of the host are copied to the GPU and back at every call")
                result = self._on_host(values, context, stream_of(stream, None))
            _tell(self.interface, raw)
            return result
        context = self._context(self._device(views))
        order = stream_of(stream, on_device[0])
        with self._driver.within(context):
            if self._resident is None:
                result = self._through_host(values, views, context, order, self.code.why)
            else:
                call, packed = self._launch_call(context, order, on_device), self._resident.pack(values)
                if self._accepts(self._resident, packed, call):
                    result = self._run(self._resident, packed, call)
                else:
                    result = self._through_host(values, views, context, order, _DECLINED)
        _tell(self.interface, raw)
        return result

    def _device(self, views: Mapping[str, SeenArray]) -> int:
        """The one device on which all arrays lie that lie on any."""
        function = self.interface.signature.function
        found: dict[int, str] = {}
        for name, x in views.items():
            if x.on_device and x.view.size:
                ordinal = x.ordinal if x.ordinal is not None else self._driver.device_of(x.view.ctypes.data)
                found.setdefault(ordinal or 0, name)
        if len(found) > 1:
            (one, a), (other, b) = list(found.items())[:2]
            raise ValueError(f"{function}: `{a}` is on device {one}, but `{b}` on device {other}; copy one of them")
        return next(iter(found), 0)

    def _context(self, ordinal: int) -> DeviceContext:
        context = self._driver.context(ordinal)
        if ordinal not in self._kernels:
            self._kernels[ordinal] = self._driver.load(context, self.code.kernels, self.code.names)
        return context

    def _launch_call(self, context: DeviceContext, order: int, arrays: Iterable[SeenArray]) -> LaunchCall:
        """What launches of one call need to know."""
        places = [y for x in arrays for y in bounds_of(x.view)]
        ranges = (ctypes.c_uint64 * max(1, len(places)))(*places)
        return LaunchCall(
            ctypes.pointer(context.calls), context.pool, order, self._kernels[context.ordinal], ranges,
            len(places) // 2, 0, 0, 0, 0,
        )  # fmt: skip

    def _accepts(self, library: NativeFunction, arguments: PackedArguments, call: LaunchCall) -> bool:
        """Whether every nest can be launched; nothing is touched."""
        call.asking = 1
        self._enter(library, arguments, call)
        declined, call.asking, call.declined, call.error, call.changed = call.declined, 0, 0, 0, 0
        return not declined

    def _run(self, library: NativeFunction, arguments: PackedArguments, call: LaunchCall) -> Any:
        result = self._enter(library, arguments, call)
        if call.error or call.declined:
            said = self._driver.error_name(call.error) if call.error else "a nest declined what it had accepted"
            raise self._changed(f"the kernels did not run: {said}")
        return result

    def _changed(self, said: str) -> PlanishError:
        function = self.interface.signature.function
        return PlanishError(Diagnostic("E0853", f"{function}: {said}; arrays may have changed in part"))

    def _enter(self, library: NativeFunction, arguments: PackedArguments, call: LaunchCall) -> Any:
        """The function's value; `call` tells what came of the launches."""
        library.library.planish_begin(ctypes.byref(call))
        return library.call_packed(arguments)

    def _on_host(self, values: Mapping[str, Any], context: DeviceContext, order: int) -> Any:
        """With arrays of the host: nests that decline, or fail before they changed anything, run on the processor.
        PlanishError E0853 where they fail when something may have changed."""
        call = self._launch_call(context, order, ())
        result = self._enter(self._host, self._host.pack(values), call)
        if call.changed:
            raise self._changed(f"results were not copied back: {self._driver.error_name(call.error)}")
        if call.error:
            self._tell(f"nests ran on the processor: the driver said {self._driver.error_name(call.error)}")
        elif call.declined:
            self._tell("nests ran on the processor: their sizes or arrays cannot be launched")
        return result

    def _through_host(
        self, values: Mapping[str, Any], views: Mapping[str, SeenArray], context: DeviceContext, order: int, why: str
    ) -> Any:
        """With copies on the host of the arrays that are on the device; those that overlap there do so here."""
        self._tell(f"arrays of the GPU are copied to the host and back at every such call: {why}")
        self._driver.wait(order)
        written = {x.name for x in self.interface.arguments if x.kind == "array" and x.written}
        spans: list[tuple[int, int, bool]] = []
        for name, x in views.items():
            if x.on_device and x.view.size:
                spans.append((*bounds_of(x.view), name in written))
        memories: list[tuple[int, int, bool, np.ndarray[Any, Any]]] = []
        for first, end, changed in join_spans(spans):
            memory = np.empty(end - first, np.uint8)
            self._driver.copy_out(memory.ctypes.data, first, end - first)
            memories.append((first, end, changed, memory))
        moved = dict(values)
        for name, x in views.items():
            for first, end, _, memory in memories:
                at = x.view.ctypes.data
                if x.on_device and x.view.size and first <= at < end:
                    moved[name] = np.ndarray(x.view.shape, x.view.dtype, memory, at - first, x.view.strides)
        result = self._on_host(moved, context, order)
        for first, end, changed, memory in memories:
            if changed:
                self._driver.copy_in(first, memory.ctypes.data, end - first)
        return result

    def _tell(self, message: str) -> None:
        """Once for each function."""
        if message not in self._told:
            self._told.add(message)
            warnings.warn(f"{self.interface.signature.function}: {message}", PlanishDeviceWarning, stacklevel=5)


def bounds_of(view: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The first byte of an array, and the one behind its last."""
    first = end = int(view.ctypes.data)
    if view.size == 0:
        return first, end
    for count, step in zip(view.shape, view.strides, strict=True):
        if step < 0:
            first += (count - 1) * step
        else:
            end += (count - 1) * step
    return first, end + view.itemsize


def join_spans(spans: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Spans of memory, those that overlap as one, which is changed where one of them is.

    >>> join_spans([(8, 12, True), (0, 4, False), (2, 6, True)])
    [(0, 6, True), (8, 12, True)]
    """
    out: list[tuple[int, int, bool]] = []
    for first, end, changed in sorted(spans):
        if out and first < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]), changed or out[-1][2])
        else:
            out.append((first, end, changed))
    return out


def _split(
    interface: CallInterface, given: Sequence[object], named: Mapping[str, object]
) -> tuple[dict[str, object], object]:
    """The arguments by name, and the stream."""
    own = any(x.name == "stream" for x in interface.arguments)
    stream = None if own else named.get("stream")
    return assign(interface, given, named if own else {k: v for k, v in named.items() if k != "stream"}), stream


def _views(interface: CallInterface, raw: Mapping[str, object]) -> dict[str, SeenArray]:
    """The arrays of a call, by name, as far as they are some."""
    out: dict[str, SeenArray] = {}
    for argument in interface.arguments:
        if argument.kind == "array" and argument.name in raw:
            try:
                seen = see(raw[argument.name])
            except UnseenArrayError as error:
                raise TypeError(f"{interface.signature.function}: `{argument.name}` {error}") from None
            if seen is not None:
                out[argument.name] = seen
    return out


def _bound(
    interface: CallInterface, raw: Mapping[str, object], views: Mapping[str, SeenArray], seen: Seen
) -> dict[str, Any]:
    """The arguments, checked; messages speak of the library that the first array is of."""
    try:
        return bind_named(interface, {**raw, **{name: x.view for name, x in views.items()}}, seen)
    except (TypeError, ValueError) as error:
        library = next((x.library for x in views.values()), "numpy")
        raise type(error)(in_words_of(library, str(error))) from None


def _tell(interface: CallInterface, raw: Mapping[str, object]) -> None:
    for argument in interface.arguments:
        if argument.kind == "array" and argument.written and not isinstance(raw.get(argument.name), np.ndarray):
            tell_written(raw.get(argument.name))
