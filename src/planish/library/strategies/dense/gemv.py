"""Register-blocked matrix-vector product: unroll-and-jam over rows.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> GEMV.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from planish.ir.nest import For, Stmt
from planish.ir.traverse import walk
from planish.library.dense.gemv.unroll_and_jam import dot_versions, find_row_sums
from planish.library.strategy import BEHIND, Context, Made, Strategy, share


def _match(cx: Context) -> tuple[tuple[Stmt, ...], ...]:
    found = find_row_sums(cx.as_written, cx.target) if cx.reassociate and cx.threads == 1 else ()
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Stmt, ...]) -> Made:
    return dot_versions(cx.prepared, cx.target)


def _cost(cx: Context, found: tuple[Stmt, ...]) -> float:
    """A nest without such sums stays as it is written: where there is one, schedules of all nests are tried first."""
    nests = (x for x in cx.as_written.body.body if isinstance(x, For))
    return 0.8 if all(any(y in found for y in walk(x)) for x in nests) else BEHIND


GEMV = Strategy(
    "gemv-rows", "sums along several rows of a matrix at a time, in registers",
    _match, _apply, share(0.8), _cost,
)  # fmt: skip
