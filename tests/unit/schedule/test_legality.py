"""What was found legal once is not asked again; what only looks like it is."""

from __future__ import annotations

import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.nest import Block
from planish.ir.text.parser import parse_kernel
from planish.schedule import legality
from planish.schedule.legality import check_order
from planish.schedule.program import Program
from planish.schedule.steps.loops import Reverse

SUM = "kernel {name}(n; A: {type}[n], s: {type}[]) {{ for i in 0 .. n {{ s[] += A[i] }} }}"
TWO = """
kernel two(n; A: f32[n], B: f32[n]) {{
  for i in 0 .. n {{ A[i] = 0.0:f32 }}
  for j in 0 .. n {{ B[j] = {value} }}
}}
"""
SCAN = "kernel scan(n; A: f32[n]) { for i in 1 .. n { A[i] = A[i - 1] } }"


def turned(block: Block) -> Block:
    """The nests of a block in the opposite order."""
    return Block(tuple(reversed(block.body)))


def test_a_nest_that_is_the_same_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    find = legality.find_violation
    monkeypatch.setattr(legality, "find_violation", lambda *x: asked.append(x) or find(*x))
    for name in ("once", "again"):
        Program.of(parse_kernel(SUM.format(name=name, type="f32"))).apply(Reverse("i"))
    assert len(asked) <= 1
    Program.of(parse_kernel(SUM.format(name="once", type="f64"))).apply(Reverse("i"))
    assert asked


def test_what_is_legal_only_with_other_sums_is_refused_without() -> None:
    kernel = parse_kernel(SUM.format(name="sum", type="f32"))
    Program.of(kernel, "reassociate").apply(Reverse("i"))
    for _ in range(2):
        with pytest.raises(PlanishError, match="E0610|no longer run before"):
            Program.of(kernel, "strict").apply(Reverse("i"))


def test_the_new_order_and_the_nest_both_count() -> None:
    apart, bound = (parse_kernel(TWO.format(value=x)) for x in ("1.0:f32", "A[j]"))
    check_order(apart, turned)
    check_order(bound, lambda block: block)
    with pytest.raises(PlanishError):
        check_order(bound, turned)
    with pytest.raises(PlanishError):
        Program.of(parse_kernel(SCAN)).apply(Reverse("i"))
