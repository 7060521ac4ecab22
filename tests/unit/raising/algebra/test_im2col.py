"""Convolutions become products of matrices: they compute the same in any layout, with strides, groups, gaps in rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from written import run

from planish.ir.index.evaluate import evaluate
from planish.ir.text.parser import parse_kernel
from planish.ir.types import Floats
from planish.raising.algebra.rewrite import improve
from planish.raising.match.operation_index import load_operations
from planish.raising.nests import raise_kernel
from planish.raising.raised import Choice, Raised, walk_steps
from planish.raising.tdl.constants import specialise_all
from planish.target.load import load_target

TARGET = load_target("x86-avx512")
SIZES = {"n": 2, "f": 3, "g": 2, "c": 2, "h": 5, "w": 4, "r": 2, "s": 3, "d": 2}

CONVOLUTIONS: Mapping[str, tuple[dict[str, str], dict[str, str], str]] = {
    "rows with gaps": (
        {"O": "n, f, h, w + 3", "X": "n, c, h + r - 1, w + s - 1", "W": "f, c, r, s"},
        {"b": "n", "o": "f", "y": "h", "x": "w", "i": "c", "p": "r", "q": "s"},
        "O[b, o, y, x] += X[b, i, y + p, x + q] * W[o, i, p, q]",
    ),
    "rows without gaps": (
        {"O": "n, f, h, w", "X": "n, c, h + r - 1, w + s - 1", "W": "f, c, r, s"},
        {"b": "n", "o": "f", "y": "h", "x": "w", "i": "c", "p": "r", "q": "s"},
        "O[b, o, y, x] += X[b, i, y + p, x + q] * W[o, i, p, q]",
    ),
    "weights apart": (
        {"O": "n, f, h, w", "X": "n, c, h + r - 1, w + s - 1", "W": "c, f, r, s"},
        {"b": "n", "o": "f", "y": "h", "x": "w", "i": "c", "p": "r", "q": "s"},
        "O[b, o, y, x] += X[b, i, y + p, x + q] * W[i, o, p, q]",
    ),
    "features last": (
        {"O": "n, h, w, f", "X": "n, h + r - 1, w + s - 1, c", "W": "r, s, c, f"},
        {"b": "n", "y": "h", "x": "w", "o": "f", "p": "r", "q": "s", "i": "c"},
        "O[b, y, x, o] += X[b, y + p, x + q, i] * W[p, q, i, o]",
    ),
    "strides and dilation": (
        {"O": "n, f, h, w", "X": "n, c, 2 * h + 3 * r, 3 * w + 2 * s", "W": "f, c, r, s"},
        {"b": "n", "o": "f", "y": "h", "x": "w", "i": "c", "p": "r", "q": "s"},
        "O[b, o, y, x] += X[b, i, 2 * y + 3 * p, 3 * x + 2 * q] * W[o, i, p, q]",
    ),
    "groups": (
        {"O": "n, g, f, h, w", "X": "n, g, c, h + r - 1, w + s - 1", "W": "g, f, c, r, s"},
        {"b": "n", "e": "g", "o": "f", "y": "h", "x": "w", "i": "c", "p": "r", "q": "s"},
        "O[b, e, o, y, x] += X[b, e, i, y + p, x + q] * W[e, o, i, p, q]",
    ),
    "a signal": (
        {"O": "n, f, w", "X": "n, c, w + s - 1", "W": "f, c, s"},
        {"b": "n", "o": "f", "x": "w", "i": "c", "q": "s"},
        "O[b, o, x] += X[b, i, x + q] * W[o, i, q]",
    ),
    "a body": (
        {"O": "n, f, d, h, w", "X": "n, c, d + r - 1, h + r - 1, w + s - 1", "W": "f, c, r, r, s"},
        {"b": "n", "o": "f", "z": "d", "y": "h", "x": "w", "i": "c", "t": "r", "p": "r", "q": "s"},
        "O[b, o, z, y, x] += X[b, i, z + t, y + p, x + q] * W[o, i, t, p, q]",
    ),
}


def raised_of(name: str, front: str = "") -> Raised:
    """A convolution of sizes that are not known, raised."""
    arrays, loops, body = CONVOLUTIONS[name]
    text = "".join(f"for {x} in 0 .. {y} {{ " for x, y in loops.items()) + body + " }" * len(loops)
    declared = ", ".join(f"{x}: f64[{y}]" for x, y in arrays.items())
    kernel = parse_kernel(f"kernel k({', '.join(SIZES)}; {declared}) {{ {front}{text} }}")
    return raise_kernel(kernel, specialise_all(load_operations(None), kernel))


def check(before: Raised, after: Raised, sizes: Mapping[str, int]) -> None:
    """Both leave the same whole numbers in every array."""
    source = np.random.default_rng(3)
    values: dict[str, object] = dict(sizes)
    for array in before.kernel.arrays:
        shape = [max(0, int(evaluate(x, sizes))) for x in array.shape if x is not None]
        values[array.name] = np.asarray(source.integers(-3, 4, shape), array.type.numpy)
    want, got = run(before, values), run(after, values)
    for array in before.kernel.arrays:
        np.testing.assert_array_equal(got[array.name], want[array.name])


def names(raised: Raised) -> list[str]:
    return [getattr(getattr(x, "operation", None), "name", "") for x in walk_steps(raised.steps)]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_is_computed_by_products(name: str) -> None:
    before = raised_of(name)
    after, remarks = improve(before, TARGET, "reassociate")
    assert "gemm" in names(after), [x.message for x in remarks]
    for changes in ({}, {"w": 1, "h": 1}, {"h": 0}, {"c": 1, "f": 1}, {"s": 1, "r": 1}, {"h": 37}):
        check(before, after, {**SIZES, **changes})


def test_rows_without_gaps_are_taken_together() -> None:
    after, _ = improve(raised_of("rows without gaps"), TARGET, "reassociate")
    assert not any(isinstance(x, Choice) for x in after.steps)
    # The weights are a matrix where they lie.
    assert {x.name for x in after.locals} == {"columns_2"}
    after, _ = improve(raised_of("weights apart"), TARGET, "reassociate")
    assert {x.name for x in after.locals} == {"weights", "columns_2"}
    after, _ = improve(raised_of("rows with gaps"), TARGET, "reassociate")
    assert [len(x.cases) for x in after.steps if isinstance(x, Choice)] in ([], [2])


@pytest.mark.parametrize("scale", ["0.0", "O[b, o, x] * 0.5"])
def test_what_the_output_begins_with_is_kept(scale: str) -> None:
    front = f"for b in 0 .. n {{ for o in 0 .. f {{ for x in 0 .. w {{ O[b, o, x] = {scale} }} }} }} "
    before = raised_of("a signal", front)
    after, _ = improve(before, TARGET, "reassociate")
    assert "gemm" in names(after)
    check(before, after, SIZES)


@pytest.mark.parametrize("floats", ["strict", "contract"])
def test_sums_of_floats_keep_their_order(floats: Floats) -> None:
    after, remarks = improve(raised_of("rows without gaps"), TARGET, floats)
    assert "gemm" not in names(after)
    assert any("keeps the order of its sums" in x.message for x in remarks)


def test_one_feature_stays_a_convolution() -> None:
    text = "for x in 0 .. w { for i in 0 .. c { for q in 0 .. s { O[x] += X[i, x + q] * W[i, q] } } }"
    kernel = parse_kernel(f"kernel k(w, c, s; O: f64[w], X: f64[c, w + s - 1], W: f64[c, s]) {{ {text} }}")
    raised = raise_kernel(kernel, specialise_all(load_operations(None), kernel))
    after, remarks = improve(raised, TARGET, "reassociate")
    assert after.steps == raised.steps
    assert not any(x.kind == "done" for x in remarks)
