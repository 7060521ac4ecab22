"""`planish cc` beside the compiler: the same results, messages and exit codes, but for objects that are replaced."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from planish.cli.compiler_wrapper import run_at_once
from planish.wrapper import worker
from planish.wrapper.driver import WrapperWishes, run_compiler
from planish.wrapper.record import SourceRecord, read_records

GCC = shutil.which("gcc") or ""
pytestmark = pytest.mark.skipif(not GCC, reason="gcc is not here")
VALUE = "int value(int *a)\n{\n  for (int i = 0; i < 9; i++)\n    a[i] = i;\n  return 1;\n}\n"
MAIN = (
    '#include <stdio.h>\n#include "value.h"\n'
    'int main(void) { int a[9]; printf("%d %s\\n", value(a), __FILE__); return 0; }\n'
)
NESTS = """\
#include "scale.h"
void scale(int n, const float *restrict x, float *restrict y)
{
    int unused;
    for (int i = 0; i < n; i++)
        y[i] = FACTOR * x[i] + y[i];
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(worker, "translation_module", lambda: "tests.unit.wrapper.replacing")
    Path("sub").mkdir()
    Path("sub/value.c").write_text(VALUE)
    Path("sub/value.h").write_text("int value(int *a);\n")
    Path("main.c").write_text(MAIN)
    return tmp_path


def wrapped(text: str, report: str = "build.jsonl") -> int:
    return run_compiler(shlex.split(text), WrapperWishes(GCC, seconds=20.0, report=report))


def record(report: str = "build.jsonl") -> dict[str, SourceRecord]:
    return {x.source: x for x in read_records(report)}


def output(program: str) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_objects_and_programs_are_replaced(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert wrapped("-O2 -Wall -MD -c sub/value.c -o value.o") == 0
    assert Path("value.d").read_text().startswith("value.o: sub/value.c")
    found = record()["sub/value.c"]
    assert (found.outcome, found.output, found.remembered) == ("taken", "value.o", False)
    subprocess.run([GCC, "-Isub", "main.c", "value.o", "-o", "one"], check=True)
    assert output("./one") == "2 main.c\n"
    assert wrapped("-O2 -Isub main.c sub/value.c -o two") == 0
    assert output("./two") == "2 main.c\n"
    assert wrapped("-O2 -Isub main.c -x c sub/value.c -x none") == 0
    assert output("./a.out") == "2 main.c\n"
    assert wrapped("-O2 -c sub/value.c") == 0 and Path("value.o").exists()
    assert not list(folder.rglob("*planish-*")) and capfd.readouterr() == ("", "")


def test_second_builds_are_remembered(folder: Path) -> None:
    for known in (False, True):
        assert wrapped("-O2 -c sub/value.c") == 0
        assert record()["sub/value.c"].remembered is known
    Path("sub/value.c").write_text(VALUE.replace("9", "8"))
    assert wrapped("-O2 -c sub/value.c") == 0
    assert not record()["sub/value.c"].remembered


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("/* crash */", "internal error"),
        ("/* other */", "other symbols"),
        ("#define value(x) unexpected(x)\n", "nothing"),
    ],
)
def test_what_cannot_be_stays(folder: Path, change: str, reason: str) -> None:
    Path("sub/value.c").write_text(change + (VALUE if reason != "nothing" else VALUE.replace("return 1", "return 3")))
    assert wrapped("-O2 -c sub/value.c") == 0
    found = record()["sub/value.c"]
    assert found.outcome == "plain" and reason in found.reason
    before = Path("value.o").read_bytes()
    subprocess.run([GCC, "-O2", "-c", "sub/value.c"], check=True)
    assert Path("value.o").read_bytes() == before


def test_errors_and_warnings_are_the_compilers(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("wrong.c").write_text("int f(int *a) { for (;;) a[0] = ; }\n")
    assert wrapped("-O2 -c wrong.c") == 1
    said = capfd.readouterr().err
    assert subprocess.run([GCC, "-O2", "-c", "wrong.c"], capture_output=True, text=True).stderr == said
    Path("sub/value.c").write_text(VALUE.replace("{\n", "{\n  int idle;\n", 1))
    assert wrapped("-O2 -Wall -c sub/value.c") == 0
    said = capfd.readouterr().err
    done = subprocess.run([GCC, "-O2", "-Wall", "-c", "sub/value.c"], capture_output=True, text=True)
    assert "idle" in said and done.stderr == said


def test_a_source_without_time_is_unfinished(folder: Path) -> None:
    Path("sub/value.c").write_text(f"/* slow */\n{VALUE}")
    assert run_compiler(["-O2", "-c", "sub/value.c"], WrapperWishes(GCC, seconds=0.1, report="build.jsonl")) == 0
    found = record()["sub/value.c"]
    assert found.outcome == "plain" and found.unfinished
    Path("sub/value.c").write_text(VALUE)
    assert wrapped("-O2 -c sub/value.c") == 0 and record()["sub/value.c"].outcome == "taken"


def test_makes_side_by_side_translate_once(folder: Path) -> None:
    Path("sub/value.c").write_text(f"/* counted */\n{VALUE}")
    processes = [
        get_context("fork").Process(target=wrapped, args=(f"-O2 -c sub/value.c -o {n}.o",)) for n in range(3)
    ]  # fmt: skip
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert Path("translations").read_text() == "x"
    found = read_records("build.jsonl")
    assert [x.outcome for x in found] == 3 * ["taken"] and sorted(x.remembered for x in found) == [False, True, True]


OTHERS = ("--budget x", "--fp=fast", "--using", "--report", "--summary x", "--help", "--std=c99")


@pytest.mark.parametrize("text", OTHERS)
def test_other_options_are_read_in_full(text: str) -> None:
    assert run_at_once(shlex.split(text)) is None


PLAIN = (
    "-O2 -E sub/value.c", "-O2 -S sub/value.c -o -", "-MM sub/value.c", "-O2 -x c -c - -o piped.o", "--version",
    "-O2 -c sub/missing.c", "-O2 -c part.s -o part.o", "-O2 -c other.cc -o other.o", "-no-such-flag -c main.c", "",
)  # fmt: skip


def test_what_is_not_understood_goes_to_the_compiler(folder: Path) -> None:
    Path("part.s").write_text(".globl part\npart: ret\n")
    Path("other.cc").write_text("int f(int *a) { for (int i = 0; i < 9; i++) a[i] = i; return 1; }\n")
    path = os.pathsep.join(p for p in sys.path if p)
    for text in PLAIN:
        words = shlex.split(text)
        plain = subprocess.run([GCC, *words], input=VALUE, capture_output=True, text=True)
        made = {x: Path(x).read_bytes() for x in ("piped.o", "part.o", "other.o") if Path(x).exists()}
        ours = subprocess.run(
            [sys.executable, "-m", "planish", "cc", "gcc", *words], input=VALUE, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout), text
        assert ours.stderr.replace(GCC, "gcc") == plain.stderr.replace(GCC, "gcc"), text
        assert all(Path(x).read_bytes() == data for x, data in made.items())


def test_a_nest_is_replaced_under_the_users_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("inc").mkdir()
    Path("inc/scale.h").write_text("#if defined(TWICE)\n#define FACTOR 2.0f\n#else\n#define FACTOR 3.0f\n#endif\n")
    Path("scale.c").write_text(NESTS)
    wishes = WrapperWishes(GCC, "reassociate", None, "build.jsonl")
    assert run_compiler(shlex.split("-O2 -g -Iinc -DTWICE -c scale.c"), wishes) == 0
    found = record()["scale.c"]
    assert found.outcome == "taken" or found.functions, found
    Path("main.c").write_text(
        "#include <stdio.h>\nvoid scale(int, const float *, float *);\nint main(void) { float x[100], y[100];\n"
        'for (int i = 0; i < 100; i++) x[i] = i, y[i] = 1; scale(100, x, y); printf("%g\\n", y[99]); return 0; }\n'
    )
    subprocess.run([GCC, "main.c", "scale.o", "-o", "main"], check=True)
    assert output("./main") == "199\n"
