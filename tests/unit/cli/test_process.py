"""The command as a process of its own: interrupts, full disks, closed pipes, and how fast the help is."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.property.sampling import slow

from planish.cli import entry
from planish.cli.terminal.supervision import GRACE

QUICK = "float zero(int n, float *a)\n{\n  float s = 0;\n  for (int i = 0; i < n; i++) s += a[i];\n  return s;\n}\n"
SLOW = "\n".join(
    f"void f{k}(int n, double *restrict a, double *restrict b)\n{{\n  for (int i = 0; i < n; i++)\n"
    f"    a[i] = {k}.0 * b[i];\n}}"
    for k in range(30)
)


def environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join(p for p in sys.path if p)
    return {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}


def start(arguments: list[str], folder: Path, file_limit: int | None = None) -> subprocess.Popen[str]:
    def prepare() -> None:
        # A test runner that was started in the background has interrupts ignored, and children would inherit that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    return subprocess.Popen(
        [sys.executable, "-m", "planish", *arguments], cwd=folder, env=environment(folder), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, slow(signal.SIGTERM)])
def test_interrupt_keeps_finished_files(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    (tmp_path / "slow.c").write_text(SLOW)
    process = start(["build", "quick.c", "slow.c", "--no-measure"], tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "planish-out/quick.h").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "interrupted: " in err and "Traceback" not in err
    assert sorted(p.name for p in (tmp_path / "planish-out").iterdir()) == ["quick.c", "quick.h"]


def test_two_builds_write_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process with other hashes, another folder, nothing in the cache: not a byte differs."""
    made: list[dict[str, bytes]] = []
    for folder in (tmp_path / "a", tmp_path / "b" / "inner"):
        folder.mkdir(parents=True)
        (folder / "two.c").write_text(QUICK + SLOW.partition("\n}")[0] + "\n}\n")
        monkeypatch.setenv("PYTHONHASHSEED", str(len(made)))
        process = start(["build", "two.c", "--no-measure", "-q", "--interface", "rust,fortran"], folder)
        assert process.communicate(timeout=60) and process.returncode == 0
        made.append({x.name: x.read_bytes() for x in (folder / "planish-out").iterdir()})
    assert made[0] == made[1] and made[0].keys() == {"two.c", "two.h", "two.rs", "two.f90"}
    assert b"planish_f0_1(" in made[0]["two.c"] and b"pub fn zero(n: i32, a: *mut f32) -> f32;" in made[0]["two.rs"]


def test_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    assert start(["build", "quick.c", "--no-measure", "-q"], tmp_path).wait(60) == 0
    out = tmp_path / "planish-out"
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    assert len(before["quick.c"]) > 600
    # Built from the cache, so that only the drop-in meets the limit.
    process = start(["build", "quick.c", "--no-measure"], tmp_path, file_limit=600)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "error[E0902]: cannot write into planish-out: File too large" in err and "Traceback" not in err
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_full_temporary_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    process = start(["build", "quick.c", "--no-measure"], tmp_path, file_limit=600)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "error[E" in err and "Traceback" not in err and "internal error" not in err
    assert not (tmp_path / "planish-out").exists()


def test_without_a_temporary_folder_a_build_says_so(tmp_path: Path) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    process = start(["build", "quick.c", "--no-measure"], tmp_path, file_limit=0)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.startswith("error[E0905]: no temporary file can be made") and "Traceback" not in err


@pytest.mark.parametrize("closed", [slow((1,)), (0, 1, 2)])
def test_streams_may_be_closed(closed: tuple[int, ...], tmp_path: Path) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    process = subprocess.Popen(
        [sys.executable, "-m", "planish", "build", "quick.c", "--no-measure"], cwd=tmp_path, env=environment(tmp_path),
        stderr=subprocess.PIPE, text=True, preexec_fn=lambda: [os.close(x) for x in closed],
    )  # fmt: skip
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "planish_zero_1" in (tmp_path / "planish-out/quick.c").read_text()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the compiler that hangs is gcc otherwise")
@pytest.mark.parametrize("number", [slow(signal.SIGINT), signal.SIGTERM])
def test_a_compiler_that_hangs_is_ended_as_well(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    (tmp_path / "scratch").mkdir()
    compiler, started = tmp_path / "gcc", tmp_path / "started"
    hangs = f'case "$*" in *-shared*) echo $$ > {started}; exec sleep 600;; esac'
    compiler.write_text(f'#!/bin/sh\n{hangs}\nexec {shutil.which("gcc")} "$@"\n')
    compiler.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "planish", "build", "quick.c", "--no-measure", "--cc", str(compiler)], cwd=tmp_path,
        env={**environment(tmp_path), "TMPDIR": str(tmp_path / "scratch")}, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "slow.c").write_text(SLOW)
    process = start(["build", "slow.c", "--stop-after", "read"], tmp_path)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.wait(60)
    assert "Traceback" not in err and "BrokenPipe" not in err and "internal error" not in err


@pytest.mark.parametrize("name", ["islpy", "numpy", "planish.pipeline"])
def test_help_loads_nothing_heavy(name: str, tmp_path: Path) -> None:
    script = f"import sys; from planish.cli import main; main(['--help']); sys.exit({name!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=environment(tmp_path), capture_output=True, check=False)
    assert done.returncode == 0


def spin(folder: Path) -> list[str]:
    """A command whose work is one call of C code that takes hours, in which Python hears nothing."""
    script = folder / "spin.py"
    script.write_text(
        "import itertools, sys, tempfile\n"
        "from planish.cli.exits import guard\n"
        "from planish.cli.terminal.supervision import supervise\n"
        "def work():\n"
        "    left = tempfile.mkdtemp()\n"
        "    print('begun', flush=True)\n"
        "    sum(itertools.repeat(1, 10**14))\n"
        "    return 0\n"
        "sys.exit(supervise(lambda: guard(work)))\n"
    )
    return [sys.executable, str(script)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_hears_nothing_is_ended_with_its_files(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    process = subprocess.Popen(
        spin(tmp_path), env={**environment(tmp_path), "TMPDIR": str(tmp_path / "scratch")}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(x, signal.SIG_DFL) for x in (signal.SIGINT, signal.SIGHUP)],
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(0.2)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number, err
    assert "interrupted: " in err and "Traceback" not in err
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_crash_of_the_compiler_is_told(tmp_path: Path) -> None:
    script = (
        "import os, sys; from planish.cli.terminal.supervision import supervise;"
        "sys.exit(supervise(lambda: os.kill(os.getpid(), 11)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 70
    assert "the compiler was ended by SIGSEGV" in done.stderr


def test_a_command_has_its_own_time_to_end(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, time; from planish.cli.terminal.supervision import supervise\n"
        "def end(*_): time.sleep(float(sys.argv[2])); os._exit(0)\n"
        "def work(): signal.signal(signal.SIGTERM, end); os.kill(os.getppid(), signal.SIGTERM); time.sleep(99)\n"
        "sys.exit(supervise(work, float(sys.argv[1])))"
    )
    for grace, needed, code in (("0.05", "90", 143), ("60", "0.5", 0)):
        command = [sys.executable, "-c", script, grace, needed]
        assert subprocess.run(command, env=environment(tmp_path), capture_output=True, check=False).returncode == code


def test_an_explorer_has_time_to_end_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(entry, "supervise", lambda run, grace: asked.append(grace))
    for command in ("explore", "build"):
        monkeypatch.setattr(sys, "argv", ["planish", command])
        entry.main()
    assert asked == [10.0, GRACE]
