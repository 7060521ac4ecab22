"""What a kernel engineer expects of a tool like this, each shown by commands that run here and now.

    for expectation, lack in show_expectations(quick=False): print(expectation, lack or "shown")
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, STDOUT
from threading import Timer
from typing import Any

from bench.harness.places import PROGRAMS
from planish.cli.installation.cmake import PACKAGE

FOLDER = PROGRAMS / "users"
SECONDS, PAUSE = 300, 0.2
"""Of one command, and between looks at one that is to be interrupted."""
INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def show_expectations(quick: bool) -> Iterator[tuple[str, str]]:
    """Each expectation, and what is lacking; nothing where it is as expected. `quick`: without those that take long."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (*FOLDER.glob("*.c"), FOLDER / "CMakeLists.txt"):
            shutil.copy(path, folder)
        for wish in tomllib.loads((FOLDER / "expectations.toml").read_text())["expectation"]:
            if not (quick and wish.get("slow")):
                yield wish["what"], find_lack(wish, folder)


def find_lack(wish: dict[str, Any], folder: Path) -> str:
    """What an expectation lacks after its commands ran in a folder.

    >>> find_lack({"what": "a package", "missing": "there is none"}, Path())
    'there is none'
    """
    if "missing" in wish:
        return str(wish["missing"])
    told = ""
    environment = {**os.environ, **wish.get("environment", {})}
    if "interrupted" in wish and (lack := _interrupt(wish["interrupted"], wish["once"], wish["shows"], folder)):
        return lack
    for arguments in wish.get("commands", ()):
        code, said = _run(arguments, folder, environment, wish.get("messages", ()))
        wanted = wish.get("exit", 0) if arguments is wish["commands"][-1] else 0
        if code != wanted:
            last = said.strip().splitlines()[:1] or ["nothing was printed"]
            return f"planish {' '.join(arguments)}: exit code {code}: {last[0]}"
        told += said
    for command in wish.get("others", ()):
        code, said = _run_other(command, folder)
        if code:
            return f"{' '.join(command)}: exit code {code}: {said.strip()[-200:]}"
        told += said
    if not re.search(wish.get("prints", ""), told):
        return f"{wish['prints']} is not in what is printed"
    table = told[told.rfind("\nfunction ") :].partition("\n\n")[0]
    if any(len(x) > wish.get("widest", len(x)) for x in table.splitlines()):
        return f"the table has more than {wish['widest']} columns"
    for name, pattern in wish.get("holds", {}).items():
        path = folder / name
        if not path.exists() or not re.search(pattern, path.read_bytes().decode("utf-8", "replace")):
            return f"{pattern} is not in {name}"
    if len({(folder / x).read_bytes() for x in wish.get("same", ())}) > 1:
        return f"{' and '.join(wish['same'])} differ"
    return ""


def _run(
    arguments: list[str], folder: Path, environment: Mapping[str, str], messages: Sequence[Mapping[str, str]]
) -> tuple[int, str]:
    """The exit code and what is printed. A server gets each message once what is before it was answered."""
    with _start(arguments, folder, environment) as process:
        assert process.stdin is not None and process.stdout is not None
        told = b""
        for message in messages:
            data = message["send"].encode()
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            process.stdin.flush()
            answer = message.get("answer", "").encode()
            while not re.search(answer, told) and (more := os.read(process.stdout.fileno(), 1 << 16)):
                told += more
        process.stdin.close()
        told += process.stdout.read()
        return process.wait(), told.decode()


def _run_other(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """The exit code and what is printed of a command of another program, which finds planish."""
    own = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}", "Planish_DIR": str(PACKAGE)}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=PIPE, stderr=STDOUT, text=True, timeout=SECONDS, check=False
        )
    except FileNotFoundError:
        return 127, "it is not here"
    return done.returncode, done.stdout


def _interrupt(arguments: list[str], once: list[str], pattern: str, folder: Path) -> str:
    """Starts a command, interrupts it (Ctrl-C) once what another one prints has a pattern, and waits for its end; why
    that is lacking, if it is."""
    with _start(arguments, folder, os.environ) as process:
        while process.poll() is None and not re.search(pattern, _run(once, folder, os.environ, ())[1]):
            time.sleep(PAUSE)
        process.send_signal(signal.SIGINT)
        process.communicate()
    done = f"planish {' '.join(arguments)}: exit code {process.returncode}"
    return "" if process.returncode == INTERRUPTED else f"{done}, not {INTERRUPTED}, where it is interrupted"


@contextmanager
def _start(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A command that is killed after `SECONDS`."""
    command = [sys.executable, "-m", "planish", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=PIPE, stdout=PIPE, stderr=STDOUT) as process:
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
