"""Kernels, and all those that they call, as a file of C: a header that needs nothing else.

>>> from planish.ir.parser import parse_kernel
>>> text = emit_file(parse_kernel("kernel clear(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"), header=True)
>>> print(text[text.index("static"):text.rindex("#if defined(__clang__)")], end="")
static void clear(ptrdiff_t n, float *restrict A)
{
  for (ptrdiff_t i = 0; i < n; i++) {
    A[i] = 0.0f;
  }
}
<BLANKLINE>
"""

from __future__ import annotations

import re

from planish.emit.c import emit_function
from planish.emit.callees import emit_callees
from planish.emit.calls import callees, headers_of
from planish.emit.prologue import emit_prologue
from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue


def emit_file(
    kernel: Kernel, *others: Kernel, catalogue: Catalogue | None = None, header: bool = False, threads: bool = False,
    inline: bool = False,
) -> str:  # fmt: skip
    """The text: helpers, the kernels that are called, the kernels. `header`: all functions are static, and the file may
    be included many times; it is guarded by the first one's name. `inline`: what is called becomes a part of the
    caller, and counts on its sizes. PlanishError as of `emit_function`."""
    kernels = (kernel, *others)
    texts = emit_callees(kernels, catalogue, threads, inline)
    called = {x.name for x in callees(kernels, catalogue)}
    for own in kernels:
        # One may be called by another.
        if own.name not in called:
            text = emit_function(own, own.name, threads=threads, noalias=True, catalogue=catalogue)
            texts.append(text if header else text.removeprefix("static "))
    headers = sorted({x for own in kernels for x in headers_of(own, catalogue)})
    text = emit_prologue(texts, (), headers)
    guard = re.sub(r"\W", "_", f"PLANISH_{kernel.name}_H").upper()
    return f"#ifndef {guard}\n#define {guard}\n\n{text}\n#endif\n" if header else text
