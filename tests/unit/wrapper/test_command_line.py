"""Commands of compilers: what their words are, and which of them leave nothing to do."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from planish.wrapper.command_line import read_command
from planish.wrapper.permissions import read_permissions


@pytest.mark.parametrize(
    ("text", "mode", "sources", "output"),
    [
        ("-O2 -c a.c", "object", ["a.c"], None),
        ("-c -o out/a.o -I inc -DX a.c", "object", ["a.c"], "out/a.o"),
        ("-oa.out a.c b.c -lm", "link", ["a.c", "b.c"], "a.out"),
        ("-x c data.txt -x none b.o c.c", "link", ["data.txt", "c.c"], None),
        ("-xc++ a.c", "link", [], None),
        ("a.cc a.cpp a.s a.S a.o a.i", "link", [], None),
        ("-MM a.c", "preprocess", ["a.c"], None),
        ("-E -o a.i a.c", "preprocess", ["a.c"], "a.i"),
        ("-S a.c", "assembly", ["a.c"], None),
        ("-c -fsyntax-only a.c", "nothing", ["a.c"], None),
        ("--version", "nothing", [], None),
        ("-print-search-dirs a.c", "nothing", ["a.c"], None),
        ("-include a.c -imacros b.c -c d.c", "object", ["d.c"], None),
        ("-Xlinker a.c -MF b.c -MT c.c -c d.c", "object", ["d.c"], None),
        ("-c -", "object", [], None),
        ("-x c -c -", "object", ["-"], None),
        ("-c", "object", [], None),
        ("-o", "link", [], ""),
    ],
)
def test_words_are_told_apart(text: str, mode: str, sources: list[str], output: str | None) -> None:
    command = read_command(shlex.split(text))
    assert (command.mode, [x.name for x in command.sources], command.output) == (mode, sources, output)


def test_flags_of_sources_leave_warnings_and_dependences_out() -> None:
    command = read_command(
        shlex.split("-Wall -w -O3 -MD -MP -MFx.d -MT x.o -march=native -std=c99 -I. -DN=2 -c x.c -ox.o")
    )
    assert command.flags_for_sources() == ("-O3", "-march=native", "-std=c99", "-I.", "-DN=2")
    assert command.flags_for_text() == ("-O3", "-march=native", "-std=c99")


def test_response_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("inner").write_text("-DNAME='a b'\n\t-O2")
    Path("outer").write_text('@inner -c "my file.c"')
    command = read_command(["@outer", "@missing"])
    assert command.flags_for_sources() == ("-DNAME=a b", "-O2")
    assert [x.name for x in command.sources] == ["my file.c"]
    Path("inner").write_text("@outer")
    assert "circle" in read_command(["@outer"]).unreadable


@pytest.mark.parametrize(
    "words",
    [
        "-c a.c", "-O0 -c a.c", "-O2 -Os -c a.c", "-O2 -fsanitize=address -c a.c", "-O2 -fno-strict-aliasing -c a.c",
        "-O2 -fwrapv -c a.c", "-O2 --coverage -c a.c", "-O2 -m32 -c a.c", "-O2 -flto -c a.c", "-O2 -include x.h -c a.c",
        "-O2 -Wp,-MD,a.d -c a.c", "-O2 -c a.c b.c -o x.o", "-O2 -c a.c -o /dev/null", "-O2 -x c -c -", "-O2 -c a.cpp",
        "-O2 -S a.c", "-O2 -E a.c", "-O2 -c a.s", "-O2 a.o -o a", "-O2 -funsigned-char -c a.c", "-O2 -specs=x -c a.c",
        "-O2 -ffreestanding -c a.c", "-O2 -gsplit-dwarf -c a.c", "-O2 -pg -c a.c", "-Og -c a.c",
    ],
)  # fmt: skip
def test_these_are_left_to_the_compiler(words: str) -> None:
    assert read_permissions(read_command(shlex.split(words)), "gcc").plain


@pytest.mark.parametrize(
    ("words", "kind", "floats"),
    [
        ("-O2", "gcc", "contract"), ("-O2", "clang", "strict"), ("-O2 -std=gnu99", "gcc", "contract"),
        ("-O2 -std=c99", "gcc", "strict"), ("-O2 -ansi", "gcc", "strict"), ("-O2 -ffast-math", "clang", "reassociate"),
        ("-Ofast", "gcc", "reassociate"), ("-Ofast -fno-fast-math", "gcc", "contract"),
        ("-O2 -ffp-contract=off", "gcc", "strict"), ("-O2 -std=c11 -ffp-contract=fast", "gcc", "contract"),
        ("-O2 -fassociative-math", "gcc", "contract"),
    ],
)  # fmt: skip
def test_flags_permit_floats(words: str, kind: str, floats: str) -> None:
    permissions = read_permissions(read_command([*shlex.split(words), "-c", "a.c"]), kind)
    assert (permissions.plain, permissions.floats) == ("", floats)
