"""Recurrences in registers: loops mean what they did, and do not wait for memory."""

from __future__ import annotations

import pytest
from tests.unit.vliw.test_streams import kernel_of

from planish.ir.nest import For
from planish.ir.traverse import expressions, loads, walk
from planish.vliw.description import load_machine
from planish.vliw.pack.packing import pack
from planish.vliw.streams.lower import lower
from planish.vliw.streams.oracle import check_code, draw_values, sizes_for
from planish.vliw.streams.recurrences import carried_last, keep_carried

FT = load_machine("ftmatrix")
HEAD = "void f(int n, int m, const float *restrict x, float *restrict y) { "
LOOPS = {
    "one before": ("for (int i = 1; i < n; i++) y[i] = y[i - 1] + x[i];", 6),
    "two before": ("for (int i = 2; i < n; i++) y[i] = x[0] * x[i] + x[1] * y[i - 1] + x[2] * y[i - 2];", 6),
    "three before, of the old one": ("for (int i = 3; i < n; i++) y[i] += 2 * y[i - 3] - x[i];", None),
    "in steps of two": ("for (int i = 4; i < n; i += 2) y[i] = x[i] * y[i - 2] + y[i - 4];", 6),
    "rows": ("for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) y[i * m + j] += y[i * m + j - 1] * x[j];", 6),
    "read behind the store": (
        "for (int i = 1; i < n - 1; i++) { y[i] = x[i] + y[i + 1]; y[n] = y[i - 1] * y[i]; }", None
    ),
    "under a condition": ("for (int i = 1; i < n; i++) y[i] = x[i] > 0 ? y[i - 1] + x[i] : x[i];", None),
    "twice": ("for (int i = 1; i < n; i++) { y[2 * i] = y[2 * i - 2] + 1; y[2 * i + 1] = y[2 * i - 1]; }", None),
    "whole numbers": ("int t = 0; for (int i = 1; i < n; i++) { t = t + m; y[i] = y[i - 1] * t; }", None),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_mean_what_they_did(name: str) -> None:
    text, interval = LOOPS[name]
    kernel = kernel_of(f"{HEAD}{text} }}")
    kept = carried_last(keep_carried(kernel))
    lowered = lower(kept, FT)
    packed = pack(lowered.program, FT)
    if interval:
        assert packed.loops[-1].interval == interval
    for sizes in sizes_for(kernel, (-3, 0, 1, 2, 3, 4, 5, 9, 20)):
        values = draw_values(kernel, sizes)
        assert check_code(packed.code, lowered, kernel, FT, values).message == "", sizes


@pytest.mark.parametrize(
    "text", ["y[i] = y[i + 1] + 1", "y[i] = y[m - i]", "y[i % 7] = y[i % 7 - 1]", "y[i] = y[i] * 2"]
)
def test_what_is_not_known_to_come_from_before_is_read(text: str) -> None:
    kernel = kernel_of(f"{HEAD}for (int i = 1; i < n; i++) {text}; }}")
    assert keep_carried(kernel) == kernel


def test_a_kept_element_is_not_read_again() -> None:
    kernel = keep_carried(kernel_of(f"{HEAD}for (int i = 2; i < n; i++) y[i] = y[i - 1] + y[i - 2]; }}"))
    (loop,) = (x for x in walk(kernel.body) if isinstance(x, For))
    assert not any(y.array == "y" for x in walk(loop) for e in expressions(x) for y in loads(e))
