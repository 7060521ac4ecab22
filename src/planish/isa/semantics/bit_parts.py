"""Values as the bits that they consist of: taken out, put side by side, and told apart again.

>>> a, b = (bits(x, const(0), 8) for x in "ab")
>>> both = join([(0, 8, a), (8, 8, b)])
>>> piece(both, 8, 8) is b, [(at, width) for at, width, _ in parts_of(both, 16)], needed_width(both)
(True, [(0, 8), (8, 8)], 16)
"""

from __future__ import annotations

from planish.isa.semantics.build import add, bits, multiply, select, shift_right, subtract, wrap
from planish.isa.semantics.node import Node, const, scaled, width_of


def piece(x: Node, offset: int, width: int) -> Node:
    """Some bits of a value."""
    if x.op == "select" and x.low >= 0:
        return select(x.args[0], piece(x.args[1], offset, width), piece(x.args[2], offset, width))
    return wrap(shift_right(x, const(offset)), width)


def join(parts: list[tuple[int, int, Node]]) -> Node:
    """Values side by side, each with the offset and the width of its bits."""
    found = [_joined(run) for run in _runs(parts)]
    return add(*(multiply(wrap(value, width), const(1 << offset)) for offset, width, value in reversed(found)))


def _runs(parts: list[tuple[int, int, Node]]) -> list[list[tuple[int, int, Node]]]:
    # Reads of bits that are beside one another in one operand are one read.
    runs: list[list[tuple[int, int, Node]]] = []
    for part in sorted(parts, key=lambda x: x[0]):
        if runs and _follows(runs[-1][-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _follows(before: tuple[int, int, Node], after: tuple[int, int, Node]) -> bool:
    (low, width, a), (high, other, b) = before, after
    if a.op != "bits" or b.op != "bits" or a.attr[0] != b.attr[0] or low + width != high:
        return False
    if a.attr[1] != width or b.attr[1] != other:
        return False
    return subtract(b.args[0], a.args[0]) is const(width)


def _joined(run: list[tuple[int, int, Node]]) -> tuple[int, int, Node]:
    offset, _, first = run[0]
    if len(run) == 1:
        return run[0]
    total = sum(width for _, width, _ in run)
    return offset, total, bits(str(first.attr[0]), first.args[0], total)


def needed_width(x: Node) -> int:
    """The bits that a value takes."""
    return width_of(x.low, x.high)


def parts_of(x: Node, width: int) -> list[tuple[int, int, Node]]:
    """The parts that `join` put together, by offset, width and value: one where it did not, or they overlap."""
    if x.op != "add":
        return [(0, width, x)]
    by_factor: dict[int, list[Node]] = {}
    for term in x.args:
        inner, factor = scaled(term)
        if factor <= 0 or factor & (factor - 1):
            return [(0, width, x)]
        by_factor.setdefault(factor.bit_length() - 1, []).append(inner)
    places = sorted(by_factor)
    found = []
    for low, high in zip(places, [*places[1:], width], strict=True):
        part = add(*by_factor[low])
        if part.low < 0 or part.high >> (high - low) or (low == places[0] and low != 0):
            return [(0, width, x)]
        found.append((low, high - low, part))
    return found
