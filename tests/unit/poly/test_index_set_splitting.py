"""Index-set splitting: where one iteration alone holds up the others, and nowhere else."""

from __future__ import annotations

import islpy as isl
import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.canonical.index_set_splitting import find_cut, split_statements
from planish.poly.scop.dependence import find_dependences
from planish.poly.scop.extraction import Scop, extract_scop

PATHS = """kernel paths(n; p: i32[n, n]) {
  for k in 0 .. n { for i in 0 .. n { for j in 0 .. n { p[i, j] = min(p[i, j], p[i, k] + p[k, j]) } } }
}"""
WHOLE = {
    "stencil in place": (
        "kernel a(t, n; A: f64[n]) { for s in 0 .. t { for i in 1 .. n - 1 { A[i] = A[i - 1] + A[i + 1] } } }"
    ),
    "stencil between two": (
        "kernel b(t, n; A: f64[n], B: f64[n]) { for s in 0 .. t {"
        " for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] }  for i in 1 .. n - 1 { A[i] = B[i] } } }"
    ),
    "sum": "kernel c(n; s: f64[], A: f64[n]) { for k in 0 .. n { for i in 0 .. n { s[] += A[i] } } }",
    "product": (
        "kernel d(n; C: f64[n, n], A: f64[n, n], B: f64[n, n])"
        " { for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { C[i, j] += A[i, k] * B[k, j] } } } }"
    ),
}


def split(text: str) -> tuple[Scop, Scop]:
    scop = extract_scop(parse_kernel(text))
    return scop, split_statements(scop, find_dependences(scop).order)


def test_all_pairs_shortest_path_is_cut_at_the_row_and_column_of_k() -> None:
    whole, cut = split(PATHS)
    assert [s.name for s in cut.statements] == [f"S0_{i}" for i in range(9)]
    back = isl.Set.empty(whole.statements[0].domain.get_space())
    for statement in cut.statements:
        piece = statement.domain.set_tuple_name("S0")
        assert back.is_disjoint(piece)
        back = back.union(piece)
    assert back.is_equal(whole.statements[0].domain)
    row = isl.Set("[n] -> { S0_1[k, i, j] : j = k }")
    assert cut.statements[1].domain.is_subset(row)


def test_cut_pieces_keep_the_order_of_the_whole() -> None:
    whole, cut = split(PATHS)
    merge = isl.UnionMap.from_map(
        isl.Map("[n] -> { S0_0[k, i, j] -> S0[k, i, j] }")
    )
    for statement in cut.statements[1:]:
        merge = merge.union(isl.UnionMap(f"[n] -> {{ {statement.name}[k, i, j] -> S0[k, i, j] }}"))
    cut_times, times = cut.schedule.get_map(), whole.schedule.get_map()
    before = cut_times.lex_lt_union_map(cut_times).intersect_domain(cut.domain).intersect_range(cut.domain)
    moved = before.apply_domain(merge).apply_range(merge)
    assert moved.is_subset(times.lex_lt_union_map(times))


def test_the_pieces_of_a_path_run_free_of_each_other() -> None:
    cut = split(PATHS)[1]
    order = find_dependences(cut).order
    away = isl.UnionSet.from_set(cut.statement("S0_8").domain)
    inside = order.intersect_domain(away).intersect_range(away)
    same_k = isl.UnionMap("[n] -> { S0_8[k, i, j] -> S0_8[k, i2, j2] }")
    assert inside.intersect(same_k).is_empty()


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE.keys())
def test_what_waits_for_many_iterations_stays_whole(text: str) -> None:
    whole, cut = split(text)
    assert cut is whole


def test_a_cut_needs_every_dependence_to_meet_it() -> None:
    at_k = isl.Map("{ S[k, j] -> S[k, j'] : j < j' and (j = k or j' = k) }")
    assert find_cut(at_k, 1) is not None
    elsewhere = at_k.union(isl.Map("{ S[k, j] -> S[k, j'] : j = 3 and j' = 5 }"))
    assert find_cut(elsewhere, 1) is None
