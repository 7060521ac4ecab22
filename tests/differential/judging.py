"""Judges a build as its user would: what it says, what it takes, and what the drop-in prints however it is compiled.

>>> demands = read_demands("// taken: f g\\n// c++\\n// says: 2 lanes\\n/* Two functions. */\\nint x;\\n")
>>> demands.taken, demands.header, demands.said, demands.tolerance
(('f', 'g'), True, ('2 lanes',), 1e-09)
>>> agree("1.0 nan", "1.00000001 nan", 1e-6), agree("1 2", "1 3", 1e-6)
(True, False)
"""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import planish.cli.build  # noqa: F401 - each command's own process has it already then
from planish.cli.entry import main

BUILD_LIMIT, COMPILE_LIMIT, RUN_LIMIT = 120, 120, 60  # seconds
COLUMNS = {"COLUMNS": "140"}
SANITIZED = ("gcc", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True, slots=True)
class Demands:
    """What a program asks of its build, in comment lines: functions that must be taken, how far printed numbers may
    be off, texts that must and must not be said, options; whether the clock, sanitizers and C++ belong to it."""

    taken: tuple[str, ...]
    tolerance: float
    said: tuple[str, ...]
    unsaid: tuple[str, ...]
    options: tuple[str, ...]
    measured: bool
    sanitized: bool
    header: bool


def read_demands(text: str) -> Demands:
    """The demands in the comment lines of a program."""

    def values(key: str) -> list[str]:
        return re.findall(rf"^// {key}: (.*)$", text, re.MULTILINE)

    def holds(key: str) -> bool:
        return re.search(rf"^// {re.escape(key)}$", text, re.MULTILINE) is not None

    return Demands(
        taken=tuple(" ".join(values("taken")).split()), tolerance=float((values("tolerance") or ["1e-9"])[0]),
        said=tuple(values("says")), unsaid=tuple(values("never says")),
        options=tuple(shlex.split(" ".join(values("options")))), measured=holds("measured"),
        sanitized=holds("sanitize"), header=holds("c++"),
    )  # fmt: skip


def judge(program: Path, expected: str, settings: Sequence[str], folder: Path, only: Collection[str] = ()) -> list[str]:
    """What is wrong with the build of a program under the options `settings`, made in `folder`; empty: nothing.
    `only`: of the ways to compile what comes out, these (default: all)."""
    text = program.read_text()
    demands = read_demands(text)
    shutil.copy(program, folder)
    code, said = run_planish(["build", program.name, "-o", "out", *settings, *demands.options], folder, BUILD_LIMIT)
    if code:
        return [f"the build ends with {code}: {said.strip()[-600:]}"]
    drop_in = f"out/{program.name}"
    faults = judge_speech(demands, said)
    faults += judge_runs(demands, drop_in, expected, folder, only)
    return faults + (judge_header(program.stem, folder) if demands.header else [])


def judge_runs(demands: Demands, drop_in: str, expected: str, folder: Path, only: Collection[str] = ()) -> list[str]:
    """What is wrong with what a drop-in, which lies in `folder`, prints; by `only` these ways to compile it."""
    faults = []
    rest = ["-w", "-DMAIN", "-I.", "-Iout", drop_in, "-o", "program", "-lm"]
    for way, compiler in ways_to_compile(demands, (folder / drop_in).read_text()).items():
        if only and way not in only:
            continue
        made, told = run([*compiler, *rest], folder, COMPILE_LIMIT)
        if made:
            faults.append(f"{way}: does not compile: {told.strip()[:300]}")
            continue
        ended, printed = run(["./program"], folder, RUN_LIMIT)
        if ended or not agree(printed, expected, demands.tolerance):
            difference = f"prints {printed.strip()[:300]!r} for {expected.strip()[:300]!r}"
            faults.append(f"{way}: ends with {ended} and {difference}")
    return faults


def judge_speech(demands: Demands, said: str) -> list[str]:
    """What is wrong with what a build prints."""
    rows = {line.split()[0]: line for line in said.splitlines() if line[:1].strip()}
    flat = " ".join(said.split())
    return [
        *(f"not taken: {x}" for x in demands.taken if "kept as written" in rows.get(x, "kept as written")),
        *(f"does not say {x!r}" for x in demands.said if x not in flat),
        *(f"says {x!r}" for x in demands.unsaid if x in flat),
        *judge_reasons(said),
    ]


def judge_reasons(said: str) -> list[str]:
    """Functions that are kept, and refusals, without a reason, a place or advice."""
    kept = re.findall(r"^(\S+) {2,}kept as written(?!: \S)", said, re.MULTILINE)
    told = re.findall(r"^refused\[.*?(?=\n\n|\Z)", said, re.MULTILINE | re.DOTALL)
    return [
        *(f"kept without a reason: {x}" for x in kept),
        *(f"refused without a place: {x}" for x in told if not re.search(r"^ *\|[ \t]*\^+$", x, re.MULTILINE)),
        *(f"refused without advice: {x}" for x in told if "  = help: " not in x),
        *(["kept, and no refusal is told"] if "kept as written" in said and not told else []),
    ]


def ways_to_compile(demands: Demands, drop_in: str) -> Mapping[str, Sequence[str]]:
    """The compilers' command lines: the one that the drop-in names, and those that its user may have instead."""
    told = re.search(r"compile: (.*)", drop_in)
    assert told is not None, "the drop-in names no command"
    ways: dict[str, Sequence[str]] = {"as told": shlex.split(told[1])}
    for compiler in filter(shutil.which, ("gcc", "clang-19" if shutil.which("clang-19") else "clang")):
        own = [[compiler, "-O2"], [compiler, "-O3", "-march=native"]]
        ways |= {shlex.join(x): x for x in own if x not in ways.values()}
    if demands.sanitized:
        ways["sanitized"] = SANITIZED
    return ways


def judge_header(stem: str, folder: Path) -> list[str]:
    """What is wrong with the header, included twice, in C and C++."""
    faults = []
    for compiler, standard, suffix in (("gcc", "c11", "c"), ("g++", "c++11", "cc"), ("g++", "c++20", "cc")):
        if not shutil.which(compiler):
            continue
        unit = folder / f"twice.{suffix}"
        unit.write_text(f'#include "out/{stem}.h"\n' * 2 + "int one;\n")
        flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", "-c", unit.name, "-o", "twice.o"]
        made, told = run([compiler, f"-std={standard}", *flags], folder, COMPILE_LIMIT)
        if made:
            faults.append(f"the header as {standard}: {told.strip()[:300]}")
    return faults


def agree(printed: str, expected: str, tolerance: float) -> bool:
    """Whether two outputs are the same words, and numbers within a relative tolerance."""
    got, want = printed.split(), expected.split()
    return len(got) == len(want) and all(_alike(*pair, tolerance) for pair in zip(got, want, strict=True))


def _alike(got: str, want: str, tolerance: float) -> bool:
    if got == want:
        return True
    try:
        x, y = float(got), float(want)
    except ValueError:
        return False
    return math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance * 1e-3) or (math.isnan(x) and math.isnan(y))


def run_planish(arguments: Sequence[str], folder: Path, limit: float) -> tuple[int, str]:
    """The exit code of a command in a process of its own (124 after `limit` seconds), and what was printed. The process
    is a copy of this one, which has loaded the compiler: that takes longer than most builds."""
    with tempfile.TemporaryFile() as printed:
        child = multiprocessing.get_context("fork").Process(target=_serve, args=(arguments, folder, printed.fileno()))
        child.start()
        child.join(limit)
        late = child.exitcode is None
        if late and child.pid is not None:
            os.killpg(child.pid, signal.SIGKILL)
            child.join()
        printed.seek(0)
        said = printed.read().decode(errors="replace")
    return (124, f"over {limit} s") if late else (child.exitcode or 0, said)


def _serve(arguments: Sequence[str], folder: Path, printed: int) -> None:
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ |= COLUMNS
    for stream in (1, 2):
        os.dup2(printed, stream)
    with open(1, "w", errors="backslashreplace", buffering=1, closefd=False) as sys.stdout:
        sys.stderr = sys.stdout
        code = main(arguments)
    os._exit(code)


def run(command: Sequence[str], folder: Path, limit: float) -> tuple[int, str]:
    """The exit code (124 after `limit` seconds) and what was printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | COLUMNS
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=limit,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, f"over {limit} s"
    return done.returncode, done.stdout + done.stderr
