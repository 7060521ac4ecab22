"""What was found legal once is not asked again; what only looks like it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.expr import index
from planish.ir.nest import Block, For
from planish.ir.text.parser import parse_kernel
from planish.schedule import legality
from planish.schedule.affected_nest import find_affected
from planish.schedule.legality import check_order, check_parallel, trace
from planish.schedule.nodes import label_kernel, paths
from planish.schedule.program import Program
from planish.schedule.steps.loops import Reverse

SUM = "kernel {name}(n; A: {type}[n], s: {type}[]) {{ for i in 0 .. n {{ s[] += A[i] }} }}"
TWO = """
kernel two(n; A: f32[n], B: f32[n]) {{
  for i in 0 .. n {{ A[i] = 0.0:f32 }}
  for j in 0 .. n {{ B[j] = {value} }}
}}
"""
ROWS = """
kernel rows(n, m; A: f32[n, m], B: f32[m]) assume m >= 2 {{
  for j in 0 .. m {{ B[j] = A[0, j] }}
  for i in 1 .. n {{ for j in 0 .. i {{ A[i, j] = {value} }} for j in 0 .. m {{ A[i, j] += B[j] }} }}
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


@pytest.mark.parametrize(("value", "legal"), [("A[i - 1, j]", True), ("A[i, j - 1]", False), ("A[i, i - j]", False)])
def test_a_loop_inside_is_judged_in_each_iteration_around(value: str, legal: bool) -> None:
    kernel = label_kernel(parse_kernel(ROWS.format(value=value)))
    loop = next(x for x in paths(kernel.body) if len(x) == 2 and isinstance(x[-1], For))
    if legal:
        Program.of(kernel).apply(Reverse("j #2"))
        check_parallel(kernel, loop)
        return
    with pytest.raises(PlanishError, match="for i = .*, j = .* would no longer run before"):
        Program.of(kernel).apply(Reverse("j #2"))
    with pytest.raises(PlanishError, match="E0613|use the same cell of `A`"):
        check_parallel(kernel, loop)


def test_what_is_lost_inside_is_found() -> None:
    kernel = label_kernel(parse_kernel(ROWS.format(value="A[0, j]")))

    def shortened(block: Block) -> Block:
        outer = block.body[1]
        inner = replace(outer.body.body[0], upper=index("n"))
        return Block((block.body[0], replace(outer, body=Block((inner, outer.body.body[1])))))

    with pytest.raises(PlanishError, match="runs, and did not before for i = "):
        check_order(kernel, shortened)


def test_a_part_is_judged_by_what_is_known_around_it() -> None:
    text = "kernel k(n; A: f32[n, n]) { for i in 0 .. n { if i > 2 { for j in 0 .. 2 { A[j, i] = A[0, i - 1] } } } }"
    kernel = label_kernel(parse_kernel(text))
    before = trace(kernel.body)
    part = find_affected(kernel, before, Reverse("j").rewrite(Program.of(kernel)).order(before))
    assert part is not None and part.kernel.sizes == ("n", "i") and len(part.kernel.assumptions) == 3
    assert find_affected(kernel, before, before) is None
