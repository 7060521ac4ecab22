"""Arrays of narrow numbers that are seen as wide ones, and what they are afterwards."""

from __future__ import annotations

import pytest

from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.types import BF16, F32, I16, I32, U8
from planish.library.conv.low_precision import as_it_is, widen, with_copies
from planish.raising.nests import raise_kernel

HEAD = "kernel k(n; a: u8[n], b: i8[n], c: i16[n], s: i32[n], h: bf16[n], f: f32[n])"


def kernel_of(body: str) -> Kernel:
    return parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ {body} }} }}")


@pytest.mark.parametrize(
    ("body", "wide"),
    [
        ("s[i] += i32(a[i]) * i32(b[i])", "ab"),
        ("s[i] += i32(a[i]) * i32(a[n - 1 - i])", "a"),
        ("s[i] = i32(c[i])", "c"),
        ("b[i] = b[i]", ""),  # it is written
        ("s[i] = i32(a[i]) c[i] = i16(a[i])", ""),  # it is used as something else
        ("s[i] = i32(i16(a[i]))", ""),
        ("b[i] = i8(i32(a[i]) + i32(c[i]))", "ac"),
        ("b[i] = i8(i32(a[i]))", "a"),  # the outer conversion stays
        ("b[i] = i8(i32(i8(i32(a[i]))) * i32(c[i]))", "ac"),
        ("f[i] += f32(h[i]) * f32(h[n - 1 - i])", "h"),
        ("f[i] = f32(f64(h[i]))", ""),
        ("f[i] += f32(h[i]) * f32(a[i])", "h"),  # no i32
        ("f[i] = f32(h[i]) h[i] = h[i]", ""),
        ("s[i] = select(b[i] > 0:i8, i32(b[i]), 0:i32)", ""),
    ],
)
def test_what_is_seen_as_wide(body: str, wide: str) -> None:
    kernel = kernel_of(body)
    found, narrow = widen(kernel)
    # What a kernel does not use may be said to be anything.
    used = {x for x in narrow if f"{x}[" in body}
    assert used == {*wide}
    wide_types = {x: F32 if y == BF16 else I32 for x, y in narrow.items()}
    assert all(x.type == wide_types.get(x.name, kernel.array(x.name).type) for x in found.arrays)
    assert print_kernel(as_it_is(found, narrow)) == print_kernel(kernel)


def test_copies_are_as_narrow_as_what_they_hold() -> None:
    text = """kernel k(n; a: u8[n], c: i16[n], s: i32[n]) {
      alloc x: i32[n] alloc y: i32[n] alloc z: i32[n] alloc both: i32[n]
      for i in 0 .. n { x[i] = i32(a[i]) } for i in 0 .. n { y[i] = 0:i32 } for i in 1 .. n { y[i] = x[i - 1] }
      for i in 0 .. n { z[i] = i32(c[i]) } for i in 0 .. n { z[i] += 1:i32 }
      for i in 0 .. n { both[i] = i32(a[i]) } for i in 1 .. n { both[i] = i32(c[i]) }
      for i in 0 .. n { s[i] = x[i] + y[i] + z[i] + both[i] }
    }"""
    kernel, narrow = widen(parse_kernel(text))
    assert narrow == {"a": U8, "c": I16}
    raised = raise_kernel(kernel, ())
    found = with_copies(raised, narrow)
    assert {x: y for x, y in found.items() if x not in narrow} == {"x": U8, "y": U8}
    # What the caller sees is as wide as the caller says.
    assert with_copies(raised, narrow, [x.name for x in raised.locals]) == narrow


def test_copies_of_bf16_are_bf16() -> None:
    text = """kernel k(n; h: bf16[n], g: f32[n]) {
      alloc x: f32[n] alloc y: f32[n]
      for i in 0 .. n { x[i] = -0.0:f32 } for i in 1 .. n { x[i] = f32(h[i]) }
      for i in 0 .. n { y[i] = f32(h[i]) } for i in 0 .. n { y[i] += 1.0:f32 }
      for i in 0 .. n { g[i] = x[i] + y[i] }
    }"""
    kernel, narrow = widen(parse_kernel(text))
    found = with_copies(raise_kernel(kernel, ()), narrow)
    assert {str(x): y for x, y in found.items()} == {"h": BF16, "x": BF16}
    after = print_kernel(as_it_is(kernel, found))
    assert "alloc x: bf16[n]" in after and "x[i] = -0.0:bf16" in after and "x[i] = h[i]" in after
    assert "g[i] = f32(x[i]) + y[i]" in after
