"""Every example file means the same through its kernels as it does compiled."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from replay import arguments_for, compare, prepare

from planish.core.span import Source

EXAMPLES = Path(__file__).parents[3] / "examples"
POLYBENCH = sorted((EXAMPLES / "polybench").glob("*.c"))
DSP = sorted((EXAMPLES / "dsp").glob("*.c"))
TINY = {"nussinov": {"n": 24}, "floyd-warshall": {"n": 24}, "deriche": {"w": 20, "h": 24}, "seidel-2d": {"tsteps": 5}}


def sizes_of(path: Path) -> dict[str, int]:
    table = tomllib.loads((path.parent / "sizes.toml").read_text())
    return {**table[path.stem]["mini"], **TINY.get(path.stem, {})}


@pytest.mark.parametrize("path", POLYBENCH, ids=lambda p: p.stem)
def test_polybench(path: Path, tmp_path: Path) -> None:
    source = Source(str(path), path.read_text())
    replay = prepare(source, tmp_path, ("MINI_DATASET",), include=path.parent)
    (function,) = replay.file.functions
    assert [r.function for r in function.regions] == [function.name]
    assert not [r for r in replay.file.remarks if r.kind == "refused"]
    compare(replay, function, arguments_for(function, sizes_of(path), 1), 1e-12)
    assert replay.calls == 1


@pytest.mark.parametrize("path", DSP, ids=lambda p: p.stem)
def test_dsp(path: Path, tmp_path: Path) -> None:
    replay = prepare(Source(str(path), path.read_text()), tmp_path, include=path.parent)
    for function in replay.file.functions:
        before = replay.calls
        compare(replay, function, arguments_for(function, sizes_of(path), 2), 1e-6)
        assert replay.calls > before or not function.regions
