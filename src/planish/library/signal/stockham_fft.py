"""Fourier and cosine transforms written as sums become Stockham passes over butterflies.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> angle = "0.7853981633974483 * f64(rem(i32(k) * i32(n), 8:i32))"
>>> sums = f"a[k] += x[2 * n] * cos({angle}) b[k] += -(x[2 * n] * sin({angle}))"
>>> text = f"for k in 0 .. 8 {{ a[k] = 0.0 b[k] = 0.0 for n in 0 .. 8 {{ {sums} }} }}"
>>> prepared = prepare(parse_kernel(f"kernel dft(x: f64[16], a: f64[8], b: f64[8]) {{ {text} }}"))
>>> versions, remarks = transform_versions(prepared, load_target("generic"), "reassociate")
>>> [x.name for x in versions]
['fft-passes-2x4', 'fft-passes-4x2', 'fft-passes-2x2x2']
>>> [x.message for x in remarks]
['a Fourier transform of 8 points: Stockham passes']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from planish.core.diagnostic import PlanishError, Remark
from planish.core.names import take_name
from planish.ir.expr import Compare, index
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import arrays_in, flatten, substitute_block, used_names, walk
from planish.ir.types import Floats
from planish.library.kernels.fft.radices import Radices, choose_radices
from planish.library.kernels.fft.strided_transform import allows, write_transform
from planish.library.kernels.vectors import choose_vectors
from planish.raising.match.dft import Transform, find_transform
from planish.raising.match.transform_matrices import NoTransformError
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.program import Program, Step
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.target.machine import Target

NAME = "fft-passes"
"""What versions are called, with the radices of their passes behind it."""
_VERSIONS = 3
"""So many ways of each transform are tried."""
_ROUGH = 1e-6
"""Weights that are further off are spoken of."""
_PLAIN = (4, 16)
"""The lanes and registers of a machine of which neither is known."""


@dataclass(frozen=True, slots=True)
class Transforms:
    """The statements of a kernel, and which of them are transforms; `fixed`: what that takes to be the sizes."""

    body: tuple[Stmt, ...]
    transforms: tuple[Transform | None, ...]
    fixed: Mapping[str, int]

    @property
    def slack(self) -> dict[str, float]:
        """How far the weights are off of which arrays are made, at once or by what comes after, relative to the
        largest one."""
        out: dict[str, float] = {}
        worst = 0.0
        for stmt, x in zip(self.body, self.transforms, strict=True):
            worst = max(worst, x.identity.deviation if x is not None else 0.0)
            written = {y.array for y in walk(stmt) if isinstance(y, Assign | Reduce)}
            out |= dict.fromkeys(written if worst else (), worst)
        return out


def transform_versions(
    prepared: Prepared, target: Target, fp: Floats, sizes: Mapping[str, int] | None = None, threads: int = 1
) -> tuple[tuple[Version, ...], tuple[Remark, ...]]:
    """The versions of a kernel that has transforms, the one that seems best first, and what they do; none where it has
    no transform, or floats have to be added up in their order. `sizes`: those that calls are likely to have; where the
    number of elements is among them, a version is for that number only."""
    found = find_transforms(prepared.kernel, sizes or {}) if fp == "reassociate" else None
    return ((), ()) if found is None else apply_transforms(prepared, found, target, threads)


def apply_transforms(
    prepared: Prepared, found: Transforms, target: Target, threads: int = 1
) -> tuple[tuple[Version, ...], tuple[Remark, ...]]:
    """The versions of a kernel for the transforms that were found in it, and what they do; none where a target has too
    few registers for them."""
    ways = [_ways(x, target) if x is not None else () for x in found.transforms]
    if not any(ways):
        return (), ()
    counts = ", ".join(str(x.size) for x, way in zip(found.transforms, ways, strict=True) if x is not None and way)
    kinds = {x.identity.kind for x in found.transforms if x is not None}
    what = "Fourier" if kinds == {"fourier"} else "cosine" if "fourier" not in kinds else "Fourier and cosine"
    plural = "s" if len(counts.split()) > 1 else ""
    message = f"{'' if plural else 'a '}{what} transform{plural} of {counts} points: Stockham passes"
    if (most := max(found.slack.values(), default=0.0)) > _ROUGH:
        message += f"; its weights are exact, those of the original are up to {most:.1e} off"
    remark = Remark(NAME, "done", message, prepared.scop.kernel.span)
    out = []
    for number in range(min(_VERSIONS, max(map(len, ways)))):
        chosen = [way[min(number, len(way) - 1)] if way else () for way in ways]
        made = _write(prepared.kernel, found, chosen, threads)
        name = "-".join((NAME, *("x".join(map(str, x)) for x in chosen if x)))
        schedule = prepared.scop.schedule
        out.append(Version(name, schedule, made, (remark,), 0.0, slack=found.slack))
    return tuple(out), (remark,)


def find_slack(prepared: Prepared, fp: Floats, sizes: Mapping[str, int] | None = None) -> Mapping[str, float]:
    """How far the weights are off of which a kernel's transforms make arrays, relative to the largest one."""
    found = find_transforms(prepared.kernel, sizes or {}) if fp == "reassociate" else None
    return {} if found is None else found.slack


def find_transforms(kernel: Kernel, sizes: Mapping[str, int]) -> Transforms | None:
    """The transforms of a kernel, with as few sizes fixed as that takes, none or one; None if there are none."""
    for fixed in ({}, *({x: sizes[x]} for x in kernel.sizes if x in sizes)):
        block = substitute_block(kernel.body, {x: index(y) for x, y in fixed.items()})
        body = tuple(flatten(block.body))
        found = tuple(_find(x, body) for x in body)
        if any(found):
            return Transforms(body, found, fixed)
    return None


def _find(stmt: Stmt, body: Sequence[Stmt]) -> Transform | None:
    """The transform that a statement is, among all those of a kernel."""
    others = {x for other in body if other is not stmt for x in arrays_in(other)}
    locals = {x.array.name for x in body if isinstance(x, Alloc)}
    try:
        found = find_transform(stmt, frozenset(locals - others))
    except NoTransformError:
        return None
    return found if any(allows(found, x) for x in choose_radices(found.size, *_PLAIN)) else None


def _ways(transform: Transform, target: Target) -> tuple[Radices, ...]:
    """The butterflies that a transform may be made of, for the lanes and registers of a target."""
    try:
        vectors = choose_vectors(target, transform.type)
        lanes, registers = vectors.lanes, vectors.registers
    except PlanishError:
        lanes, registers = _PLAIN
    return tuple(x for x in choose_radices(transform.size, lanes, registers) if allows(transform, x))


def _write(kernel: Kernel, found: Transforms, chosen: Sequence[Radices], threads: int) -> Kernel:
    """The kernel with transforms in passes; of several in a row, threads make some each."""
    taken = {*used_names(kernel)}
    out: list[Stmt] = []
    steps: list[Step] = []
    kept: list[Alloc] = []
    for stmt, transform, radices in zip(found.body, found.transforms, chosen, strict=True):
        if transform is None or not radices:
            out.append(stmt)
            continue
        made = write_transform(transform, radices, taken)
        steps += map(Vectorise, made.lanes)
        large = [Alloc(x) for x in made.arrays if x.memory == "scratch"]
        kept += large
        inner = Block((*(Alloc(x) for x in made.arrays if x.memory != "scratch"), *made.body, *transform.rest.body))
        for loop in reversed(transform.batch):
            var = take_name(loop.var, taken)
            inner = Block((replace(loop, var=var, body=substitute_block(inner, {loop.var: index(var)})),))
        if threads > 1 and transform.batch and not large:
            steps.append(Parallelise(next(x.var for x in inner.body if isinstance(x, For))))
        out += inner.body
    used = {x for stmt in out for x in arrays_in(stmt)}
    asked = (Compare("eq", index(x), index(y)) for x, y in found.fixed.items())
    whole = replace(
        kernel, assumptions=(*kernel.assumptions, *asked),
        body=Block((*kept, *(x for x in out if not isinstance(x, Alloc) or x.array.name in used))),
    )  # fmt: skip
    program = Program.of(whole).apply(*(x for x in steps if isinstance(x, Vectorise)))
    for step in (x for x in steps if isinstance(x, Parallelise)):
        # Iterations of which one uses what another one makes stay in order.
        with suppress(PlanishError):
            program = program.apply(step)
    return program.kernel
