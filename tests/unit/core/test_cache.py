"""The cache: addresses, damage, eviction, several processes, and disks that do not work."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from planish.core.cache import Cache, CacheWarning, default_root, key


def test_addresses_tell_parts_apart() -> None:
    assert key("ab", "c") != key("a", "bc")
    assert key(1) != key("1") != key(b"1")
    assert key("x", (1, 2)) == key("x", (1, 2))
    assert len(key()) == 64


def test_store_find_count_clear(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get(key("a")) is None
    cache.put(key("a"), b"one")
    cache.put(key("a"), b"two")
    cache.put(key("b"), b"")
    assert cache.get(key("a")) == b"two"
    assert cache.get(key("b")) == b""
    assert (cache.info().entries, cache.info().bytes) == (2, 32 + 3 + 32)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    cache.clear()
    assert cache.info().entries == 0
    assert other.exists()


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 40])
def test_a_damaged_entry_is_a_miss(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path)
    cache.put(key("a"), b"content")
    (entry,) = tmp_path.glob("??/*.entry")
    entry.write_bytes(damage)
    assert cache.get(key("a")) is None
    assert not entry.exists()


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=3 * 1032)
    for age, name in enumerate("abc"):
        cache.put(key(name), bytes(1000))
        (entry,) = tmp_path.glob(f"{key(name)[:2]}/{key(name)[2:]}*")
        os.utime(entry, (1000 + age, 1000 + age))
    assert cache.get(key("a")) is not None  # now b is the oldest
    cache.put(key("d"), bytes(1000))
    assert cache.get(key("b")) is None
    assert cache.get(key("a")) is not None and cache.get(key("d")) is not None
    cache.put(key("e"), bytes(9999))
    assert cache.get(key("e")) is None


def _work(root: str, seed: int) -> int:
    cache = Cache(root, limit_bytes=40_000)
    wrong = 0
    for step in range(150):
        number = (seed * 7 + step) % 20
        found = cache.get(key(number))
        wrong += found is not None and found != bytes([number]) * 3000
        cache.put(key(number), bytes([number]) * 3000)
    return wrong


def test_several_processes_share_it(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.starmap(_work, [(str(tmp_path), seed) for seed in range(4)]) == [0, 0, 0, 0]
    assert Cache(tmp_path).info().entries > 0
    assert not list(tmp_path.rglob(".put-*"))


def test_a_root_that_cannot_be_used_warns_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    with pytest.warns(CacheWarning, match="E0901") as caught:
        cache.put(key("a"), b"x")
        cache.put(key("b"), b"x")
        assert cache.get(key("a")) is None
    assert len(caught) == 1
    assert cache.info().entries == 0


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    cache = Cache(tmp_path)
    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(CacheWarning, match="No space left"):
        cache.put(key("a"), b"x")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_the_default_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_root() == Path("/somewhere/planish")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_root() == Path("~/.cache/planish").expanduser()
