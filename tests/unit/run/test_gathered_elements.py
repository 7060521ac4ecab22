"""What data choose in calls that check lies inside of the arrays that it chooses from, and in its own type."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.run.sizes.gathered_elements import find_gathers


@pytest.mark.parametrize(
    ("arrays", "value", "ranges"),
    [
        ("t: f32[4], at: i32[?]", "t[i64(at[i])]", {"at": (0, 3)}),
        ("t: f32[4], at: i32[?]", "t[i64(at[i]) + 1]", {"at": (0, 2)}),
        ("t: f32[4], at: u8[?]", "t[i64(at[i]) + 1]", {"at": (0, 2)}),
        ("t: f32[900], at: i8[?]", "t[i64(at[i]) + 3]", {"at": (-3, 127)}),
        ("t: f32[4, 7], at: u8[?], by: i16[?]", "t[i64(at[i]), i64(by[i]) + 2]", {"at": (0, 3), "by": (-2, 4)}),
        ("t: f32[?, 7], at: i32[?]", "t[i, i64(at[i])]", {"at": (0, 6)}),
        ("t: f32[?], s: f32[5], at: i32[?]", "t[i64(at[i])] + s[i64(at[i])]", {"at": (0, 4)}),
        ("t: f32[4], at: u8[?]", "t[i64(at[i]) + 9]", {}),
    ],
)
def test_bounds_of_what_chooses(arrays: str, value: str, ranges: dict[str, tuple[int, int]]) -> None:
    kernel = parse_kernel(f"kernel k(n; {arrays}, y: f32[?]) {{ for i in 0 .. n {{ y[i] = {value} }} }}")
    assert find_gathers(kernel, {"n": 20}).ranges == ranges
