"""What tidying must keep apart: kernels that are equal but for where they stand, or for the sign of a zero.

>>> tidied("A[i]")
'A[i]'
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from planish.core.span import Span
from planish.ir.nest import Assign, Block, For
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.poly.canonical.canonicalise import tidy

TEXT = "kernel k(n; A: f64[n], B: f64[n]) {{ for i in 0 .. n {{ B[i] = {} }} }}"


def tidied(value: str) -> str:
    """What is stored once the kernel is tidied."""
    (stored,) = (x for x in walk(tidy(parse_kernel(TEXT.format(value))).body) if isinstance(x, Assign))
    return print_expr(stored.value)


@pytest.mark.parametrize("value", ["0.0", "-0.0", "0.0"])
def test_zeros_keep_their_sign(value: str) -> None:
    assert tidied(value).startswith("-") == value.startswith("-")


@pytest.mark.parametrize("line", [1, 40])
def test_statements_stay_where_they_stand(line: int) -> None:
    kernel = parse_kernel(TEXT.format("A[i]"))
    (loop,) = kernel.body.body
    assert isinstance(loop, For)
    place = Span("two.c", line, 1, line, 9)
    moved = replace(kernel, body=Block((replace(loop, span=place),)))
    assert [x.span for x in tidy(moved).body.body] == [place]
