"""Schedules each small inner nest by itself, on transposed tables where lanes would stride across rows.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> nest = "for i in 0 .. 6 { for u in 0 .. 8 { for k in 0 .. 8 { y[b, i, u] += x[b, i, k] * c[u, k] } } }"
>>> arrays = "c: f32[8, 8], x: f32[n, 6, 8], y: f32[n, 6, 8]"
>>> kernel = parse_kernel("kernel k(n; %s) { for b in 0 .. n { %s } }" % (arrays, nest))
>>> [x.name for x in inside_versions(prepare(kernel), load_target("x86-avx2"))]
['inner-nest, pack-transpose', 'inner-nest-2, pack-transpose']
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.diagnostic import Remark
from planish.ir.accesses import reads
from planish.ir.nest import Alloc, Assign, Kernel, Reduce, Stmt
from planish.ir.traverse import map_block, walk
from planish.library.loops.inner_nests.transposed_locals import turn_layout
from planish.library.loops.inner_nests.transposed_tables import turn_tables
from planish.poly.isl.affine import isl_name
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.extraction import Statement
from planish.schedule.auto.inner_nests import InnerNest, shape_nests
from planish.schedule.auto.plan import Prepared, Version, analyse, lower_schedule
from planish.schedule.auto.tiling.parallel_loops import mark_outermost
from planish.target.machine import Target

NAME = "inner-nest"
"""What the version is called."""
FEW = 2
"""The rows that another one does at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class NestForm:
    """A kernel in which tables, and perhaps local arrays, are transposed; the nests that are shaped in it, and the
    sums that are in none of them. `name`: that of its version."""

    prepared: Prepared
    turned: tuple[str, ...]
    schedule: isl.Schedule
    nests: tuple[InnerNest, ...]
    left: int
    name: str = NAME


def inside_versions(
    prepared: Prepared, target: Target, threads: int = 1, scratch: Collection[str] = ()
) -> tuple[Version, ...]:
    """The versions of a kernel with its small nests shaped: those of `find_nests`."""
    return tuple(lower_form(x, threads) for x in find_nests(prepared, target, scratch))


def find_nests(prepared: Prepared, target: Target, scratch: Collection[str] = ()) -> tuple[NestForm, ...]:
    """A kernel with its small nests shaped, on tables and local arrays that are transposed where that helps: with many
    rows in registers, and with few. None where there are no such nests. `scratch`: arrays of which nothing is read
    behind the kernel. NotAffineError as of `analyse`."""
    if not any(target.lanes(x.type) > 1 for x in prepared.scop.kernel.arrays):
        return ()
    if not any(map(_may_be_inside, prepared.scop.statements)):
        return ()
    best = _best_form(prepared, target, target.vector_registers // 2, scratch)
    fewer = replace(_shaped(best.prepared, best.turned, target, FEW), name=f"{NAME}-{FEW}")
    found = [x for x in (best, fewer) if any(y.terms > 1 for y in x.nests)]
    return tuple(found[:1] if len(found) > 1 and str(best.schedule) == str(fewer.schedule) else found)


def _may_be_inside(statement: Statement) -> bool:
    """Whether a statement updates in a loop with a number of iterations that is inside of other ones."""
    last = len(statement.iterators) - 1
    ends = (statement.domain.dim_min_val(last), statement.domain.dim_max_val(last)) if last > 0 else ()
    return statement.reduction is not None and bool(ends) and all(x.is_int() for x in ends)


def _best_form(prepared: Prepared, target: Target, rows: int, scratch: Collection[str]) -> NestForm:
    """The kernel with arrays transposed so that most of its sums are in nests that can be shaped."""
    best = _with_tables(prepared, prepared.kernel, (), target, rows)
    kernel = prepared.kernel
    for name in _movable(prepared, scratch) if best.left else ():
        turned = turn_layout(kernel, name, scratch)
        if turned is None:
            continue
        form = _with_tables(prepared, turned, (name,), target, rows)
        if form.left < best.left:
            best, kernel = replace(form, turned=tuple(dict.fromkeys((*best.turned, *form.turned)))), turned
    return best


def _movable(prepared: Prepared, scratch: Collection[str]) -> list[str]:
    """Arrays of which nothing is read before the kernel or behind it, and that some sum reads."""
    read = {x.array for s in prepared.scop.statements if s.reduction for x in s.accesses if not x.write}
    before = {x.get_tuple_name(isl.dim_type.out) for x in list_maps(prepared.dependences.live_in)}
    own = [x.name for x in prepared.scop.locals] + [x for x in scratch if isl_name(x) not in before]
    return [x for x in own if x in read]


def _with_tables(prepared: Prepared, kernel: Kernel, turned: tuple[str, ...], target: Target, rows: int) -> NestForm:
    """A kernel with its tables transposed, shaped."""
    made, tables = turn_tables(kernel)
    names = dict.fromkeys((*turned, *(x.load.array for x in tables)))
    known = prepared if made is prepared.kernel or not names else analyse(made, prepared.declared)
    return _shaped(known, tuple(names), target, rows)


def _shaped(prepared: Prepared, turned: tuple[str, ...], target: Target, rows: int) -> NestForm:
    """The kernel with at most so many rows at a time in its nests."""
    schedule, nests = shape_nests(prepared.scop, prepared.dependences.order, target, rows)
    done = {x.name for nest in nests for x in nest.statements}
    left = sum(x.reduction is not None and x.name not in done for x in prepared.scop.statements)
    return NestForm(prepared, turned, schedule, nests, left)


def lower_form(form: NestForm, threads: int = 1) -> Version:
    """The version of a form."""
    kept: dict[str, frozenset[int]] = {}
    for array, dimensions in (x for nest in form.nests for x in nest.kept):
        kept[array] = kept.get(array, frozenset()) | dimensions
    names = {x.name for nest in form.nests for x in nest.statements}
    marked = mark_outermost(form.schedule, form.prepared.dependences.order, names) if threads > 1 else None
    # Nests are too small for several threads to share one.
    lowered = lower_schedule(form.prepared, marked or form.schedule, kept, threads if marked else 1)
    remarks = tuple(map(_describe, form.nests))
    if form.turned:
        message = f"{', '.join(form.turned)}: transposed, so that reads are contiguous"
        remarks = (Remark("pack-transpose", "done", message, form.prepared.scop.kernel.span), *remarks)
    full = f"{form.name}, pack-transpose" if form.turned else form.name
    return Version(full, form.schedule, drop_unread(lowered), remarks, 0.0)


def _describe(nest: InnerNest) -> Remark:
    names = ", ".join(x.name for x in nest.statements)
    rows = f"{nest.rows} rows" if nest.rows > 1 else "a row"
    terms = f"sums of {nest.terms} terms, " if nest.terms > 1 else ""
    message = f"{names}: lanes along `{nest.lanes}`, {terms}{rows} at a time in registers"
    return Remark(NAME, "done", message, nest.statements[0].stmt.span)


def drop_unread(kernel: Kernel) -> Kernel:
    """The kernel without local arrays that nothing reads."""
    read = {x.array for x in reads(kernel.body)}
    read |= {x.array for x in walk(kernel.body) if isinstance(x, Reduce)}
    unread = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)} - read

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        match stmt:
            case Alloc(array=array) if array.name in unread:
                return ()
            case Assign(array=name) if name in unread:
                return ()
            case _:
                return stmt

    return replace(kernel, body=map_block(visit, kernel.body)) if unread else kernel
