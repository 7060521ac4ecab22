"""The same kernels in C, Python and MLIR take the same strategies: no algorithm is known to one front end only."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bench.harness.taken import first_versions, read_in

KERNELS = tomllib.loads((Path(__file__).parent / "source_languages.toml").read_text())


@pytest.mark.parametrize(
    ("name", "language"), [(name, x) for name, kernel in KERNELS.items() for x in kernel if x != "versions"]
)
def test_strategies_are_the_same_from_each_language(name: str, language: str) -> None:
    if language == "mlir":
        pytest.importorskip("xdsl")
    assert first_versions(read_in(language, KERNELS[name][language])) == KERNELS[name]["versions"]
