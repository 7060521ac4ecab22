"""Values and conditions where others hold: what is decided by these is left out.

`if (m[i]) a[i] = m[i] ? x : 0;` stores x wherever it stores, and of `c && !(c && d)` there is `c && !d`.

>>> from planish.isa.semantics.node import const
>>> m, x = (build.bits(name, const(0), 8) for name in "mx")
>>> c, d = build.less(m, const(3)), build.less(x, const(9))
>>> where_holds(build.select(c, x, ZERO), c) is x, where_holds(build.select(c, ZERO, x), opposite(c)) is x
(True, True)
>>> {*plainly(build.conjoin(c, build.negation(build.conjoin(c, d)))).args} == {c, build.negation(d)}
True
"""

from __future__ import annotations

from collections.abc import Mapping

from planish.isa.semantics import build
from planish.isa.semantics.build import ONE, ZERO
from planish.isa.semantics.node import Node, walk
from planish.select.rules import opposite

_MOST = 400
"""The most operators of what is looked at: conditions that are nested deep are looked at often."""
_Facts = Mapping[Node, bool]


def where_holds(x: Node, guard: Node) -> Node:
    """A value where a condition holds, which is anything elsewhere."""
    if sum(1 for _ in walk([x, guard])) > _MOST:
        return x
    return _value(x, _facts(guard, True))


def plainly(condition: Node) -> Node:
    """A condition without the parts that others of it decide."""
    return condition if sum(1 for _ in walk([condition])) > _MOST else _truth(condition, {})


def _facts(x: Node, holds: bool) -> dict[Node, bool]:
    """The conditions that are known to hold, or not to, where one does, or does not."""
    facts: dict[Node, bool] = {}
    left = [(x, holds)]
    while left:
        x, holds = left.pop()
        if x.op == "const":
            continue
        facts[x], facts[opposite(x)] = holds, not holds
        if x.op == ("and" if holds else "or") and x.is_truth:
            left += [(y, holds) for y in x.args]
        elif x.op == "not":
            left.append((x.args[0], not holds))
        elif x.op == "lt" and holds:
            a, b = x.args
            left += [(build.less(b, a), False), (build.equal(a, b), False)]
    return facts


def _truth(x: Node, known: _Facts) -> Node:
    """A condition where others are known."""
    if x in known:
        return ONE if known[x] else ZERO
    if x.op in ("and", "or") and x.is_truth and len(x.args) == 2:
        holds = x.op == "and"
        a = _truth(x.args[0], known)
        b = _truth(x.args[1], {**known, **_facts(a, holds)})
        a = _truth(a, {**known, **_facts(b, holds)})
        return build.conjoin(a, b) if holds else build.disjoin(a, b)
    if x.op == "not":
        return build.negation(_truth(x.args[0], known))
    return _value(x, known)


def _value(x: Node, known: _Facts) -> Node:
    """A value where some conditions are known."""
    if not x.args or not known:
        return x
    if x.op == "select":
        condition = _truth(x.args[0], known)
        if condition is ONE or condition is ZERO:
            return _value(x.args[1] if condition is ONE else x.args[2], known)
        then, otherwise = (
            _value(y, {**known, **_facts(condition, holds)}) for y, holds in zip(x.args[1:], (True, False), strict=True)
        )
        return build.select(condition, then, otherwise)
    if x.is_truth and x.op in ("and", "or", "not"):
        return _truth(x, known)
    return build.construct(x.op, tuple(_value(y, known) for y in x.args), x.attr)
