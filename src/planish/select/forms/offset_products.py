"""Sums of products of bytes less their zeros, with the zeros taken out: what instructions take that add up products.

`(x - c) * (y - d)` is a product of numbers of 9 bits; those of the bytes themselves are added up by one instruction,
and so are the ones with `c` and `d`, which are the same in all lanes.

>>> from planish.isa.semantics.node import const, var
>>> at = [build.multiply(var("i", 8), const(32)), *(build.add(build.multiply(var("i", 8), const(32)), const(8)),)]
>>> x, y = ([build.bits(row, place, 8) for place in at] for row in "xy")
>>> c, d = (build.negate(build.bits(name, const(0), 8)) for name in "cd")
>>> total = build.add(*(build.multiply(build.add(a, c), build.add(b, d)) for a, b in zip(x, y)))
>>> (made,) = without_offsets(total)
>>> len(made.args), len(made.args[0].args), made.args[1].args[1].low
(2, 3, -1)
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, node, terms_of, walk
from planish.select.unify import fits

_BYTE = 8


def without_offsets(x: Node) -> Iterator[Node]:
    """A sum of at least two such products as that of products of bytes less that of bytes."""
    if x.op != "add":
        return
    rest: list[Node] = []
    products: list[Node] = []
    taken: dict[Node, list[Node]] = {}
    fixed: list[Node] = []
    for term in x.args:
        parts = _split(term)
        if parts is None:
            rest.append(term)
            continue
        (a, c), (b, d) = parts
        products.append(build.multiply(a, b))
        for varying, offset in ((a, d), (b, c)):
            if offset is not build.ZERO:
                taken.setdefault(offset, []).append(build.multiply(varying, build.negate(offset)))
        fixed.append(build.multiply(c, d) if build.ZERO not in (c, d) else build.ZERO)
    if len(products) < 2 or not taken:
        return
    more = tuple(y for y in terms_of(build.add(*fixed)) if y is not build.ZERO)
    less = node("add", tuple(y for members in taken.values() for y in members))
    yield node("add", (node("add", (*rest, *products, *more)), node("mul", (less, const(-1)))))


def _split(x: Node) -> tuple[tuple[Node, Node], tuple[Node, Node]] | None:
    """The factors of a product, each as a byte and what is added to it; None where there is nothing, or it is none."""
    if x.op != "mul" or x.args[1].op == "const":
        return None
    found = [_offset(y) for y in x.args]
    first, second = found
    if first is None or second is None or (first[1] is build.ZERO and second[1] is build.ZERO):
        return None
    return first, second


def _offset(x: Node) -> tuple[Node, Node] | None:
    """A byte of memory that varies, and what is the same in all lanes."""
    varying = [y for y in terms_of(x) if _varies(y)]
    if len(varying) != 1 or varying[0].op != "bits":
        return None
    (a,) = varying
    if not (fits(a, _BYTE, False) or fits(a, _BYTE, True)):
        return None
    return a, build.add(*(y for y in terms_of(x) if y is not a)) if x is not a else build.ZERO


def _varies(x: Node) -> bool:
    return any(y.op == "var" for y in walk([x]))
