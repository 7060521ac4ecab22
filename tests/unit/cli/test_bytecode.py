"""Modules that have no compiled form, and get none, have it in the cache; nothing that others may write is run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planish.cli.terminal.bytecode import clear_bytecode, keep_bytecode


def run(tmp_path: Path) -> dict[str, int]:
    """The compiled modules after a command, with the times at which they were written."""
    path = os.pathsep.join(p for p in sys.path if p)
    own = {
        "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": str(tmp_path / "none"),
    }  # fmt: skip
    command = [sys.executable, "-m", "planish", "cc", "gcc", "--version"]
    subprocess.run(command, env={**os.environ, **own}, capture_output=True, check=True)
    return {x.name: x.stat().st_mtime_ns for x in (tmp_path / "planish/bytecode").rglob("*.pyc")}


def test_modules_are_compiled_once(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert any(x.startswith("driver.") for x in first) and not (tmp_path / "none").exists()
    assert run(tmp_path) == first
    clear_bytecode(tmp_path / "planish")
    assert not list((tmp_path / "planish").iterdir())


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_what_others_may_write_is_not_run(mode: int, tmp_path: Path) -> None:
    before = list(sys.meta_path)
    (tmp_path / "bytecode").mkdir()
    (tmp_path / "bytecode").chmod(mode)
    assert not keep_bytecode(tmp_path, installed=False)
    assert sys.meta_path == before


def test_what_was_cut_off_is_compiled_again(tmp_path: Path) -> None:
    run(tmp_path)
    whole = {x: x.read_bytes() for x in (tmp_path / "planish/bytecode").rglob("driver.*.pyc")}
    for path, data in whole.items():
        path.write_bytes(data[:200])
    run(tmp_path)
    assert whole and {x: len(x.read_bytes()) for x in whole} == {x: len(y) for x, y in whole.items()}
