"""Where arrays begin that a kernel reaches before their pointers: whole rows, the least of several, and none."""

from __future__ import annotations

import pytest

from planish.ir.index.polynomial import show
from planish.ir.text.parser import parse_kernel
from planish.poly.canonical.first_element import begin_at_first, begin_at_pointers


def before(head: str, body: str) -> dict[str, str]:
    _, found = begin_at_first(parse_kernel(f"kernel k({head}) {{ {body} }}"))
    return {x: show(y) for x, y in found.items()}


@pytest.mark.parametrize(("subscripts", "expected"), [
    ("x[i - 1] + x[i - 4] + x[i + 2]", "4"), ("x[i - 2] * x[i]", "2"), ("x[n - 1 - i]", None), ("x[i + 3]", None),
])  # fmt: skip
def test_the_least_of_several(subscripts: str, expected: str | None) -> None:
    found = before("n; x: f32[?], y: f32[?]", f"for i in 0 .. n {{ y[i] = {subscripts} }}")
    assert found == ({"x": expected} if expected else {})


def test_rows_before_are_whole_rows() -> None:
    body = "for i in 1 .. h { for j in 0 .. w { y[i * w + j] = x[(i - 2) * s + j] + x[i * s + j] } }"
    assert before("h, w, s; x: u8[?], y: u8[?]", body) == {"x": "s"}
    body = "for i in 0 .. h { for j in 1 .. 39 { y[i, j] = x[i - 1, j] + x[i + 1, j - 1] } }"
    assert before("h; x: f64[?, 40], y: f64[?, 40]", body) == {"x": "40"}


@pytest.mark.parametrize(("subscripts", "expected"), [
    ("x[i * s + j - 1] + x[i * s + j + 2]", "1"), ("x[(i - 1) * s + j - 3] + x[i * s + j]", "s + 3"),
    ("x[(i - 1) * s + j] + x[i * s + j - 1]", "s + 1"), ("x[i * s + w - 1 - j]", None),
    ("x[i * s + 3 * j - 3] + x[i * s + 3 * j + 3]", "3"), ("x[i * s + j - w] + x[i * s + j]", "s"),
])  # fmt: skip
def test_rows_begin_with_the_first_column(subscripts: str, expected: str | None) -> None:
    body = f"for i in 0 .. h {{ for j in 0 .. w {{ y[i * w + j] = {subscripts} }} }}"
    found = before("h, w, s; x: u8[?], y: u8[?]", body)
    assert found == ({"x": expected} if expected else {})


def test_strides_that_do_not_divide_each_other() -> None:
    body = "for i in 0 .. h { for j in 0 .. w { y[i * w + j] = x[i * s + j * t - 2] + x[i * s + j * t] } }"
    assert before("h, w, s, t; x: u8[?], y: u8[?]", body) == {"x": "2"}
    assert before("h, w, s, t; x: u8[?], y: u8[?]", body.replace("- 2", "- s")) == {"x": "s"}
    assert before("h, w, s, t; x: u8[?], y: u8[?]", body.replace("- 2", "- j")) == {}


def test_what_is_moved_is_moved_back() -> None:
    body = "for i in 1 .. h { for j in 0 .. w { y[i * w + j] = x[(i - 2) * s + j] + z[i - 1, j] } }"
    kernel = parse_kernel(f"kernel k(h, w, s; x: u8[?], y: u8[?], z: u8[?, 40]) {{ {body} }}")
    moved, before = begin_at_first(kernel)
    assert before and begin_at_first(begin_at_pointers(moved, before)) == (moved, before)


def test_conditions_on_iterators_keep_what_is_read_inside() -> None:
    chosen = "select(i > 0, x[i - 1], 0.0:f32)"
    assert before("n; x: f32[?], y: f32[?]", f"for i in 0 .. n {{ y[i] = {chosen} }}") == {}
    assert before("n; x: f32[?], y: f32[?]", f"for i in 0 .. n {{ y[i] = {chosen} + x[i - 2] }}") == {"x": "2"}
    data = "select(y[i] > 0.0:f32, x[i - 1], 0.0:f32)"
    assert before("n; x: f32[?], y: f32[?]", f"for i in 0 .. n {{ y[i] = {data} }}") == {"x": "1"}
    wide = "select(m == i, x[i - 1], 0.0:f32)"  # a number of the type of sizes is data
    assert before("n; m: i64, x: f32[?], y: f32[?]", f"for i in 0 .. n {{ y[i] = {wide} }}") == {"x": "1"}


def test_loops_from_below_zero() -> None:
    assert before("r; w: f32[?], s: f32[1]", "for k in 0 - r .. r + 1 { s[0] += w[k] }") == {"w": "r"}


def test_ends_that_are_known_and_what_depends_stay() -> None:
    body = "for i in 0 .. n { y[i] = x[i - 1] + x[i - k] }"
    assert before("n, k; x: f32[100], y: f32[?]", "for i in 0 .. n { y[i] = x[i - 1] }") == {}
    assert before("n, k; x: f32[?], y: f32[?]", body) == {"x": "k"}
    assert before("n, k, l; x: f32[?], y: f32[?]", "for i in 0 .. n { y[i] = x[i - l] + x[i - k] }") == {}
