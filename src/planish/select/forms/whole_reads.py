"""Reads of parts of elements, as constructors make them, written as what is done to whole elements.

The constructors of nodes make `a.u16[i] >> 3` a read of 13 bits; no register has lanes of such.

>>> from planish.isa.semantics import build
>>> from planish.isa.semantics.node import const, var
>>> x = build.bits("a", build.multiply(var("i", 8), const(16)), 16)
>>> part = build.wrap(build.shift_right(x, const(3)), 4)
>>> part
bits('a', 4, False, add(mul(var('i', 8), const(16)), const(3)))
>>> whole_reads(part, lambda row: 16) == node("wrap", (node("shr", (x, const(3))),), (4, False))
True
"""

from __future__ import annotations

from collections.abc import Callable

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, node, rebuild, terms_of


def whole_reads(term: Node, element: Callable[[str], int]) -> Node:
    """The term with shifts and cuts of whole elements in place of reads of their parts. `element`: the bits of a row's
    elements, 0 where it has none."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits":
            return _whole(old, element(str(old.attr[0])))
        return old if all(x is y for x, y in zip(args, old.args, strict=True)) else node(old.op, args, old.attr)

    return rebuild(term, change)


def _whole(x: Node, width: int) -> Node:
    own, signed = int(x.attr[1]), bool(x.attr[2])
    start = sum(y.low for y in terms_of(x.args[0]) if y.op == "const") % width if width else 0
    if not width or own == width or start + own > width:
        return x
    offset = build.subtract(x.args[0], const(start))
    ends = start + own == width
    read = build.bits(str(x.attr[0]), offset, width, signed and ends)
    made = node("shr", (read, const(start))) if start else read
    return made if ends else node("wrap", (made,), (own, signed))
