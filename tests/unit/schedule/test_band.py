"""What a band says of itself: which members may run in lanes, how accesses move, how far its loops go."""

from __future__ import annotations

import islpy as isl
import pytest
from bands import PRODUCT, STENCIL, SUM, TRANSPOSE, find_band

from planish.schedule.auto.tiling.strides import step_of, steps_of, stride_kind


@pytest.mark.parametrize(
    ("text", "reassociate", "lanes"),
    [
        (PRODUCT, True, ["parallel", "parallel", "reduction"]),
        (PRODUCT, False, ["parallel", "parallel", "serial"]),
        (PRODUCT.replace("f64", "i64"), False, ["parallel", "parallel", "reduction"]),
        (TRANSPOSE, False, ["parallel", "parallel"]),
        (STENCIL, True, ["serial"]),
        (SUM, True, ["reduction"]),
        (SUM, False, ["serial"]),
    ],
)
def test_lanes_are_what_dependences_allow(text: str, reassociate: bool, lanes: list[str]) -> None:
    band = find_band(text, reassociate).band
    assert [g.lanes for m in range(len(band.members)) for g in band.lanes(m, False)] == lanes


def test_statements_apart_have_loops_of_their_own_in_order() -> None:
    text = "kernel k(n; A: f64[n], B: f64[n]) { for i in 1 .. n { A[i] = A[i - 1]  B[i] = A[i] } }"
    band = find_band(text, False).band
    assert [g.lanes for g in band.lanes(0, False)] == ["serial"]
    assert [(sorted(g.names), g.lanes) for g in band.lanes(0, True)] == [(["S0"], "serial"), (["S1"], "parallel")]


def test_steps_tell_how_accesses_move() -> None:
    found = {m.access.array: m.steps for m in find_band(PRODUCT, True).band.motions}
    assert found == {
        "C": ((1, 0), (0, 1), (0, 0)),
        "A": ((1, 0), (0, 0), (0, 1)),
        "B": ((0, 0), (0, 1), (1, 0)),
    }


def test_extents_are_known_where_arrays_bound_them() -> None:
    text = "kernel k(n, m; A: f64[8, m]) { for i in 0 .. n { for j in 0 .. m { A[i, j] = 0.0 } } }"
    assert find_band(text, False).band.extents == (8, None)


def test_dominant_statements_are_the_deepest() -> None:
    text = "kernel k(n; A: f64[n], s: f64[]) { for i in 0 .. n { A[i] = 0.0  A[i] += s[] } }"
    assert [s.name for s in find_band(text, False).band.dominant] == ["S0", "S1"]


@pytest.mark.parametrize(
    ("step", "kind"),
    [((0, 0), "none"), ((0, 1), "unit"), ((0, -1), "reverse"), ((1, 0), "far"), ((0, 2), "near"), ((1, 1), "far"),
     ((1, 2), "far"), ((0, 5), "far"),
     ((), "none")],
)
def test_strides_have_kinds(step: tuple[int, ...], kind: str) -> None:
    assert stride_kind(step) == kind


def test_a_step_that_varies_is_not_told() -> None:
    wrapped = isl.Map("{ S[i] -> A[i mod 4] : 0 <= i < 9 }")
    twice = isl.Map("{ S[i, j] -> [i] }")
    assert steps_of(isl.Map("{ S[i, j] -> A[j] }"), twice) is None
    assert step_of(wrapped, isl.Map("{ S[i] -> [i] }"), 0) is not None
    assert step_of(isl.Map("{ S[i] -> A[3 i] : 0 <= i < 9 }"), isl.Map("{ S[i] -> [i] }"), 0) == (3,)
