"""Lets these tests import the modules beside them, the corpus, and the way to run C that the front-end's tests have."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
UNIT = HERE.parent / "unit"
sys.path[:0] = [str(x) for x in (HERE, HERE.parent / "raising", UNIT / "frontend_c", UNIT / "emit")]

PAGE = mmap.PAGESIZE


@pytest.fixture
def guarded() -> Iterator[Any]:
    """Makes arrays that end where no memory may be touched."""
    held: list[Any] = []
    libc = ctypes.CDLL(None, use_errno=True)

    def make(values: np.ndarray[Any, Any], after: int) -> np.ndarray[Any, Any]:
        pages = -(-(values.nbytes + after + 1) // PAGE)
        memory = mmap.mmap(-1, (pages + 2) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for at in (start, start + (pages + 1) * PAGE):
            assert libc.mprotect(ctypes.c_void_p(at), PAGE, 0) == 0
        held.append(memory)
        begin = (pages + 1) * PAGE - after - values.nbytes
        whole = np.frombuffer(memory, np.uint8, values.nbytes, begin).view(values.dtype)
        whole[...] = values
        return whole

    yield make
    for memory in held:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc.mprotect(ctypes.c_void_p(start), len(memory), mmap.PROT_READ | mmap.PROT_WRITE)
