"""What C writes with choices and blends: extrema, magnitudes and bounds, and sums that fewer bits hold than it seems.

>>> from planish.ir.types import I32
>>> from planish.isa.semantics.node import const
>>> x = build.bits("x", const(0), 16, True)
>>> above = chosen_value(build.less(const(9), x), const(9), x, I32)
>>> bounded = chosen_value(build.less(x, const(-9)), const(-9), above, I32)
>>> bounded.op, bounded.args[0].op, bounded.low, bounded.high
('max', 'min', -9, 9)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from planish.ir.types import Type
from planish.isa.semantics import build
from planish.isa.semantics.node import Node, node, terms_of


def cut_to(x: Node, kind: Type) -> Node:
    """A value as a type has it."""
    return build.wrap(x, kind.bits, kind.kind == "int")


def chosen_value(condition: Node, then: Node, otherwise: Node, kind: Type) -> Node:
    """One of two values: what C writes for a magnitude, or for the nearest number within bounds, is that."""
    if condition.op == "not" and condition.args[0].op in ("lt", "le"):
        return chosen_value(condition.args[0], otherwise, then, kind)
    then, otherwise = _bound_last(then), _bound_last(otherwise)
    if condition.op in ("lt", "le"):
        below, above = condition.args
        up, down = build.subtract(above, below), build.subtract(below, above)
        if then is cut_to(up, kind) and otherwise is cut_to(down, kind):
            return cut_to(build.absolute(down), kind)
        if otherwise is build.ZERO and then is up:
            return build.maximum(up, build.ZERO)
        if then is build.ZERO and otherwise is down:
            return build.maximum(down, build.ZERO)
        if then is below and _is_bounded(otherwise, "max", above, lambda lower: lower <= below.low):
            return build.minimum(otherwise, then)
        if then is above and _is_bounded(otherwise, "min", below, lambda upper: upper >= above.high):
            return build.maximum(otherwise, then)
    return _bound_last(build.select(condition, then, otherwise))


def _bound_last(x: Node) -> Node:
    """A value within a bound that is a number, with the bound last."""
    return node(x.op, x.args[::-1]) if x.op in ("min", "max") and x.args[0].op == "const" else x


def both_hold(a: Node, b: Node) -> Node:
    """Whether two conditions hold, of which one may follow from the other."""
    a, b = _unbounded(a), _unbounded(b)
    return b if _follows(a, b) else a if _follows(b, a) else build.conjoin(a, b)


def _unbounded(x: Node) -> Node:
    """A comparison with a number without a bound on the side of that number which does not matter to it."""
    if x.op == "lt":
        a, b = map(_bound_last, x.args)
        if a.op == "min" and a.args[1].op == b.op == "const" and a.args[1].low >= b.low:
            return build.less(a.args[0], b)
        if b.op == "max" and b.args[1].op == a.op == "const" and b.args[1].low <= a.low:
            return build.less(a, b.args[0])
    return x


def _follows(x: Node, given: Node) -> bool:
    """Whether a number is not beyond one end, given that it is beyond the other one."""
    if given.op != "lt" or x.op != "not" or x.args[0].op != "lt":
        return False
    (a, b), (c, d) = given.args, x.args[0].args
    if b.op == c.op == "const" and a is d:
        return b.low - 1 <= c.low
    return a.op == d.op == "const" and b is c and a.low + 1 >= d.low


def _is_bounded(x: Node, op: str, inner: Node, beyond: Callable[[int], bool]) -> bool:
    """Whether a value is another one with a bound on the other side."""
    return x.op == op and x.args[0] is inner and x.args[1].op == "const" and beyond(x.args[1].low)


def blended(x: Node) -> Node:
    """A sum of which p*t + q*(c - t) is a part, where t lies between 0 and c: that lies between c*p and c*q, so that
    fewer bits may hold the sum than its parts say."""
    parts = [z for y in terms_of(x) for z in _uncut(y)]
    most = _most(parts)
    if most is None:
        return x
    width = next((bits for bits in (8, 16, 32) if most < 1 << bits), 64)
    return build.wrap(build.add(*parts), width) if build.add(*parts).high >> width else x


def _uncut(x: Node) -> tuple[Node, ...]:
    """The parts of a sum that is cut, but not so that it is another one."""
    if x.op == "wrap" and not x.attr[1] and x.args[0].op == "add":
        most = _most(x.args[0].args)
        if most is not None and not most >> int(x.attr[0]):
            return x.args[0].args
    return (x,)


def _most(parts: Sequence[Node]) -> int | None:
    """The greatest value of a sum with a blend in it; None where it has none, or something in it may be less than 0."""
    products = [y for y in parts if y.op == "mul" and y.args[1].op != "const"]
    if not any(z.op == "add" for y in products for z in y.args):
        return None
    for first, second in permutations(products, 2):
        most = _blend(first, second)
        rest = [y for y in parts if y is not first and y is not second]
        if most is not None and all(y.low >= 0 for y in rest):
            return most + sum(y.high for y in rest)
    return None


def _blend(first: Node, second: Node) -> int | None:
    """The greatest value of p*t + q*(c - t); None where two terms are not that."""
    for p, t in (first.args, first.args[::-1]):
        for q, left in (second.args, second.args[::-1]):
            total = build.add(t, left)
            within = total.op == "const" and t.op != "const" and t.low >= 0 and t.high <= total.low
            if within and min(p.low, q.low) >= 0:
                return total.low * max(p.high, q.high)
    return None
