"""The FFT-stage strategy: runs several iterations of a radix-stage loop at a time (higher radix).

Each is a ladder: what takes the most stages at a time is tried first, and what is left over takes fewer. Stages that
are over neighbours have no rows to go along: columns are turned so that they are in lanes, or written out.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.target.load import load_target
>>> nest = "for (int i = 0; i < n; i += 2 * h) for (int j = i; j < i + h; j++) a[j] = a[j] - a[j + h];"
>>> text = "void f(float *a, int n) { for (int h = 1; h < n; h *= 2) { %s } }" % nest
>>> (region,) = read_c(Source("f.c", text)).functions[0].regions
>>> versions, _ = stage_versions(region, load_target("generic"))
>>> [(x.name, [y.suffix for y in x.pieces]) for x in versions]
[('fft-radix-16', ['stages4_near', 'stages4', 'stages3', 'stages2', 'stages1'])]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import islpy as isl

from planish.core.diagnostic import PlanishError, Remark
from planish.frontend.c.translation_unit import Region
from planish.ir.expr import Binary, Compare, index
from planish.ir.types import F32, F64
from planish.library.kernels.vectors import Vectors, choose_vectors
from planish.library.signal.bit_reversal import reversal_versions
from planish.library.signal.fft_stages.butterfly_columns import ButterflyColumns, NoColumnsError, read_columns
from planish.library.signal.fft_stages.column_loops import (
    allows_squares,
    reach,
    write_neighbours,
    write_rows,
    write_squares,
)
from planish.library.signal.fft_stages.stage_kernels import StageKernel, StageVersion
from planish.library.signal.fft_stages.thread_columns import share_columns
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Scop
from planish.schedule.auto.plan import prepare
from planish.schedule.auto.rewrites.packing import copy_tables
from planish.target.machine import Target

NAME = "fft-radix"
"""What versions are called, with the radix that several stages are together behind it."""
_FEW = 16
"""Rows that are shorter do not fill vectors."""
_AGAIN = 4
"""What is read for so many columns is worth a copy, in which it lies side by side."""


def stage_versions(
    region: Region, target: Target, threads: int = 1
) -> tuple[tuple[StageVersion, ...], tuple[Remark, ...]]:
    """The versions of a region whose statements are a stage, the most promising first; and why there
    are none; several `threads` share the columns."""
    if region.reversal is not None:
        return reversal_versions(region, threads)
    if not region.stages:
        return (), ()
    try:
        read = {len(region.stages) - n: (x, *_read(x)) for n, x in enumerate(region.stages)}
    except (NoColumnsError, NotAffineError, isl.Error) as error:
        reason = error.reason if isinstance(error, NotAffineError) else str(error)
        message = f"stages are not merged into higher radix: {reason}"
        return (), (Remark(NAME, "refused", message, region.span),)
    rows = {n: (*_rows(n, x, scop, columns, threads),) for n, (x, columns, scop) in read.items()}
    largest = max(rows)
    stage, columns, scop = read[largest]
    made = share_columns(write_neighbours(stage.kernel, columns), columns, threads)
    near = [StageKernel(f"stages{largest}_near", stage, scop, made)]
    out = []
    for number in (largest, largest - 1):
        vectors = _vectors(target, read[number][1]) if number in read else None
        if vectors is not None and allows_squares(read[number][1], vectors):
            stage, columns, scop = read[number]
            made = share_columns(write_squares(stage.kernel, columns, vectors), columns, threads)
            near.insert(0, StageKernel(f"stages{number}_turned", stage, scop, made))
            break
    ladder = [rows[x] for x in sorted(rows, reverse=True)]
    most_rows, fewer_rows = (tuple(chain.from_iterable(x)) for x in (ladder, ladder[1:]))
    for first in near:
        how = ", in-register-transpose" if first.suffix.endswith("turned") else ""
        out.append(StageVersion(f"{NAME}-{read[largest][1].radix}{how}", (first, *most_rows)))
    if _are_many(read[largest][1], target):
        out.append(StageVersion(f"{NAME}-{read[largest - 1][1].radix}", (near[0], *fewer_rows)))
    if threads > 1:
        # Where the caches of one core hold everything, it may be faster by itself.
        alone, _ = stage_versions(region, target)
        out += [replace(x, name=f"{x.name}, one-thread") for x in alone]
    message = f"up to {largest} stages at a time, as butterflies of radix {read[largest][1].radix} in registers"
    return tuple(out), (Remark(NAME, "done", message, region.span),)


def _read(stage: Region) -> tuple[ButterflyColumns, Scop]:
    """The columns that the stages of a region are over, and what they reach."""
    unit, steps = stage.kernel.sizes[:2]
    columns = read_columns(stage.kernel, unit, steps)
    return columns, prepare(reach(stage.kernel, columns)).scop


def _rows(number: int, stage: Region, scop: Scop, columns: ButterflyColumns, threads: int) -> Iterator[StageKernel]:
    """So many stages along rows. Where stages come to nearer and nearer rows, these leave for the last ones what is
    done with neighbours at once. Of what is read far apart, tables are made if there are many columns."""
    made = write_rows(stage.kernel, columns)
    if columns.falls:
        unit = index(columns.unit)
        asked = Binary("or", Compare("ge", unit, index(_FEW)), Compare("eq", unit, index(1)))
        made = replace(made, assumptions=(*made.assumptions, asked))
    copied = copy_tables(made)
    if copied is not made:
        again = Compare("ge", index(columns.steps), index(_AGAIN))
        copied = replace(copied, assumptions=(*copied.assumptions, again))
        yield StageKernel(f"stages{number}_tables", stage, scop, share_columns(copied, columns, threads))
    yield StageKernel(f"stages{number}", stage, scop, share_columns(made, columns, threads))


def _vectors(target: Target, columns: ButterflyColumns) -> Vectors | None:
    """The vectors of the elements of columns, where they have instructions that turn squares."""
    (type, *others) = {x.type for x in columns.places}
    if others or type not in (F32, F64):
        return None
    try:
        return choose_vectors(target, type)
    except PlanishError:
        return None


def _are_many(columns: ButterflyColumns, target: Target) -> bool:
    """Whether a column may be too much for registers."""
    try:
        return choose_vectors(target, F32).registers < 2 * len(columns.places)
    except PlanishError:
        return False
