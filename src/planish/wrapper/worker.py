"""A translation in a process of its own, which ends when its time is over or nobody needs it any more; its results are
kept by what determines them, and one process at a time makes one.

>>> translation_module()
'planish.wrapper.translation'
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from planish.core.cache import Cache, default_root, key
from planish.core.fingerprint import stamp_program
from planish.core.forked_process import end, fork, wait
from planish.wrapper.request import CHANGED, Translation, TranslationRequest, print_translation, read_translation
from planish.wrapper.server import ask_server, server_folder, start_server

PREPARED = ("planish.wrapper.building",)
"""What a server loads besides."""
LATE = 1.0
"""Seconds beyond its time that a translation has to say what it has."""
_TURN = 0.05
_CRASHED = "internal error: the translation ended without a word"
_NO_TIME = "there was no time for it"


def translation_module() -> str:
    """The module that brings the compiler; it is loaded in the process that needs it."""
    return "planish.wrapper.translation"


def translate_remembered(
    request: TranslationRequest, expanded: str, cache: Cache, scratch: Path, wanted: Callable[[], bool],
    warm: bool = False,
) -> tuple[Translation, bool]:  # fmt: skip
    """The translation of a file whose text after the preprocessor is `expanded`, and whether it was known. `wanted` is
    asked now and then whether anyone still waits for it. `warm`: a process that has the compiler loaded makes it, and
    is started where there is none."""
    address = _address(request, expanded)
    known = _recall(cache, address, request.seconds)
    if known is not None:
        return known, True
    limit = None if request.seconds is None else time.monotonic() + request.seconds
    with _lock(cache.root / "locks" / address[:32], limit, wanted) as held:
        if not held:
            return _cut(request, "another process is at it"), False
        known = _recall(cache, address, request.seconds)
        if known is not None:
            return known, True
        work = _run_served if warm else _run
        made = work(request, scratch, wanted) or _cut(request, _NO_TIME)
        if wanted() and made.reason != CHANGED and not made.reason.startswith("internal error"):
            cache.put(address, print_translation(made))
    return made, False


def _address(request: TranslationRequest, expanded: str) -> str:
    stat = os.stat(request.compiler)
    tool = (request.compiler, stat.st_size, stat.st_mtime_ns)
    asked = (request.source, request.kind, request.flags, request.macros, request.folders, request.floats)
    return key("wrapper", stamp_program(), tool, asked, _processor(), expanded)


def _processor() -> str:
    """What this processor is and can do: folders are shared between machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n\n", 1)[0].splitlines()
    except OSError:
        return sys.platform
    return "\n".join(x for x in lines if x.startswith(("model name", "flags", "Features", "CPU part")))


def _recall(cache: Cache, address: str, seconds: float | None) -> Translation | None:
    data = cache.get(address)
    if data is None:
        return None
    try:
        known = read_translation(data)
    except (ValueError, KeyError, TypeError):
        return None
    return known if known.suffices(seconds) else None


def _cut(request: TranslationRequest, reason: str) -> Translation:
    return Translation("", reason, unfinished=True, seconds=request.seconds or 0.0)


@contextmanager
def _lock(path: Path, limit: float | None, wanted: Callable[[], bool]) -> Iterator[bool]:
    """Whether this process alone holds the lock of that name now; it waits for it up to a moment."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError:
        yield True  # without a place for locks, work may be done twice
        return
    with file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if (limit is not None and time.monotonic() > limit) or not wanted():
                    yield False
                    return
                time.sleep(_TURN)
        yield True
        path.unlink(missing_ok=True)


def _run_served(request: TranslationRequest, scratch: Path, wanted: Callable[[], bool]) -> Translation | None:
    """The same by a server, where one answers; else one is started for the next time."""
    folder = server_folder(default_root())
    limit = None if request.seconds is None else time.monotonic() + request.seconds + LATE
    served = ask_server(folder, request, scratch, lambda: wanted() and (limit is None or time.monotonic() < limit))
    if served is not None and (served.made is None or served.made.reason != CHANGED):
        return served.made
    if served is not None:
        return _run(request, scratch, wanted)  # it may see other files under the same names
    start_server(folder, _run, (translation_module(), *PREPARED))
    return _run(request, scratch, wanted)


def _run(request: TranslationRequest, scratch: Path, wanted: Callable[[], bool]) -> Translation | None:
    """The translation by a child; None where its time is over."""
    ours, theirs = os.pipe()
    until = None if request.seconds is None else time.monotonic() + request.seconds
    child = fork()
    if child == 0:
        os.close(ours)
        _serve(request, until, scratch, theirs)
    os.close(theirs)
    parts: list[bytes] = []
    try:
        while True:
            ready, _, _ = select.select([ours], [], [], _TURN)
            if ready:
                part = os.read(ours, 1 << 20)
                if not part:
                    break
                parts.append(part)
            elif (until is not None and time.monotonic() > until + LATE) or not wanted():
                return None
        wait(child)
        child = 0
    finally:
        os.close(ours)
        if child:
            end(child)
    try:
        return read_translation(b"".join(parts))
    except (ValueError, KeyError, TypeError):
        return Translation("", _CRASHED)


def _serve(request: TranslationRequest, until: float | None, scratch: Path, line: int) -> None:
    """The child's life: nothing of what it prints is seen, its files lie in the parent's folder."""
    code = 1
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(silence, number)
        tempfile.tempdir = str(scratch)
        made: Translation = import_module(translation_module()).translate(request, until)
        with os.fdopen(line, "wb") as file:
            file.write(print_translation(made))
        code = 0
    finally:
        os._exit(code)
