"""Minima and maxima of narrow integers in their own type, where that has the same values."""

from __future__ import annotations

import pytest

from planish.emit.idioms.minmax import narrowed
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr

HEAD = "kernel k(a: u8[], b: u8[], c: i8[], d: i16[], e: u16[], f: i32[], x: u8[], y: i8[], z: i16[], w: u16[])"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x[] = u8(min(i32(a[]), i32(b[])))", "min(a[], b[])"),
        ("x[] = u8(max(u16(a[]), u16(b[])))", "max(a[], b[])"),
        ("y[] = i8(max(i32(c[]), -128:i32))", "max(c[], -128:i8)"),
        ("z[] = i16(min(7:i64, i64(d[])))", "min(7:i16, d[])"),
        ("w[] = u16(min(i32(e[]), i32(e[])))", "min(e[], e[])"),
        ("x[] = u8(min(i32(a[]), 256:i32))", None),
        ("y[] = i8(min(u32(c[]), u32(c[])))", None),
        ("x[] = u8(min(i32(a[]), i32(c[])))", None),
        ("x[] = u8(min(i32(a[]), f[]))", None),
        ("x[] = u8(i32(a[]) + i32(b[]))", None),
        ("y[] = i8(min(i32(a[]), i32(b[])))", None),
    ],
)
def test_extrema_are_narrow_where_all_values_are(text: str, wanted: str | None) -> None:
    found = narrowed(parse_kernel(f"{HEAD} {{ {text} }}").body.body[0].value)
    assert (None if found is None else print_expr(found)) == wanted
