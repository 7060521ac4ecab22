"""Parts of sums that signs mask are extrema: the same for all values, and as they were where a difference may wrap."""

from __future__ import annotations

from itertools import product

import pytest

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, rebuild, walk
from planish.select.forms.sign_masks import as_extrema

A, B, C = (build.bits(name, const(0), 8) for name in "abc")
SIGNED = build.bits("s", const(0), 8, True)


def _kept(x: Node, by: int = 31) -> Node:
    return build.conjoin(build.invert(build.shift_right(x, const(by))), x)


def _sorted(*cells: Node, by: int = 31) -> list[Node]:
    """Three cells in order, by exchanges as they are written with the sign of a difference."""
    made = list(cells)
    for first, second in ((0, 1), (1, 2), (0, 1)):
        m = _kept(build.subtract(made[first], made[second]), by)
        made[first], made[second] = build.subtract(made[first], m), build.add(made[second], m)
    return made


_D = build.subtract(A, B)
CASES = {
    **{f"cell {at} of three": x for at, x in enumerate(_sorted(A, B, C))},
    **{f"cell {at} shifted less": x for at, x in enumerate(_sorted(A, B, SIGNED, by=15))},
    "what is not negative": _kept(SIGNED, 7),
    "what is not positive": build.conjoin(_D, build.shift_right(_D, const(63))),
    "more than the parts": build.add(B, _kept(_D), build.multiply(C, const(3)), const(7)),
    "twice": build.add(B, build.multiply(_kept(_D), const(2))),
    "both taken away": build.subtract(build.negate(B), _kept(_D)),
    "nearly in order": build.subtract(build.subtract(A, B), build.multiply(_kept(_D), const(2))),
    "of a constant": build.add(const(9), _kept(build.add(A, const(-9)))),
    "cut": build.wrap(build.add(B, _kept(_D)), 8),
}  # fmt: skip


def _value(x: Node, values: dict[str, int]) -> int | None:
    def change(y: Node, args: tuple[Node, ...]) -> Node:
        if y.op != "bits":
            return build.construct(y.op, args, y.attr)
        name, width, signed = y.attr
        return build.wrap(const(values[str(name)] >> args[0].low), int(width), bool(signed))

    return rebuild(x, change).constant


@pytest.mark.parametrize("name", CASES)
def test_they_are_the_same(name: str) -> None:
    plain = CASES[name]
    made = as_extrema(plain)
    assert all(y.op not in ("and", "shr", "invert") for y in walk([made]))
    for a, b, c in product((0, 1, 5, 127, 128, 254, 255), repeat=3):
        values = {"a": a, "b": b, "c": c, "s": c - 128}
        assert _value(made, values) == _value(plain, values) is not None, values


def test_sorted_cells_are_extrema_alone() -> None:
    least, middle, most = map(as_extrema, _sorted(A, B, C))
    assert all(y.op in ("min", "max", "bits", "const") for y in walk([least, middle, most]))
    assert (middle.low, middle.high) == (0, 255)


def test_what_exceeds_by_more_than_one_bound_stays_a_sum() -> None:
    made = as_extrema(build.add(C, _kept(build.subtract(A, B))))
    assert made.op == "add" and {y.op for y in made.args} == {"bits", "max"}


@pytest.mark.parametrize("by", [7, 30])
def test_differences_that_may_wrap_around_stay_as_they_are(by: int) -> None:
    wide = build.bits("w", const(0), 32, True)
    d = build.subtract(A, B) if by == 7 else wide
    plain = _kept(d, by)
    assert as_extrema(plain) is plain


def test_a_word_masked_by_the_sign_of_a_wrapped_difference_is_no_extremum_of_the_parts() -> None:
    x, y = (build.bits(name, const(0), 32, True) for name in "xy")
    d = build.wrap(build.subtract(x, y), 32, True)
    mask = build.wrap(build.shift_right(d, const(31)), 32, True)
    plain = build.subtract(x, build.conjoin(d, build.invert(mask)))
    made = as_extrema(plain)
    assert build.minimum(x, y) not in walk([made]) and build.minimum(y, x) not in walk([made])
