"""Arrays of CuPy, PyTorch, JAX and others as what a call is checked with: views that NumPy describes and nobody reads.

>>> class Given:
...     __cuda_array_interface__ = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}
>>> seen = see(Given())
>>> seen.view.shape, seen.view.dtype.name, seen.view.ctypes.data, seen.on_device
((2, 3), 'float32', 4096, True)
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class SeenArray:
    """An array: a view of it, which must not be read where it lies `on_device`; the device where its library tells, and
    the `library` it is of."""

    view: npt.NDArray[Any]
    on_device: bool
    library: str = "numpy"
    ordinal: int | None = None


class _Described:
    """What NumPy makes a view of; `owner` lives as long as that."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, object], owner: object) -> None:
        self.__array_interface__, self.owner = interface, owner


class UnseenArrayError(TypeError):
    """An array that cannot be passed; the text says why, behind the name of the parameter."""


def see(value: Any) -> SeenArray | None:
    """An array as a call takes it; None for what is none. Raises UnseenArrayError."""
    if isinstance(value, np.ndarray):
        return SeenArray(value, False)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value, torch)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return None
    library = type(value).__module__.partition(".")[0]
    library = "jax" if library == "jaxlib" else library
    if library == "jax":
        value.block_until_ready()
    if interface.get("mask") is not None:
        raise UnseenArrayError("has a mask, which kernels do not know")
    address, fixed = interface["data"]
    ordinal = getattr(getattr(value, "device", None), "id", None) if library == "cupy" else None
    # Arrays of JAX are values: what is computed of them may share their memory.
    made = _view(address, bool(fixed) or library == "jax", interface["shape"], interface.get("strides"),
                 interface["typestr"], value)  # fmt: skip
    return SeenArray(made, True, library, ordinal)


def _view(
    address: int, fixed: bool, shape: tuple[int, ...], strides: tuple[int, ...] | None, typestr: str, owner: object
) -> npt.NDArray[Any]:
    interface = {"shape": tuple(shape), "typestr": typestr, "data": (address, fixed), "version": 3}
    if strides is not None:
        interface["strides"] = tuple(strides)
    if 0 in shape:
        return np.empty(shape, typestr)
    return np.asarray(_Described(interface, owner))


def describe_tensor(tensor: Any) -> npt.NDArray[Any]:
    """A view of a tensor of PyTorch that has no elements: its type, shape and strides."""
    typestr, step = _typestr(tensor), tensor.element_size()
    shape, strides = (tuple(int(x) for x in y) for y in (tensor.shape, tensor.stride()))
    return _view(_NOWHERE, False, shape, tuple(x * step for x in strides), typestr, None)


_NOWHERE = 4096
_TYPESTRS: dict[object, str] = {}
_COPY, _CONVERT = re.compile(r"np\.ascontiguousarray\((\w+)\)"), re.compile(r"(\w+)\.astype\('(\w+)'\)")
_ADVICE = {
    "torch": ((_COPY, r"\1.contiguous()"), (_CONVERT, r"\1.to(torch.\2)")),
    "cupy": ((_COPY, r"cupy.ascontiguousarray(\1)"),),
}


def _of_torch(tensor: Any, torch: Any) -> SeenArray:
    if tensor.layout is not torch.strided:
        raise UnseenArrayError("is sparse; pass its .to_dense()")
    if tensor.device.type not in ("cuda", "cpu"):
        raise UnseenArrayError(f"is on {tensor.device}; pass a tensor on a CUDA device")
    step = tensor.element_size()
    strides = tuple(x * step for x in tensor.stride())
    # What autograd follows must not change behind its back.
    fixed = bool(tensor.requires_grad)
    view = _view(tensor.data_ptr(), fixed, tuple(tensor.shape), strides, _typestr(tensor), tensor)
    on_device = tensor.device.type == "cuda"
    return SeenArray(view, on_device, "torch", tensor.device.index if on_device else None)


def _typestr(tensor: Any) -> str:
    typestr = _TYPESTRS.get(tensor.dtype)
    if typestr is None:
        try:
            typestr = np.dtype(str(tensor.dtype).removeprefix("torch.")).str
        except TypeError:
            raise UnseenArrayError(f"holds {tensor.dtype}, which NumPy has no name for") from None
        _TYPESTRS[tensor.dtype] = typestr
    return typestr


def tell_written(value: object) -> None:
    """Tells PyTorch that a tensor has changed, which gradients that need its former elements then refuse."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and not value.is_inference():
        torch.autograd.graph.increment_version(value)


def stream_of(given: object, seen: SeenArray | None) -> int:
    """The address of the order of launches: the one that was given (a number, or an object of PyTorch or CuPy), else
    the current one of the library that the first array is of, else the default one. Raises TypeError."""
    if given is not None:
        for name in ("cuda_stream", "ptr"):
            address = getattr(given, name, None)
            if isinstance(address, int):
                return address
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        raise TypeError(f"stream must be a stream of PyTorch or CuPy, or its address, but is a {type(given).__name__}")
    if seen is None:
        return 0
    module: Any = sys.modules.get(seen.library)
    if seen.library == "torch":
        return int(module.cuda.current_stream(seen.ordinal).cuda_stream)
    if seen.library == "cupy":
        return int(module.cuda.get_current_stream().ptr)
    return 0


def in_words_of(library: str, message: str) -> str:
    """A message with advice for a library of arrays in place of NumPy's.

    >>> in_words_of("torch", "pass np.ascontiguousarray(x), or x.astype('float32')")
    'pass x.contiguous(), or x.to(torch.float32)'
    """
    for before, after in _ADVICE.get(library, ()):
        message = before.sub(after, message)
    return message
