"""Machine descriptions: those that come along, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.types import F32, F64
from planish.target.description import MACHINES, parse_target, target_names
from planish.target.load import load_target
from planish.target.toml_table import parse_size

GOOD = """\
name = "m"
isa = "x"

[vector]
bits = 256
registers = 16
fma = true

[[cache]]
level = 1
bytes = "32K"

[[cache]]
level = 2
bytes = 1048576
line = 128

[flags]
gcc = ["-mavx2"]
"""


def test_every_description_loads_under_its_name() -> None:
    for name in target_names()[1:]:
        target = load_target(name)
        assert target.name == name
        assert [cache.level for cache in target.caches] == sorted(cache.level for cache in target.caches)
    assert {"native", "generic", "x86-avx2", "x86-avx512", "aarch64-neon"} <= set(target_names())


def test_a_described_machine() -> None:
    target = parse_target(Source("m.toml", GOOD))
    assert (target.lanes(F32), target.lanes(F64), target.fma) == (8, 4, True)
    assert (target.cache(1).bytes, target.cache(2).line, target.cache(3).level) == (32768, 128, 2)
    assert target.flags_for("gcc") == ("-mavx2",)
    assert target.flags_for("icc") == ()


def test_a_file_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    assert load_target(str(tmp_path / "mine.toml")).name == "m"
    with pytest.raises(PlanishError) as caught:
        load_target(str(tmp_path / "yours.toml"))
    assert caught.value.diagnostic.code == "E0701"


def test_a_file_dropped_into_the_folder_is_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in MACHINES.glob("*.toml"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "m.toml").write_text(GOOD)
    monkeypatch.setattr("planish.target.description.MACHINES", tmp_path)
    assert load_target("m").isa == "x"
    assert "m" in target_names()


@pytest.mark.parametrize("name", ["x86-avx51", "../secrets", "", "GENERIC "])
def test_an_unknown_target_lists_the_known(name: str) -> None:
    with pytest.raises(PlanishError) as caught:
        load_target(name)
    assert caught.value.diagnostic.code == "E0701"
    assert "x86-avx512, " in caught.value.diagnostic.help or "x86-avx512;" in caught.value.diagnostic.help
    if name == "x86-avx51":
        assert caught.value.diagnostic.help.startswith("did you mean 'x86-avx512'?")


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "words"),
    [
        ("bits = 256", "bits = ", "E0702", 5, "TOML"),
        ("bits = 256", "bits = 100", "E0703", 5, "multiple of 64"),
        ("bits = 256", "bits = true", "E0703", 5, "whole number"),
        ('name = "m"', 'name = "m"\nprocessor = "x"', "E0703", 2, "whose costs are known"),
        ("fma = true", "fma = 1", "E0703", 7, "true or false"),
        ("fma = true", "fme = true", "E0703", 7, "did you mean 'fma'"),
        ("registers = 16", "", "E0703", 4, "'registers' is missing"),
        ('bytes = "32K"', 'bytes = "32Q"', "E0703", 11, "a size"),
        ("line = 128", "line = 100", "E0703", 15, "no multiple"),
        ("level = 2", "level = 1", "E0703", 14, "outwards"),
        ('gcc = ["-mavx2"]', 'gcc = "-mavx2"', "E0703", 19, "list of flags"),
        ('isa = "x"', "", "E0703", 1, "'isa' is missing"),
    ],
)
def test_a_wrong_entry_is_shown_in_its_line(old: str, new: str, code: str, line: int, words: str) -> None:
    with pytest.raises(PlanishError) as caught:
        parse_target(Source("m.toml", GOOD.replace(old, new)))
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == code
    assert words in str(caught.value)
    assert diagnostic.span is not None
    assert (diagnostic.span.file, diagnostic.span.line) == ("m.toml", line)


def test_sizes() -> None:
    assert [parse_size(text) for text in ("512", "48K", "1M", "2 GiB", "many")] == [512, 49152, 1 << 20, 2 << 30, 0]


@pytest.mark.parametrize(("name", "unsigned"), [("aarch64-neon", True), ("x86-avx2", False), ("generic", False)])
def test_compilers_for_arm_say_that_a_char_has_no_sign(name: str, unsigned: bool) -> None:
    assert ("__CHAR_UNSIGNED__=1" in load_target(name).predefined) is unsigned
