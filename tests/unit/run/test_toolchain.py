"""Compilers: found, told apart, and their failures reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.ir.types import BF16, F32
from planish.run.processes.process import Limits
from planish.run.toolchains.toolchain import choose_compiler, compile_library, find_compilers, knows, supports


def _script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    _script(tmp_path, "gcc", "echo 'gcc (Debian 12.2.0-14) 12.2.0'")
    _script(tmp_path, "clang-7", "echo 'Debian clang version 7.0.1 (8.3)'")
    _script(tmp_path, "clang-19", "echo 'Debian clang version 19.1.7 (3~deb12u1)'")
    _script(tmp_path, "clang-3", "exit 1")
    (tmp_path / "cc").symlink_to(tmp_path / "gcc")
    return tmp_path


def test_names_versions_and_order(fakes: Path) -> None:
    found = find_compilers(str(fakes))
    assert [(c.name, c.kind, c.version) for c in found] == [
        ("gcc", "gcc", "12.2.0"),
        ("clang-19", "clang", "19.1.7"),
        ("clang-7", "clang", "7.0.1"),
    ]


def test_preference_by_name_kind_and_path(fakes: Path) -> None:
    search = str(fakes)
    assert choose_compiler(None, search).name == "gcc"
    assert choose_compiler("clang", search).name == "clang-19"
    assert choose_compiler("clang-7", search).name == "clang-7"
    assert choose_compiler(str(fakes / "clang-7"), search).version == "7.0.1"


def test_no_compiler_and_no_such_compiler(tmp_path: Path, fakes: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(PlanishError) as none:
        choose_compiler(None, str(empty))
    assert none.value.diagnostic.code == "E0801"
    with pytest.raises(PlanishError) as other:
        choose_compiler("icc", str(fakes))
    assert other.value.diagnostic.code == "E0802"
    assert "clang-19" in other.value.diagnostic.help


def test_a_refusal_carries_the_compilers_own_words(tmp_path: Path) -> None:
    with pytest.raises(PlanishError) as caught:
        compile_library(choose_compiler(None), "int f(void) { return nonsense; }", ("-O1",), tmp_path)
    assert caught.value.diagnostic.code == "E0803"
    assert "nonsense" in caught.value.diagnostic.message
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_hangs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _script(tmp_path, "gcc", "case \"$1\" in --version) echo 'gcc 9.1.0';; *) sleep 60;; esac")
    with pytest.raises(PlanishError) as caught:
        compile_library(choose_compiler(None, str(tmp_path)), "int x;", (), out, Limits(0.3))
    assert caught.value.diagnostic.code == "E0804"
    assert list(out.iterdir()) == []


def test_an_output_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanishError) as caught:
        compile_library(choose_compiler(None), "int x;", (), tmp_path / "file" / "out")
    assert caught.value.diagnostic.code == "E0805"


def test_files_and_include_folders(tmp_path: Path) -> None:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "size.h").write_text("#define SIZE 3\n")
    source = tmp_path / "a.c"
    source.write_text('#include "size.h"\nint size = SIZE;\n')
    library = compile_library(choose_compiler(None), [source], (), tmp_path, include_dirs=[tmp_path / "headers"])
    assert library.exists() and library.suffix == ".so"


def test_features_are_asked_of_the_compiler() -> None:
    compiler = choose_compiler(None)
    assert supports(compiler, "openmp")
    assert not supports(compiler, ("-fno-such-flag-anywhere",))


def test_a_linker_that_is_installed_later_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """test "$1" = --version && echo "clang version 19.1.0" && exit 0
test -e "$(dirname "$0")/ld.late" || { echo "invalid linker name" >&2; exit 1; }
while [ $# -gt 1 ]; do test "$1" = -o && : > "$2"; shift; done"""
    _script(tmp_path, "clang-19", text)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (compiler,) = find_compilers(str(tmp_path))
    (tmp_path / "cache").mkdir()
    assert not supports(compiler, ("-fuse-ld=late",), Cache(tmp_path / "cache"))
    _script(tmp_path, "ld.late", "exit 0")
    # Another name of the folder: what one process was told it keeps.
    (tmp_path / "same").symlink_to("cache")
    assert supports(compiler, ("-fuse-ld=late",), Cache(tmp_path / "same"))


def test_types_of_their_own_are_asked_of_compilers(fakes: Path) -> None:
    compiler = choose_compiler(None)
    assert knows(compiler, F32) and not knows(choose_compiler("gcc", str(fakes)), BF16)
