"""In-place transposition of square matrices by blocks that are transposed in registers.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> TRANSPOSE_INPLACE.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import Stmt
from planish.library.dense.transpose_inplace.block_pairs import BLOCK
from planish.library.dense.transpose_inplace.blocked_transpose import find_exchanges, mirror_versions
from planish.library.parallel.parallel_marks import spread
from planish.library.strategy import Context, Made, Strategy, share
from planish.schedule.arguments import TuningArgument, TuningArguments

BLOCK_SIZE = TuningArgument("block", (32, 64, 128, 256, 512, 1024), BLOCK, "rows and columns of a block")


def _match(cx: Context) -> tuple[tuple[Stmt, ...], ...]:
    found = find_exchanges(cx.prepared.kernel)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Stmt, ...]) -> Made:
    return spread(mirror_versions(cx.prepared, cx.target, BLOCK_SIZE.number(cx.point)), cx.threads)


TRANSPOSE_INPLACE = Strategy(
    "transpose-inplace", "transposes a square matrix in place, two register blocks at a time",
    _match, _apply, share(0.3, start=True), arguments=lambda cx, found, version: TuningArguments((BLOCK_SIZE,)),
)  # fmt: skip
