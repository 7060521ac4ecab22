"""Dependence levels: which statements, through which array, carried by which loop, at which distance.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_dependences
>>> from planish.poly.scop.extraction import extract_scop
>>> scop = extract_scop(parse_kernel("kernel scan(n; A: f64[n]) { for i in 2 .. n { A[i] = A[i - 2] } }"))
>>> (link,) = list_links(scop, find_dependences(scop))
>>> link.kind, link.source, link.sink, link.array, link.carrier, link.distance
('flow', 'S0', 'S0', 'A', 0, (2,))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import islpy as isl

from planish.poly.isl.to_list import list_maps
from planish.poly.scop.dependence import Dependences
from planish.poly.scop.extraction import Access, Scop, Statement

LinkKind = Literal["flow", "anti", "output"]
SOURCE, SINK = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Link:
    """Why instances of `sink` wait for instances of `source`.

    - "flow": the sink reads a value that the source wrote; "anti": it overwrites a cell that the source reads;
      "output": it overwrites a cell that the source writes.
    - `carrier` is the depth (0: outermost) of the common loop between whose iterations the two lie; None where both
      lie in the same iteration of every loop they share, or share none.
    - `distance` counts iterations of the common loops, outermost first; None where it varies.
    - `reduction`: the chain of updates of one cell, which may run in another order where sums may be reordered.
    """

    kind: LinkKind
    source: str
    sink: str
    array: str
    carrier: int | None
    distance: tuple[int | None, ...]
    reduction: bool


def list_links(scop: Scop, dependences: Dependences) -> tuple[Link, ...]:
    """Every dependence of the kernel, by sink and source in textual order, the outermost carrier first."""
    flow = {_ends(m): m for m in list_maps(dependences.flow)}
    chains = {_ends(m): m for m in list_maps(dependences.reductions)}
    out: list[Link] = []
    for relation in list_maps(dependences.order):
        ends = _ends(relation)
        for kind, part in _kinds(relation, flow.get(ends)):
            out += _links(scop, kind, part, chains.get(ends))
    position = {s.name: i for i, s in enumerate(scop.statements)}
    out.sort(key=lambda x: (position[x.sink], position[x.source], _depth(x), x.kind, x.array))
    return tuple(dict.fromkeys(out))


def _ends(relation: isl.Map) -> tuple[str, str]:
    return relation.get_tuple_name(SOURCE), relation.get_tuple_name(SINK)


def _depth(link: Link) -> int:
    return 99 if link.carrier is None else link.carrier


def _kinds(relation: isl.Map, flow: isl.Map | None) -> list[tuple[LinkKind, isl.Map]]:
    """The pairs through a value, and those that only reuse a cell."""
    if flow is None:
        return [("anti", relation), ("output", relation)]
    rest = relation.subtract(flow)
    return [("flow", flow), ("anti", rest), ("output", rest)]


def _links(scop: Scop, kind: LinkKind, relation: isl.Map, chain: isl.Map | None) -> list[Link]:
    source, sink = (scop.statement(name) for name in _ends(relation))
    shared = _common(source, sink)
    out: list[Link] = []
    for first, second in _accesses(kind, source, sink):
        cells = first.relation.apply_range(second.relation.reverse())
        through = relation.intersect(cells)
        if through.is_empty():
            continue
        reduction = chain is not None and bool(through.is_subset(chain))
        for depth in (*range(shared), None):
            part = _carried_at(through, depth, shared)
            if not part.is_empty():
                distance = _distance(part, shared)
                out.append(Link(kind, source.name, sink.name, first.array, depth, distance, reduction))
    return out


def _accesses(kind: LinkKind, source: Statement, sink: Statement) -> list[tuple[Access, Access]]:
    """Pairs of accesses to one array that such a dependence can come from."""
    early, late = kind != "anti", kind != "flow"
    return [
        (a, b) for a in source.accesses for b in sink.accesses
        if a.array == b.array and a.write == early and b.write == late
    ]  # fmt: skip


def _common(a: Statement, b: Statement) -> int:
    count = 0
    while count < min(len(a.loops), len(b.loops)) and a.loops[count] == b.loops[count]:
        count += 1
    return count


def _carried_at(relation: isl.Map, depth: int | None, shared: int) -> isl.Map:
    """The pairs that agree in the loops outside of `depth` and go forward there."""
    for outer in range(shared if depth is None else depth):
        relation = relation.equate(SOURCE, outer, SINK, outer)
    return relation if depth is None else relation.order_lt(SOURCE, depth, SINK, depth)


def _distance(relation: isl.Map, shared: int) -> tuple[int | None, ...]:
    kept = relation.project_out(SOURCE, shared, relation.dim(SOURCE) - shared)
    kept = kept.project_out(SINK, shared, kept.dim(SINK) - shared)
    steps = kept.reset_tuple_id(SOURCE).reset_tuple_id(SINK).deltas().project_out_all_params()
    return tuple(_fixed(steps, d) for d in range(shared))


def _fixed(steps: isl.Set, dimension: int) -> int | None:
    low, high = steps.dim_min_val(dimension), steps.dim_max_val(dimension)
    return int(low.to_python()) if low.is_int() and high.is_int() and low.eq(high) else None
