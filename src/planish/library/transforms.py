"""Further versions of a kernel, in which Fourier transforms are made in passes over butterflies.

>>> from planish.ir.parser import parse_kernel
>>> from planish.schedule.automatic.plan import prepare
>>> from planish.target.load import load_target
>>> angle = "0.7853981633974483 * f64(rem(i32(k) * i32(n), 8:i32))"
>>> sums = f"a[k] += x[2 * n] * cos({angle}) b[k] += -(x[2 * n] * sin({angle}))"
>>> text = f"for k in 0 .. 8 {{ a[k] = 0.0 b[k] = 0.0 for n in 0 .. 8 {{ {sums} }} }}"
>>> prepared = prepare(parse_kernel(f"kernel dft(x: f64[16], a: f64[8], b: f64[8]) {{ {text} }}"))
>>> versions, remarks = transform_versions(prepared, load_target("generic"), "reassociate")
>>> [x.name for x in versions], [x.message for x in remarks]
(['passes of 2 x 4', 'passes of 4 x 2'], ['a Fourier transform of 8 elements is made in passes over butterflies'])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.expr import Expr, Load
from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, flatten, loads, used_names, walk
from planish.ir.types import Floats
from planish.library.fourier.butterfly import Part
from planish.library.fourier.passes import Passes, make_passes
from planish.library.fourier.radices import Radices, choose_radices
from planish.library.vectors import choose_vectors
from planish.raising.transform import NoTransformError, Transform, find_transform
from planish.schedule.automatic.plan import Candidate, Prepared
from planish.schedule.program import Program
from planish.schedule.steps.facts import Vectorise
from planish.target.machine import Target

_VERSIONS = 2
"""So many ways of each transform are tried."""
_ROUGH = 1e-6
"""Weights that are further off are spoken of."""
_PLAIN = (4, 16)
"""The lanes and registers of a machine of which neither is known."""


def transform_versions(
    prepared: Prepared, target: Target, fp: Floats
) -> tuple[tuple[Candidate, ...], tuple[Remark, ...]]:
    """The versions of a kernel that has transforms, the one that seems best first, and what they do; none where it has
    no transform, or floats have to be added up in their order."""
    body = flatten(prepared.kernel.body.body)
    found = _find_all(body) if fp == "reassociate" else []
    ways = [choose_radices(x.size, *_vectors(target, x)) if x is not None else () for x in found]
    if not any(ways):
        return (), ()
    span = prepared.scop.kernel.span
    sizes = ", ".join(str(x.size) for x, way in zip(found, ways, strict=True) if x is not None and way)
    message = f"a Fourier transform of {sizes} elements is made in passes over butterflies"
    slack = find_slack(prepared)
    if slack > _ROUGH:
        message += f"; its weights are exact, those of the original are up to {slack:.1e} off"
    remark = Remark("transform", "done", message, span)
    out = []
    for number in range(min(_VERSIONS, max(map(len, ways)))):
        chosen = [way[min(number, len(way) - 1)] if way else () for way in ways]
        made = _write(prepared.kernel, body, found, chosen)
        names = ", ".join(" x ".join(map(str, x)) for x in chosen if x)
        out.append(Candidate(f"passes of {names}", prepared.scop.schedule, made, (remark,), 0.0, slack=slack))
    return tuple(out), (remark,)


def find_slack(prepared: Prepared) -> float:
    """How far weights of a kernel's transforms are off, relative to the largest one."""
    return max((x.deviation for x in _find_all(flatten(prepared.kernel.body.body)) if x is not None), default=0.0)


def _find_all(body: Sequence[Stmt]) -> list[Transform | None]:
    return [_find(x, body) for x in body]


def _find(stmt: Stmt, body: Sequence[Stmt]) -> Transform | None:
    """The transform that a statement is, among all those of a kernel."""
    others = {x for other in body if other is not stmt for x in _used(other)}
    locals = {x.array.name for x in body if isinstance(x, Alloc)}
    try:
        return find_transform(stmt, frozenset(locals - others))
    except NoTransformError:
        return None


def _used(stmt: Stmt) -> Iterator[str]:
    """The arrays that a statement uses, besides those that it allocates."""
    for x in walk(stmt):
        if isinstance(x, Assign | Reduce):
            yield x.array
        yield from (load.array for e in expressions(x) for load in loads(e))


def _vectors(target: Target, transform: Transform) -> tuple[int, int]:
    """The lanes and registers for a transform."""
    try:
        vectors = choose_vectors(target, transform.type)
    except PlanishError:
        return _PLAIN
    return vectors.lanes, vectors.registers


def _write(
    kernel: Kernel, body: Sequence[Stmt], found: Sequence[Transform | None], chosen: Sequence[Radices]
) -> Kernel:
    """The kernel with transforms in passes."""
    taken = {*used_names(kernel)}
    out: list[Stmt] = []
    own: list[Array] = []
    lanes: list[str] = []
    for stmt, transform, radices in zip(body, found, chosen, strict=True):
        if transform is None or not radices:
            out.append(stmt)
            continue
        made = _passes(transform, radices, taken)
        own += made.arrays
        lanes += made.lanes
        inner = Block((*made.body, *transform.rest.body))
        for loop in reversed(transform.batch):
            inner = Block((replace(loop, body=inner),))
        out += inner.body
    used = {x for stmt in out for x in _used(stmt)}
    kept = [x for x in out if not isinstance(x, Alloc) or x.array.name in used]
    program = Program.of(replace(kernel, body=Block((*map(Alloc, own), *kept))))
    return program.apply(*map(Vectorise, lanes)).kernel


def _passes(transform: Transform, radices: Radices, taken: set[str]) -> Passes:
    sources = (transform.real, transform.imaginary)

    def load(part: int, place: Expr) -> Part:
        line = sources[part]
        return Part(None if line is None else Load(line.array, line.element(place), transform.type))

    def store(part: int, place: Expr, value: Expr) -> Stmt:
        line = transform.outputs[part]
        return Assign(line.array, line.element(place), value)

    return make_passes(transform.size, radices, transform.type, load, store, taken, transform.scale)
