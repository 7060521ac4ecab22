"""The figure of solo mode: that what is measured is drawn, and where."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench.figures.solo_figure import draw_figure
from bench.gemm import microkernels
from planish.ir.types import F32
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.vectors import find_vectors

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_high_as_what_was_measured() -> None:
    bars = {"4x8": {"ours": 50.0, "plain <C>": 25.0}, "8x8": {"ours": 100.0, "plain <C>": 10.0}}
    lines = {"8x8": {16: 80.0, 64: 90.0, 256: 95.0}}
    root = ElementTree.fromstring(draw_figure("a title", bars, lines, 110.0))
    drawn = [x for x in root.iter(f"{SVG}rect") if x.get("class") == "bar"]
    heights = [float(x.get("height", 0)) for x in drawn]
    assert [round(x / heights[1], 1) for x in heights] == [2.0, 1.0, 4.0, 0.4]
    assert len({float(x.get("y", 0)) + float(x.get("height", 0)) for x in drawn}) == 1
    points = [float(x.get("cx", 0)) for x in root.iter(f"{SVG}circle")]
    assert points[1] - points[0] == pytest.approx(points[2] - points[1], abs=0.2)
    told = [x.text for x in root.iter(f"{SVG}text")]
    assert {"4x8", "8x8", "plain <C>", "peak 110", "a title"} <= set(told)


def test_the_figures_tiles_go_up_to_the_largest() -> None:
    shapes = microkernels.list_shapes(Tile(find_vectors("avx512", F32), 14, 2))
    assert len(shapes) == len(set(shapes)) == 16
    assert shapes[0] == (4, 8) and shapes[-1] == (14, 32)


def test_tiles_are_timed_beside_the_others() -> None:
    known = Path("/proc/cpuinfo")
    if "avx2" not in (known.read_text().split() if known.exists() else ()):
        pytest.skip("no AVX2 here")
    found = microkernels.run_tiles(Tile(find_vectors("avx2", F32), 2, 1), [(1, 4), (2, 8)], 16, rounds=1)
    assert [[x.name.partition("_")[0] for x in row] for row in found] == [["ukr", "buffered", "plain"]] * 2
    assert all(x.gflops > 0 for row in found for x in row)
