"""Nests that are an operation as a whole: in other words they are found, with one thing changed they are not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from random import Random

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.poly.isl.affine import NotAffineError
from planish.raising.expansion import expand
from planish.raising.nests import raise_kernel
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Loops, Raised
from planish.raising.tdl.reader import load_tactics
from planish.raising.tdl.trial import draw_sizes, draw_values, run_copy

FAMILIES = ("trsv", "lu", "cholesky", "qr", "softmax", "prefix_sum", "prefix_sum_in_place", "closure", "iamax", "arg",
            "histogram", "nrm2", "layer_norm")  # fmt: skip
WHOLE = [x.operation for x in load_tactics() if x.family in FAMILIES]
CHANGES = ((r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r"\+=", "*="), (r"\bi\b", "0"), (r"\bk\]", "k + 1]"),
           (r", j\]", ", i]"), (r"\[i, ", "[j, "), (r"0 \.\.", "1 .."), (r"\.\. n", ".. n - 1"),
           (r" > ", " >= "))  # fmt: skip


def applied(raised: Raised) -> list[str]:
    return [x.operation.name for x in raised.steps if isinstance(x, Apply)]


def renamed(kernel: Kernel) -> Kernel:
    """The same nest with other names for its loops, sizes and arrays."""
    text = print_kernel(kernel)
    for name in {*kernel.sizes, *(x.name for x in kernel.arrays), *"ijk"}:
        text = re.sub(rf"\b{name}\b(?!\()", f"{name}_other", text)
    return parse_kernel(re.sub(r"  assume .*\n", "", text))


def changed(kernel: Kernel, chance: Random) -> Iterator[Kernel]:
    """The nest with one thing changed, where it is still a kernel."""
    head, brace, body = print_kernel(kernel).partition("{")
    for old, new in chance.sample(CHANGES, len(CHANGES)):
        places = list(re.finditer(old, body))
        if not places:
            continue
        at = chance.choice(places)
        try:
            made = parse_kernel(head + brace + body[: at.start()] + new + body[at.end() :])
            check_kernel(made, "a test")
        except PlanishError:
            continue
        yield made


@pytest.mark.parametrize("operation", WHOLE, ids=lambda x: x.name)
def test_names_do_not_matter(operation: Operation) -> None:
    assert applied(raise_kernel(renamed(operation.definition), [operation])) == [operation.name]


@pytest.mark.parametrize("operation", WHOLE, ids=lambda x: x.name)
def test_what_is_found_in_a_changed_nest_does_the_same(operation: Operation) -> None:
    assert check_changes(operation, 4) > 1


@pytest.mark.slow
@pytest.mark.parametrize("operation", WHOLE, ids=lambda x: x.name)
def test_so_does_every_change(operation: Operation) -> None:
    assert check_changes(operation, len(CHANGES)) > 1


def check_changes(operation: Operation, most: int) -> int:
    """Compare an operation's nest with some things changed and what it becomes; gives how often it could be run."""
    chance = Random(operation.name)
    tried = 0
    for kernel in islice(changed(operation.definition, chance), most):
        try:
            raised = raise_kernel(kernel, [operation])
        except NotAffineError:
            continue
        for _ in range(2):
            sizes = draw_sizes(kernel, chance)
            values = draw_values(kernel, sizes, chance)
            try:
                wanted = run_copy(kernel, sizes, values)
            except (IndexError, ArithmeticError):
                continue
            got = run_copy(expand(raised), sizes, values)
            tried += 1
            for array in kernel.arrays:
                np.testing.assert_allclose(got[array.name], wanted[array.name], rtol=1e-9, atol=1e-9)
    return tried


def test_what_stands_around_a_nest_stays() -> None:
    (scan,) = (x for x in WHOLE if x.name == "prefix_sum_in_place")
    text = """kernel k(n; A: f64[n], B: f64[n]) assume n >= 1 {
      for i in 0 .. n { B[i] = A[i] / 3.0 + 1.0 }
      for i in 1 .. n { A[i] = A[i - 1] + A[i] }
      for i in 0 .. n { A[i] = A[i] / B[i] + A[i] }
    }"""
    kernel = parse_kernel(text)
    raised = raise_kernel(kernel, [scan])
    assert [type(x) for x in raised.steps] == [Loops, Apply, Loops]
    told = [next(iter(x.reasons)) if isinstance(x, Loops) else x.statements[0] for x in raised.steps]
    assert told == ["S0", "S1", "S2"]
    values = {"A": np.arange(1.0, 6.0), "B": np.zeros(5)}
    wanted, got = (run_copy(x, {"n": 5}, values) for x in (kernel, expand(raised)))
    np.testing.assert_array_equal(got["A"], wanted["A"])


def test_an_operand_that_may_be_too_small_is_a_condition() -> None:
    (scan,) = (x for x in WHOLE if x.name == "prefix_sum_in_place")
    kernel = parse_kernel("kernel k(m; A: f64[m]) { for i in 0 .. m - 1 { A[i + 1] += A[i] } }")
    (step,) = raise_kernel(kernel, [scan]).steps
    assert isinstance(step, Apply)
    assert step.conditions == ()
    kernel = parse_kernel("kernel k(m, n; A: f64[m]) assume n < m { for i in 0 .. n { A[i + 1] += A[i] } }")
    (step,) = raise_kernel(kernel, [scan]).steps
    assert isinstance(step, Apply)
    assert len(step.conditions) == 1


def check_same(text: str, operations: list[Operation], **sizes: int) -> Raised:
    """Raise a kernel, and compare what both do."""
    kernel = parse_kernel(text)
    raised = raise_kernel(kernel, operations)
    inlined = expand(raised)
    check_kernel(inlined, "inlined")
    values = draw_values(kernel, sizes, Random(1))
    wanted, got = (run_copy(x, sizes, values) for x in (kernel, inlined))
    for array in kernel.arrays:
        np.testing.assert_allclose(got[array.name], wanted[array.name], rtol=1e-12)
    return raised


def test_local_arrays_are_seen_by_all_parts() -> None:
    operations = [x for x in WHOLE if x.name == "prefix_sum_in_place"]
    text = """kernel k(n; A: f64[n], B: f64[n]) assume n >= 1 {
      alloc t: f64[n]
      for i in 0 .. n { t[i] = A[i] * 3.0 }
      for i in 1 .. n { t[i] = t[i - 1] + t[i] }
      for i in 0 .. n { B[i] = t[i] + B[i] }
    }"""
    raised = check_same(text, operations, n=5)
    assert applied(raised) == ["prefix_sum_in_place"]
    assert [x.name for x in raised.locals] == ["t"]


def test_names_that_are_bound_between_nests_keep_them_together() -> None:
    operations = [x for x in WHOLE if x.name == "prefix_sum_in_place"]
    text = """kernel k(n; A: f64[n], B: f64[n]) assume n >= 1 {
      alloc t: f64[]
      t[] = A[0]
      for i in 1 .. n { A[i] = A[i - 1] + A[i] }
      A[0] = 0.0
      for i in 0 .. n { B[i] = t[] + B[i] }
    }"""
    check_same(text, operations, n=5)


def test_elements_are_of_one_type_in_casts_as_well() -> None:
    body = "for i in 0 .. n { for j in 0 .. n { if j > i { x[j] = f64(i) * 0.1 + x[i] } } }"
    text = f"kernel count(n; x: f64[n]) {{ {body} }}"
    operation = Operation("count", parse_kernel(text))
    own = text.replace("count", "k")
    assert applied(raise_kernel(parse_kernel(own), [operation])) == ["count"]
    assert applied(raise_kernel(parse_kernel(own.replace("f64", "f32").replace("0.1", "0.1:f32")), [operation]))
    other = own.replace("f64(i) * 0.1", "f64(f32(i)) * 0.1")
    assert not applied(raise_kernel(parse_kernel(other), [operation]))
