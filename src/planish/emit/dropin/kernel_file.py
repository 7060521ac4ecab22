"""Kernels, and all those that they call, as a file of C: a header that needs nothing else.

>>> from planish.ir.text.parser import parse_kernel
>>> text = emit_file(parse_kernel("kernel clear(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"), header=True)
>>> print(text[text.index("clear_spare static"):text.rindex("#if defined(__clang__)")], end="")
clear_spare static void clear(ptrdiff_t n, float *clear_restrict A)
{
  for (ptrdiff_t i = 0; i < n; i++)
    A[i] = 0.0f;
}
<BLANKLINE>
"""

from __future__ import annotations

import re

from planish.emit.c.callees import emit_callees
from planish.emit.c.instruction_calls import callees, headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import HELPERS, emit_prologue
from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue

_OMP = re.compile(r"^ *#pragma omp .*$", re.MULTILINE)


def emit_file(
    kernel: Kernel, *others: Kernel, catalogue: Catalogue | None = None, header: bool = False, threads: bool = False,
    inline: bool = False,
) -> str:  # fmt: skip
    """The text: helpers, the kernels that are called, the kernels. `header`: all functions are static, and the file may
    be included many times, in C++ too; it is guarded by the first one's name, with which the names of helpers begin.
    `inline`: what is called becomes a part of the caller, and counts on its sizes. PlanishError as of
    `emit_function`."""
    kernels = (kernel, *others)
    texts = emit_callees(kernels, catalogue, threads, inline, portable=header)
    called = {x.name for x in callees(kernels, catalogue)}
    for own in kernels:
        # One may be called by another.
        if own.name not in called:
            text = emit_function(own, own.name, threads=threads, noalias=True, catalogue=catalogue, portable=header)
            texts.append(text if header else text.removeprefix("static "))
    headers = sorted({x for own in kernels for x in headers_of(own, catalogue)})
    if not header:
        return emit_prologue(texts, (), headers)
    text = emit_prologue([f"planish_spare {x}" for x in texts], (), headers)
    # A file with several such headers, or one that is a drop-in itself, has helpers of the same names.
    helpers = "|".join(x.removeprefix("planish_") for x in (*HELPERS, "planish_kept"))
    text = re.sub(rf"\bplanish_(?=(?:{helpers})\b)", f"{kernel.name}_", text)
    # g++ speaks of pragmas that it does not heed, whatever it is told.
    text = _OMP.sub(r"#if !defined(__cplusplus) || defined(_OPENMP)\n\g<0>\n#endif", text)
    guard = re.sub(r"\W", "_", f"{kernel.name}_H").upper()
    return f"#ifndef {guard}\n#define {guard}\n\n{text}\n#endif\n"
