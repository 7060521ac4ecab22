"""Bands in which one access goes across the lines of the others: what crosses the lanes is jammed."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.schedule.auto.plan import draft_versions, prepare
from planish.schedule.auto.tiling.tile_sizes import BandPlan
from planish.target.load import load_target


def plan(text: str) -> tuple[tuple[BandPlan, ...], str]:
    prepared = prepare(parse_kernel(text))
    draft = draft_versions(prepared, load_target("x86-avx512"), reassociate=True)[0]
    assert draft.shaped is not None
    return tuple(x for _, _, x in draft.bands), str(draft.shaped[0])


@pytest.mark.parametrize(
    "body", ["C[i, j] = A[i, j] + B[j, i]", "C[j, i] = A[i, j] * B[i, j]", "C[i, j] = B[j, i] - B[i, j]"]
)
@pytest.mark.parametrize("type", ["f64", "f32", "i16"])
def test_what_crosses_the_lanes_is_jammed_in_long_blocks(body: str, type: str) -> None:
    arrays = ", ".join(f"{x}: {type}[n, n] distinct" for x in "ABC")
    ((made,), shaped) = plan(f"kernel k(n; {arrays}) {{ for i in 0 .. n {{ for j in 0 .. n {{ {body} }} }} }}")
    (member, factor), *others = made.jam
    assert not others and factor == 8 and member != made.lanes_member
    assert made.tiles[member] == 8 and made.tiles[made.lanes_member] == 256
    assert "registers" in shaped


def test_few_rows_are_not_jammed() -> None:
    """A loop of four iterations has no eight rows."""
    ((made,), _) = plan(
        "kernel k(n; A: f64[4, n] distinct, B: f64[n, 4] distinct, C: f64[4, n] distinct)"
        " { for i in 0 .. 4 { for j in 0 .. n { C[i, j] = A[i, j] + B[j, i] } } }"
    )
    assert not made.jam


def test_rows_that_wait_for_each_other_are_not_jammed() -> None:
    """The lanes go across the rows of a recurrence, whose loop keeps its order."""
    ((made,), _) = plan(
        "kernel k(n; p: f64[n, n], A: f64[n, n])"
        " { for i in 0 .. n { for j in 1 .. n { p[i, j] = 1.0 / (p[i, j - 1] + A[j, i]) } } }"
    )
    assert not made.jam
