"""What races keep for figures, and the figures."""

from __future__ import annotations

from pathlib import Path

from bench.figures.draw import draw
from bench.harness.thresholds import Bar, keep, stored


def test_a_race_of_some_functions_leaves_the_others(tmp_path: Path) -> None:
    keep("streams", [Bar("dot", {"OpenBLAS": 1.5}), Bar("axpy", {"OpenBLAS": 1.25})], tmp_path)
    keep("streams", [Bar("dot", {"OpenBLAS": 2.0})], tmp_path)
    assert stored("streams", tmp_path) == [Bar("dot", {"OpenBLAS": 2.0}), Bar("axpy", {"OpenBLAS": 1.25})]
    assert stored("other", tmp_path) == []


def test_a_figure_has_a_bar_for_each_ratio() -> None:
    figure = draw([Bar("a < b", {"x": 0.8, "y": 5.0}), Bar("slow", {"y": 0.4})], "A title")
    assert figure.count("<title>") == 3
    assert "a &lt; b: 0.80x over x" in figure
    assert "8x" in figure
