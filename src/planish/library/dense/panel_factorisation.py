"""Panel factorisations of column-by-column algorithms: LU, Gram-Schmidt and Householder, with matrix products for the
trailing columns.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> kernel = parse_kernel("kernel zero(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0 } }")
>>> panel_versions(kernel, prepare(kernel), load_target("generic"), "reassociate", KernelCache())
((), ())
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import islpy as isl

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.nest import Kernel
from planish.ir.types import Floats
from planish.library.dense import gram_schmidt, householder, lu_partial_pivoting
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.loops.histogram import TABLES, TOGETHER, counting_versions
from planish.library.lowering import NotLoweredError, lower_raised
from planish.poly.isl.affine import NotAffineError
from planish.raising.raised import Raised
from planish.schedule.arguments import DEFAULTS, NO_ARGUMENTS, Point, TuningArgument, TuningArguments
from planish.schedule.auto.plan import Prepared, Version
from planish.target.machine import Target

COLUMNS = TuningArgument("width", (16, 32, 48, 64, 96, 128), lu_partial_pivoting.WIDTH, "columns of a panel")
_WIDTHS = {
    lu_partial_pivoting.NAME: lu_partial_pivoting.WIDTH, gram_schmidt.NAME: gram_schmidt.WIDTH,
    householder.NAME: householder.WIDTH,
}  # fmt: skip


def histogram_versions(
    kernel: Kernel, prepared: Prepared, target: Target, threads: int = 1, tables: int = TABLES, together: int = TOGETHER
) -> tuple[tuple[Version, ...], tuple[Remark, ...]]:
    """The versions of a kernel that counts, and why there are none; the arguments are those of `counting_versions`."""
    made = counting_versions(kernel, prepared, target, threads, tables, together)
    message = "no private copies of the bins: they do not fit into the first-level cache"
    return made, () if made else (Remark("histogram-private", "note", message, prepared.scop.kernel.span),)


def panel_versions(
    flat: Kernel, prepared: Prepared, target: Target, fp: Floats, maker: KernelCache, threads: int = 1,
    scratch: Collection[str] = (), point: Point = DEFAULTS,
) -> tuple[tuple[Version, ...], tuple[Remark, ...]]:  # fmt: skip
    """The version by panels of a delinearised kernel that has one, and why there is none where sums have to keep their
    order, or the library has no products for the target. `prepared`: the kernel as it is scheduled otherwise;
    `scratch`: arrays that nobody reads afterwards; `point`: the width of a panel."""
    scop, span = prepared.scop, prepared.scop.kernel.span
    try:
        raised, name, message = _by_blocks(flat, scratch, point)
        if raised is None:
            return (), ()
        if fp != "reassociate":
            message = f"no panels of columns: they sum in another order, which --fp {fp} does not allow"
            return (), (Remark("panels", "note", message, span),)
        lowered = lower_raised(raised, target, maker, (), threads)
    except NotAffineError as error:
        return (), (Remark("panels", "note", error.reason, span),)
    except NotLoweredError as error:
        return (), (Remark("panels", "note", f"no panels of columns: {error}", span),)
    except PlanishError as error:
        return (), (Remark("panels", "note", error.diagnostic.message, span),)
    except isl.Error as error:
        message = f"the polyhedral library gave up: {str(error).partition(' in /')[0]}"
        return (), (Remark("panels", "note", message, span),)
    known = {x.name: x for x in lowered.kernel.arrays}
    whole = replace(lowered.kernel, arrays=tuple(known.get(x.name, x) for x in scop.kernel.arrays))
    remark = Remark(name, "done", message, span)
    return (Version(name, scop.schedule, whole, (remark, *lowered.remarks), 0.0, lowered.catalogue),), (remark,)


def list_panel_arguments(version: str) -> TuningArguments:
    """What may be tuned of a version by panels."""
    return TuningArguments((COLUMNS.around(_WIDTHS[version]),)) if version in _WIDTHS else NO_ARGUMENTS


def _by_blocks(kernel: Kernel, scratch: Collection[str], point: Point) -> tuple[Raised | None, str, str]:
    """The steps by blocks, if there are such, what that version is called, and what is said of it."""
    widths = {name: COLUMNS.around(width).number(point) for name, width in _WIDTHS.items()}
    name = lu_partial_pivoting.NAME
    raised = lu_partial_pivoting.raise_pivoting(kernel, widths[name])
    if raised is not None:
        what = "LU with partial pivoting by panels of {} columns, with the same pivots"
        return raised, name, what.format(widths[name])
    name = gram_schmidt.NAME
    raised = gram_schmidt.raise_projecting(kernel, widths[name])
    if raised is not None:
        what = "modified Gram-Schmidt by panels of {} columns, which matrix products project out of all others"
        return raised, name, what.format(widths[name])
    name = householder.NAME
    what = "Householder QR by panels of {} columns, whose compact WY form is applied by matrix products"
    return householder.raise_reflecting(kernel, scratch, widths[name]), name, what.format(widths[name])
