"""Arrays of a kernel that are blocks of memory: which ones are, and what gives one back.

>>> from planish.ir.types import F64
>>> is_heap(Array("t", F64, (), memory="dram"))
False
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Const
from planish.ir.nest import Alloc, Array, Kernel
from planish.ir.traverse import walk

SMALL = 1024
"""The bytes up to which an array is a local one."""


def is_fallible(kernel: Kernel) -> bool:
    """Whether a kernel's function says that it had no memory."""
    return any(isinstance(x, Alloc) and is_heap(x.array) for x in kernel.body.body)


def is_heap(array: Array) -> bool:
    """Whether an array is a block of memory: one of its own, or one that the thread keeps. Small ones of a constant
    size are not, so that compilers may keep them in registers."""
    return array.memory in ("dram", "scratch") and bool(array.shape) and not _is_small(array)


def _is_small(array: Array) -> bool:
    extents = [x.value for x in array.shape if isinstance(x, Const)]
    return len(extents) == len(array.shape) and prod(map(int, extents)) * array.type.size <= SMALL


def check_text(heap: Sequence[Array], spelt: Mapping[str, str], width: int = 120) -> list[str]:
    """The lines that end a function with 1 where there was no memory for one of its blocks; nothing for no blocks."""
    if not heap:
        return []
    lines, row = [], "  if ("
    for i, array in enumerate(heap):
        last = i + 1 == len(heap)
        piece = f"{spelt[array.name]} == NULL{')' if last else ' ||'}"
        if len(row) + len(piece) + 3 > width:
            lines.append(row.rstrip())
            row = " " * 6
        row += f"{piece}{'' if last else ' '}"
    if len(heap) == 1:
        return [row, "    return 1;"]
    released = [f"    {release_text(x, spelt)}" for x in reversed(heap)]
    return [*lines, f"{row} {{", *released, "    return 1;", "  }"]


def release_text(array: Array, spelt: Mapping[str, str]) -> str:
    """The C that gives a block back; `spelt`: the names of arrays in C."""
    return f"planish_{'return' if array.memory == 'scratch' else 'release'}({spelt[array.name]});"


def refuse_inner_blocks(kernel: Kernel) -> None:
    """That no block of memory is taken inside of a loop; PlanishError E0713."""
    inner = (x for stmt in kernel.body.body for x in walk(stmt) if x is not stmt)
    if any(isinstance(x, Alloc) and is_heap(x.array) for x in inner):
        message = f"`{kernel.name}` takes a block of memory inside of a loop"
        advice = "lift the buffer out of all loops with lift_alloc"
        raise PlanishError(Diagnostic("E0713", message, kernel.span, advice))
