"""The C of instructions that was prepared is what would be found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planish.isa import shipped

NAMES = ("neon_load_f32", "neon_transpose_f32")


@pytest.fixture(autouse=True)
def other_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shipped, "_PREPARED", tmp_path)
    monkeypatch.setattr(shipped, "extensions", lambda: ("neon",))
    shipped.extension.cache_clear()
    shipped._load_texts.cache_clear()
    yield
    shipped.extension.cache_clear()
    shipped._load_texts.cache_clear()


def test_what_was_prepared_is_what_is_found() -> None:
    found = shipped.extension("neon").instructions
    assert shipped.prepare_texts()
    assert not shipped.prepare_texts()
    shipped.extension.cache_clear()
    shipped._load_texts.cache_clear()
    prepared = shipped.extension("neon").instructions
    assert all(isinstance(prepared[x].text, shipped.PreparedText) for x in NAMES)
    assert {x: y.template for x, y in prepared.items()} == {x: y.template for x, y in found.items()}


def test_what_another_program_prepared_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped.prepare_texts()
    monkeypatch.setattr(shipped, "stamp_contents", lambda *_: "another")
    shipped._load_texts.cache_clear()
    assert not any(isinstance(x.text, shipped.PreparedText) for x in shipped.extension("neon").instructions.values())
