"""Recognises biquad cascades: a loop over samples around a loop over sections, each with its own coefficients and
state.

The loop over samples has one over stages in it. What a stage hands on to the next one of the same sample is in local
cells, its *links*; all else that it reads or stores is indexed by the stage alone, so that no other stage sees it. Then
stage k of sample t depends on nothing but stage k - 1 of this sample and stage k of the one before: stage 0 of sample
t, stage 1 of sample t - 1, stage 2 of sample t - 2 … can run at once.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.nodes import label_kernel
>>> stage = "s[] = c[k] * s[] + z[k] z[k] = s[]"
>>> loops = "for t in 0 .. n { s[] = x[t] for k in 0 .. m { %s } y[t] = s[] }" % stage
>>> arrays = "x: f32[n], y: f32[n], c: f32[m], z: f32[m]"
>>> kernel = label_kernel(parse_kernel("kernel k(n, m; %s) { alloc s: f32[] %s }" % (arrays, loops)))
>>> found = find_cascade(kernel, kernel.body.body[1])
>>> found.links, found.results, [x.array for x in found.elements], found.stored
(('s',), ('s',), ['c', 'z'], frozenset({'z'}))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import islpy as isl

from planish.ir.expr import Expr, Load, type_of
from planish.ir.index.polynomial import constant, sub
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Reduce
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import arrays_in, flatten, loads, variables, walk
from planish.ir.types import F32, F64, Type
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.to_list import list_maps
from planish.schedule.context import region
from planish.schedule.nodes import path_to

IN, OUT = isl.dim_type.in_, isl.dim_type.out

Update = Assign | Reduce


@dataclass(frozen=True, slots=True)
class BiquadCascade:
    """A `loop` over samples: what it does `before` the `inner` loop over stages, whose `body` it is, and `after` it.

    `links`: the cells that have a value when a stage begins, set before the first one or by the stage before.
    `results`: those that are read after the last one. `cells`: all that a stage sets. `elements`: what else a stage
    reads or stores, at places that its number says; the arrays of those that it stores are `stored`."""

    loop: For
    inner: For
    before: tuple[Update, ...]
    body: tuple[Update, ...]
    after: tuple[Update, ...]
    links: tuple[str, ...]
    results: tuple[str, ...]
    cells: tuple[str, ...]
    elements: tuple[Load, ...]
    stored: frozenset[str]
    type: Type

    @property
    def stages(self) -> Expr:
        """How many there are."""
        return sub(self.inner.upper, self.inner.lower)

    @property
    def samples(self) -> Expr:
        """How many there are."""
        return sub(self.loop.upper, self.loop.lower)


def find_cascade(kernel: Kernel, loop: For) -> BiquadCascade | None:
    """The cascade that a loop of a kernel with labels is; None where it is none, or that is not proven."""
    parts = _parts(loop)
    if parts is None:
        return None
    inner, before, body, after = parts
    cells = _own_cells(kernel, loop)
    links, results = _links(before, body, after, cells), _results(before, body, after, cells)
    elements = _elements(body, inner.var, loop.var, cells)
    if links is None or results is None or elements is None or not links:
        return None
    stored = frozenset(x.array for x in body) - cells
    if not stored and not any(y.array in links for x in body for y in loads(x.value)):
        return None  # What is only added up is a plain sum, which has lanes of its own.
    set_cells = tuple(dict.fromkeys(x.array for x in body if x.array in cells))
    types = {x.array.type for x in _allocs(kernel) if x.array.name in {*links, *results, *set_cells}}
    types |= {x.type for x in elements}
    if len(types) != 1 or not types <= {F32, F64}:
        return None
    (kind,) = types
    found = BiquadCascade(loop, inner, before, body, after, links, results, set_cells, elements, stored, kind)
    return found if _is_apart(found) and _may_overtake(kernel, found, cells) else None


def _parts(loop: For) -> tuple[For, tuple[Update, ...], tuple[Update, ...], tuple[Update, ...]] | None:
    """The loop over stages, and the statements before it, in it and after it; None where there is anything else."""
    stmts = flatten(loop.body.body)
    places = [n for n, x in enumerate(stmts) if isinstance(x, For)]
    if len(places) != 1 or loop.step != 1 or loop.facts.instruction:
        return None
    inner = stmts[places[0]]
    assert isinstance(inner, For)
    cut = [stmts[: places[0]], flatten(inner.body.body), stmts[places[0] + 1 :]]
    before, body, after = (tuple(x for x in part if isinstance(x, Assign | Reduce)) for part in cut)
    if [*map(len, cut)] != [len(before), len(body), len(after)] or inner.step != 1 or inner.facts.instruction:
        return None
    bounds = (inner.lower, inner.upper, loop.lower, loop.upper)
    if any(loads(x) for x in bounds) or any(loop.var in variables(x) for x in bounds[:2]):
        return None
    return inner, before, body, after


def _allocs(kernel: Kernel) -> Iterator[Alloc]:
    return (x for x in walk(kernel.body) if isinstance(x, Alloc))


def _own_cells(kernel: Kernel, loop: For) -> frozenset[str]:
    """The local cells that a loop stores to and that nothing else touches."""
    inside, everywhere = [*arrays_in(loop)], [*arrays_in(kernel.body)]
    written = {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
    cells = {x.array.name for x in _allocs(kernel) if not x.array.shape}
    within = {x.array.name for x in walk(loop) if isinstance(x, Alloc)}
    return frozenset(x for x in (cells & written) - within if everywhere.count(x) == inside.count(x))


def _exposed(stmts: Iterable[Update], cells: frozenset[str]) -> list[str]:
    """The cells that statements read before they set them."""
    known: set[str] = set()
    found: dict[str, None] = {}
    for x in stmts:
        value = updated(x) if isinstance(x, Reduce) else x.value
        for y in (*loads(value), *(z for at in x.index for z in loads(at))):
            if y.array in cells and y.array not in known:
                found[y.array] = None
        known.add(x.array)
    return [*found]


def _links(
    before: Sequence[Update], body: Sequence[Update], after: Sequence[Update], cells: frozenset[str]
) -> tuple[str, ...] | None:
    """The cells that have a value when a stage begins; None where one comes from the sample before."""
    first, later = {x.array for x in before}, {x.array for x in body}
    passed = [x for x in _exposed(after, cells) if x in first - later]
    found = tuple(dict.fromkeys((*_exposed(body, cells), *passed)))
    only_cells = all(x.array in cells for x in before)
    return found if only_cells and first.issuperset(found) and not _exposed(before, cells) else None


def _results(
    before: Sequence[Update], body: Sequence[Update], after: Sequence[Update], cells: frozenset[str]
) -> tuple[str, ...] | None:
    """The cells that are read after the last stage; None where one comes from the sample before."""
    found, known = tuple(_exposed(after, cells)), {x.array for x in (*before, *body)}
    return found if known.issuperset(found) else None


def _elements(body: Sequence[Update], stage: str, sample: str, cells: frozenset[str]) -> tuple[Load, ...] | None:
    """What a stage reads or stores at places that its number says; None where it stores or reads at others. What is the
    same for all stages and samples is no element."""
    found: dict[tuple[str, tuple[Expr, ...]], Load] = {}
    stored = {x.array for x in body}
    for x in body:
        value = updated(x) if isinstance(x, Reduce) else x.value
        own = () if x.array in cells else (Load(x.array, x.index, type_of(value)),)
        for y in (*own, *loads(value)):
            if y.array in cells:
                continue
            names = {z for at in y.index for z in variables(at)}
            if sample in names or any(loads(at) for at in y.index) or (stage not in names and y.array in stored):
                return None
            if stage in names:
                found.setdefault((y.array, y.index), y)
    return tuple(found.values())


def _is_apart(found: BiquadCascade) -> bool:
    """Whether elements of arrays that a stage stores to are never one where their subscripts are not the same."""
    pairs = [(a, b) for a, b in combinations(found.elements, 2) if a.array == b.array and a.array in found.stored]
    return all(
        any(constant(sub(x, y)) not in (None, 0) for x, y in zip(a.index, b.index, strict=True)) for a, b in pairs
    )


def _may_overtake(kernel: Kernel, found: BiquadCascade, cells: frozenset[str]) -> bool:
    """Whether a stage may run for a sample before later stages do for earlier ones: no two stages use one element that
    one of them stores, nor do what is before and after, where that would come in another order."""
    try:
        scop = region(kernel, path_to(kernel.body, found.loop.label), Block((found.loop,)))
    except NotAffineError:
        return False
    parts = ["before"] * len(found.before) + ["stage"] * len(found.body) + ["after"] * len(found.after)
    if len(parts) != len(scop.statements) or any(
        len(x.iterators) != 1 + (part == "stage") for x, part in zip(scop.statements, parts, strict=True)
    ):
        return False
    part_of = {x.name: part for x, part in zip(scop.statements, parts, strict=True)}
    used = {x.array for statement in scop.statements for x in statement.accesses} - cells
    reads, writes = scop.uses(used)
    pairs = writes.apply_range(reads.union(writes).reverse()).union(reads.apply_range(writes.reverse()))
    return all(_keeps_order(x, part_of[x.get_tuple_name(IN)], part_of[x.get_tuple_name(OUT)]) for x in list_maps(pairs))


def _keeps_order(pairs: isl.Map, first: str, second: str) -> bool:
    """Whether instances that use one element, one of them storing it, are those of one stage, or come in order."""
    match first, second:
        case "stage", "stage":
            return bool(pairs.subtract(pairs.equate(IN, 1, OUT, 1)).is_empty())
        case ("stage", _) | (_, "stage"):
            return bool(pairs.is_empty())
        case "after", "before":
            return bool(pairs.order_lt(IN, 0, OUT, 0).is_empty())
        case "before", "after":
            return bool(pairs.order_gt(IN, 0, OUT, 0).is_empty())
        case _:
            return True
