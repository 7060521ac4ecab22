"""Pieces of work one after the other in a process forked from this one, each within bounds of its own.

What goes on for too long, or crashes, is lost; the other pieces are not. What one piece finds out and keeps in memory
is there for the next one.

>>> list(run_apart(lambda x, tell: x * x, [2, 3], Bounds(cpu=1)))
[4, 9]
>>> list(run_apart(lambda x, tell: sum(range(x)), [10**12, 4], Bounds(cpu=0.1)))
[Lost(cause='processor', how=''), 6]
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, TypeVar, assert_never

from planish.core.forked import delayed_signals, end, flush_streams, fork, wait
from planish.core.pickles import write_pickle
from planish.core.telling import Tell, keep_quiet

_A = TypeVar("_A")
_B = TypeVar("_B")
_ASKING = (signal.SIGTERM, signal.SIGINT)
_SIGNALLED = 128
"""The exit code of a process that a signal has asked to end is that signal's number and so much."""
_DEPTH = 20_000
"""Results are deep: an expression of a thousand terms is a thousand objects inside of each other."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a piece may use: seconds of the processor's time in its own process, and of the clock on the wall."""

    cpu: float
    wall: float = 900.0


@dataclass(frozen=True, slots=True)
class Lost:
    """A piece without a result: its time was over, that of the processor or that on the wall; or its process was killed
    by another one, as the system does where memory is short; or it crashed, which is a bug. `how`: by which signal, or
    with which exit code."""

    cause: Literal["processor", "wall", "killed", "crash"]
    how: str = ""


def run_apart(
    work: Callable[[_A, Tell], _B], pieces: Sequence[_A], bounds: Bounds, tell: Tell = keep_quiet
) -> Iterator[_B | Lost]:
    """The results of the pieces, in order. `work` is called with a piece and what hears its progress; its results and
    exceptions have to be fit for pickle. An exception of a piece is raised here, with the place where it came from."""
    begun = 0
    while begun < len(pieces):
        for result in _serve_from(begun, work, pieces, bounds, tell):
            yield result
            begun += 1


def _serve_from(
    first: int, work: Callable[[_A, Tell], _B], pieces: Sequence[_A], bounds: Bounds, tell: Tell
) -> Iterator[_B | Lost]:
    """The results of the pieces up to the first that is lost."""
    reader, writer = os.pipe()
    child, ended = 0, False
    line = _Line(reader)
    try:
        try:
            with delayed_signals():
                child = fork()
                if child == 0:
                    os.close(reader)
                    _serve(work, pieces[first:], bounds, _Line(writer))
        finally:
            os.close(writer)
        for _ in pieces[first:]:
            try:
                result = _await(line, bounds, tell)
            except TimeoutError:
                result = Lost("wall")
            except EOFError:
                result, ended = _lost(wait(child)), True
            yield result
            if isinstance(result, Lost):
                break
    finally:
        os.close(reader)
        if child and not ended:
            end(child)


def _lost(code: int) -> Lost:
    """What the exit code of a child says that gave no result."""
    if code == -signal.SIGPROF:
        return Lost("processor")
    number = -code if code < 0 else code - _SIGNALLED
    known = number > 0 and number in signal.valid_signals()
    how = signal.Signals(number).name if known else f"exit code {code}"
    return Lost("killed" if number in (signal.SIGKILL, *_ASKING) else "crash", how)


def _await(line: _Line, bounds: Bounds, tell: Tell) -> Any:
    """The next result; raises what the child raised, EOFError where it ended and TimeoutError where it is silent."""
    deadline = time.monotonic() + bounds.wall
    while True:
        kind, value = _unpack(line.read(deadline))
        match kind:
            case "tell":
                tell(value)
            case "result":
                return value
            case "error":
                error, trace = value
                error.add_note(trace)
                raise error
            case _:
                assert_never(kind)


def _serve(work: Callable[[_A, Tell], _B], pieces: Sequence[_A], bounds: Bounds, line: _Line) -> None:
    """The child's life. Nothing of the parent's is cleaned up or flushed at its end."""
    code = 1
    try:
        # Its default action ends the process, whatever that is doing.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        _tidy_at_end()
        for piece in pieces:
            signal.setitimer(signal.ITIMER_PROF, bounds.cpu)
            message = _try(work, piece, line)
            signal.setitimer(signal.ITIMER_PROF, 0)
            line.write(message)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else code
    finally:
        flush_streams()
        os._exit(code)


def _tidy_at_end() -> None:
    """Signals that ask for an end are heard as an exception, so that a compiler that is running is ended as well, and
    folders are removed; one that comes while that is done is not heard."""

    def leave(number: int, frame: FrameType | None) -> None:
        for x in _ASKING:
            signal.signal(x, signal.SIG_IGN)
        raise SystemExit(_SIGNALLED + number)

    for number in _ASKING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, leave)


def _try(work: Callable[[_A, Tell], _B], piece: _A, line: _Line) -> bytes:
    """The message that has the result, or what was raised instead."""
    try:
        return _pack("result", work(piece, lambda text: line.write(_pack("tell", text))))
    except Exception as error:
        trace = traceback.format_exc()
        try:
            message = _pack("error", (error, trace))
            _unpack(message)
        except Exception:
            return _pack("error", (RuntimeError(f"{type(error).__name__}: {error}"), trace))
        return message


def _pack(kind: Literal["tell", "result", "error"], value: object) -> bytes:
    """A message: what it is, and a value."""
    with _deep():
        return write_pickle((kind, value))


def _unpack(message: bytes) -> tuple[Literal["tell", "result", "error"], Any]:
    """What a message is, and its value."""
    with _deep():
        found: tuple[Literal["tell", "result", "error"], Any] = pickle.loads(message)
    return found


class _Line:
    """A pipe on which messages travel, each behind its length."""

    __slots__ = ("_end",)

    def __init__(self, end: int) -> None:
        self._end = end

    def write(self, message: bytes) -> None:
        """Sends one message."""
        left = memoryview(len(message).to_bytes(8, "little") + message)
        while left:
            left = left[os.write(self._end, left) :]

    def read(self, deadline: float) -> bytes:
        """The next message; EOFError at the end, TimeoutError where it does not come before a moment (monotonic)."""
        return self._read(int.from_bytes(self._read(8, deadline), "little"), deadline)

    def _read(self, count: int, deadline: float) -> bytes:
        parts = []
        while count:
            ready, _, _ = select.select([self._end], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            part = os.read(self._end, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


@contextmanager
def _deep() -> Iterator[None]:
    """Inside, calls may be nested as deep as results are."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
