"""Bands of small kernels, for the tests beside this file."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from planish.ir.nest import Array
from planish.ir.text.parser import parse_kernel
from planish.poly.isl.schedule_tree import find_node
from planish.poly.scop.dependence import Dependences, find_dependences, movable_updates
from planish.poly.scop.extraction import Scop, extract_scop
from planish.schedule.auto.rewrites.loop_fission import merge_bands
from planish.schedule.auto.tiling.band import Band, read_band
from planish.schedule.auto.tiling.strip_mining import leaf_bands

PRODUCT = """kernel k(n, m, l; C: f64[n, m], A: f64[n, l], B: f64[l, m]) {
  for i in 0 .. n { for j in 0 .. m { for k in 0 .. l { C[i, j] += A[i, k] * B[k, j] } } }
}"""
RANK_K = """kernel k(n, l; C: f64[n, n], A: f64[n, l]) {
  for i in 0 .. n { for j in 0 .. i + 1 { for k in 0 .. l { C[i, j] += A[i, k] * A[j, k] } } }
}"""
TRANSPOSE = "kernel k(n, m; A: f64[n, m], B: f64[m, n]) { for i in 0 .. n { for j in 0 .. m { B[j, i] = A[i, j] } } }"
STENCIL = "kernel k(n; A: f64[n]) { for i in 1 .. n - 1 { A[i] = A[i - 1] + A[i + 1] } }"
SUM = "kernel k(n; s: f64[], A: f64[n]) { for i in 0 .. n { s[] += A[i] } }"


@dataclass(frozen=True, eq=False)
class Found:
    """A kernel's first innermost band, and where it stands."""

    band: Band
    node: isl.ScheduleNode
    schedule: isl.Schedule
    scop: Scop
    dependences: Dependences
    arrays: dict[str, Array]


def find_band(text: str, reassociate: bool) -> Found:
    """The first innermost band of a kernel whose bands are merged where they may be."""
    scop = extract_scop(parse_kernel(text))
    dependences = find_dependences(scop)
    movable = movable_updates(scop, dependences, reassociate)
    schedule = merge_bands(scop.schedule, dependences.order.subtract(movable))
    node = find_node(schedule, leaf_bands(schedule)[0])
    band = read_band(node, scop, dependences.order, movable)
    return Found(band, node, schedule, scop, dependences, {a.name: a for a in scop.kernel.arrays})
