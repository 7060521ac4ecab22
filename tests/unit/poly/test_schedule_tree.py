"""Kinds of nodes in schedule trees and the paths to them."""

from __future__ import annotations

import islpy as isl

from planish.ir.text.parser import parse_kernel
from planish.poly.isl.schedule_tree import Kind, find_node, find_paths, has_band, kind_of, loop_type_of
from planish.poly.scop.extraction import extract_scop


def tree() -> isl.Schedule:
    text = "kernel two(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0  for j in 0 .. n { A[j] += 1.0 } } }"
    return extract_scop(parse_kernel(text)).schedule


def test_a_path_leads_to_the_node_that_was_found() -> None:
    schedule = tree()
    paths = find_paths(schedule.get_root(), lambda node: kind_of(node) == Kind.band)
    assert len(paths) == 2
    assert [kind_of(find_node(schedule, p)) for p in paths] == [Kind.band, Kind.band]
    assert len(paths[0]) > len(paths[1]), "the deepest comes first"


def test_a_band_is_seen_from_above_only() -> None:
    schedule = tree()
    inner, outer = find_paths(schedule.get_root(), lambda node: kind_of(node) == Kind.band)
    assert has_band(find_node(schedule, outer).get_child(0))
    assert not has_band(find_node(schedule, inner).get_child(0))
    assert has_band(schedule.get_root())


def test_the_loop_type_is_what_was_set() -> None:
    schedule = tree()
    inner = find_paths(schedule.get_root(), lambda node: kind_of(node) == Kind.band)[0]
    node = find_node(schedule, inner)
    assert loop_type_of(node, 0) == isl.ast_loop_type.default
    assert loop_type_of(node.band_member_set_ast_loop_type(0, isl.ast_loop_type.unroll), 0) == isl.ast_loop_type.unroll
