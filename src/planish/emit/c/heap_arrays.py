"""Arrays of a kernel that are blocks of memory: which ones are, and what gives one back.

>>> from planish.ir.types import F64
>>> is_heap(Array("t", F64, (), memory="dram"))
False
"""

from __future__ import annotations

from collections.abc import Mapping

from planish.ir.nest import Alloc, Array, Kernel


def is_fallible(kernel: Kernel) -> bool:
    """Whether a kernel's function says that it had no memory."""
    return any(isinstance(x, Alloc) and is_heap(x.array) for x in kernel.body.body)


def is_heap(array: Array) -> bool:
    """Whether an array is a block of memory: one of its own, or one that the thread keeps."""
    return array.memory in ("dram", "scratch") and bool(array.shape)


def release_text(array: Array, spelt: Mapping[str, str]) -> str:
    """The C that gives a block back; `spelt`: the names of arrays in C."""
    return f"planish_{'return' if array.memory == 'scratch' else 'release'}({spelt[array.name]});"
