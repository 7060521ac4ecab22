"""Loops of a contraction that are made one: the same is computed by views of arrays, and what would not is refused."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.gpu.convolutions import find_groups
from planish.gpu.mapping import find_chain
from planish.gpu.views import expand_views, views_apart
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import used_names
from planish.schedule.program import Program
from planish.schedule.steps.flatten_loops import FlattenLoops

PROGRAMS: dict[str, tuple[str, tuple[FlattenLoops, ...]]] = {
    "nchw": (
        "n, o, c, h, w; x: f32[n, c, h + 2, w + 2], k: f32[o, c, 3, 3], y: f32[o, n, h, w]) { for f in 0 .. o { "
        "for b in 0 .. n { for i in 0 .. h { for j in 0 .. w { y[f, b, i, j] = 1.0:f32 "
        "for d in 0 .. c { for u in 0 .. 3 { for v in 0 .. 3 { "
        "y[f, b, i, j] += x[b, d, i + u, j + v] * k[f, d, u, v] } } } } } } } }",
        (FlattenLoops("b", 3, "column"), FlattenLoops("d", 3, "term")),
    ),
    "strided": (
        "h, w, c, o; x: i32[2 * h + 3, 2 * w + 3, c], k: i32[3, c, o], y: i32[h, w, o]) { for i in 0 .. h { "
        "for j in 0 .. w { for f in 0 .. o { for u in 0 .. 3 { for d in 0 .. c { "
        "y[i, j, f] += x[2 * i + u, 2 * j + 2 * u, d] * k[u, d, f] } } } } } }",
        (FlattenLoops("i", 2, "row"), FlattenLoops("u", 2, "term")),
    ),
    "from elsewhere": (
        "h, w, o; x: f64[h, w], k: f64[o, 3], y: f64[o, h, w]) { for f in 0 .. o { for i in 1 .. h - 1 { "
        "for j in 2 .. w { y[f, i, j] = 0.0 for u in -1 .. 2 { y[f, i, j] += x[i + u, j - 1 - u] "
        "* k[f, u + 1] } } } } }",
        (FlattenLoops("i", 2, "column"), FlattenLoops("u", 1, "term")),
    ),
    "zeros around": (
        "h, w, o; x: f32[h, w], k: f32[o, 3], y: f32[o, h, w]) { for f in 0 .. o { for i in 0 .. h { "
        "for j in 0 .. w { y[f, i, j] = 0.0:f32 for u in 0 .. 3 { y[f, i, j] += "
        "select(j + u >= 1 && j + u - 1 < w, x[i, j + u - 1], 0.0:f32) * k[f, u] } } } } }",
        (FlattenLoops("i", 2, "column"), FlattenLoops("u", 1, "term")),
    ),
}


def values_of(kernel: Kernel, size: int) -> dict[str, int | np.ndarray]:
    sizes = {name: max(0, size - d % 3) for d, name in enumerate(kernel.sizes)}
    generator = np.random.default_rng(size)
    values: dict[str, int | np.ndarray] = dict(sizes)
    for array in kernel.arrays:
        shape = tuple(evaluate(x, sizes) for x in array.shape if x is not None)
        values[array.name] = generator.integers(-9, 9, shape).astype(array.type.numpy)
    return values


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_loop_computes_the_same(name: str) -> None:
    text, steps = PROGRAMS[name]
    kernel = parse_kernel(f"kernel c({text}")
    flat = Program.of(kernel).apply(*steps).kernel
    assert parse_kernel(print_kernel(flat)) == flat
    apart = views_apart(flat, {x.name for x in flat.derived})
    assert not {x.name for x in flat.derived} & used_names(apart)
    for made in (flat, apart):
        expanded = expand_views(made)
        assert not expanded.derived and expanded.sizes == kernel.sizes
        for size in (0, 1, 2, 5):
            expected, got = values_of(kernel, size), values_of(kernel, size)
            run_kernel(kernel, expected)
            run_kernel(expanded, got)
            for array in kernel.arrays:
                np.testing.assert_array_equal(got[array.name], expected[array.name])


WRONG: tuple[tuple[str, str], ...] = (
    # Two iterations store to one element, which each view would have apart.
    ("M[i + j, 0] = 1.0:f32", "E0613"),
    ("M[i, j] = M[i, j + 1]", "E0606"),
    ("M[i, j] = f32(i)", "E0604"),
    ("for k in 0 .. i { M[i, j] = N[j, k] }", "E0604"),
    ("M[i, j] = select(i > 1, 2.0:f32, N[i, j])", "E0604"),
)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_views_would_hide_is_refused(number: int) -> None:
    body, code = WRONG[number]
    head = "kernel f(n, m; M: f32[n + m, m + 1], N: f32[n + m, m + n])"
    program = Program.of(parse_kernel(f"{head} {{ for i in 0 .. n {{ for j in 0 .. m {{ {body} }} }} }}"))
    with pytest.raises(PlanishError) as found:
        program.apply(FlattenLoops("i", 2, "p"))
    assert found.value.diagnostic.code == code, found.value


def test_loops_that_depend_on_each_other_are_not_made_one() -> None:
    kernel = parse_kernel("kernel f(n; A: f32[n, n]) { for i in 0 .. n { for j in 0 .. i { A[i, j] = 1.0:f32 } } }")
    with pytest.raises(PlanishError, match="E0604"):
        Program.of(kernel).apply(FlattenLoops("i", 2, "p"))


NO_GROUPS = (
    # One operand depends on all: each of its elements is used once.
    "y[o, i, j] += x[o, i + u, j + v] * k[o, u, v]",
    "y[o, i, j] += x[o, i + u, j + v]",
    "y[o, i, j] += x[0, i + u, j + v] * x[o, u, v]",
    "y[o, i, j] max= x[0, i + u, j + v] * k[o, u, v]",
    "y[o, i, j] += x[0, i + u, j + v] * k[o, u, v] * y[o, u, v]",
)


@pytest.mark.parametrize("update", NO_GROUPS)
def test_other_sums_are_no_contractions(update: str) -> None:
    head = "kernel f(m, h, w; x: f32[m, h + 2, w + 2], k: f32[m, 3, 3], y: f32[m, h + 3, w + 3])"
    sums = f"for u in 0 .. 3 {{ for v in 0 .. 3 {{ {update} }} }}"
    text = f"{head} {{ for o in 0 .. m {{ for i in 0 .. h {{ for j in 0 .. w {{ {sums} }} }} }} }}"
    program = Program.of(parse_kernel(text))
    chain = find_chain(program, program.loop("o"))
    assert chain is None or find_groups(chain) is None
