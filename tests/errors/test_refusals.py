"""Every input in the folders beside this file must be refused: with the right code, at the right line, and cleanly.

A file `c/NAME.toml` is a call of the command: `arguments`, the `files`, `folders` and `links` that lie in the current
directory, and what must come of it: the `exit` code, the diagnostic's `code`, its `line` (in the file `at`), a part of
its `message`, and the files that are `written` all the same. A file `ir/NAME.toml` is a text that no parser may accept.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from planish.build.dump import parse_stage
from planish.cli import main
from planish.core.diagnostic import PlanishError
from planish.ir.checker import check_kernel
from planish.ir.text.parser import parse_kernel

HERE = Path(__file__).parent
CALLS = sorted((HERE / "c").glob("*.toml"))
TEXTS = sorted((HERE / "ir").glob("*.toml"))


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_there_are_many() -> None:
    assert len(CALLS) >= 40
    assert len(TEXTS) >= 10


def lay_out(case: dict[str, Any], folder: Path) -> None:
    """The files of a case in `folder`."""
    for name in case.get("folders", ()):
        (folder / name).mkdir()
    contents = {name: text.encode() for name, text in case.get("files", {}).items()}
    contents |= {name: bytes.fromhex(digits) for name, digits in case.get("bytes", {}).items()}
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, place in case.get("links", {}).items():
        (folder / name).symlink_to(place)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` (links are not followed)."""
    found = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.is_file()}


def run_case(case: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    if not case.get("process"):
        code = main(case["arguments"])
        return code, *capfd.readouterr()
    command = [sys.executable, "-m", "planish", *case["arguments"]]
    done = subprocess.run(
        command, env={**os.environ, **source_path(), **case.get("environment", {})}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def source_path() -> dict[str, str]:
    """What a child needs in order to find the package that is under test."""
    return {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.mark.parametrize("path", CALLS, ids=lambda p: p.stem)
def test_call_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    case = read(path)
    if "needs" in case and not Path(case["needs"]).exists():
        pytest.skip(f"there is no {case['needs']} here")
    lay_out(case, tmp_path)
    before = snapshot(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, _, err = run_case(case, capfd)
    assert code == case["exit"], err
    assert "Traceback" not in err
    assert "internal error" not in err
    assert case["message"] in err
    if "code" in case:
        assert f"error[{case['code']}]: " in err
        assert re.findall(r"error\[(E\d+)\]", err) == [case["code"]]
    if "line" in case:
        assert f" --> {case.get('at', 'kernel.c')}:{case['line']}:" in err
        assert re.search(r"^ *\| [ \t]*\^+$", err, re.MULTILINE), "no caret"
    written = {f"planish-out/{name}" for name in case.get("written", ())}
    after = snapshot(tmp_path)
    assert set(after) == {*before, *written}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_text_is_refused(path: Path) -> None:
    case = read(path)
    with pytest.raises(PlanishError) as caught:
        if case["stage"]:
            check_kernel(parse_kernel(case["text"], "kernel.ir"), case["stage"])
        else:
            parse_stage(case["text"], "kernel.ir")
    found = caught.value.diagnostic
    assert found.code == case["code"]
    assert case["message"] in found.message
    assert found.span is not None and found.span.line == case["line"], str(caught.value)
