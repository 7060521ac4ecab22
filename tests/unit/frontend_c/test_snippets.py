"""Small functions in many styles: regions found as expected, and the same results for small, odd and negative sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay import arguments_for, compare, prepare
from snippets import SNIPPETS
from tests.property.sampling import slow

from planish.core.span import Source

CASES = [
    slow(name, fp) if not snippet.strict and turn % 2 else (name, fp)
    for at, (name, snippet) in enumerate(SNIPPETS.items())
    for turn, fp in enumerate(("strict", "reassociate"), at)
    if fp == "strict" or not snippet.strict
]
"""Of what is right either way, one way is in the suite."""


@pytest.mark.parametrize(("name", "fp"), CASES)
def test_snippet(name: str, fp: str, tmp_path: Path) -> None:
    snippet = SNIPPETS[name]
    replay = prepare(Source(f"{name}.c", snippet.text), tmp_path, fp=fp)
    function = replay.file.function("f")
    assert len(function.regions) == snippet.regions, [r.render(replay.file.source) for r in replay.file.remarks]
    kind = function.parameters[0].type
    assert kind is not None
    least = snippet.least if snippet.least is not None else -3 if kind.kind == "int" else 0
    for n in (-3, 0, 1, 2, 7, 12):
        if n >= least:
            sizes = {"n": n, "m": 5, "lda": 40}
            compare(replay, function, arguments_for(function, sizes, n + 5, 700), 0.0 if fp == "strict" else 1e-5)
