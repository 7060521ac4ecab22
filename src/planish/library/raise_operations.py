"""A further version of a nest: raised to operations, improved as algebra, and lowered to kernels of the library.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> kernel = parse_kernel("kernel zero(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0 } }")
>>> raise_version(kernel, prepare(kernel), (), load_target("generic"), "reassociate", KernelCache())
(None, ())
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError, Remark
from planish.ir.expr import Expr, Load
from planish.ir.index.polynomial import coefficient_of
from planish.ir.nest import Array, Assign, Kernel, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.types import F32, F64, Floats, Type
from planish.library.conv.low_precision import widen, with_copies
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import choose_vectors
from planish.library.lowering import NotLoweredError, lower_raised
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Statement
from planish.raising.algebra.rewrite import Rule, improve
from planish.raising.match.operation_index import load_operations
from planish.raising.match.zero_padding import with_borders
from planish.raising.nests import raise_kernel
from planish.raising.raised import Apply, Raised, walk_steps
from planish.raising.tdl.constants import specialise_all
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.rewrites.expansion_limit import find_excess
from planish.target.machine import Target

NAME = "operations"
"""What the version is called."""
_MOVED = (32, 64)
"""The bits of elements that are transposed in registers."""
_DEPTH = 3
"""The loops of a product of matrices."""
CONVOLUTION_LOOPS = 6
"""Those over features and channels, places and elements of the window."""


@dataclass(frozen=True, slots=True)
class Convolve:
    """A way to do convolutions: what the version is called, the rule, and what the way is called (`Raised.ways`).
    `woven`: those of narrow numbers are left to the library, too."""

    name: str
    rule: Rule | None
    way: str
    woven: bool = False


def raise_version(
    kernel: Kernel, prepared: Prepared, scratch: Collection[str], target: Target, fp: Floats, maker: KernelCache,
    threads: int = 1, typical: Mapping[str, int] | None = None, convolve: Convolve | None = None,
) -> tuple[Version | None, tuple[Remark, ...]]:  # fmt: skip
    """The version of a kernel that calls kernels of the library, and why there is none where there is none. `prepared`:
    the kernel as it is scheduled otherwise.

    `scratch`: arrays of which nothing is read behind it; `typical`: sizes at which costs are compared; `convolve`: how
    convolutions are done, without which there is no such version.
    """
    scop = prepared.scop
    if not is_promising(kernel, prepared):
        return None, ()
    types = {x.name: x.type for x in (*scop.kernel.arrays, *scop.locals)}
    kernel, narrow = widen(kernel)
    span = scop.kernel.span
    if fp != "reassociate" and any(types[x.write.array].is_float and not _is_copy(x) for x in scop.statements):
        message = f"no kernels of the library are called: they sum in another order, which --fp {fp} does not allow"
        return None, (Remark("raise-floats", "note", message, span),)
    try:
        choose_vectors(target, F64)
        raised, remarks = improve_nest(
            kernel, scratch, target, fp, typical, direct=True, cache=maker.cache, narrow=narrow,
            convolve=None if convolve is None else convolve.rule, woven=convolve is not None and convolve.woven,
        )  # fmt: skip
        if convolve is not None and convolve.way not in raised.ways:
            return None, ()
        kept = [x.name for x in raised.locals if x.name in scratch]
        lowered = lower_raised(raised, target, maker, kept, threads, narrow)
    except NotAffineError as error:
        return None, (Remark("raise-none", "note", error.reason, span),)
    except NotLoweredError as error:
        return None, (Remark("raise-none", "note", f"no version calls kernels of the library: {error}", span),)
    except PlanishError as error:
        return None, (Remark("raise-none", "note", error.diagnostic.message, span),)
    except isl.Error as error:
        message = f"the polyhedral library gave up: {str(error).partition(' in /')[0]}"
        return None, (Remark("raise-none", "note", message, span),)
    known = {x.name: x for x in lowered.kernel.arrays}
    arrays = tuple(known.get(x.name, x) for x in scop.kernel.arrays)
    if len(known) > len({*known} & {x.name for x in scop.kernel.arrays}):
        return None, (Remark("raise-none", "note", "the raised kernel has other arrays", span),)
    whole = replace(lowered.kernel, arrays=arrays)
    excess = find_excess(whole, scop, prepared.declared)
    if excess:
        extents = " x ".join(print_expr(x) for x in excess[0].shape if x is not None)
        message = f"no version calls kernels of the library: `{excess[0].name}` would be an array of {extents} elements"
        return None, (Remark("raise-none", "note", message, span),)
    done = tuple(x for x in remarks if x.kind == "done")
    name = NAME if convolve is None else convolve.name
    return Version(name, scop.schedule, whole, (*done, *lowered.remarks), 0.0, lowered.catalogue), remarks


def is_promising(kernel: Kernel, prepared: Prepared) -> tuple[Statement, ...]:
    """The statements of a kernel of which operations may be made: enough loops for a product of floats or of
    what can be widened, a transposition, or the search for least values."""
    scop = prepared.scop
    types = {x.name: x.type for x in (*scop.kernel.arrays, *scop.locals)}
    promising = tuple(x for x in scop.statements if len(x.iterators) >= _DEPTH or _is_turned(x))
    floats = any(types[x.write.array] in (F32, F64) for x in promising)
    moved = any(types[x.write.array].bits in _MOVED and _is_turned(x) for x in promising)
    if floats or moved or any(map(_is_least, promising)) or (promising and widen(kernel)[1]):
        return promising
    return ()


def convolution_statements(prepared: Prepared) -> tuple[Statement, ...]:
    """The statements with loops over features and channels, places and elements of a window."""
    return tuple(x for x in prepared.scop.statements if len(x.iterators) >= CONVOLUTION_LOOPS)


def _is_least(statement: Statement) -> bool:
    """Whether a statement keeps the least of some values, as the search for paths does."""
    return isinstance(statement.stmt, Reduce) and statement.stmt.op == "min"


def _is_copy(statement: Statement) -> bool:
    """Whether a statement computes nothing."""
    return isinstance(statement.stmt, Assign) and isinstance(statement.stmt.value, Load)


def _nearest(expr: Expr, iterators: Sequence[str]) -> set[str]:
    """The loops whose steps go least far in a line."""
    found = {x: coefficient_of(expr, x) for x in iterators}
    steps = {x: abs(y[0]) for x, y in found.items() if y is not None and y[0]}
    return {x for x, y in steps.items() if y == min(steps.values())}


def _is_turned(statement: Statement) -> bool:
    """Whether a statement copies what is read along one loop, and written along another one."""
    stmt = statement.stmt
    if not (isinstance(stmt, Assign) and isinstance(stmt.value, Load) and stmt.index and stmt.value.index):
        return False
    near = [_nearest(at[-1], statement.iterators) for at in (stmt.index, stmt.value.index)]
    return all(near) and near[0] != near[1]


def improve_nest(
    kernel: Kernel, scratch: Collection[str], target: Target, fp: Floats, typical: Mapping[str, int] | None = None,
    *, blas: bool = False, direct: bool = False, cache: Cache | None = None, narrow: Mapping[str, Type] | None = None,
    convolve: Rule | None = None, woven: bool = False,
) -> tuple[Raised, tuple[Remark, ...]]:  # fmt: skip
    """The operations of a kernel, improved for a target as by `improve`; raises NotAffineError. What operations
    are compared by is kept in a `cache`; `blas`, `direct`: they are to stay what a BLAS, or the library, has; `narrow`:
    the types of arrays that were made wide; `convolve`: a rule for convolutions that is tried before others; `woven`:
    the library has convolutions of what was made wide, too."""
    raised, own = _raise(kernel, fp == "reassociate", cache)
    own += tuple(x for x in raised.kernel.arrays if x.name in scratch and None not in x.shape)
    if own:
        others = tuple(x for x in raised.kernel.arrays if x not in own)
        raised = replace(raised, kernel=replace(raised.kernel, arrays=others), locals=(*raised.locals, *own))
    known = with_copies(raised, narrow or {}, scratch)
    return improve(raised, target, fp, typical, blas=blas, direct=direct, narrow=known, convolve=convolve, woven=woven)


def _raise(kernel: Kernel, reassociate: bool, cache: Cache | None) -> tuple[Raised, tuple[Array, ...]]:
    """The operations of a kernel, and arrays among the raised kernel's that are none of the kernel's own: copies with a
    border, if sums that stop at one are convolutions with it."""
    operations = load_operations(cache)
    bordered = with_borders(kernel) if reassociate else None
    if bordered is not None:
        raised = raise_kernel(bordered.kernel, specialise_all(operations, bordered.kernel))
        named = [x for x in walk_steps(raised.steps) if isinstance(x, Apply)]
        if {*bordered.copies} <= {x.operands[y].array for x in named for y in x.operation.inputs}:
            return raised, tuple(x for x in raised.kernel.arrays if x.name in bordered.copies)
    return raise_kernel(kernel, specialise_all(operations, kernel), reassociate=reassociate), ()
