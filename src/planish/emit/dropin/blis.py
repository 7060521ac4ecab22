"""A micro-kernel under the calling convention of BLIS: any strides of C, alpha and beta, parts of a tile.

    text = emit_blis(Tile(find_vectors("avx512", F32), 14, 2))
"""

from __future__ import annotations

from dataclasses import replace

from planish.emit.c.expression import c_type
from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.library.kernels.gemm.microkernel import Tile, make_micro

_WRAPPER = """\
/* The convention of BLIS' micro-kernels: C = beta C + alpha A B, for parts of {rows} x {columns} as well. */
void {name}(
    ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void *alpha_, const void *A, const void *B, const void *beta_,
    void *C_, ptrdiff_t rs_c, ptrdiff_t cs_c, const void *data, const void *context)
{{
  const {type} alpha = *(const {type} *)alpha_, beta = *(const {type} *)beta_;
  {type} *const C = C_;
  (void)data;
  (void)context;
  if (m == {rows} && n == {columns} && cs_c == 1 && k >= 1 && rs_c >= n && alpha == 1 && (beta == 0 || beta == 1)) {{
    if (beta == 0) {{
      {first}(k, rs_c, (void *)A, (void *)B, (void *)C);
    }} else {{
      {add}(k, rs_c, (void *)A, (void *)B, (void *)C);
    }}
    return;
  }}
  _Alignas(64) {type} tile[{rows}][{columns}] = {{{{0}}}};
  if (k >= 1) {{
    {first}(k, {columns}, (void *)A, (void *)B, tile);
  }}
  for (ptrdiff_t i = 0; i < m; i++) {{
    for (ptrdiff_t j = 0; j < n; j++) {{
      {type} *const c = &C[i * rs_c + j * cs_c];
      *c = beta == 0 ? alpha * tile[i][j] : beta * *c + alpha * tile[i][j];
    }}
  }}
}}
"""


def emit_blis(tile: Tile) -> str:
    """The micro-kernel of a tile, of which a call may use a part; PlanishError E0641 where it does not fit."""
    whole = replace(tile, masked=False, layout="columns")
    made = [make_micro(replace(whole, first=first)).kernel for first in (True, False)]
    texts = [emit_function(kernel, kernel.name, noalias=True) for kernel in made]
    words = {"rows": tile.rows, "columns": tile.columns, "type": c_type(tile.vectors_of.type)}
    wrapper = _WRAPPER.format(name=f"{whole.name}_blis", first=made[0].name, add=made[1].name, **words)
    return emit_prologue([*texts, wrapper], (), headers_of(made[0]))
