"""The same kernels in C, Python and MLIR take the same strategies: no algorithm is known to one front end only."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.standalone import emit_standalone
from planish.frontend.c.translation_unit import CFile
from planish.frontend.python.reader import read_python_source
from planish.options import Options
from planish.target.load import load_target

KERNELS = tomllib.loads((Path(__file__).parent / "source_languages.toml").read_text())
OPTIONS = Options(target="x86-avx512", measure=False)


def versions_of(file: CFile) -> Sequence[str]:
    """The first version of each nest."""
    target = load_target(OPTIONS.target)
    plans = [lower_region(x, OPTIONS, target, 1) for f in file.functions for x in f.regions]
    return [x.versions[0].name for x in plans if x.versions]


@pytest.mark.parametrize(
    ("name", "language"), [(name, x) for name, kernel in KERNELS.items() for x in kernel if x != "versions"]
)
def test_strategies_are_the_same_from_each_language(name: str, language: str) -> None:
    text = KERNELS[name][language]
    match language:
        case "python":
            file = emit_standalone(read_python_source(text, "kernel.py").kernel)
        case "mlir":
            pytest.importorskip("xdsl")
            file = read_file(Source("kernel.mlir", text), OPTIONS)
        case _:
            file = read_file(Source("kernel.c", text), OPTIONS)
    assert versions_of(file) == KERNELS[name]["versions"]
