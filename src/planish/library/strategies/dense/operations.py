"""Raises a nest to operations, improves these as algebra, and calls the library's kernels for them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> OPERATIONS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from planish.core.diagnostic import PlanishError
from planish.ir.expr import type_of
from planish.ir.nest import Reduce
from planish.ir.traverse import loads
from planish.ir.types import F32, F64
from planish.library.kernels.gemm.compact import COLUMNS, DEPTH, list_product_arguments
from planish.library.kernels.vectors import choose_vectors
from planish.library.raise_operations import is_promising, raise_version
from planish.library.strategy import Context, Made, Strategy, share
from planish.poly.scop.extraction import Statement
from planish.schedule.arguments import NO_ARGUMENTS, TuningArguments


def _match(cx: Context) -> tuple[tuple[Statement, ...], ...]:
    found = is_promising(cx.kernel, cx.prepared)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Statement, ...]) -> Made:
    maker = replace(cx.maker, point=cx.point)
    made, remarks = raise_version(
        cx.kernel, cx.prepared, cx.scratch, cx.target, cx.fp, maker, cx.threads, cx.sizes
    )  # fmt: skip
    return (*remarks, *(() if made is None else (made,)))


def _arguments(cx: Context, found: tuple[Statement, ...], version: str) -> TuningArguments:
    """Those of the blocks of products, where there may be products: sums in three loops; where all are plain ones of
    one type, those of the tiles as well."""
    sums = [x for x in found if isinstance(x.stmt, Reduce) and len(x.iterators) >= 3]
    types = {y.type for x in sums for y in loads(x.stmt.value)} | {type_of(x.stmt.value) for x in sums}
    if not sums:
        return NO_ARGUMENTS
    if len(types) == 1 and types <= {F32, F64} and all(len(x.iterators) <= 4 for x in sums):
        with suppress(PlanishError):  # a machine without instructions for them
            return list_product_arguments(choose_vectors(cx.target, *types))
    return TuningArguments((DEPTH, COLUMNS))


OPERATIONS = Strategy(
    "operations", "raises loops to operations (products, convolutions, transpositions) and calls the library's kernels",
    _match, _apply, share(0.1, start=True), arguments=_arguments, kernels=True,
)  # fmt: skip
