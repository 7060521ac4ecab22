"""The same kernels in C and in Python take the same strategies: no algorithm is known to one front end only."""

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


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("language", ["c", "python"])
def test_strategies_are_the_same_from_each_language(name: str, language: str) -> None:
    kernel = KERNELS[name]
    if language == "c":
        file = read_file(Source("kernel.c", kernel["c"]), OPTIONS)
    else:
        file = emit_standalone(read_python_source(kernel["python"], "kernel.py").kernel)
    assert versions_of(file) == kernel["versions"]
