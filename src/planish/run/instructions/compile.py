"""Programs of trials compiled; what a compiler does not take is found in its messages and left out.

>>> text = "x\\nstatic void t0(unsigned char *const *in) { f(); }"
>>> blamed(text, "program.c:2:50: error: implicit declaration of function 'f'")
{0: "implicit declaration of function 'f'"}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planish.run.instructions.program import Dialect, Trial, write_program
from planish.run.processes.process import Limits, run_process

_ATTEMPTS = 20
_FLAGS = ("-w", "-Werror=implicit-function-declaration")
_LIMITS = Limits(seconds=300)


@dataclass(frozen=True, slots=True)
class Machine:
    """What runs instructions: a compiler with its flags, the command before a program ("qemu-aarch64" and such, none
    for the host), how C is written for it, what is linked with, what the processor is, or the version of the
    emulator, how much the compiler does, and the bits of registers where they may have any number."""

    name: str
    compiler: tuple[str, ...]
    command: tuple[str, ...]
    dialect: Dialect
    libraries: tuple[str, ...] = ("-lm",)
    processor: str = ""
    level: str = "-O1"
    length: int = 0


def compile_trials(trials: Sequence[Trial], machine: Machine, folder: Path) -> tuple[Path, dict[int, str]]:
    """The program of those trials that the compiler takes, and what it says of each other one. RuntimeError where it
    says nothing that speaks of a trial."""
    program, source = folder / "program", folder / "program.c"
    unknown: dict[int, str] = {}
    left = list(range(len(trials)))
    for option in (("-fsyntax-only",), (machine.level, "-o", str(program), *machine.libraries)):
        for _ in range(_ATTEMPTS):
            if not left:
                return program, unknown
            text = write_program([trials[x] for x in left], machine.dialect)
            source.write_text(text)
            finished = run_process([*machine.compiler, *_FLAGS, str(source), *option], _LIMITS, directory=folder)
            if finished.status == "ended" and finished.code == 0:
                break
            wrong = blamed(text, finished.stderr)
            if finished.status != "ended" or not wrong:
                raise RuntimeError(f"{machine.name}: {finished.stderr[-2000:] or 'the compiler did not end'}")
            unknown |= {left[number]: message for number, message in wrong.items()}
            left = [x for number, x in enumerate(left) if number not in wrong]
        else:
            raise RuntimeError(f"{machine.name}: the compiler refuses more and more")
    return program, unknown


def blamed(text: str, messages: str) -> dict[int, str]:
    """The trials that a compiler's messages speak of, each with its first error."""
    lines = text.splitlines()
    found: dict[int, str] = {}
    error, before = "", 0
    for message in messages.splitlines():
        place = re.search(r"program\.c:(\d+)", message)
        line = int(place[1]) if place else 0
        if "inlined from" in message:  # stands before the error; a note that names the caller stands behind it
            before = line or before
            continue
        if linked := re.search(r"in function `t(\d+)'", message):
            found.setdefault(int(linked[1]), "the compiler has no such function")
        if wrong := re.search(r"error: (.*)", message):
            error = wrong[1][:120]
            line, before = line or before, 0
        if line and error and (trial := re.match(r"static void t(\d+)\(", lines[line - 1])):
            found.setdefault(int(trial[1]), error)
    return found
