"""Flow, order and reductions of small kernels; `tests/property` compares them with enumerated ones."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.scop import dependence
from planish.poly.scop.dependence import Dependences, find_dependences, find_flow, is_live_in
from planish.poly.scop.extraction import extract_scop
from planish.poly.scop.legality import carried_at, find_violation


def read(text: str) -> Dependences:
    """The dependences of a kernel with the given body."""
    return find_dependences(extract_scop(parse_kernel(f"kernel k(n; A: f64[n], B: f64[n], s: f64[]) {{ {text} }}")))


def test_flow_skips_hidden_writes() -> None:
    found = read("for i in 0 .. n { A[i] = 1.0 } for i in 0 .. n { A[i] = 2.0 } for i in 0 .. n { B[i] = A[i] }")
    assert str(found.flow) == "[n] -> { S1[i] -> S2[i' = i] : 0 <= i < n }"
    assert found.order.is_equal(
        isl.UnionMap("[n] -> { S0[i] -> S1[i] : 0 <= i < n; S1[i] -> S2[i] : 0 <= i < n; S0[i] -> S2[i] : 0 <= i < n }")
    )


def test_values_from_before() -> None:
    found = read("for i in 1 .. n { A[i] = A[i - 1] }")
    assert str(found.live_in) == "[n] -> { S0[i = 1] -> A[0] : n >= 2 }"


def test_writes_after_reads_are_in_the_order() -> None:
    found = read("for i in 0 .. n - 1 { A[i] = A[i + 1] }")
    assert found.flow.is_empty()
    assert found.order.is_equal(isl.UnionMap("[n] -> { S0[i] -> S0[i + 1] : 0 <= i < n - 2 }"))


def test_reductions_are_the_chains_of_updates() -> None:
    found = read("for i in 0 .. n { s[] += A[i] }")
    assert found.reductions.is_equal(found.order)
    with_reader = read("for i in 0 .. n { s[] += A[i] B[i] = s[] }")
    assert not with_reader.reductions.is_equal(with_reader.order)
    assert with_reader.reductions.is_equal(isl.UnionMap("[n] -> { S0[i] -> S0[j] : 0 <= i < j < n }"))


def test_an_update_that_reads_its_own_cell_is_no_reduction() -> None:
    assert read("for i in 0 .. n { s[] += s[] * A[i] }").reductions.is_empty()


@pytest.mark.parametrize("limit", [10, 5_000_000])
def test_flow_is_never_too_small(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where isl may not work long enough, every earlier write counts."""
    monkeypatch.setattr(dependence, "FLOW_LIMIT", limit)
    found = read("for i in 0 .. n { A[i] = 1.0 } for i in 0 .. n { A[i] = 2.0 } for i in 0 .. n { B[i] = A[i] }")
    exact = isl.UnionMap("[n] -> { S1[i] -> S2[i] : 0 <= i < n }")
    assert exact.is_subset(found.flow)
    assert found.flow.is_equal(exact) == (limit > 10)


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("for i in 0 .. n { A[i] = 1.0 } for i in 0 .. n { B[i] = A[i] }", False),
        ("for i in 0 .. n { B[i] = A[i] } for i in 0 .. n { A[i] = 1.0 }", True),
        ("for i in 0 .. n - 1 { A[i] = 1.0 } for i in 0 .. n { B[i] = A[i] }", True),
        ("for i in 0 .. n { s[] = 1.0 s[] += A[i] B[i] = s[] } for i in 0 .. n { A[i] = s[] }", True),
        ("for i in 0 .. n { if i % 2 == 0 { A[i] = 1.0 } B[i] = A[i - i % 2] }", False),
        ("for i in 0 .. n { if i % 2 == 0 { A[i] = 1.0 } B[i] = A[i] }", True),
        ("for i in 0 .. n { for j in i .. n { A[j] = 1.0 } B[i] = A[n - 1] }", False),
        ("", False),
    ],
)
def test_what_is_read_before_it_is_written(text: str, live: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as by the flow; where isl may not work long enough, something may be."""
    scop = extract_scop(parse_kernel(f"kernel k(n; A: f64[n], B: f64[n], s: f64[]) {{ {text} }}"))
    assert is_live_in(scop, {"A"}) is live
    assert find_flow(scop, {"A"})[1].is_empty() is not live
    if text:
        monkeypatch.setattr(dependence, "FLOW_LIMIT", 3)
        assert is_live_in(scop, {"A"})


def test_legality_of_reversal_and_of_equal_times() -> None:
    order = isl.UnionMap("[n] -> { S[i] -> S[i + 1] : 0 <= i < n }")
    assert find_violation(isl.UnionMap("{ S[i] -> [2i] }"), order) is None
    assert find_violation(isl.UnionMap("{ S[i] -> [-i] }"), order) is not None
    together = find_violation(isl.UnionMap("{ S[i] -> [floor(i / 2)] }"), order)
    assert together is not None
    assert together.is_equal(isl.UnionMap("[n] -> { S[i] -> S[i + 1] : 0 <= i < n and i mod 2 = 0 }"))


def test_what_a_loop_carries() -> None:
    order = isl.UnionMap("{ S[i, j] -> S[i + 1, j] }")
    nothing = isl.UnionMap("{ S[i, j] -> [] }")
    outer, inner = isl.UnionMap("{ S[i, j] -> [i] }"), isl.UnionMap("{ S[i, j] -> [j] }")
    assert carried_at(inner, order, outer).is_empty()
    assert carried_at(outer, order, nothing).is_equal(order)
