"""The driver of CUDA by ctypes: devices, their contexts, and code that is loaded into them.

    driver = find_driver()
    if driver is not None:
        context = driver.context(0)  # that of PyTorch, CuPy and JAX: the device's primary context

Nothing is called before a context is asked for.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from planish.core.diagnostic import Diagnostic, PlanishError

_MAJOR, _MINOR, _POOLS = 75, 76, 115  # CU_DEVICE_ATTRIBUTE_…
_KEEP = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
KEPT_BYTES = 256 << 20
"""Memory of a device that its pool keeps for later calls when nothing uses it."""
_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

_ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p
)
_RELEASE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)


class DriverCalls(ctypes.Structure):
    """`planish_driver` of launches.h: addresses of the driver's functions."""

    _fields_ = [(x, ctypes.c_void_p) for x in ("launch", "allocate", "release", "into", "back", "wait")]


class LaunchCall(ctypes.Structure):
    """`planish_call` of launches.h."""

    _fields_ = [
        ("driver", ctypes.POINTER(DriverCalls)), ("pool", ctypes.c_void_p), ("stream", ctypes.c_void_p),
        ("kernels", ctypes.POINTER(ctypes.c_void_p)), ("ranges", ctypes.POINTER(ctypes.c_uint64)),
        ("count", ctypes.c_int32), ("asking", ctypes.c_int32), ("declined", ctypes.c_int32),
        ("error", ctypes.c_int32), ("changed", ctypes.c_int32),
    ]  # fmt: skip


class _PoolProperties(ctypes.Structure):
    """CUmemPoolProps: memory of the device, that no other process sees."""

    _fields_ = [
        ("kind", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int), ("device", ctypes.c_int),
        ("attributes", ctypes.c_void_p), ("most", ctypes.c_size_t), ("rest", ctypes.c_ubyte * 56),
    ]  # fmt: skip


@dataclass(slots=True, eq=False)
class DeviceContext:
    """A context of a device: the memory from which arrays and workspaces are taken, which are kept for later calls, and
    the addresses that launches need."""

    driver: Driver
    ordinal: int
    handle: int
    pool: int
    calls: DriverCalls
    kept: tuple[object, ...] = ()


@dataclass(slots=True, eq=False)
class Driver:
    """The library of the driver, and what was made of it so far."""

    library: ctypes.CDLL
    contexts: dict[int, DeviceContext] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: bool = False

    def call(self, name: str, *arguments: object) -> None:
        """One of its functions; PlanishError E0853 with the name of what went wrong."""
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise PlanishError(Diagnostic("E0853", f"{name}: {self.error_name(status)}"))

    def error_name(self, status: int) -> str:
        """What an error is called."""
        name = ctypes.c_char_p()
        if self.library.cuGetErrorName(status, ctypes.byref(name)) != 0 or name.value is None:
            return f"error {status}"
        return name.value.decode()

    def count(self) -> int:
        """The devices that are here."""
        number = ctypes.c_int()
        try:
            if not self.started:
                self.call("cuInit", 0)
                self.started = True
            self.call("cuDeviceGetCount", ctypes.byref(number))
        except PlanishError:
            return 0
        return number.value

    def architecture(self, ordinal: int) -> str:
        """The architecture of a device, as in "sm_90"."""
        return f"sm_{self._attribute(_MAJOR, ordinal)}{self._attribute(_MINOR, ordinal)}"

    def _attribute(self, number: int, ordinal: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, ordinal)
        return value.value

    def current(self) -> int | None:
        """The device of the caller's context; None where there is none."""
        handle, device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuCtxGetCurrent", ctypes.byref(handle))
        if not handle.value:
            return None
        self.call("cuCtxGetDevice", ctypes.byref(device))
        return device.value

    def device_of(self, address: int) -> int | None:
        """The device on which memory lies; None for memory of the host."""
        device = ctypes.c_int(-1)
        status = self.library.cuPointerGetAttribute(ctypes.byref(device), _ORDINAL, ctypes.c_uint64(address))
        return device.value if status == 0 and device.value >= 0 else None

    def context(self, ordinal: int) -> DeviceContext:
        """The primary context of a device, which is kept; PlanishError E0853."""
        with self.lock:
            if ordinal not in self.contexts:
                self.contexts[ordinal] = self._make(ordinal)
            return self.contexts[ordinal]

    def _make(self, ordinal: int) -> DeviceContext:
        device, handle = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), device)
        pool = ctypes.c_void_p()
        kept: tuple[object, ...] = ()
        names = ("cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize")
        launch, into, back, wait = (ctypes.cast(getattr(self.library, x), ctypes.c_void_p).value for x in names)
        if self._attribute(_POOLS, ordinal):
            self.call("cuMemPoolCreate", ctypes.byref(pool), ctypes.byref(_PoolProperties(1, 0, 1, ordinal)))
            # So much of what is given back is not returned to the system: the next call takes it again.
            self.call("cuMemPoolSetAttribute", pool, _KEEP, ctypes.byref(ctypes.c_uint64(KEPT_BYTES)))
            allocate = ctypes.cast(self.library.cuMemAllocFromPoolAsync, ctypes.c_void_p).value
            release = ctypes.cast(self.library.cuMemFreeAsync, ctypes.c_void_p).value
            calls = DriverCalls(launch, allocate, release, into, back, wait)
        else:
            kept = (_ALLOCATE(self._allocate), _RELEASE(self._release))
            own = (ctypes.cast(x, ctypes.c_void_p).value for x in kept)
            calls = DriverCalls(launch, *own, into, back, wait)
        return DeviceContext(self, ordinal, handle.value or 0, pool.value or 0, calls, kept)

    def _allocate(self, out: ctypes._Pointer[ctypes.c_uint64], bytes: int, pool: object, stream: object) -> int:
        return int(self.library.cuMemAlloc_v2(out, ctypes.c_size_t(bytes)))

    def _release(self, at: int, stream: int | None) -> int:
        # Unlike memory of a pool, this is not given back in the order of launches.
        self.library.cuStreamSynchronize(ctypes.c_void_p(stream))
        return int(self.library.cuMemFree_v2(ctypes.c_uint64(at)))

    @contextmanager
    def within(self, context: DeviceContext) -> Iterator[None]:
        """With the context as the current one of this thread."""
        current = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(current))
        if current.value == context.handle:
            yield
            return
        self.call("cuCtxPushCurrent_v2", ctypes.c_void_p(context.handle))
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(current))

    def load(self, context: DeviceContext, code: bytes, names: Sequence[str]) -> ctypes.Array[ctypes.c_void_p]:
        """The kernels of those names in code for the device, which stays loaded; PlanishError E0853. Without names
        there is no code, and nothing is loaded."""
        module = ctypes.c_void_p()
        out = (ctypes.c_void_p * max(1, len(names)))()
        if not names:
            return out
        with self.within(context):
            self.call("cuModuleLoadData", ctypes.byref(module), code)
            for number, name in enumerate(names):
                kernel = ctypes.c_void_p()
                self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
                out[number] = kernel
        return out

    def copy_out(self, to: int, of: int, bytes: int) -> None:
        """Memory of the device to the host, when it is there."""
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(to), ctypes.c_uint64(of), ctypes.c_size_t(bytes))

    def copy_in(self, to: int, of: int, bytes: int) -> None:
        """Memory of the host to the device."""
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(to), ctypes.c_void_p(of), ctypes.c_size_t(bytes))

    def wait(self, stream: int) -> None:
        """Until all that was launched in an order is done."""
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))


@lru_cache(maxsize=1)
def find_driver() -> Driver | None:
    """The driver; None where its library is not here."""
    for name in ("libcuda.so.1", "libcuda.so"):
        try:
            return Driver(ctypes.CDLL(name))
        except OSError:
            continue
    return None


def need_driver() -> Driver:
    """The driver of a machine with a device; PlanishError E0851 where there is none."""
    driver = find_driver()
    if driver is None:
        raise PlanishError(Diagnostic("E0851", "no GPU can be used here: the driver, libcuda.so.1, is not installed"))
    if driver.count() == 0:
        raise PlanishError(Diagnostic("E0851", "no GPU can be used here: the driver finds no device"))
    return driver
