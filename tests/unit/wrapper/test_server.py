"""A server that keeps the compiler loaded: it does what the command would do, for its user and its program alone."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from planish.core.cache import default_root
from planish.wrapper import server, worker
from planish.wrapper.driver import WrapperWishes, run_compiler
from planish.wrapper.record import read_records
from planish.wrapper.request import Translation
from planish.wrapper.server import ask_server, server_folder, start_server

GCC = shutil.which("gcc") or ""
pytestmark = pytest.mark.skipif(not GCC, reason="gcc is not here")
VALUE = "int value(int *a)\n{\n  for (int i = 0; i < 9; i++)\n    a[i] = i;\n  return 1;\n}\n"


def wait_for(path: Path, there: bool) -> None:
    deadline = time.monotonic() + 60
    while path.exists() is not there and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.exists() is there


def test_files_are_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/a name that is too long for a socket {'x' * 99}")
    monkeypatch.setattr(worker, "translation_module", lambda: "tests.unit.wrapper.replacing")
    monkeypatch.setattr(worker, "PREPARED", ())
    monkeypatch.setattr(server, "IDLE", 2.0)
    Path("value.c").write_text(VALUE)
    wishes = WrapperWishes(GCC, seconds=20.0, report="build.jsonl", warm=True)
    assert run_compiler(["-O2", "-c", "value.c"], wishes) == 0
    place = server_folder(default_root())
    wait_for(place / "socket", True)
    assert place.stat().st_mode & 0o777 == 0o700
    # From here on nothing is done in this process.
    monkeypatch.setattr(worker, "_run", lambda *_: Translation("", "done here"))
    folder = tmp_path / "other"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("value.c").write_text(VALUE.replace("9", "8"))
    Path("slow.c").write_text(f"/* slow */\n{VALUE}")
    assert run_compiler(["-O2", "-c", "value.c"], wishes) == 0
    assert run_compiler(["-O2", "-c", "slow.c"], WrapperWishes(GCC, None, 0.3, "build.jsonl", warm=True)) == 0
    found = read_records("build.jsonl")
    assert [(x.outcome, x.unfinished, x.remembered) for x in found] == [("taken", False, False), ("plain", True, False)]
    Path("main.c").write_text("int value(int *); int main(void) { int a[9]; return value(a); }\n")
    subprocess.run([GCC, "main.c", "value.o", "-o", "main"], check=True)
    assert subprocess.run(["./main"], check=False).returncode == 2
    wait_for(place / "socket", False)
    assert ask_server(place, None, tmp_path, lambda: True) is None


def test_a_folder_that_others_may_read_has_no_server(tmp_path: Path) -> None:
    folder = tmp_path / "servers"
    folder.mkdir(mode=0o755)
    start_server(folder, lambda *_: None, ())
    time.sleep(0.2)
    assert os.listdir(folder) == []
