"""What is stored under a condition, as it is where that holds: choices by parts of the condition are made.

`if (m[i]) a[i] = m[i] ? x : 0;` stores x wherever it stores.

>>> from planish.isa.semantics.node import const
>>> m, x = (build.bits(name, const(0), 8) for name in "mx")
>>> test = build.less(m, const(3))
>>> where_holds(build.select(test, x, ZERO), test) is x, where_holds(build.select(test, ZERO, x), opposite(test)) is x
(True, True)
"""

from __future__ import annotations

from collections.abc import Mapping

from planish.isa.semantics import build
from planish.isa.semantics.build import ZERO
from planish.isa.semantics.node import Node, rebuild
from planish.select.rules import opposite


def where_holds(x: Node, guard: Node) -> Node:
    """A value where a condition holds, which is anything elsewhere."""
    known = _facts(guard)

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "select":
            decided = _decided(args[0], known)
            if decided is not None:
                return args[1] if decided else args[2]
        return build.construct(old.op, args, old.attr)

    return rebuild(x, change)


def _facts(guard: Node) -> dict[Node, bool]:
    """The conditions that are known to hold, or not to, where one holds."""
    facts: dict[Node, bool] = {}
    left = [guard]
    while left:
        x = left.pop()
        facts[x], facts[opposite(x)] = True, False
        if x.op == "and" and x.is_truth:
            left += x.args
        if x.op == "not":
            left.append(opposite(x.args[0]))
    return {x: y for x, y in facts.items() if x is not ZERO and x.op != "const"}


def _decided(x: Node, known: Mapping[Node, bool]) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    if x in known:
        return known[x]
    if x.op in ("and", "or") and x.is_truth:
        parts = [_decided(y, known) for y in x.args]
        final = x.op == "or"
        if final in parts:
            return final
        return None if None in parts else not final
    if x.op == "not":
        inner = _decided(x.args[0], known)
        return None if inner is None else not inner
    return None
