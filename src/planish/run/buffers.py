"""Memory between two pages that nobody may touch, so that a step outside an array ends the process.

>>> buffer = Guarded(24, "end")
>>> view = buffer.view(np.dtype("float64"))
>>> view[:] = [1, 2, 3]
>>> float(view.sum()), buffer.address % mmap.PAGESIZE == mmap.PAGESIZE - 24, buffer.spilled()
(6.0, True, False)
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.run.signature import Placement

_CANARY = 0xA5
_GUARD = max(mmap.PAGESIZE, 1 << 16)  # bytes: an index that is wrong by a row should not jump over it
_PROT_NONE = 0


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
        try:
            # Private, as malloc gets it: shared memory has no huge pages and slower faults, and would be timed.
            self._map = mmap.mmap(-1, inner + 2 * _GUARD, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"no {inner} bytes of memory: {error}") from error
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        _forbid(base, _GUARD)
        _forbid(base + _GUARD + inner, _GUARD)
        self.size = size
        self.address = base + _GUARD + (inner - size if placement == "end" else 0)
        offset = self.address - base
        pages = np.frombuffer(self._map, np.uint8)
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


def _forbid(address: int, size: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), _PROT_NONE) != 0:
        raise MemoryError(f"mprotect failed with errno {ctypes.get_errno()}")
