"""Choices by what is the same in all lanes, between a value and what becomes of it: operands are chosen instead.

`n ? (v + half) >> n : v` is a choice in each lane of two vectors; `(v + (n ? half : 0)) >> (n ? n : 0)` is one way to
compute, whose amounts are scalars.

>>> from planish.isa.semantics.node import const, walk
>>> v, n, half = build.bits("v", const(0), 32, True), *(build.bits(x, const(0), 5) for x in "nh")
>>> shifted = build.shift_right(build.add(v, half), n)
>>> made = join_choices(build.select(build.equal(n, ZERO), v, shifted), lambda x: v not in walk([x]))
>>> made.op, [x.op for x in made.args]
('shr', ['add', 'select'])
"""

from __future__ import annotations

from collections.abc import Callable

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import Node, rebuild, terms_of


def join_choices(x: Node, is_fixed: Callable[[Node], bool]) -> Node:
    """A value whose choices, by conditions that are the same in all lanes, are of such operands where they can be."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        made = build.construct(old.op, args, old.attr)
        if made.op != "select" or is_fixed(made) or not is_fixed(made.args[0]):
            return made
        condition, then, otherwise = made.args
        return (
            _unless(condition, then, otherwise, is_fixed)
            or _unless(build.negation(condition), otherwise, then, is_fixed)
            or made
        )

    return rebuild(x, change)


def _unless(condition: Node, a: Node, b: Node, is_fixed: Callable[[Node], bool]) -> Node | None:
    """What `b` makes of `a`, but `a` where a condition holds: its other operands change nothing then. None where it is
    made in another way."""
    if a is b:
        return b

    def unless(x: Node, y: Node, neutral: Node) -> Node | None:
        inner = _unless(condition, a, x, is_fixed) if is_fixed(y) else None
        return None if inner is None else build.construct(b.op, (inner, build.select(condition, neutral, y)), b.attr)

    match b.op:
        case "wrap":
            inner = _unless(condition, a, b.args[0], is_fixed)
            # What is cut is `a` itself where it is not cut.
            return build.wrap(inner, int(b.attr[0]), bool(b.attr[1])) if inner is not None and _holds(b, a) else None
        case "shl" | "shr":
            return unless(b.args[0], b.args[1], ZERO)
        case "mul":
            return unless(b.args[0], b.args[1], ONE) or unless(b.args[1], b.args[0], ONE)
        case "add":
            rest = build.add(*(x for x in b.args if x not in terms_of(a)))
            if is_fixed(rest) and build.add(a, rest) is b:
                return build.add(a, build.select(condition, ZERO, rest))
            parts = [x for x in b.args if not is_fixed(x)]
            fixed = build.add(*(x for x in b.args if is_fixed(x)))
            return unless(parts[0], fixed, ZERO) if len(parts) == 1 else None
        case _:
            return None


def _holds(cut: Node, x: Node) -> bool:
    """Whether a value stays as it is when it is cut."""
    return build.wrap(x, int(cut.attr[0]), bool(cut.attr[1])) is x
