"""Nests before and after scheduling, as text; `pytest tests/golden/schedule --bless` accepts what comes out now."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples" / "polybench"
NAMES = ("gemm", "lu", "jacobi-2d", "floyd-warshall", "symm")
BEFORE, AFTER = "# before\n", "# after: "


def kernel_of(name: str) -> Kernel:
    path = EXAMPLES / f"{name}.c"
    file = read_c(Source(str(path), path.read_text()), include_dirs=(EXAMPLES,), fp="reassociate")
    (region,) = file.functions[0].regions
    return region.kernel


def render(name: str) -> str:
    """The nest as read, and the most promising version of it."""
    kernel = kernel_of(name)
    best = plan(prepare(kernel), load_target("x86-avx512"), reassociate=True)[0]
    return f"{BEFORE}{print_kernel(kernel)}\n{AFTER}{best.name}\n{print_kernel(best.kernel)}"


@pytest.mark.parametrize("name", NAMES)
def test_nest(name: str, request: pytest.FixtureRequest) -> None:
    path, text = HERE / f"{name}.nest", render(name)
    if request.config.getoption("--bless"):
        path.write_text(text)
    assert text == path.read_text(), "accept the change with --bless if it is meant"


@pytest.mark.parametrize("name", NAMES)
def test_golden_nests_parse(name: str) -> None:
    before, _, after = (HERE / f"{name}.nest").read_text().removeprefix(BEFORE).partition(AFTER)
    assert parse_kernel(before) == kernel_of(name)
    assert parse_kernel(after.partition("\n")[2]).name == kernel_of(name).name
