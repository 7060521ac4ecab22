"""Matrix products are recognised however they are written, and what is not quite one is never taken for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.property.nests import Style, styles, write_nest
from tests.unit.raising.definitions import OPERATIONS
from tests.unit.raising.interpreted import assert_same, make_values

from planish.core.diagnostic import PlanishError
from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.poly.isl.affine import NotAffineError
from planish.raising.expansion import expand
from planish.raising.match.semantic_match import recognise
from planish.raising.raised import Apply, Raised

PRODUCTS = [x for x in OPERATIONS if x.name in ("gemm", "gemm_scaled")]
SIZES = ((0, 2, 1), (3, 2, 0), (1, 1, 1), (2, 5, 3), (4, 3, 5))
SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}


def assert_runs_the_same(kernel: Kernel, raised: Raised) -> int:
    """How many of the sizes could be run: an access out of bounds ends the original as well."""
    inlined = expand(raised)
    check_kernel(inlined, "inlined")
    done = 0
    for ni, nj, nk in SIZES:
        values = make_values(kernel, {"ni": ni, "nj": nj, "nk": nk})
        try:
            assert_same(kernel, inlined, values)
        except IndexError:
            continue
        done += 1
    return done


@settings(max_examples=15, **SLOW)
@given(styles())
def test_a_product_in_any_style_is_one_operation(style: Style) -> None:
    kernel = parse_kernel(write_nest(style))
    raised = recognise(kernel, PRODUCTS)
    (step,) = raised.steps
    assert isinstance(step, Apply)
    assert ("beta" in step.scalars) == (style.start != "cleared")
    assert assert_runs_the_same(kernel, raised) == len(SIZES)


CHANGES = (
    (r"\bA\[", "B["), (r"\bB\[", "A["), (r"\bi\b(?=[,\]])", "j"), (r"\bk\b(?=[,\]])", "i"), (r"\bj\b(?=[,\]])", "k"),
    (r"\bk\b(?=[,\]])", "k + 1"), (r"in 0 \.\. ", "in 1 .. "), (r"\+=", "="), (r"- 1 -", "- 2 -"),
    (r"\bnk\b(?= \{)", "i"), (r"\bnj\b(?= \{)", "nj - 1"),
    (r"(?<=\]) \* ", " + "), (r"0\.0", "1.0"), (r"beta", "alpha"), (r"2 \* h\b", "h"),
)  # fmt: skip
"""One thing in a nest that becomes another."""


@settings(max_examples=20, **SLOW)
@given(styles(), st.sampled_from(CHANGES), st.integers(0, 5))
def test_what_is_changed_still_runs_the_same(style: Style, change: tuple[str, str], place: int) -> None:
    head, _, body = write_nest(style).partition("{\n")
    found = list(re.finditer(change[0], body))
    assume(found)
    at = found[place % len(found)]
    text = f"{head}{{\n{body[: at.start()]}{change[1]}{body[at.end() :]}"
    try:
        kernel = parse_kernel(text)
        raised = recognise(kernel, PRODUCTS)
    except (PlanishError, NotAffineError):
        assume(False)
        return
    assert_runs_the_same(kernel, raised)


@pytest.mark.slow
@settings(max_examples=1500, **SLOW)
@given(styles(), st.sampled_from(CHANGES), st.integers(0, 5))
def test_many_changes(style: Style, change: tuple[str, str], place: int) -> None:
    test_what_is_changed_still_runs_the_same.hypothesis.inner_test(style, change, place)
