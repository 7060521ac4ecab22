"""Small local arrays that a loop on threads only reads are copied for each thread; what it stores to is not."""

from __future__ import annotations

from planish.emit.c.kernel_text import emit_function
from planish.ir.text.parser import parse_kernel

TABLE = "alloc w: f32[{extent}] stack for k in 0 .. {extent} {{ w[k] = A[k] }}"
LOOP = "for i in 0 .. n parallel {{ B[i] = A[i] * w[{at}] {more} }}"


def emit(extent: int = 5, at: str = "2", more: str = "") -> str:
    body = TABLE.format(extent=extent) + " " + LOOP.format(at=at, more=more)
    kernel = parse_kernel(f"kernel k(n; A: f32[n] distinct, B: f32[n] distinct) {{ {body} }}")
    return emit_function(kernel, "f", threads=True, strict=True)


def test_a_table_that_is_only_read_is_copied() -> None:
    assert "parallel for firstprivate(w)" in emit()


def test_a_table_that_is_stored_to_is_shared() -> None:
    text = emit(extent=256, at="i % 256", more="w[i % 256] = 0.0:f32")
    assert "parallel for" in text and "firstprivate" not in text


def test_a_large_table_is_shared() -> None:
    text = emit(extent=257)
    assert "parallel for" in text and "firstprivate" not in text
