"""Bounds, strides and copies of one schedule dimension."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.astgen.checking.verify import evaluate
from planish.astgen.dimensions.bounds import UnboundedError, find_range
from planish.astgen.dimensions.strides import Lattice, find_stride
from planish.astgen.unroll import slices
from planish.ir.expr import Expr, index

UNIVERSE = isl.Set("[n, m] -> { [i] }")


def values(text: str, sizes: dict[str, int]) -> list[int]:
    """The values that the loop over a set of one dimension takes."""
    domain = isl.Set(f"[n, m] -> {{ [i] : {text} }}")
    found = find_range(domain, 0, UNIVERSE, ())
    if found.only is not None:
        return [evaluate(found.only, sizes)]
    step = found.stride if found.origin is None else 1
    steps = range(evaluate(found.lower, sizes), evaluate(found.upper, sizes) + 1, step)
    return [evaluate(found.value_of(index(x)), sizes) for x in steps]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0 <= i < n", [0, 1, 2, 3, 4]),
        ("m <= 2i <= n", [2]),
        ("i mod 3 = 1 and 0 <= i < n", [1, 4]),
        ("(i - m) mod 2 = 0 and 0 <= i < n", [1, 3]),
        ("(exists a : i = 4a + n) and 0 <= i < 3n", [1, 5, 9, 13]),
        ("i = n + m", [8]),
        ("i >= 0 and i < n and i < 2 m and i <= 3", [0, 1, 2, 3]),
        ("i >= 0 and i >= n - 2 and i < n", [3, 4]),
    ],
)
def test_ranges_are_exact(text: str, wanted: list[int]) -> None:
    assert values(text, {"n": 5, "m": 3}) == wanted


@pytest.mark.parametrize("sizes", [{"n": 5, "m": 3}, {"n": -400, "m": 0}, {"n": 900, "m": 2}])
def test_a_union_is_never_cut_short(sizes: dict[str, int]) -> None:
    text = "0 <= i < 4 or n + 1000 <= i < n + 1004 or i = m"
    found = values(text, sizes)
    wanted = {*range(4), *range(sizes["n"] + 1000, sizes["n"] + 1004), sizes["m"]}
    assert wanted <= set(found)
    assert len(found) <= max(wanted) - min(wanted) + 1


def test_a_union_without_a_common_bound() -> None:
    assert values("0 <= i <= n or m <= i <= 2", {"n": 5, "m": -3}) == list(range(-3, 6))


def test_a_stride_with_a_wrong_offset_is_none() -> None:
    # isl 0.28 says that i is n + 23 modulo 8, whatever n leaves modulo 3.
    points = isl.Set("[n] -> { [i] : (9i - n) mod 24 >= 21 and 0 <= i <= 20 }")
    stride, offset = find_stride(points, 0)
    assert stride == 1 or offset is None or points.is_subset(Lattice(stride, offset, 0).points())
    for n in range(6):
        wanted = [i for i in range(21) if (9 * i - n) % 24 >= 21]
        assert set(wanted) <= set(values("(9i - n) mod 24 >= 21 and 0 <= i <= 20", {"n": n, "m": 0}))


def test_loops_without_end() -> None:
    for text in ("i >= 0", "i <= n", "i mod 2 = 0", "i >= 0 or (i >= m and i <= n)"):
        with pytest.raises(UnboundedError):
            values(text, {"n": 1, "m": 1})


def test_what_is_known_is_not_asked_again() -> None:
    context = isl.Set("[n, m] -> { [i] : m >= n }")
    found = find_range(isl.Set("[n, m] -> { [i] : 0 <= i < n and i < m }"), 0, context, ())
    assert evaluate(found.upper, {"n": 4}) == 3


@pytest.mark.parametrize(
    ("text", "count", "base"),
    [
        ("0 <= j < 3", 3, 0),
        ("i <= j < i + 4", 4, 7),
        ("2i <= j <= 2i + 1 and j >= 0", 2, 14),
        ("j = i", 1, 7),
        ("0 <= j <= 9 and i <= j <= i + 1", 2, 7),
    ],
)
def test_copies(text: str, count: int, base: int) -> None:
    domain = isl.Set(f"{{ [i, j] : {text} }}")
    copies = slices(domain, 1)
    assert copies is not None and len(copies) == count
    first = copies[0].intersect(isl.Set("{ [i, j] : i = 7 }"))
    assert first.is_equal(isl.Set(f"{{ [i, j] : i = 7 and j = {base} }}"))


def test_copies_of_a_strided_dimension_are_only_those_that_are_there() -> None:
    domain = isl.Set("[n] -> { [j] : 0 <= j < 64 and (j - n) mod 16 = 0 }")
    copies = slices(domain, 0)
    assert copies is not None and len(copies) == 4


def test_copies_without_end() -> None:
    assert slices(isl.Set("[n] -> { [j] : 0 <= j < n }"), 0) is None


def test_bounds_may_stand_on_outer_dimensions() -> None:
    domain = isl.Set("[n] -> { [i, j] : i <= j < n }")
    dims: tuple[Expr, ...] = (index("outer"),)
    found = find_range(domain, 1, isl.Set("[n] -> { [i, j] }"), dims)
    assert evaluate(found.lower, {"outer": 3}) == 3
