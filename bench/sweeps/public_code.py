"""Public C code, read and not compiled: how many functions with loops have a nest that is taken, and what stops the
others.

    python -m bench.sweeps.public_code FOLDER                    # a folder of code bases, a folder for each
    python -m bench.sweeps.public_code FOLDER zlib opus          # these of them
    python -m bench.sweeps.public_code FOLDER --most 60          # so many files of each, evenly spread
    python -m bench.sweeps.public_code FOLDER --stored --names   # what is kept; functions that have nothing

A function with loops has one in its own text after macros are expanded (`do { … } while (0)` is none), or a nest that
was found in what it calls. Functions of which only something else was refused, such as a call of a function that holds
the loop, or of `memcpy`, are told apart, with what the share would be if they were counted, too.

Unpacked sources of any project will do (`apt-get source`, sdists of PyPI), best after their `./configure`. Each file is
read with the headers of its base, as one of the files of a project, which the base is: functions that other files
define are inlined. What was found is kept in `bench/results`, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bench.harness.contest import digest
from bench.harness.journal import Journal
from bench.harness.places import RESULTS
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.other_files.project import Project, ProjectUnit
from planish.frontend.c.reader import read_c
from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.translation_unit import CFile, CFunction

LONGEST = 60.0
"""Seconds of the processor that the reading of a file may take."""
_STARVED = 20
"""So many times as long as that is waited for, where others use the processor, too."""
_LENDERS = 5
"""So many times as long with all that the file needs of others."""
LARGEST = 400_000
"""Bytes; larger files are tables."""
_FOLDERS = 60
"""So many folders with headers of a base are searched."""
_STANDARD = ("stdint.h", "stddef.h", "limits.h", "string.h", "stdlib.h", "inttypes.h")
_UNKNOWN_CALL = re.compile(r"scop-call: a call of (?!.*which (calls itself|does|has|returns|sets|stores))")
"""How a message says that nothing is known of a function that is called."""
_PLAIN = frozenset({
    "a", "an", "and", "array", "as", "be", "break", "by", "call", "condition", "data", "from", "goto", "here", "holds",
    "in", "is", "it", "its", "loop", "member", "not", "number", "of", "on", "or", "out", "pointer", "read", "return",
    "store", "structure", "subscript", "text", "that", "the", "to", "under", "value", "which", "while", "with",
    "written",
})  # fmt: skip
"""Words of messages that functions have as names, too."""


def read_file(path: Path, folders: Sequence[Path], project: Project | None = None) -> dict[str, Any]:
    """What a file has: for each function with loops its name, loops, nests that are taken, and what stops others; with
    the functions that it calls of others in its `project`."""
    source = Source(str(path), path.read_text(errors="replace"))
    try:
        source = source if project is None else project.read_with(_unit(path, folders))
    except Exception:
        return {"crash": traceback.format_exc()[-2000:], "functions": [], "seconds": 0.0}
    began = time.process_time()
    try:
        read = read_c(source, include_dirs=folders)
    except PlanishError as error:
        return {"refused": error.diagnostic.code, "functions": [], "seconds": time.process_time() - began}
    except Exception:
        return {"crash": traceback.format_exc()[-2000:], "functions": [], "seconds": time.process_time() - began}
    functions = [made for x in read.functions if (made := _count(x, read)) is not None]
    return {"functions": functions, "seconds": time.process_time() - began}


def _unit(path: Path, folders: Sequence[Path]) -> ProjectUnit:
    return ProjectUnit(Source(str(path), path.read_text(errors="replace")), (), tuple(folders))


def _count(function: CFunction, read: CFile) -> dict[str, Any] | None:
    """The counts of a function; None where it has no loop, and nothing in it was refused."""
    first, last = function.span.line, _last_line(function, read)
    lines = read.source.text.split("\n")[first - 1 : last]
    words = [x.text for x in tokenize("\n".join(lines)).tokens]
    own = [x for x in read.remarks if x.kind == "refused" and x.place and first <= x.place.line <= last]
    if not function.loops and not own and not function.regions:
        return None
    reasons = sorted({f"{x.id}: {_general(x.message, {*words})}" for x in own})
    return {"name": function.name, "loops": function.loops, "taken": len(function.regions), "reasons": reasons}


def _last_line(function: CFunction, read: CFile) -> int:
    """The last line of a function; that before the next one where its text could not be followed."""
    if function.end:
        return function.span.end_line
    later = [x.span.line for x in read.functions if x.span.line > function.span.line]
    return min(later, default=len(read.source.text.split("\n")) + 1) - 1


def _general(message: str, words: set[str]) -> str:
    """A message without the names of the function that it is about."""
    said = message.removeprefix("the loop stays as written: ")
    said = re.sub(r"the (subscript|bound|step) .* (of the loop )?is not", r"the \1 … is not", said)
    return re.sub(r"[A-Za-z_]\w*", lambda x: "…" if x[0] in words and x[0] not in _PLAIN else x[0], said)[:120]


class _Reader:
    """A child that reads one file after the other, and that is ended where one takes too long."""

    def __init__(self) -> None:
        self._child: BaseProcess | None = None
        self._pipe: Connection | None = None

    def read(self, path: Path, folders: Sequence[Path], base: Sequence[Path]) -> dict[str, Any]:
        """As `read_file`, of a base with these files; `hang` where it took too long, `crash` where the child died."""
        if self._child is None or self._pipe is None:
            self._pipe, other = get_context("spawn").Pipe()
            self._child = get_context("spawn").Process(target=_serve, args=(other,), daemon=True)
            self._child.start()
            other.close()
        self._pipe.send((path, folders, base))
        try:
            if self._pipe.poll(LONGEST * _STARVED):
                found: dict[str, Any] = self._pipe.recv()
                return found
            fault = {"hang": "it does not end", "functions": [], "seconds": LONGEST}
        except EOFError:
            self._child.join()
            ended = self._child.exitcode == -signal.SIGPROF
            how = {"hang": f"over {LONGEST * _LENDERS:.0f} s"} if ended else {"crash": "the process died"}
            fault = {**how, "functions": [], "seconds": LONGEST if ended else 0.0}
        self.close()
        return fault

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None and self._child.pid is not None and self._child.is_alive():
            os.kill(self._child.pid, signal.SIGKILL)
            self._child.join()
        self._child = None


def _serve(pipe: Connection) -> None:
    os.nice(10)
    known: dict[tuple[Path, ...], Project] = {}
    while True:
        path, folders, base = pipe.recv()
        if (*base,) not in known:
            known = {(*base,): Project([_unit(x, folders) for x in base])}
        # Other files are read for the first one that needs them.
        signal.setitimer(signal.ITIMER_PROF, LONGEST * _LENDERS)
        found = read_file(path, folders, known[*base,])
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(found)


def files_of(base: Path, most: int) -> list[Path]:
    """The C files of a base, at most so many, evenly spread (0: all)."""
    found = sorted(x for x in base.rglob("*.c") if x.is_file() and x.stat().st_size <= LARGEST)
    return found if not most or len(found) <= most else [found[n * len(found) // most] for n in range(most)]


def header_folders(base: Path) -> list[Path]:
    """The folders of a base that have headers, those that lie less deep first; none that has its own headers of C's
    library, which are for other compilers."""
    folders = {x.parent for x in base.rglob("*.h")} | {x.parent.parent for x in base.rglob("*.h")}
    inside = [x for x in folders if x.is_relative_to(base) and not any((x / name).exists() for name in _STANDARD)]
    return sorted(inside, key=lambda x: (len(x.parts), str(x)))[:_FOLDERS]


def count(base: Path, most: int, journal: Journal, fresh: bool) -> list[dict[str, Any]]:
    """What the files of a base have."""
    folders, reader, project = header_folders(base), _Reader(), files_of(base, 0)
    work = {f"{base.name}/{x.relative_to(base)} {digest(str(x.stat().st_size))}": x for x in files_of(base, most)}
    jobs = {key: (lambda path=path: reader.read(path, folders, project)) for key, path in work.items()}
    try:
        return [{**found, "file": key.split()[0]} for key, found in journal.run(jobs, fresh)]
    finally:
        reader.close()


def summarise(name: str, files: Iterable[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """A line about a base, and its functions with loops."""
    known = list(files)
    functions = [{**f, "file": x["file"]} for x in known for f in x["functions"] if has_loops(f)]
    taken = sum(bool(f["taken"]) for f in functions)
    faults = sum("crash" in x or "hang" in x for x in known)
    slow = max((x["seconds"] for x in known), default=0.0)
    share = f"{100 * taken / len(functions):3.0f}%" if functions else "   -"
    unread = sum("refused" in x for x in known)
    counts = f"{len(known):5} files {unread:4} unread {faults:3} faults {len(functions):6} functions with loops"
    return f"{name:16}{counts} {taken:6} with a nest {share}  slowest {slow:5.1f} s", functions


def has_loops(function: dict[str, Any]) -> bool:
    """Whether a function has a loop of its own, or a nest that was found in what it calls."""
    return bool(function["loops"] or function["taken"])


def calls_alone(function: dict[str, Any]) -> bool:
    """Whether all loops of a function are stopped by calls of functions of which nothing is known: there is nothing in
    them that could be taken, as far as is known.

    >>> calls_alone({"taken": 0, "reasons": ["scop-call: a call of …", "scop-call: a call of a function pointer"]})
    True
    >>> calls_alone({"taken": 0, "reasons": ["scop-call: a call of …, which has a return out of a loop"]})
    False
    """
    return not function["taken"] and bool(function["reasons"]) and all(map(_UNKNOWN_CALL.match, function["reasons"]))


def main() -> int:
    """Prints a line for each base, then the reasons by the functions that they stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of code bases, a folder for each")
    parser.add_argument("names", nargs="*", help="the bases (all)")
    parser.add_argument("--most", type=int, default=0, help="so many files of each base (all)")
    parser.add_argument("--stored", action="store_true", help="what is kept, and nothing new")
    parser.add_argument("--names", dest="listed", action="store_true", help="list functions that are left with nothing")
    parser.add_argument("--shown", type=int, default=50, help="so many reasons")
    given = parser.parse_args()
    journal = Journal(RESULTS / "public_code.jsonl")
    bases = [given.folder / x for x in given.names] or sorted(x for x in given.folder.iterdir() if x.is_dir())
    everything: list[dict[str, Any]] = []
    everywhere: list[dict[str, Any]] = []
    for base in bases:
        files = count(base, given.most, journal, not given.stored)
        line, functions = summarise(base.name, files)
        print(line, flush=True)
        for x in (x for x in files if "crash" in x or "hang" in x):
            print(f"    {x['file']}: {x.get('hang') or x['crash'].strip().splitlines()[-1]}")
        everything += functions
        everywhere += files
    print(summarise("all", everywhere)[0])
    others = sum(not has_loops(f) for x in everywhere for f in x["functions"])
    taken, counted = sum(bool(f["taken"]) for f in everything), len(everything) + others
    if others:
        share = f"{100 * taken / counted:.0f}% of {counted}"
        print(f"{others} more functions have no loop, but something in them was refused: with these it is {share}")
    stopped, emptied = Counter[str](), Counter[str]()
    for f in everything:
        stopped.update(f["reasons"])
        emptied.update(f["reasons"] if not f["taken"] else ())
    bare = sum(map(calls_alone, everything))
    print(f"{bare} of the functions without a nest only have loops that call functions of which nothing is known")
    print("\nfunctions stopped (left with nothing): reason")
    for reason, number in stopped.most_common(given.shown):
        print(f"{number:6} ({emptied[reason]:5})  {reason}")
    for f in (f for f in everything if given.listed and not f["taken"]):
        print(f"{f['file']}:{f['name']}  {'; '.join(f['reasons'])}")
    return int(any("crash" in x or "hang" in x for x in everywhere))


if __name__ == "__main__":
    sys.exit(main())
