"""A kernel, and all those that it calls, as a file of C with one public function: a header that needs nothing else.

>>> from planish.ir.parser import parse_kernel
>>> text = emit_file(parse_kernel("kernel clear(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"), header=True)
>>> print(text[text.index("static"):], end="")
static void clear(ptrdiff_t n, float *restrict A)
{
  for (ptrdiff_t i = 0; i < n; i++) {
    A[i] = 0.0f;
  }
}
<BLANKLINE>
#endif
"""

from __future__ import annotations

import re

from planish.emit.c import emit_callees, emit_function
from planish.emit.calls import headers_of
from planish.emit.prologue import emit_prologue
from planish.ir.nest import Kernel
from planish.isa.instruction import Catalogue


def emit_file(
    kernel: Kernel, catalogue: Catalogue | None = None, *, header: bool = False, threads: bool = False, banner: str = ""
) -> str:
    """The text: helpers, the kernels that are called, the kernel. `header`: all functions are static, and the file may
    be included many times. PlanishError as of `emit_function`."""
    texts = emit_callees(kernel, catalogue, threads)
    texts.append(emit_function(kernel, kernel.name, threads=threads, noalias=True, catalogue=catalogue))
    if not header:
        texts[-1] = texts[-1].removeprefix("static ")
    headers = list(headers_of(kernel, catalogue))
    text = emit_prologue(texts, (), headers)
    guard = re.sub(r"\W", "_", f"PLANISH_{kernel.name}_H").upper()
    return f"{banner}#ifndef {guard}\n#define {guard}\n\n{text}\n#endif\n" if header else f"{banner}{text}"
