"""The claims `users`: what somebody meets who tries it first, and what he needs in his tenth week.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from math import inf
from pathlib import Path

from bench.harness.places import EXAMPLES, PROGRAMS, ROOT
from bench.promises import emitted
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.promises.expectations import show_expectations
from bench.promises.explorer_users import FOREIGN, HUGE, OUTSIDE, serving
from planish.core.cache import Cache
from planish.core.files import read_input
from planish.emit.dropin.shared_header import share_prologue
from planish.options import Options
from planish.report.store import build_cached
from planish.run.toolchains.toolchain import choose_compiler

EXPECTATIONS, STRANGER_SECONDS, REPORT_BYTES, BROWSER_TESTS = 20, 180.0, 2 << 20, 2
BROWSER = ("tests/unit/explorer/test_explorer.py", "tests/unit/report/test_page.py")
SAMPLE = ("dsp/dot.c", "dsp/fir.c", "dsp/matvec.c")


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Expectations, lines of drop-ins, what calls from Python cost, the page, the explorer, a stranger's first minutes.
    `quick`: fewer expectations, examples and no installation."""
    yield from _expectations(quick)
    yield from emitted.examine(quick, stored)
    yield from _same_code(quick)
    with tempfile.TemporaryDirectory() as name:
        yield from _page(quick, Path(name))
        yield from _explorer(Path(name))
    yield from _browser(quick)
    yield from _stranger(quick)


def _expectations(quick: bool) -> Iterator[Claim | Note]:
    shown = count = 0
    for what, lack in show_expectations(quick):
        count += 1
        shown += not lack
        yield Note(f"{what}: {f'not shown: {lack}' if lack else 'shown'}")
    yield at_least("users.expectations", shown, count if quick else EXPECTATIONS)
    yield Note("users.better_than_anchors is not measured: nothing here runs the best known tools through the same")


def _same_code(quick: bool) -> Iterator[Claim | Note]:
    """Short drop-ins are as fast as long ones: both are compiled to the same instructions."""
    compiler = choose_compiler(None)
    files = [EXAMPLES / x for x in SAMPLE] if quick else sorted(EXAMPLES.glob("*/*.c"))
    differ, count = 0, 0
    for path in (x for x in files if x.name != "main.c"):
        text = build_cached(
            read_input(str(path)).source, Options(measure=False, include_dirs=(path.parent,)), Cache(), trials=None
        )[0].text
        parted = share_prologue(text)
        if not parted.headers:
            continue
        count += 1
        whole = _assemble({"a.c": text}, path.parent, str(compiler.path))
        differ += whole != _assemble({"a.c": parted.text, **parted.headers}, path.parent, str(compiler.path))
    yield at_least("users.compact_code_compared", count, 1)
    yield at_most("users.compact_code_that_differs", differ, 0)


def _assemble(files: dict[str, str], includes: Path, compiler: str) -> str:
    """The instructions of `a.c`; labels are numbered as they come, since the compiler counts what it reads as well."""
    with tempfile.TemporaryDirectory() as name:
        for file, text in files.items():
            (Path(name) / file).write_text(text)
        command = [compiler, "-O3", "-march=native", "-S", "-o", "-", "a.c", f"-I{includes}"]
        text = subprocess.run(command, cwd=name, capture_output=True, text=True, check=True).stdout
    return number_labels(text)


def number_labels(assembly: str) -> str:
    """Assembly whose labels have numbers in the order in which they come.

    >>> number_labels(".LFB7: jmp .L3")
    '.L0: jmp .L1'
    """
    numbers: dict[str, int] = {}
    return re.sub(r"\.L\w+", lambda x: f".L{numbers.setdefault(x[0], len(numbers))}", assembly)


def _page(quick: bool, folder: Path) -> Iterator[Claim | Note]:
    """One page of all examples."""
    files = [str(EXAMPLES / x) for x in SAMPLE] if quick else [str(EXAMPLES / "dsp"), str(EXAMPLES / "polybench")]
    place = folder / "page.html"
    _planish(["report", *files, "--no-measure", "-q", "-o", str(place)])
    yield at_most("users.report_bytes", place.stat().st_size if place.exists() else inf, REPORT_BYTES)


def _explorer(folder: Path) -> Iterator[Claim | Note]:
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        yield Note("users.explorer is not measured: starlette or uvicorn is not here (pip install 'planish[explorer]')")
        return
    with serving(folder) as explorer:
        for name, requests in (("origins", FOREIGN), ("paths", OUTSIDE), ("huge_inputs", HUGE)):
            yield at_least(f"users.explorer_refuses_{name}", sum(map(explorer.refuses, requests)), len(requests))
        yield at_most("users.explorer_lost_of_100", explorer.count_lost(), 0)


def _browser(quick: bool) -> Iterator[Claim | Note]:
    """The tests that drive Chromium, as far as it is here."""
    if quick:
        yield Note("users.browser_tests is not measured in a sample")
        return
    command = [sys.executable, "-m", "pytest", "-q", "-k", "browser", "-p", "no:cacheprovider", *BROWSER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()]
    yield judge_browser_tests(done.returncode, last[0])


def judge_browser_tests(code: int, last: str) -> Claim | Note:
    """What pytest's exit code and its last line say: one that failed counts, whatever was skipped besides."""
    if code == 0 and "skipped" in last:
        return Note(f"users.browser_tests is not measured: Chromium or playwright is not here ({last})")
    passed = re.search(r"(\d+) passed", last)
    return at_least("users.browser_tests", int(passed[1]) if passed and code == 0 else 0, BROWSER_TESTS)


def _stranger(quick: bool) -> Iterator[Claim | Note]:
    """From `pip install .` to the verdict on an own kernel, in an environment and a home of its own."""
    if quick:
        yield Note("users.stranger_seconds is not measured in a sample: it installs the package")
        return
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        own = {x: y for x, y in os.environ.items() if not x.startswith(("PYTHON", "XDG_"))} | {"HOME": name}
        bin = home / "own" / "bin"
        begin = time.monotonic()
        for command in (["venv", "own"], ["pip", "install", "-q", str(ROOT)]):
            python = sys.executable if command[0] == "venv" else str(bin / "python")
            if lack := _run([python, "-m", *command], home, own):
                yield Note(f"users.stranger_seconds is not measured: {lack}")
                return
        before = set(home.iterdir())  # pip itself may leave something there
        kernels = PROGRAMS / "users" / "kernels.c"
        lack = _run([str(bin / "planish"), "build", str(kernels), "-o", str(home / "out")], home, own)
        yield from [Note(lack)] if lack else []
        yield at_most("users.stranger_seconds", inf if lack else time.monotonic() - begin, STRANGER_SECONDS)
        made = {x.name for x in set(home.iterdir()) - before} - {"out", ".cache"}
        yield Note("that is an environment with a home of its own; a fresh container is not measured")
        yield Note(f"the build left there besides its drop-in and its cache: {', '.join(sorted(made)) or 'nothing'}")
        yield at_most("users.stranger_left_behind", len(made), 0)


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Why a command fails; empty where it does not."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-200:]}" if done.returncode else ""


def _planish(arguments: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "planish", *arguments], capture_output=True, check=False)
