"""What operations are compared by is read from the cache as it was made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import islpy as isl
import pytest

from planish.core.cache import Cache, key
from planish.core.fingerprint import stamp_program
from planish.poly.isl.pickles import read_sets, write_sets
from planish.raising.match import operation_index
from planish.raising.tdl.reader import load_tactics

PLACES = ("planish.",)
OPERATIONS = [x.operation for x in load_tactics()]


def same(one: object, other: object) -> bool:
    """Whether two values are equal, sets and maps by what is in them."""
    if isinstance(one, isl.Set | isl.BasicSet | isl.UnionSet | isl.Map | isl.BasicMap | isl.UnionMap):
        return isinstance(other, type(one)) and bool(one.is_equal(other))  # type: ignore[arg-type]
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [x.name for x in dataclasses.fields(one)]
        return type(one) is type(other) and all(same(getattr(one, x), getattr(other, x)) for x in names)
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))  # type: ignore[arg-type]
    if isinstance(one, dict):
        return isinstance(other, dict) and same(list(one.items()), list(other.items()))
    return one == other


def test_every_operation_is_read_as_it_was_made() -> None:
    made = {x: operation_index.means_of(x) for x in OPERATIONS}
    assert same(made, read_sets(write_sets(made), PLACES))


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    operation_index._load.cache_clear()
    operation_index._READ.clear()
    yield
    operation_index._load.cache_clear()
    operation_index._READ.clear()


@pytest.mark.usefixtures("nothing_loaded")
def test_a_second_process_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = operation_index.load_operations(Cache(tmp_path))
    operation_index._load.cache_clear()
    operation_index._READ.clear()
    monkeypatch.setattr(operation_index, "load_tactics", lambda: pytest.fail("the tactics are read again"))
    monkeypatch.setattr(operation_index, "_make", lambda _: pytest.fail("a pattern is made again"))
    second = operation_index.load_operations(Cache(tmp_path))
    assert second == first == tuple(OPERATIONS)
    assert all(operation_index.pattern_for(x) is not None for x in second)


@pytest.mark.usefixtures("nothing_loaded")
def test_what_was_prepared_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_index, "_PREPARED", tmp_path / "prepared")
    assert operation_index.prepare_all()
    assert not operation_index.prepare_all()
    operation_index._READ.clear()
    monkeypatch.setattr(operation_index, "load_tactics", lambda: pytest.fail("the tactics are read again"))
    monkeypatch.setattr(operation_index, "_make", lambda _: pytest.fail("a pattern is made again"))
    assert operation_index.load_operations(Cache(tmp_path / "user")) == tuple(OPERATIONS)
    assert all(operation_index.pattern_for(x) is not None for x in OPERATIONS)


@pytest.mark.usefixtures("nothing_loaded")
def test_what_was_prepared_by_another_program_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_index, "_PREPARED", tmp_path / "prepared")
    assert operation_index.prepare_all()
    monkeypatch.setattr(operation_index, "stamp_contents", lambda *_: "another")
    monkeypatch.setattr(operation_index, "read_sets", lambda *_: pytest.fail("what another program made is read"))
    assert operation_index.load_operations(Cache(tmp_path / "user")) == tuple(OPERATIONS)


@pytest.mark.usefixtures("nothing_loaded")
def test_what_cannot_be_read_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key("operations", stamp_program()), b"\x80\x05cos\nsystem\n(S'false'\ntR.")
    assert operation_index.load_operations(cache) == tuple(OPERATIONS)


def test_other_objects_are_not_written() -> None:
    with pytest.raises(Exception, match="no text is written of Val"):
        write_sets(isl.Val("3"))


def test_nothing_else_is_read() -> None:
    assert read_sets(write_sets(isl.Set("{ [1] }")), ("planish.",)).is_equal(isl.Set("{ [1] }"))  # type: ignore[attr-defined]
    assert read_sets(b"\x80\x05cos\nsystem\n(S'false'\ntR.", PLACES) is None


@pytest.mark.usefixtures("nothing_loaded")
def test_builders_are_read_without_the_tactics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {x: operation_index.builders_for(x) for x in OPERATIONS}
    assert any(made.values())
    operation_index.load_operations(Cache(tmp_path))
    monkeypatch.setattr(operation_index, "tactics_by_name", lambda: pytest.fail("the tactics are read again"))
    monkeypatch.setattr(operation_index, "load_tactics", lambda: pytest.fail("the tactics are read again"))
    assert {x: operation_index.builders_for(x) for x in OPERATIONS} == made
    assert operation_index.operations_by_name() == {x.name: x for x in OPERATIONS}
    other = dataclasses.replace(OPERATIONS[0], name="own")
    assert operation_index.builders_for(other) == ()
