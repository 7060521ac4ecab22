"""Raises a nest to operations, improves these as algebra, and calls the library's kernels for them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> OPERATIONS.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Compare, Const, Expr, index, type_of
from planish.ir.index.polynomial import sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import For, Kernel, Reduce
from planish.ir.traverse import loads, variables, walk
from planish.ir.types import F32, F64
from planish.library.kernels.gemm.compact import COLUMNS, DEPTH, list_product_arguments
from planish.library.kernels.vectors import choose_vectors
from planish.library.raise_operations import is_promising, raise_version
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.poly.scop.extraction import Statement
from planish.schedule.arguments import NO_ARGUMENTS, TuningArguments

SHORT = 16
"""The iterations of a loop that is no longer than a block of the kernels has rows or columns."""
FEW = 512
"""The sums of products for which such a block is not worth its beginning."""


def _match(cx: Context) -> tuple[tuple[Statement, ...], ...]:
    found = is_promising(cx.kernel, cx.prepared)
    return (found,) if found else ()


def _apply(cx: Context, found: tuple[Statement, ...]) -> Made:
    maker = replace(cx.maker, point=cx.point)
    made, remarks = raise_version(
        cx.kernel, cx.prepared, cx.scratch, cx.target, cx.fp, maker, cx.threads, cx.sizes
    )  # fmt: skip
    if made is None:
        return remarks
    enough = () if any(isinstance(x.stmt, Reduce) for x in found) else tuple(_whole_tiles(cx.prepared.kernel))
    return (*remarks, replace(made, kernel=replace(made.kernel, assumptions=(*made.kernel.assumptions, *enough))))


def _whole_tiles(kernel: Kernel) -> Iterator[Expr]:
    """That a copy alone goes through rows and columns of a tile's length: shorter ones are sooner copied as they are
    written."""
    loops = [x for x in walk(kernel.body) if isinstance(x, For)]
    for x in loops if len(kernel.body.body) == 1 and len(loops) == 2 else ():
        enough = simplify(Compare("ge", sub(x.upper, x.lower), index(SHORT)))
        if not isinstance(enough, Const) and variables(enough) <= {*kernel.sizes}:
            yield enough


def _cost(cx: Context, found: tuple[Statement, ...]) -> float:
    """Products of which one loop alone is long are no gain: the kernels' blocks are of more rows and columns."""
    products = [x for x in found if isinstance(x.stmt, Reduce)]
    return BEHIND if products and all(map(_is_small, products)) else OPERATIONS.least(cx)


def _is_small(statement: Statement) -> bool:
    """Whether all loops around a statement but one are known to be short, and to run it seldom."""
    extents = [_extent(statement, x) for x in range(len(statement.iterators))]
    short = [x for x in extents if x is not None and x <= SHORT]
    return len(extents) - len(short) < 2 and prod(short) <= FEW


def _extent(statement: Statement, loop: int) -> int | None:
    """How many iterations a loop around a statement has, where that is known."""
    first, last = statement.domain.dim_min_val(loop), statement.domain.dim_max_val(loop)
    return int(str(last.sub(first))) + 1 if first.is_int() and last.is_int() else None


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
    _match, _apply, share(0.1, start=True), _cost, arguments=_arguments, kernels=True,
)  # fmt: skip
