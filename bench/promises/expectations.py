"""What a kernel engineer expects of a tool like this, each shown by commands that run here and now.

    for expectation, lack in show_expectations(quick=False): print(expectation, lack or "shown")
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness.places import PROGRAMS

FOLDER = PROGRAMS / "users"
SECONDS = 300
"""Of one command."""


def show_expectations(quick: bool) -> Iterator[tuple[str, str]]:
    """Each expectation, and what is lacking; nothing where it is as expected. `quick`: without those that take long."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in FOLDER.glob("*.c"):
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
    for arguments in wish.get("commands", ()):
        code, told = _run(arguments, folder, wish.get("input"))
        wanted = wish.get("exit", 0) if arguments is wish["commands"][-1] else 0
        if code != wanted:
            last = told.strip().splitlines()[:1] or ["nothing was printed"]
            return f"planish {' '.join(arguments)}: exit code {code}: {last[0]}"
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


def _run(arguments: list[str], folder: Path, given: str | None) -> tuple[int, str]:
    """The exit code and what is printed; a server ends when nothing more comes."""
    if given is not None:
        given = f"Content-Length: {len(given.encode())}\r\n\r\n{given}"
    done = subprocess.run(
        [sys.executable, "-m", "planish", *arguments], cwd=folder, input=given or "", capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
