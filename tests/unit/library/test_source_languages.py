"""The same kernels in C, Python and MLIR take the same strategies: no algorithm is known to one front end only."""

from __future__ import annotations

import pytest

from bench.harness.taken import LANGUAGES, first_versions, read_in, written_kernels

KERNELS = written_kernels()


@pytest.mark.parametrize(
    ("name", "language"), [(name, x) for name, kernel in KERNELS.items() if not kernel.costly for x in LANGUAGES]
)
def test_strategies_are_the_same_from_each_language(name: str, language: str) -> None:
    if language == "mlir":
        pytest.importorskip("xdsl")
    kernel = KERNELS[name]
    assert first_versions(read_in(language, kernel.texts[language])) == [*kernel.versions]
