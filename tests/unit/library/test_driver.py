"""The version that is tried first, with a clock and without: what the library has for a nest, or loops."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from planish.build.read import read_file
from planish.core.span import Source
from planish.ir.types import Floats
from planish.library.driver import make_versions
from planish.library.parallel.parallel_marks import has_threads
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context, Strategy
from planish.options import Options
from planish.schedule.auto.plan import Version
from planish.schedule.auto.policies import POLICY_NAMES
from planish.target.load import load_target

HEAD = "void f(int n, int m, float a, float *restrict x, float *restrict y, float *restrict z)"
LOOPS = {
    "operations": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[j * n + i] = y[i * m + j];",
    "fir": """for (int i = 0; i < n; i++) { float s = 0;
        for (int j = 0; j < m; j++) s += x[j] * y[i + j]; z[i] = s; }""",
    "transpose-inplace": """for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) {
        float t = x[i * n + j]; x[i * n + j] = x[j * n + i]; x[j * n + i] = t; }""",
    "lms-block": """for (int i = 0; i < n; i++) { float s = 0;
        for (int j = 0; j < m; j++) s += x[j] * y[i + j];
        for (int j = 0; j < m; j++) x[j] += a * (z[i] - s) * y[i + j]; }""",
    "stencil-lanes": """for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++) y[i] = a * (x[i - 1] + x[i] + x[i + 1]);
        for (int i = 1; i < n - 1; i++) x[i] = a * (y[i - 1] + y[i] + y[i + 1]); }""",
    "": "for (int i = 0; i < n; i++) x[i] = a * y[i];",
}
STRICT = {"operations", "transpose-inplace", "stencil-lanes"}
"""Those whose results are the same in every bit."""
SHARED = {
    "operations": "operations", "fir": "fir", "transpose-inplace": "transpose-inplace, parallel-loops",
    "stencil-lanes": "stencil-lanes, parallel-loops",
}  # fmt: skip
"""Those that several threads share."""


def first(loops: str, fp: Floats, threads: int = 1, sizes: Mapping[str, int] | None = None) -> Version | None:
    """The first version, if the library has it; None for loops in another order."""
    file = read_file(Source("f.c", f"{HEAD} {{ {loops} }}\n"), Options(fp=fp))
    (region,) = file.functions[0].regions
    cx = replace(Context.of(region.kernel, load_target("x86-avx2"), fp, threads), sizes=sizes or {})
    (made,) = make_versions(cx, STRATEGIES, most=1).versions
    assert isinstance(made, Version)
    return None if made.name in POLICY_NAMES else made


@pytest.mark.parametrize("name", LOOPS)
def test_what_the_library_has(name: str) -> None:
    made = first(LOOPS[name], "reassociate")
    assert (made.name if made is not None else "") == name


@pytest.mark.parametrize("name", LOOPS)
def test_strictly_only_what_keeps_every_bit(name: str) -> None:
    made = first(LOOPS[name], "strict")
    assert (made.name if made is not None else "") == (name if name in STRICT else "")


@pytest.mark.parametrize("name", LOOPS)
def test_on_threads_only_what_they_share(name: str) -> None:
    made = first(LOOPS[name], "reassociate", 2)
    assert (made.name if made is not None else "") == SHARED.get(name, "")
    assert made is None or has_threads(made)


def test_nothing_is_looked_for_once_there_are_enough() -> None:
    (region,) = read_file(Source("f.c", f"{HEAD} {{ {LOOPS['operations']} }}\n"), Options()).functions[0].regions
    cx = Context.of(region.kernel, load_target("x86-avx2"))
    asked: list[str] = []

    def watched(strategy: Strategy[Any]) -> Strategy[Any]:
        def match(cx: Context) -> Sequence[Any]:
            asked.append(strategy.name)
            return strategy.match(cx)

        return replace(strategy, match=match)

    assert len(make_versions(cx, [watched(x) for x in STRATEGIES], most=1).versions) == 1
    assert "operations" in asked and "loops" not in asked


def test_kernels_that_have_threads_are_not_given_chunks_as_well() -> None:
    text = f"{HEAD} {{ {LOOPS['operations']} }}\n"
    (region,) = read_file(Source("f.c", text), Options()).functions[0].regions
    cx = Context.of(region.kernel, load_target("x86-avx2"), threads=2)
    made = [x for x in make_versions(cx, STRATEGIES).versions if isinstance(x, Version)]
    raised = next(x for x in made if x.name == "operations")
    assert any(x.name == "operations, parallel-chunks" for x in made) != has_threads(raised)


@pytest.mark.parametrize(("side", "name"), [(4, ""), (16, ""), (256, "operations")])
def test_little_to_do_is_left_to_loops(side: int, name: str) -> None:
    product = """for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)
        x[i * n + j] += y[i * n + k] * z[k * n + j];"""
    known = first(product, "reassociate", sizes={"n": side})
    fixed = first(re.sub(r"\bn\b", str(side), product), "reassociate")
    assert [x.name if x is not None else "" for x in (known, fixed)] == [name, name]


@pytest.mark.parametrize(("steps", "name"), [(5, ""), (8, "fir")])
def test_short_windows_are_left_to_loops(steps: int, name: str) -> None:
    made = first(LOOPS["fir"].replace("j < m", f"j < {steps}"), "reassociate")
    assert (made.name if made is not None else "") == name
