"""The Tactics Description Language, and the tactics that come with Planish: what they mean, and where they apply."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.property.sampling import one_in

from planish.core.span import Source
from planish.ir.checker import check_kernel
from planish.ir.text.printer import print_kernel, print_stmt
from planish.raising.expansion import expand
from planish.raising.nests import raise_kernel
from planish.raising.raised import Apply
from planish.raising.tdl.constants import constants_in, with_constants
from planish.raising.tdl.examples import check_tactic, read_example, try_example
from planish.raising.tdl.explanation import explain_tactic
from planish.raising.tdl.parser import parse_definitions
from planish.raising.tdl.printer import print_definition
from planish.raising.tdl.reader import load_tactics, read_tactics
from planish.raising.tdl.tactic import Tactic
from planish.raising.tdl.trial import compare_builder, draw_sizes, draw_values, run_copy
from planish.raising.tdl.variants import choose

SHIPPED = {x.name: x for x in load_tactics()}
BUILT = [x for x in SHIPPED.values() if x.builders]
EXAMPLES = """
  example { void f(int n, double *x, double *y) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; } }
  counterexample { void f(int n, double *x, double *y) { for (int i = 0; i < n; i++) y[i] = x[i]; } }
"""
TTGT = """
def TTGT {
  pattern
    C(a,b,c) += A(a,c,d) * B(d,b)
  builder
    D(f,b) = C(a,b,c) where f = a * c
    E(f,d) = A(a,c,d) where f = a * c
    D(f,b) += E(f,d) * B(d,b)
    C(a,b,c) = D(f,b) where f = a * c
"""


def only(text: str) -> Tactic:
    """The one tactic of a text that has no examples of its own."""
    (found,) = read_tactics(Source("t.tdl", text + EXAMPLES + "}"), load_tactics())
    return found


def body(text: str) -> str:
    """The loops that a pattern stands for."""
    return print_stmt(only(f"def t {{ pattern {text}").operation.definition.body)


def test_the_paper_s_example_is_taken_as_it_is() -> None:
    tactic = only(TTGT)
    (builder,) = tactic.builders
    steps = [x for x in builder.steps if isinstance(x, Apply)]
    names = ["transpose", "reshape", "reshape", "matmul", "reshape", "transpose"]
    assert [x.operation.name for x in steps] == names
    assert [x.operation.einsum for x in steps] == ["abc->acb", "", "", "ac,cb->ab", "", "abc->acb"]
    assert tactic.operation.einsum == "acd,db->abc"
    assert compare_builder(tactic, builder) is None


def test_any_number_of_groups_on_both_sides() -> None:
    tactic = only("""def t {
      pattern C(a, b, c, d) += A(a, e, b, f) * B(d, f, c, e)
      builder
        L(p, q) = A(a, e, b, f) where p = a * b, q = e * f
        R(q, r) = B(d, f, c, e) where q = e * f, r = c * d
        S(p, r) = C(a, b, c, d) where p = a * b, r = c * d
        S(p, r) += L(p, q) * R(q, r)
        C(a, b, c, d) = S(p, r) where p = a * b, r = c * d
    """)
    assert compare_builder(tactic, tactic.builders[0]) is None


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("y(i) += A(i, k) where k <= i", "for k in 0 .. i + 1"),
        ("y(i) += A(i, k) where k < i", "for k in 0 .. i {"),
        ("y(i) += A(i, k) where i, k < n, k > i", "for k in i + 1 .. n"),
        ("y(i) += A(i, k) where i, k < n, i <= k", "for k in i .. n"),
        ("y(i) += A(i, k) where i, k < n, i - 1 <= k <= i + 1", "for k in max(0, i - 1) .. min(n, i + 2)"),
        ("y(i) += A(i, k) where k < 3", "for k in 0 .. 3"),
        ("y(i) = x(i) where i < n, 1 <= i < n - 1", "for i in 1 .. n - 1"),
        ("y(i) += x(s * i + d * r - p) where r < 3, 0 <= s * i + d * r - p < w", "for r in 0 .. 3"),
        ("y(i) += x(i + r - p) where r < 3, 0 <= i + r - p < w", "for r in max(0, p - i) .. min(3, w - i + p)"),
        ("y(i) = x(n - 1 - i) where i < n", "y[i] = x[n - 1 - i]"),
        ("y(i) -= x(i)", "y[i] += -x[i]"),
    ],
)
def test_ranges_become_bounds(text: str, head: str) -> None:
    assert head in body(text)


def test_what_is_no_bound_is_tested() -> None:
    text = "y(i) += x(s * i + d * r - p) where r < 3, 0 <= s * i + d * r - p < w"
    assert body(text).count("if ") == 2
    kernel = only(f"def t {{ pattern {text}").operation.definition
    assert print_kernel(kernel).splitlines()[0] == "kernel t(ni, s, d, p, w; y: f64[ni], x: f64[w])"
    assert constants_in(kernel) == (("s", "d"), ("p",))


def test_constants_become_numbers() -> None:
    operation = with_constants(SHIPPED["conv1d_ncw_valid"].operation, {"sx": 2, "dx": 1})
    check_kernel(operation.definition, "a test")
    assert "X[b, c, 2 * x + s]" in print_kernel(operation.definition)
    assert operation.definition.assumptions == ()


def test_a_variant_keeps_every_place() -> None:
    text = "a @left(b(c)) @right(\nd) e"
    for chosen in ({"left": True, "right": False}, {"left": False, "right": True}):
        made = choose(text, chosen)
        assert len(made) == len(text)
        assert made.count("\n") == 1
    assert choose(text, {"left": True, "right": False}).split() == ["a", "b(c)", "e"]
    assert choose(text, {"left": False, "right": True}).split() == ["a", "d", "e"]


@pytest.mark.parametrize("tactic", SHIPPED.values(), ids=lambda x: x.name)
def test_a_tactic_prints_as_text_that_reads_back(tactic: Tactic) -> None:
    text = print_definition(tactic.definition)
    (again,) = parse_definitions(Source("again.tdl", text))
    assert replace(again, family=tactic.family) == tactic.definition


@pytest.mark.parametrize("tactic", BUILT, ids=lambda x: x.name)
def test_a_builder_does_what_its_pattern_does(tactic: Tactic) -> None:
    for builder in tactic.builders:
        assert compare_builder(tactic, builder) is None


@pytest.mark.parametrize(
    "builder",
    [
        "y(i) += 3 * A(i, k) * x(k)",
        "y(i) += A(i, k) * x(i) where k < n",
        "y(i) = 0  y(i) += A(i, k) * x(k)",
        "y(i) += A(i, k) * x(k) where k < i",
        "B(i, k) = A(k, i)  y(i) += B(i, k) * x(k)",
    ],
)
def test_a_wrong_builder_is_found(builder: str) -> None:
    tactic = only(f"def t {{ pattern y(i) += A(i, k) * x(k) where i, k < n builder {builder}")
    assert compare_builder(tactic, tactic.builders[0]) is not None


@pytest.mark.parametrize("tactic", SHIPPED.values(), ids=lambda x: x.name)
def test_examples_are_kernels_and_the_tactic_can_be_told(tactic: Tactic) -> None:
    for example in (*tactic.examples, *tactic.counterexamples):
        assert read_example(tactic, example)
    assert tactic.name in explain_tactic(tactic)


def run(name: str, seed: int, **known: object) -> tuple[dict[str, object], dict[str, object]]:
    """What is drawn for a tactic's operands, and what its definition leaves; matrices that are solved with are kind."""
    kernel = SHIPPED[name].operation.definition
    chance = Random(seed)
    sizes = draw_sizes(kernel, chance)
    values = draw_values(kernel, sizes, chance)
    if "A" in values and name.startswith(("trsv", "trsm", "lu", "cholesky")):
        n = len(values["A"])
        values["A"] = values["A"] + 9 * np.eye(n)
    return {**sizes, **values}, run_copy(kernel, sizes, values)


def triangle(a: np.ndarray, words: set[str]) -> np.ndarray:
    """The matrix that a triangular operand stands for."""
    a = a.T if "transposed" in words else a
    a = np.tril(a) if "lower" in words else np.triu(a)
    return a - np.diag(np.diag(a)) + np.eye(len(a)) if "unit" in words else a


@pytest.mark.parametrize("name", [x.name for x in SHIPPED.values() if x.family in ("trmv", "trsv", "trmm", "trsm")])
def test_triangular_operations_agree_with_numpy(name: str) -> None:
    words = set(name.split("_"))
    for seed in range(3):
        drawn, left = run(name, seed)
        a = triangle(drawn["A"], words)
        out = "x" if "x" in drawn else "B"
        b = drawn[out].T if "right" in words else drawn[out]
        a = a.T if "right" in words else a
        wanted = a @ b if name.startswith("trm") else np.linalg.solve(a, b)
        np.testing.assert_allclose(left[out], wanted.T if "right" in words else wanted, rtol=1e-9, atol=1e-9)


def test_factors_multiply_to_the_matrix() -> None:
    for seed in range(3):
        drawn, left = run("lu", seed)
        lower, upper = np.tril(left["A"], -1) + np.eye(len(left["A"])), np.triu(left["A"])
        np.testing.assert_allclose(lower @ upper, drawn["A"], rtol=1e-9, atol=1e-9)
        kernel = SHIPPED["cholesky"].operation.definition
        a = np.random.default_rng(seed).random((4, 4))
        a = a @ a.T + 4 * np.eye(4)
        factor = np.tril(run_copy(kernel, {"n": 4}, {"A": a})["A"])
        np.testing.assert_allclose(factor @ factor.T, a, rtol=1e-9)
        tall = np.random.default_rng(seed).random((5, 3))
        values = {"A": tall, "R": np.zeros((3, 3)), "Q": np.zeros((5, 3))}
        found = run_copy(SHIPPED["qr"].operation.definition, {"m": 5, "n": 3}, values)
        np.testing.assert_allclose(found["Q"] @ np.triu(found["R"]), tall, rtol=1e-9)
        np.testing.assert_allclose(found["Q"].T @ found["Q"], np.eye(3), atol=1e-9)


def symmetric(a: np.ndarray, words: set[str]) -> np.ndarray:
    half = np.tril(a) if "lower" in words else np.triu(a)
    return half + half.T - np.diag(np.diag(half))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def norm(d: dict[str, np.ndarray]) -> np.ndarray:
    mean = d["inverse"] * d["X"].sum(axis=1, keepdims=True)
    variance = d["inverse"] * ((d["X"] - mean) ** 2).sum(axis=1, keepdims=True)
    return (d["X"] - mean) / np.sqrt(variance + d["eps"]) * d["g"] + d["b"]


def best(d: dict[str, np.ndarray], x: np.ndarray) -> object:
    rest = x[1:]
    return 1 + rest.argmax() if len(rest) and rest.max() > d["m"] else d["k"]


REFERENCES = {
    "nrm2": ("s", lambda d: np.linalg.norm(d["x"])),
    "asum": ("s", lambda d: d["s"] + np.abs(d["x"]).sum()),
    "iamax": ("k", lambda d: best(d, np.abs(d["x"]))),
    "arg_max": ("k", lambda d: best(d, d["x"])),
    "arg_min": ("k", lambda d: best({**d, "m": -d["m"]}, -d["x"])),
    "gemv": ("y", lambda d: d["y"] + d["alpha"] * d["A"] @ d["x"]),
    "gemm": ("C", lambda d: d["C"] + d["alpha"] * d["A"] @ d["B"]),
    "gemm_batched": ("C", lambda d: d["C"] + d["alpha"] * d["A"] @ d["B"]),
    "symv_lower": ("y", lambda d: d["y"] + d["alpha"] * symmetric(d["A"], {"lower"}) @ d["x"]),
    "symv_upper": ("y", lambda d: d["y"] + d["alpha"] * symmetric(d["A"], {"upper"}) @ d["x"]),
    "symm_left_lower": ("C", lambda d: d["C"] + d["alpha"] * symmetric(d["A"], {"lower"}) @ d["B"]),
    "symm_right_upper": ("C", lambda d: d["C"] + d["alpha"] * d["B"] @ symmetric(d["A"], {"upper"})),
    "syrk_lower_plain": ("C", lambda d: d["C"] + d["alpha"] * np.tril(d["A"] @ d["A"].T)),
    "syrk_upper_transposed": ("C", lambda d: d["C"] + d["alpha"] * np.triu(d["A"].T @ d["A"])),
    "softmax": ("Y", lambda d: softmax(d["X"])),
    "layer_norm": ("Y", norm),
    "prefix_sum_inclusive": ("y", lambda d: np.cumsum(d["x"])),
    "prefix_sum_exclusive": ("y", lambda d: np.cumsum(d["x"]) - d["x"]),
    "prefix_sum_in_place": ("x", lambda d: np.cumsum(d["x"])),
    "histogram": ("h", lambda d: d["h"] + np.bincount(d["b"], minlength=9)[: len(d["h"])]),
    "product_min": ("C", lambda d: np.minimum(d["C"], (d["A"][:, :, None] + d["B"][None]).min(axis=1))),
    "reach": ("C", lambda d: d["C"] | ((d["A"].astype(int) @ d["B"].astype(int)) > 0)),
    "broadcast_rows": ("B", lambda d: np.broadcast_to(d["x"], d["B"].shape)),
    "permute_bca": ("B", lambda d: d["A"].transpose(1, 2, 0)),
    "map_relu": ("y", lambda d: np.maximum(d["x"], 0)),
    "reduce_max": ("y", lambda d: np.maximum(d["y"], d["A"].max(axis=1))),
    "mean": ("y", lambda d: d["y"] + d["alpha"] * d["A"].sum(axis=1)),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_definitions_agree_with_numpy(name: str) -> None:
    array, reference = REFERENCES[name]
    for seed in range(4):
        with np.errstate(all="ignore"):
            drawn, left = run(name, seed)
            np.testing.assert_allclose(left[array], reference(drawn), rtol=1e-9, atol=1e-9)


def test_the_two_layouts_of_a_convolution_are_one_sum() -> None:
    one, other = (SHIPPED[f"conv2d_{x}_padded"].operation.definition for x in ("nchw", "nhwc"))
    chance = Random(3)
    sizes = draw_sizes(one, chance)
    values = draw_values(one, sizes, chance)
    turned = {
        "O": values["O"].transpose(0, 2, 3, 1).copy(), "X": values["X"].transpose(0, 2, 3, 1).copy(),
        "W": values["W"].transpose(2, 3, 1, 0).copy(),
    }  # fmt: skip
    left, right = run_copy(one, sizes, values)["O"], run_copy(other, sizes, turned)["O"]
    np.testing.assert_array_equal(left.transpose(0, 2, 3, 1), right)


@pytest.mark.parametrize("tactic", one_in(3, SHIPPED.values()), ids=list(SHIPPED))
def test_a_tactic_applies_to_its_example_only(tactic: Tactic) -> None:
    for example in tactic.examples:
        assert try_example(tactic, example, raise_kernel).applies
    for example in tactic.counterexamples:
        assert not try_example(tactic, example, raise_kernel).applies


def test_what_an_example_becomes_runs_as_it_does() -> None:
    compared = 0
    for tactic in SHIPPED.values():
        if constants_in(tactic.operation.definition) != ((), ()):
            continue
        for kernel in read_example(tactic, tactic.examples[0]):
            raised = raise_kernel(kernel, (tactic.operation,))
            if not any(isinstance(x, Apply) for x in raised.steps) or any(None in x.shape for x in kernel.arrays):
                continue
            chance = Random(5)
            sizes = draw_sizes(kernel, chance)
            values = draw_values(kernel, sizes, chance)
            wanted, got = run_copy(kernel, sizes, values), run_copy(expand(raised), sizes, values)
            for array in kernel.arrays:
                np.testing.assert_allclose(got[array.name], wanted[array.name], rtol=1e-9, err_msg=tactic.name)
            compared += 1
    assert compared > 60


def test_wrong_examples_are_told() -> None:
    tactic = only("def t { pattern y(i) = 3 * x(i)")
    assert [x.code for x in check_tactic(tactic, raise_kernel)] == ["E0827"]
    swapped = replace(tactic, examples=tactic.counterexamples, counterexamples=tactic.examples)
    assert [x.code for x in check_tactic(swapped, raise_kernel)] == ["E0827"]
    twice = only("def t { pattern y(i) = 2 * x(i)")
    assert check_tactic(twice, raise_kernel) == []
    wrong = replace(twice, examples=twice.counterexamples, counterexamples=twice.examples)
    assert [x.code for x in check_tactic(wrong, raise_kernel)] == ["E0827", "E0828"]
