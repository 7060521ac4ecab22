"""Ranges of iterations that depend on nothing of others are found in nests of any form, and only there; portions of
them, in any order, compute what the nest does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.expr import Binary, Expr, Var, index
from planish.ir.nest import For, If, Kernel, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import map_block, substitute_block, walk
from planish.library.parallel import chunks, wavefront_threads
from planish.library.parallel.iteration_ranges import find_range
from planish.library.parallel.parallel_marks import mark_threads
from planish.library.parallel.thread_threshold import with_starts
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target

HEAD = (
    "kernel k(n, m; x: f64[n + 9, m + 9] distinct, y: f64[n + 9, m + 9] distinct, z: i32[] distinct, v: f64[n + 9],"
    " w: i32[n + 9])"
)
SHARED = {
    "rows": "for i in 0 .. n { for j in 1 .. m { x[i, j] = x[i, j - 1] + y[i, j] } }",
    "columns": "for j in 0 .. n { v[j] = 1.0 } for i in 0 .. m { for j in 0 .. n { v[j] += y[j, i] } }",
    "rows of values": (
        "for i in 2 .. n + 3 { alloc s: f64[] register s[] = 0.0 for j in 0 .. m { s[] += y[i, j] } v[i] = s[]"
        " for j in 0 .. m { x[i, j] = y[i, j] - s[] } }"
    ),
    "other bounds": "for i in 1 .. n { v[i] = v[i] * 2.0 } for i in 3 .. n + 4 { v[i] += y[i, 1] }",
    "steps": "for i in 1 .. n + 2 step 3 { v[i] = y[i, 0] v[i + 1] = y[i, 1] v[i + 2] += y[i, 2] }",
    "triangle": "for i in 0 .. n { for j in i .. m { x[i, j] = y[i, j] * 2.0 } }",
    "sum": "alloc s: i32[] s[] = 3:i32 for i in 0 .. n { for j in 0 .. m { s[] += 1:i32 } } z[] = s[]",
    "least": "for i in 0 .. n { z[] min= 0:i32 - 2:i32 }",
}
APART = {
    "chain": "for i in 1 .. n { v[i] = v[i - 1] + 1.0 }",
    "next row": "for i in 0 .. n { for j in 0 .. m { x[i, j] = x[i + 1, j] + x[i, j + 1] } }",
    "cell": "alloc s: f64[] s[] = 0.0 for i in 0 .. n { v[i] = s[] s[] = y[i, 0] }",
    "sum that is read": "for i in 0 .. n { z[] += 1:i32 w[i] = z[] }",
    "other order": "for i in 0 .. n { v[i] = 1.0 } for i in 0 .. n { x[i, 0] = v[n - i] }",
    "second nest": "for i in 0 .. n { v[i] = y[i, 0] } for i in 1 .. n { x[i, 0] = v[i - 1] }",
    "other steps": "for i in 0 .. n step 2 { v[i] = 1.0 } for i in 0 .. n { v[i] = 2.0 }",
}
LINES = {
    "a line for each row": (
        "for i in 0 .. n { for j in 0 .. 4 { v[j] = y[i, j] } for j in 0 .. 4 { x[i, j] = v[3 - j] } }"
    ),
    "columns": (
        "for j in 0 .. m { for i in 0 .. n { v[i] = x[i, j] } for i in 0 .. n { x[i, j] = v[n - 1 - i] + y[i, j] } }"
    ),
}
KEPT = {
    "from the iteration before": "for i in 0 .. n { x[i, 0] = v[0] v[0] = y[i, 0] }",
    "of which some is from before": "for i in 0 .. n { v[0] = y[i, 0] for j in 0 .. 4 { x[i, j] = v[j] } }",
    "in two nests": "for i in 0 .. n { v[i] = y[i, 0] } for i in 0 .. n { x[i, 0] = v[n - 1 - i] }",
    "read behind it": "for i in 0 .. n { v[0] = y[i, 0] x[i, 1] = v[0] } z[] = i32(v[0])",
}
SIZES = [(0, 0), (1, 1), (2, 0), (3, 5), (8, 4)]


def run(kernel: Kernel, n: int, m: int) -> list[np.ndarray]:
    random = np.random.default_rng(n + m)
    arrays = {
        "x": random.standard_normal((n + 9, m + 9)), "y": random.standard_normal((n + 9, m + 9)),
        "z": np.array(7, np.int32), "v": random.standard_normal(n + 9), "w": np.zeros(n + 9, np.int32),
    }  # fmt: skip
    run_kernel(kernel, {"n": n, "m": m, **arrays})
    return list(arrays.values())


def backwards(stmt: Stmt) -> Stmt:
    """A loop on threads with its iterations the other way round."""
    if not isinstance(stmt, For) or not stmt.facts.parallel:
        return stmt
    turned: Expr = Binary("sub", Binary("sub", stmt.upper, index(1)), Var(stmt.var, index(0).type))
    return replace(stmt, body=substitute_block(stmt.body, {stmt.var: turned}))


@pytest.mark.parametrize("name", [*SHARED, *LINES])
def test_portions_compute_the_same_in_any_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "WORTH", -1)
    kernel = parse_kernel(f"{HEAD} {{ {(SHARED | LINES)[name]} }}")
    scratch = ("v",) if name in LINES else ()
    target = load_target("x86-avx2")
    some = partial(plan, target=target, reassociate=True, most=2)
    made = chunks.portion_versions(prepare(kernel), some, 2, reassociate=True, scratch=scratch)
    assert made
    for candidate in made:
        check_kernel(candidate.kernel, candidate.name)
        assert sum(isinstance(x, For) and x.facts.parallel for x in walk(candidate.kernel.body)) == 1
        turned = replace(candidate.kernel, body=map_block(backwards, candidate.kernel.body))
        for n, m in SIZES:
            wanted = run(kernel, n, m)
            for one in (candidate.kernel, turned):
                for array, a, b in zip("xyzvw", run(one, n, m), wanted, strict=True):
                    if array not in scratch:
                        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", KEPT)
def test_what_goes_through_an_array_keeps_it_whole(name: str) -> None:
    kernel = prepare(parse_kernel(f"{HEAD} {{ {KEPT[name]} }}")).kernel
    assert find_range(kernel, reassociate=True, scratch=("v",)) is None


@pytest.mark.parametrize("name", LINES)
def test_an_array_that_is_read_behind_the_kernel_stays_one(name: str) -> None:
    assert find_range(prepare(parse_kernel(f"{HEAD} {{ {LINES[name]} }}")).kernel, reassociate=True) is None


@pytest.mark.parametrize("name", APART)
def test_what_waits_for_other_iterations_has_no_ranges(name: str) -> None:
    assert find_range(prepare(parse_kernel(f"{HEAD} {{ {APART[name]} }}")).kernel, reassociate=True) is None


def test_sums_of_floats_are_made_apart_where_that_is_allowed() -> None:
    kernel = parse_kernel("kernel k(n; x: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] } }")
    assert find_range(kernel, reassociate=False) is None
    found = find_range(kernel, reassociate=True)
    assert found is not None
    assert found.sums == (("add", "s"),)


def test_each_start_of_threads_needs_its_work() -> None:
    text = "kernel k(n; x: f64[n, n]) { for i in 0 .. n { for j in 0 .. n parallel { x[i, j] = 0.0 } } }"
    made = with_starts(parse_kernel(text), Binary("mul", index("n"), index("n")))
    (choice,) = made.body.body
    assert isinstance(choice, If)
    assert [any(isinstance(x, For) and x.facts.parallel for x in walk(y)) for y in (choice.then, choice.otherwise)] == [
        True, False,
    ]  # fmt: skip
    assert with_starts(made, index("n")) == made


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("for i in 0 .. n { for j in 1 .. m { x[i, j] = x[i, j - 1] } }", ["i"]),
        ("for j in 1 .. m { for i in 0 .. n { x[i, j] = x[i, j - 1] } }", ["i"]),
        ("for i in 1 .. n { for j in 1 .. m { x[i, j] = x[i - 1, j - 1] } }", ["j"]),
        ("for i in 1 .. n { for j in 1 .. m { x[i, j] = x[i - 1, j] + x[i, j - 1] } }", []),
        ("for i in 0 .. n { v[i] = 1.0 } for i in 0 .. n { for j in 0 .. m { x[i, j] = 0.0 } }", ["i"]),
        ("alloc s: f64[] for i in 0 .. n { s[] = y[i, 0] v[i] = s[] }", []),
        ("for i in 0 .. n { alloc s: f64[] s[] = y[i, 0] v[i] = s[] }", ["i"]),
    ],
)
def test_the_outermost_independent_loops_are_marked(text: str, marked: list[str]) -> None:
    made = mark_threads(parse_kernel(f"{HEAD} {{ {text} }}"))
    assert [x.var for x in walk(made.body) if isinstance(x, For) and x.facts.parallel] == marked if made else not marked


GRIDS = {
    "alignment": (
        "for i in 1 .. n { for j in 1 .. m { x[i, j] = max(x[i - 1, j - 1], max(x[i - 1, j], x[i, j - 1])) } }"
    ),
    "local values": (
        "for i in 1 .. n { for j in 2 .. m { alloc s: f64[] s[] = x[i - 1, j] s[] += x[i, j - 2] x[i, j] = s[] } }"
    ),
}
NO_GRIDS = {
    "from the right": "for i in 1 .. n { for j in 0 .. m { x[i, j] = x[i - 1, j + 1] + x[i - 1, j] } }",
    "to the right": "for i in 0 .. n { for j in 1 .. m { x[i, j] = x[i + 1, j - 1] } }",
    "a sum of each row": "alloc s: f64[n] for i in 0 .. n { for j in 0 .. m { s[i] = s[i] + y[i, j] v[j] += s[i] } }",
    "a triangle": "for i in 1 .. n { for j in i .. m { x[i, j] = x[i - 1, j] + x[i, j - 1] } }",
    "between the loops": "for i in 1 .. n { v[i] = v[i - 1] for j in 1 .. m { x[i, j] = x[i - 1, j] + v[i] } }",
}


@pytest.mark.parametrize("name", GRIDS)
def test_parts_along_a_diagonal_compute_the_same_in_any_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wavefront_threads, "WORTH", 0)
    monkeypatch.setattr(wavefront_threads, "ROWS", 3)
    kernel = parse_kernel(f"{HEAD} {{ {GRIDS[name]} }}")
    some = partial(plan, target=load_target("x86-avx2"), reassociate=True, most=1)
    (made,) = wavefront_threads.grid_versions(prepare(kernel), some, 3)
    check_kernel(made.kernel, made.name)
    assert sum(isinstance(x, For) and x.facts.parallel for x in walk(made.kernel.body)) == 1
    turned = replace(made.kernel, body=map_block(backwards, made.kernel.body))
    for n, m in [*SIZES, (13, 11), (9, 3)]:
        for one in (made.kernel, turned):
            for a, b in zip(run(one, n, m), run(kernel, n, m), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NO_GRIDS)
def test_what_waits_for_later_rows_or_columns_is_no_grid(name: str) -> None:
    assert wavefront_threads.find_grid(prepare(parse_kernel(f"{HEAD} {{ {NO_GRIDS[name]} }}")).kernel) is None
