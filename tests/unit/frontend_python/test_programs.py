"""Random bodies of loops, conditions, locals and updates: the kernel leaves every array as Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planish.frontend.python.reader import read_python_source
from planish.ir.semantics.interpreter import run_kernel

SIZE = 5
HEAD = """def f(n: size, A: f64["n"], B: f64["n"], C: i32["n"]):
    s = 0.5
    t = 1.0
    c = 2
    w = 1
"""
REALS = ["A[{i}]", "B[{i}]", "B[n - 1 - {i}]", "s", "t", "0.25", "{i}", "(A[{i} - 1] if {i} > 0 else t)"]
WHOLE = ["C[{i}]", "c", "3", "{i}", "-1"]
DATA = ["A[{i}] > B[{i}]", "s < t", "C[{i}] > c", "not A[{i}] < 0.5", "0 < A[{i}] < s", "C[{i}]"]
STATIC = ["{i} > 1", "{i} % 2 == 0", "1 <= {i} < n - 1", "n > 3 or {i} == 0"]


@st.composite
def _block(draw: st.DrawFn, iterators: tuple[str, ...], guarded: bool, depth: int, indent: int) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(_statement(iterators, guarded, depth, indent))
    return lines


@st.composite
def _statement(draw: st.DrawFn, iterators: tuple[str, ...], guarded: bool, depth: int, indent: int) -> list[str]:
    i = draw(st.sampled_from(iterators)) if iterators else "0"
    pad = "    " * indent

    def real() -> str:
        one, other = draw(st.sampled_from(REALS)), draw(st.sampled_from(REALS))
        form = draw(st.sampled_from(["{0}", "0.5 * ({0} + {1})", "{0} - 0.5 * {1}", "max({0}, {1})"]))
        return form.format(one.format(i=i), other.format(i=i))

    def whole() -> str:
        one, other = draw(st.sampled_from(WHOLE)), draw(st.sampled_from(WHOLE))
        return draw(st.sampled_from(["{0}", "{0} + {1}", "min({0}, {1})"])).format(one, other).format(i=i)

    kinds = ["real", "update", "whole", "count", "swap", "local", "index", "pick", "pick"]
    if depth > 0:
        kinds += ["data", "data", "data"] + ([] if guarded else ["static", "static", "loop", "loop", "loop"])
    match draw(st.sampled_from(kinds)):
        case "real":
            return [f"{pad}{draw(st.sampled_from(['A', 'B']))}[{i}] = {real()}"]
        case "update":
            target = draw(st.sampled_from(["A[{i}]", "B[{i}]", "s", "t"])).format(i=i)
            operator = draw(st.sampled_from(["+", "-"]))
            return [f"{pad}{target} {operator}= {real()}"]
        case "whole":
            return [f"{pad}C[{i}] = {whole()}"]
        case "count":
            return [f"{pad}c = min(c + 1, 90)", f"{pad}C[{i}] += {draw(st.sampled_from(['c', '1', i]))}"]
        case "swap":
            return [f"{pad}s, t = t, 0.5 * s", f"{pad}A[{i}], B[{i}] = B[{i}], A[{i}]"]
        case "local":
            fresh = draw(st.sampled_from(["u", "v"]))
            return [f"{pad}{fresh} = {real()}", f"{pad}B[{i}] = {fresh} * 0.5", f"{pad}s = {fresh}"]
        case "index":
            return [f"{pad}k = n - 1 - {i}", f"{pad}A[k] = B[{i}] + k"]
        case "pick":
            return [draw(st.sampled_from([f"{pad}w = n - {i}", f"{pad}w = 2", f"{pad}C[{i}] += w"]))]
        case "data":
            lines = [f"{pad}if {draw(st.sampled_from(DATA)).format(i=i)}:"]
            lines += draw(_block(iterators, True, depth - 1, indent + 1))
            if draw(st.booleans()):
                lines += [f"{pad}else:", *draw(_block(iterators, True, depth - 1, indent + 1))]
            return lines
        case "static":
            lines = [f"{pad}if {draw(st.sampled_from(STATIC)).format(i=i)}:"]
            if draw(st.booleans()):
                lines[0] = lines[0][:-1] + f" and {draw(st.sampled_from(DATA)).format(i=i)}:"
            inner = "and" in lines[0]
            lines += draw(_block(iterators, inner, depth - 1, indent + 1))
            if draw(st.booleans()):
                lines += [f"{pad}else:", *draw(_block(iterators, inner, depth - 1, indent + 1))]
            return lines
        case _:
            name = "ijkl"[len(iterators)] if len(iterators) < 2 else f"i{len(iterators)}"
            bounds = draw(st.sampled_from(["n", "1, n", "n - 1, -1, -1", "0, n, 2"]))
            return [
                f"{pad}for {name} in range({bounds}):",
                *draw(_block((*iterators, name), guarded, depth - 1, indent + 1)),
            ]


@settings(max_examples=120, deadline=None)
@given(_block((), False, 3, 1), st.integers(0, 5))
def test_any_program_computes_what_python_computes(body: list[str], seed: int) -> None:
    text = HEAD + "    for q in range(n):\n        A[q] += s\n" + "\n".join(body) + "\n    A[0] += s + t + c + w\n"
    draw = np.random.default_rng(seed)
    arrays: dict[str, Any] = {
        "A": draw.random(SIZE), "B": draw.random(SIZE), "C": draw.integers(-3, 4, SIZE).astype("int32"),
    }  # fmt: skip
    expected = {name: x.copy() for name, x in arrays.items()}
    scope: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + text, scope)
    scope["f"](n=SIZE, **expected)
    run_kernel(read_python_source(text, "x.py").kernel, {"n": SIZE, **arrays})
    for name, value in arrays.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=text)
