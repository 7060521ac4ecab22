"""Which terms several others may share: equal ones, and what sums and chains of several rows have in common.

>>> from planish.select.body import read_body
>>> row = "p.u8[i] + 2*p.u8[i + 1] + 2*q.u8[i] + 4*q.u8[i + 1]"
>>> body = read_body("(p: 80, q: 80) -> out: 128 { for i < 8 { out.u16[i] = %s } }" % row)
>>> uses = count_uses([body.outputs[0].value] * 2)
>>> [len(x.args) for x in uses], set(uses.values())
([4, 2, 2], {2})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, scaled, terms_of
from planish.select.demand import computed
from planish.select.unify import CHAINED, chain_of, join_chain, row_of


def count_uses(terms: Sequence[Node]) -> Mapping[Node, int]:
    """How often a term is part of some others, where that is more often than any term that it is part of: as it stands,
    or as the part of a sum, but for a factor, or of a chain that reads one row."""
    found: Counter[Node] = Counter()
    for term in terms:
        parts: dict[Node, None] = {}
        for x in computed(term):
            parts |= dict.fromkeys((x, *row_parts(x)))
        found.update(list(parts))
    within: Counter[Node] = Counter()
    for x, count in found.items():
        for y in computed(*x.args):
            within[y] = max(within[y], count)
    return {x: count for x, count in found.items() if count > max(1, within[x])}


def row_parts(x: Node) -> Iterator[Node]:
    """The parts of a sum or chain that read one row, each divided by what its addends have in common."""
    if x.op != "add" and x.op not in CHAINED:
        return
    rows: dict[object, list[Node]] = {}
    for y in terms_of(x) if x.op == "add" else chain_of(x):
        if y.op != "const" and scaled(y)[0].op == "bits":
            rows.setdefault(row_of(y), []).append(y)
    for members in rows.values():
        if len(members) > 1:
            yield _divided(members) if x.op == "add" else join_chain(x.op, members)


def _divided(members: Sequence[Node]) -> Node:
    common = gcd(*(scaled(x)[1] for x in members))
    if all(scaled(x)[1] < 0 for x in members):
        common = -common
    return build.add(*(build.multiply(scaled(x)[0], const(scaled(x)[1] // common)) for x in members))
