"""Register-blocked matrix-vector product: unroll-and-jam over rows.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(n; x: f64[n]) { for i in 0 .. n { x[i] = 0.0 } }"
>>> GEMV.match(Context.of(parse_kernel(text), load_target("x86-avx512")))
()
"""

from __future__ import annotations

from collections.abc import Mapping

from planish.ir.nest import For, Kernel, Reduce, Stmt
from planish.ir.traverse import walk
from planish.library.dense.gemv.register_block import ROWS, most_rows
from planish.library.dense.gemv.row_loops import find_dots
from planish.library.dense.gemv.unroll_and_jam import dot_versions, find_row_sums
from planish.library.kernels.vectors import choose_vectors
from planish.library.strategy import BEHIND, Context, Made, Strategy, share
from planish.schedule.arguments import NO_ARGUMENTS, TuningArgument, TuningArguments, TuningConstraint, Value

ROWS_AT_A_TIME = TuningArgument("rows", (1, 2, 4, 6, 8, 10, 12, 16), ROWS, "rows at a time, at most")
ACCUMULATORS = TuningArgument("accumulators", (1, 2, 4), 1, "registers that a row's sum is made in")


def _match(cx: Context) -> tuple[tuple[Stmt, ...], ...]:
    wanted = cx.reassociate and cx.threads == 1 and _has_sums(cx.prepared.kernel)
    found = find_row_sums(cx.as_written, cx.target) if wanted else ()
    return (found,) if found else ()


def _has_sums(kernel: Kernel) -> bool:
    """Whether there is a sum in a loop that is in another one: what is sought among, at little cost."""
    inner = (y for x in walk(kernel.body) if isinstance(x, For) for y in walk(x.body) if isinstance(y, For))
    return any(isinstance(y, Reduce) and y.op == "add" for x in inner for y in walk(x.body))


def _apply(cx: Context, found: tuple[Stmt, ...]) -> Made:
    return dot_versions(cx.prepared, cx.target, ROWS_AT_A_TIME.number(cx.point), ACCUMULATORS.number(cx.point))


def _cost(cx: Context, found: tuple[Stmt, ...]) -> float:
    """Where rows are inside of other loops, as those of a window are, or another nest has no such sums and would stay
    as it is written, schedules of loops are tried first."""
    return 0.8 if all(x in found for x in cx.as_written.body.body if isinstance(x, For)) else BEHIND


def _arguments(cx: Context, found: tuple[Stmt, ...], version: str) -> TuningArguments:
    """That of fewer rows is there for builds without tuning: it is one of the points of the other."""
    if version != GEMV.name:
        return NO_ARGUMENTS
    dots = [y for x in found if (y := find_dots(x, frozenset(cx.as_written.sizes))) is not None]
    vectors = choose_vectors(cx.target, dots[0].type)

    def fits(values: Mapping[str, Value]) -> bool:
        rows, each = (int(values.get(x.name, x.default)) for x in (ROWS_AT_A_TIME, ACCUMULATORS))
        return each == 1 or any(most_rows(x, vectors, rows, each) == rows for x in dots)

    note = f"sums, a row and a vector fit in {vectors.registers} registers"
    both = (ROWS_AT_A_TIME.name, ACCUMULATORS.name)
    return TuningArguments((ROWS_AT_A_TIME, ACCUMULATORS), (TuningConstraint(both, fits, note),))


GEMV = Strategy(
    "gemv-rows", "register-blocked matrix-vector product: unroll-and-jam over rows",
    _match, _apply, share(0.8), _cost, _arguments,
)  # fmt: skip
