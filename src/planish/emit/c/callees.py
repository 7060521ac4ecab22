"""Callees: the functions of the kernels that kernels call.

>>> from planish.ir.text.parser import parse_kernel
>>> emit_callees((parse_kernel("kernel zero(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"),))
[]
"""

from __future__ import annotations

from collections.abc import Iterable

from planish.emit.c.element_types import Declared
from planish.emit.c.instruction_calls import callees
from planish.emit.c.kernel_text import emit_function
from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue


def emit_callees(
    kernels: Iterable[Kernel], catalogue: Catalogue | None = None, threads: bool = False, inline: bool = False,
    declared: Declared | None = None, portable: bool = False,
) -> list[str]:  # fmt: skip
    """The functions of the kernels that some kernels call; `inline`: they become parts of these; `declared`: the types
    of the kernels' own arrays in C; `portable`: C++ takes the text as well. PlanishError as of `emit_function`."""
    texts = []
    for called in callees(kernels, catalogue, declared):
        text = emit_function(
            called.implementation, called.name, threads=threads, noalias=True, catalogue=catalogue, promised=True,
            declared=called.declared, portable=portable,
        )  # fmt: skip
        # Within a larger function, gcc runs out of registers for what has just enough of them.
        innermost = not callees((called.implementation,), catalogue)
        word = "planish_inside" if inline else "planish_apart static" if innermost else "static"
        texts.append(text.replace("static", word, 1))
    return texts
