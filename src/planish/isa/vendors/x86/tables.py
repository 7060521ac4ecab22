"""Cases that only differ by numbers which grow with the label are one read at a place that depends on the subject.

>>> from planish.isa.semantics.node import const
>>> from planish.isa.semantics import build
>>> x = build.bits("i", const(0), 1)
>>> chain = build.select(build.equal(x, const(0)), build.bits("a", const(0), 8), build.bits("a", const(8), 8))
>>> ladder(chain, x, [0, 1])
bits('a', 8, False, mul(bits('i', 1, False, const(0)), const(8)))
"""

from __future__ import annotations

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const


def ladder(chain: Node, subject: Node, labels: list[int]) -> Node:
    """The value of a chain of cases, shorter where that is to be had."""
    if len(labels) < 2 or labels != list(range(len(labels))):
        return chain
    rungs = [_case(chain, subject, label) for label in labels]
    if any(x.op != "bits" or x.attr != rungs[0].attr or x.args[0].constant is None for x in rungs):
        return chain
    offsets = [x.args[0].low for x in rungs]
    step = offsets[1] - offsets[0]
    if step == 0 or any(b - a != step for a, b in zip(offsets, offsets[1:], strict=False)):
        return chain
    operand, width, signed = rungs[0].attr
    place = build.add(build.multiply(subject, const(step)), const(offsets[0]))
    return build.bits(str(operand), place, int(width), bool(signed))


def _case(chain: Node, subject: Node, label: int) -> Node:
    """What a chain gives for one value of its subject."""
    while chain.op == "select":
        condition = chain.args[0]
        positive, inner = (False, condition.args[0]) if condition.op == "not" else (True, condition)
        if inner is subject and inner.is_truth:
            holds = label == 1
        elif inner.op == "eq" and inner.args[0] is subject and inner.args[1].constant is not None:
            holds = inner.args[1].low == label
        else:
            return chain
        chain = chain.args[1] if holds == positive else chain.args[2]
    return chain
