"""Kernels that were prepared are found, and only by the program that prepared them."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.cache import Cache
from planish.ir.types import F32
from planish.library.kernels import kernel_cache
from planish.library.kernels.gemm.compact import choose_few_blocks
from planish.library.kernels.gemm.edges import make_family
from planish.library.kernels.gemm.microkernel import Tile
from planish.library.kernels.gemm.preparation import prepare_families
from planish.library.kernels.vectors import find_vectors
from planish.target.load import load_target

VECTORS = find_vectors("avx512", F32)
TILE = Tile(VECTORS, 1, 1, layout="plain")
FAMILIES = [(TILE, choose_few_blocks(VECTORS, load_target("x86-avx512")))]


def test_what_was_prepared_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "_PREPARED", tmp_path / "prepared")
    assert prepare_families(FAMILIES)
    assert not prepare_families(FAMILIES)
    user = kernel_cache.KernelCache(Cache(tmp_path / "user"))
    assert make_family(TILE, depth=100, maker=user) == make_family(TILE)
    assert (user.made, user.found) == (0, 3)


def test_what_another_program_prepared_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "_PREPARED", tmp_path / "prepared")
    assert prepare_families(FAMILIES)
    monkeypatch.setattr(kernel_cache, "_stamp_makers", lambda: "another")
    user = kernel_cache.KernelCache(Cache(tmp_path / "user"))
    make_family(TILE, maker=user)
    assert (user.made, user.found) == (3, 0)


def test_what_is_made_anew_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "_PREPARED", tmp_path / "prepared")
    assert prepare_families(FAMILIES)
    user = kernel_cache.KernelCache(Cache(tmp_path / "user"), anew=True)
    make_family(TILE, maker=user)
    assert (user.made, user.found) == (3, 0)
