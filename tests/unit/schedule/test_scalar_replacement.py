"""Values are kept in names inside lanes; nothing is loaded for a loop that does not run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planish.ir.nest import Alloc, Block, For, If, Kernel, Let, LoopFacts, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import loads, map_block, walk
from planish.schedule.auto.tiling.scalar_replacement import ROWS, promote

STRIP = LoopFacts(simd=True, unroll=-1)
LANES = LoopFacts(simd=True)
AXPY2 = """kernel k(n; C: f64[?], A: f64[?], B: f64[2, n]) {
  for j in 0 .. n { C[j] += A[0] * B[0, j]  C[j] += A[1] * B[1, j] }
}"""
SUM = "kernel k(n; s: f64[?], A: f64[n]) { for j in 0 .. n { s[0] += A[j] } }"
SUM2 = "kernel k(n; s: f64[?], A: f64[2, n]) { for j in 0 .. n { s[0] += A[0, j]  s[1] += A[1, j] } }"

STORED = "kernel k(n; s: f64[?], C: f64[?], A: f64[n]) { for j in 0 .. n { C[j] = A[j] * 2.0:f64  s[0] += C[j] } }"
MET = "kernel k(n; s: f64[?], C: f64[?], A: f64[n]) { for j in 0 .. n { C[j] = A[j]  s[0] += C[n - 1 - j] } }"


def promoted(text: str, facts: LoopFacts) -> Kernel:
    kernel = parse_kernel(text)

    def mark(stmt: Stmt) -> Stmt:
        return replace(stmt, facts=facts) if isinstance(stmt, For) else stmt

    arrays = {a.name: a for a in kernel.arrays}
    body = promote(map_block(mark, kernel.body), frozenset({*kernel.sizes, *arrays}), arrays)
    return replace(kernel, body=body)


def loops(kernel: Kernel) -> list[For]:
    return [s for s in walk(kernel.body) if isinstance(s, For)]


def run(kernel: Kernel, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    shapes = {"C": (n,), "A": (2,), "B": (2, n), "s": (2,)}
    if kernel.array("A").shape[0] is not None:
        shapes["A"] = (2, n) if len(kernel.array("A").shape) == 2 else (n,)
    values = {a.name: rng.random(shapes[a.name]) for a in kernel.arrays}
    run_kernel(kernel, {"n": n, **values})
    return values


@pytest.mark.parametrize(
    ("text", "facts"),
    [(AXPY2, STRIP), (SUM, STRIP), (SUM2, STRIP), (SUM, LANES), (STORED, LANES), (MET, LANES)],
)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_meaning_stays(text: str, facts: LoopFacts, n: int) -> None:
    before, after = run(parse_kernel(text), n), run(promoted(text, facts), n)
    for name, value in before.items():
        assert np.array_equal(value, after[name]), name


def test_sums_share_lanes_with_what_only_their_own_iteration_reads() -> None:
    (loop,) = loops(promoted(STORED, LANES))
    assert loop.facts.simd and loop.facts.reductions
    assert [x.facts.simd for x in loops(promoted(MET, LANES))] == [False]


def test_what_a_strip_reads_twice_is_loaded_once() -> None:
    kernel = promoted(AXPY2, STRIP)
    text = print_kernel(kernel)
    assert text.count("A[0]") == 1 and text.count("A[1]") == 1
    assert text.count("= C[j]") == 1 and text.count("C[j] =") == 1
    assert loops(kernel)[0].facts == LANES


@pytest.mark.parametrize(("text", "facts"), [(AXPY2, STRIP), (SUM, STRIP), (SUM, LANES)])
def test_nothing_is_loaded_where_the_loop_is_empty(text: str, facts: LoopFacts) -> None:
    kernel = promoted(text, facts)
    empty = {"C": np.zeros(0), "B": np.zeros((2, 0)), "s": np.zeros(0)}
    empty["A"] = np.zeros(0)
    run_kernel(kernel, {"n": 0, **{a.name: empty[a.name] for a in kernel.arrays}})
    assert isinstance(kernel.body.body[0], If)


def test_a_sum_is_kept_in_a_register_that_lanes_accumulate_apart() -> None:
    kernel = promoted(SUM, LANES)
    (loop,) = loops(kernel)
    (cell,) = [s.array for s in walk(kernel.body) if isinstance(s, Alloc)]
    assert loop.facts.reductions == (("add", cell.name),)
    assert cell.memory == "register"


@pytest.mark.parametrize(
    "body",
    ["s[0] += A[j]  s[1] += s[0]", "s[0] = A[j]", "s[0] += A[j]  B[j] = s[0]", "s[0] += s[j]"],
)
def test_a_target_that_others_see_is_no_sum(body: str) -> None:
    text = f"kernel k(n; s: f64[?], A: f64[n], B: f64[n]) {{ for j in 0 .. n {{ {body} }} }}"
    assert loops(promoted(text, LANES))[0].facts == LoopFacts()


def test_updates_of_one_cell_by_two_operations_are_no_sum() -> None:
    text = "kernel k(n; s: f64[?], A: f64[n]) { for j in 0 .. n { s[0] += A[j]  s[0] *= A[j] } }"
    for facts in (LANES, STRIP):
        kernel = promoted(text, facts)
        values = {"s": np.full(2, 0.5), "A": np.array([1.5, 2.0, 3.0])}
        wanted = {k: v.copy() for k, v in values.items()}
        run_kernel(kernel, {"n": 3, **values})
        run_kernel(parse_kernel(text), {"n": 3, **wanted})
        assert np.array_equal(values["s"], wanted["s"])
        assert not any(len({op for op, _ in s.facts.reductions}) > 1 or s.facts.reductions for s in loops(kernel))


def test_names_avoid_those_that_are_taken() -> None:
    text = "kernel k(n; c0: f64[?], C: f64[n], A: f64[n]) { for j in 0 .. n { C[j] = A[j] + c0[0] } }"
    assert "let c0 =" not in print_kernel(promoted(text, STRIP))


def test_loops_without_marks_are_left_alone() -> None:
    body = parse_kernel(AXPY2).body
    assert promote(body, frozenset(), {}) == body
    assert promote(Block(()), frozenset(), {}) == Block(())


def test_targets_that_may_be_one_cell_are_not_kept_apart() -> None:
    text = """kernel k(n, i; C: f64[?, n], A: f64[?]) {
  for j in 0 .. n { C[(i + 1) // 4, j] += A[i]  C[(i + 2) // 4, j] += A[i + 1] }
}"""
    before = parse_kernel(text)
    assert promoted(text, STRIP).body == before.body
    same = text.replace("(i + 1) // 4", "1 // 4").replace("(i + 2) // 4", "2 // 4")
    assert promoted(same, STRIP).body == parse_kernel(same).body


@pytest.mark.parametrize("n", [0, 1, 5])
def test_rows_are_summed_in_registers_in_their_order(n: int) -> None:
    kernel = promoted(SUM2, ROWS)
    (loop,) = loops(kernel)
    assert loop.facts == LoopFacts()
    assert sum(isinstance(x, Alloc) and x.array.memory == "register" for x in walk(kernel.body)) == 2
    wanted = run(parse_kernel(SUM2), n)
    assert all((x == wanted[name]).all() for name, x in run(kernel, n).items())


@pytest.mark.parametrize("body", [
    "s[0] += A[0, j]  s[1] += A[1, j] * s[j]", "s[0] += A[0, j]  s[1] = A[1, j]", "s[j] += A[0, j]  s[0] += A[1, j]",
])  # fmt: skip
def test_rows_that_others_see_stay_in_memory(body: str) -> None:
    kernel = promoted(SUM2.replace("s[0] += A[0, j]  s[1] += A[1, j]", body), ROWS)
    assert not any(isinstance(x, Alloc) for x in walk(kernel.body))
    assert all(x.facts == LoopFacts() for x in loops(kernel))


@pytest.mark.parametrize("facts", [STRIP, LANES])
def test_what_only_some_iterations_read_is_not_read_by_the_others(facts: LoopFacts) -> None:
    value = "select(A[j] > 0.5, B[0, j] * B[1, 0], A[j])"
    arrays = "s: f64[?], A: f64[n], B: f64[?, ?]"
    kernel = promoted(f"kernel k(n; {arrays}) {{ for j in 0 .. n {{ s[0] += {value} }} }}", facts)
    named = [x.value for x in walk(kernel.body) if isinstance(x, Let)]
    assert {y.array for x in named for y in loads(x)} == {"A"}
