"""Guarded buffers: memory between two inaccessible pages, so that an access outside of an array ends the process.

>>> buffer = Guarded(24, "end")
>>> view = buffer.view(np.dtype("float64"))
>>> view[:] = [1, 2, 3]
>>> float(view.sum()), buffer.address % mmap.PAGESIZE == mmap.PAGESIZE - 24, buffer.spilled()
(6.0, True, False)
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.run.calls.signature import Placement

_CANARY = 0xA5
_GUARD = max(mmap.PAGESIZE, 1 << 16)  # bytes: an index that is wrong by a row should not jump over it
_PROT_NONE = 0
_FIRST, _APART, _PLACES = 1 << 44, (1 << 34) + 37 * mmap.PAGESIZE, 512
"""Where the first array is asked for, and how far from it the next one. An array holds what its function reaches, which
may be less than was declared; what asks whether two arrays overlap counts on the latter. The pages on top keep arrays
from the same sets of caches."""
_NUMBERS = count()
_MOST_KEPT = 64 << 20
"""So many bytes are kept that calls have given back: pages that are new fault at the first access to each."""


class Guarded:
    """`size` bytes of memory with forbidden pages before and behind the pages that hold them.

    With the placement "end" the last byte touches the forbidden pages behind, with "start" the first byte touches the
    ones before. What is left of the pages on the other side is filled with a pattern, and `spilled` tells whether
    somebody wrote there. `pages` are the bytes of these pages, in which the array begins at `place`. An empty buffer is
    an address at which every access faults. Raises MemoryError.
    """

    def __init__(self, size: int, placement: Placement) -> None:
        page = mmap.PAGESIZE
        inner = -(-size // page) * page
        whole = inner + 2 * _GUARD
        memory = _reserve(whole)
        base = ctypes.addressof(memory)
        _forbid(base, _GUARD)
        _forbid(base + _GUARD + inner, _GUARD)
        self.size = size
        self.address = base + _GUARD + (inner - size if placement == "end" else 0)
        offset = self.address - base
        pages: npt.NDArray[np.uint8] = np.ctypeslib.as_array(memory)
        self._bytes = pages[offset : offset + size]
        slack = pages[_GUARD:offset] if placement == "end" else pages[offset + size : _GUARD + inner]
        slack[:] = _CANARY
        self._slack = slack
        self.pages = pages[_GUARD : _GUARD + inner]
        self.place = offset - _GUARD

    def view(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """The bytes as a flat array of `dtype`; ValueError where the size is no multiple of its item."""
        return self._bytes.view(dtype)

    def spilled(self) -> bool:
        """Whether the bytes of the pages that do not belong to the array were written."""
        return bool((self._slack != _CANARY).any())


class _Mappings:
    """Memory that was given back, by its size.

    >>> mappings = _Mappings()
    >>> first = mappings.take(mmap.PAGESIZE)
    >>> mappings.give_back(first, mmap.PAGESIZE)
    >>> mappings.take(mmap.PAGESIZE) == first
    True
    """

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {}
        self._kept = 0

    def take(self, size: int) -> int:
        """The address of so many bytes that nobody uses any more, or of new ones; MemoryError."""
        if places := self._free.get(size):
            self._kept -= size
            return places.pop()
        return _map(size)

    def give_back(self, address: int, size: int) -> None:
        """Keeps memory for later calls, as long as it is not too much."""
        if self._kept + size > _MOST_KEPT:
            _LIBC.munmap(address, size)
            return
        self._kept += size
        self._free.setdefault(size, []).append(address)


_MAPPINGS = _Mappings()


def _reserve(size: int) -> ctypes.Array[ctypes.c_uint8]:
    """So many bytes, given back with the last view. Raises MemoryError."""
    address = _MAPPINGS.take(size)
    memory = (ctypes.c_uint8 * size).from_address(address)
    weakref.finalize(memory, _MAPPINGS.give_back, address, size)
    return memory


def _map(size: int) -> int:
    """The address of so many new bytes, far from those of the calls before where the system allows that.

    Private, as malloc gets them: shared memory has no huge pages and slower faults, and would be timed. Raises
    MemoryError."""
    wish = _FIRST + next(_NUMBERS) % _PLACES * _APART
    found = _LIBC.mmap(wish, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if found is None or found == _FAILED:
        raise MemoryError(f"no {size} bytes of memory: errno {ctypes.get_errno()}")
    return int(found)


def _forbid(address: int, size: int) -> None:
    if _LIBC.mprotect(address, size, _PROT_NONE) != 0:
        raise MemoryError(f"mprotect failed with errno {ctypes.get_errno()}")


def _load_libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t
    ]  # fmt: skip
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


_LIBC = _load_libc()
_FAILED = ctypes.c_void_p(-1).value
