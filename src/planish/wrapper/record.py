"""The record of a build through the wrapper: a line of JSON for each source, appended by however many makes at once.

>>> import tempfile
>>> path = tempfile.mkdtemp() + "/build.jsonl"
>>> append_record(path, SourceRecord("a.c", "/p", ("gcc", "-O3", "-c", "a.c"), "a.o", "plain", "no loop", 0.01))
>>> [x.reason for x in read_records(path)]
['no loop']
"""

from __future__ import annotations

import fcntl
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.types import Floats
from planish.wrapper.request import TranslatedFunction, read_function

Outcome = Literal["taken", "plain"]
FORMAT = 1


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What became of a source: its name and the folder of the build, the command, the object; whether nests of it were
    replaced, or why not; the seconds that this added to the build; and its functions. `remembered`: it was known from
    an earlier build; `unfinished`: there was no time for all of it; `floats`: what the user says of them."""

    source: str
    folder: str
    command: tuple[str, ...]
    output: str
    outcome: Outcome
    reason: str
    seconds: float
    functions: tuple[TranslatedFunction, ...] = ()
    remembered: bool = False
    unfinished: bool = False
    floats: Floats | None = None


def append_record(path: str, record: SourceRecord) -> None:
    """Adds a line to a record, whole, also where others add some at the same time. OSError where it cannot be."""
    line = json.dumps({"format": FORMAT, **asdict(record)}, ensure_ascii=False)
    with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{line}\n")


def read_records(path: str) -> tuple[SourceRecord, ...]:
    """The lines of a record, of each source and object the last one. PlanishError E0114 where the file is none."""
    try:
        text = Path(path).read_text("utf-8", "surrogateescape")
        found = [_read(json.loads(line)) for line in text.splitlines() if line.strip()]
    except OSError as error:
        raise _refuse(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _refuse(f"{path} is no record of a build: {error}") from error
    return tuple({(x.folder, x.source, x.output): x for x in found}.values())


def _read(line: Any) -> SourceRecord:
    if not isinstance(line, dict) or line.pop("format") != FORMAT:
        raise ValueError("it has another format")
    functions = tuple(map(read_function, line["functions"]))
    return SourceRecord(**{**line, "command": tuple(line["command"]), "functions": functions})


def _refuse(message: str) -> PlanishError:
    return PlanishError(Diagnostic("E0114", message, help="give the file that `planish cc --report FILE` has written"))
