"""Comparisons with scalars that are cut to the range of what they are compared with: the same for all values."""

from __future__ import annotations

import pytest

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, rebuild
from planish.select.forms.bounded_operands import bound_operands

LIMIT = build.bits("x", const(0), 32, True)
MADE = (build.less, build.at_most, build.equal, build.minimum, build.maximum)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("make", MADE, ids=lambda x: x.__name__)
def test_they_decide_alike(make: object, turned: bool, signed: bool) -> None:
    assert callable(make)
    pixel = build.bits("m", const(0), 8, signed)
    plain: Node = make(*((LIMIT, pixel) if turned else (pixel, LIMIT)))
    made = bound_operands(plain, lambda x: x is LIMIT)
    assert made is not plain

    def value(x: Node, t: int, s: int) -> int | None:
        given = {pixel: const(t), LIMIT: const(s)}
        return rebuild(x, lambda y, args: given.get(y) or build.construct(y.op, args, y.attr)).constant

    for t in range(pixel.low, pixel.high + 1, 3):
        for s in (-(1 << 31), -1000, -129, -128, -2, -1, 0, 1, t - 1, t, t + 1, 127, 128, 254, 255, 256, 1 << 30):
            assert value(made, t, s) == value(plain, t, s) is not None, (t, s)
