"""Every program of the corpus means the same compiled, as the kernels that were read, and as these are prepared."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import Entry, corpus
from replay import compare, prepare
from running import signed_arguments
from tests.property.sampling import slow

from planish.core.span import Source
from planish.ir.nest import Kernel
from planish.schedule.auto.plan import prepare as prepare_kernel

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")

ENTRIES = corpus()
TINY = {"nussinov": {"n": 16}, "floyd-warshall": {"n": 12}, "deriche": {"w": 9, "h": 11}, "seidel-2d": {"tsteps": 2},
        "adi": {"tsteps": 2}, "heat-3d": {"tsteps": 2}, "fdtd-2d": {"tmax": 3}, "jacobi-2d": {"tsteps": 2}}  # fmt: skip
"""Fewer steps than the smallest data of an example have: these are seen elsewhere as well."""
SLOW = [x.group == "polybench" or (x.group == "contractions" and n % 5 > 0) for n, x in enumerate(ENTRIES)]
"""What is alike, or seen elsewhere as well, is left to a wide sweep."""
CASES = [
    pytest.param(x, id=f"{x.group}-{x.path.stem}", marks=[pytest.mark.slow] * slow)
    for x, slow in zip(ENTRIES, SLOW, strict=True)
]


def check(entry: Entry, place: Path, change: Callable[[Kernel], Kernel]) -> None:
    source = Source(str(entry.path), entry.text)
    replay = prepare(source, place, entry.defines, "reassociate", entry.path.parent, change)
    rounding = 1e-4 if "float" in entry.text.replace("float_n", "") else 1e-9
    (function,) = replay.file.functions
    assert function.regions
    sizes = {**entry.sizes, **TINY.get(entry.name, {})}
    compare(replay, function, signed_arguments(function, sizes, 3), rounding)
    assert replay.calls == len(function.regions), "a condition of a kernel did not hold"


@pytest.mark.parametrize("entry", [x if n % 4 == 0 else slow(*x.values, id=x.id) for n, x in enumerate(CASES)])
def test_as_read(entry: Entry, tmp_path: Path) -> None:
    check(entry, tmp_path, lambda kernel: kernel)


@pytest.mark.parametrize("entry", [slow(*x.values, id=x.id) if n % 4 == 0 else x for n, x in enumerate(CASES)])
def test_as_prepared(entry: Entry, tmp_path: Path) -> None:
    check(entry, tmp_path, lambda kernel: prepare_kernel(kernel).kernel)
