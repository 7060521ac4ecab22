"""Loops without a count: their text, what they mean, and that no static control part holds one."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.c.kernel_text import emit_function
from planish.ir.checker import check_kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import extract_scop

TEXT = """kernel halved(n; x: f64[n], steps: i64[1])
{
  alloc h: i64[] register
  h[] = n
  while h[] > 1 && x[h[] - 1] > 0.0 {
    x[h[] - 1] = 0.0
    steps[0] = steps[0] + 1
    h[] = quo(h[], 2)
  }
}
"""


def test_the_text_parses_back() -> None:
    kernel = parse_kernel(TEXT)
    check_kernel(kernel, "the test")
    assert parse_kernel(print_kernel(kernel)) == kernel


@pytest.mark.parametrize(("values", "steps", "left"), [([1.0] * 8, 3, 5), ([1.0, 1.0, 1.0, -1.0], 0, 4), ([], 0, 0)])
def test_the_condition_is_asked_before_each_iteration(values: list[float], steps: int, left: int) -> None:
    x, counted = np.array(values), np.zeros(1, np.int64)
    run_kernel(parse_kernel(TEXT), {"n": len(values), "x": x, "steps": counted})
    assert (counted[0], np.count_nonzero(x)) == (steps, left)


def test_what_counts_is_in_the_head() -> None:
    assert "for (h = n; h > 1 && x[h - 1] > 0.0; h = h / 2) {" in emit_function(parse_kernel(TEXT), "halved")


def test_no_static_control_part_holds_one() -> None:
    with pytest.raises(NotAffineError, match="as long as"):
        extract_scop(parse_kernel(TEXT))


def test_a_condition_is_true_or_false() -> None:
    text = TEXT.replace("h[] > 1 && x[h[] - 1] > 0.0", "h[]")
    with pytest.raises(PlanishError, match="E0411"):
        check_kernel(parse_kernel(text, Source("k.txt", text)), "the test")
