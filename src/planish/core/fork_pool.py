"""A fork pool: pieces of work in forked processes, each within bounds of time and memory.

What goes on for too long, or crashes, is lost; the other pieces are not. What one piece finds out and keeps in memory
is there for the next one of the same process.

>>> list(run_apart(lambda x, tell: x * x, [2, 3], Bounds(cpu=1)))
[4, 9]
>>> list(run_apart(lambda x, tell: sum(range(x)), [10**12, 4], Bounds(cpu=0.1), lanes=2))
[Lost(cause='processor', how=''), 6]
"""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, TypeAlias, TypeVar

from planish.core.forked_process import ASKING, delayed_signals, end, flush_streams, fork, wait
from planish.core.pickles import write_pickle
from planish.core.progress import Progress, keep_quiet
from planish.core.recursion_limit import call_with_room, deep

_A = TypeVar("_A")
_B = TypeVar("_B")
_Kind: TypeAlias = Literal["give", "tell", "result", "error"]
_Message: TypeAlias = tuple[_Kind, Any]
_SIGNALLED = 128
"""The exit code of a process that a signal has asked to end is that signal's number and so much."""
_DEPTH = 20_000
"""Calls within each other that results may need to be packed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a piece may use: seconds of the processor's time in its own process, and of the clock on the wall. `until`:
    the moment (monotonic) at which the time of all pieces is over."""

    cpu: float
    wall: float = 900.0
    until: float = math.inf


@dataclass(frozen=True, slots=True)
class Lost:
    """A piece without a result: its time was over, that of the processor or that on the wall; or what it is about is
    nested too deep; or its process was killed by another one, as the system does where memory is short; or it crashed,
    which is a bug. `how`: by which signal, or with which exit code."""

    cause: Literal["processor", "wall", "depth", "killed", "crash"]
    how: str = ""


def run_apart(
    work: Callable[[_A, Progress], _B],
    pieces: Sequence[_A],
    bounds: Bounds,
    tell: Progress = keep_quiet,
    lanes: int = 1,
) -> Iterator[_B | Lost]:
    """The results of the pieces, in order, by so many processes side by side. `work` is called with a piece and what
    hears its progress; its results and exceptions have to be fit for pickle. An exception of a piece is raised here,
    when it is its turn, with the place where it came from."""
    waiting = deque(range(len(pieces)))
    found: dict[int, _Message] = {}
    servers: list[_Server] = []
    try:
        for turn in range(len(pieces)):
            while turn not in found:
                if time.monotonic() >= bounds.until:
                    found |= dict.fromkeys(waiting, ("result", Lost("wall")))
                    waiting.clear()
                while waiting and len(servers) < lanes:
                    servers.append(_start(work, pieces, servers))
                    _give(servers[-1], waiting, bounds)
                for server in _heard(servers) if servers else ():
                    _answer(server, servers, waiting, found, bounds, tell)
            kind, value = found.pop(turn)
            if kind == "error":
                error, trace = value
                error.add_note(trace)
                raise error
            yield value
    finally:
        for server in servers:
            server.stop()


def _heard(servers: Sequence[_Server]) -> list[_Server]:
    """Those that have said something, have ended, or whose time is over."""
    left = min(x.deadline for x in servers) - time.monotonic()
    ready, _, _ = select.select([x.line.end for x in servers], [], [], max(0.0, left))
    now = time.monotonic()
    return [x for x in servers if x.line.end in ready or x.deadline <= now]


def _answer(
    server: _Server,
    servers: list[_Server],
    waiting: deque[int],
    found: dict[int, _Message],
    bounds: Bounds,
    tell: Progress,
) -> None:
    """Takes what one server has to say, and gives it the next piece; one that lost its piece ends."""
    try:
        kind, value = _unpack(server.line.read(server.deadline))
    except TimeoutError:
        found[server.piece] = "result", Lost("wall")
    except EOFError:
        found[server.piece] = "result", _lost(wait(server.child))
        server.child = 0
    else:
        if kind == "tell":
            tell(value)
            return
        found[server.piece] = kind, value
        if waiting:
            _give(server, waiting, bounds)
            return
    servers.remove(server)
    server.stop()


def _give(server: _Server, waiting: deque[int], bounds: Bounds) -> None:
    """The next piece begins."""
    server.piece, server.deadline = waiting.popleft(), min(time.monotonic() + bounds.wall, bounds.until)
    server.line.write(_pack("give", (server.piece, bounds.cpu)))


class _Server:
    """A child that works on one piece at a time, up to a moment; 0 once it was waited for."""

    __slots__ = ("child", "deadline", "line", "piece")

    def __init__(self, child: int, line: _Line) -> None:
        self.child, self.line, self.piece, self.deadline = child, line, -1, 0.0

    def stop(self) -> None:
        """Ends it, whatever it does."""
        os.close(self.line.end)
        if self.child:
            end(self.child)


def _start(work: Callable[[_A, Progress], _B], pieces: Sequence[_A], beside: Sequence[_Server]) -> _Server:
    """A new server; it knows all pieces, and is told their numbers."""
    with delayed_signals():
        ours, theirs = (x.detach() for x in socket.socketpair())
        child = fork()
        if child == 0:
            for inherited in (ours, *(x.line.end for x in beside)):
                os.close(inherited)
            _serve(work, pieces, _Line(theirs))
        os.close(theirs)
        return _Server(child, _Line(ours))


def _lost(code: int) -> Lost:
    """What the exit code of a child says that gave no result."""
    if code == -signal.SIGPROF:
        return Lost("processor")
    number = -code if code < 0 else code - _SIGNALLED
    known = number > 0 and number in signal.valid_signals()
    how = signal.Signals(number).name if known else f"exit code {code}"
    return Lost("killed" if number in (signal.SIGKILL, *ASKING) else "crash", how)


def _serve(work: Callable[[_A, Progress], _B], pieces: Sequence[_A], line: _Line) -> None:
    """The child's life. Nothing of the parent's is cleaned up or flushed at its end."""
    code = 1
    try:
        # Its default action ends the process, whatever that is doing.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        _tidy_at_end()
        _work_on(work, pieces, line)
        code = 0
        flush_streams()
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else code
    finally:
        # A signal may come anywhere above, once.
        os._exit(code)


def _work_on(work: Callable[[_A, Progress], _B], pieces: Sequence[_A], line: _Line) -> None:
    """Works on the pieces whose numbers come, until none can come any more."""
    with suppress(EOFError):
        while True:
            _, (number, cpu) = _unpack(line.read(None))
            signal.setitimer(signal.ITIMER_PROF, cpu)
            message = _try(work, pieces[number], line)
            signal.setitimer(signal.ITIMER_PROF, 0)
            line.write(message)


def _tidy_at_end() -> None:
    """Signals that ask for an end are heard as an exception, so that a compiler that is running is ended as well, and
    folders are removed; one that comes while that is done is not heard."""

    def leave(number: int, frame: FrameType | None) -> None:
        for x in ASKING:
            signal.signal(x, signal.SIG_IGN)
        raise SystemExit(_SIGNALLED + number)

    for number in ASKING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, leave)


def _try(work: Callable[[_A, Progress], _B], piece: _A, line: _Line) -> bytes:
    """The message that has the result, or what was raised instead."""
    try:
        with deep():
            result = call_with_room(work, piece, lambda text: line.write(_pack("tell", text)))
        return _pack("result", result)
    except RecursionError:
        return _pack("result", Lost("depth"))
    except Exception as error:
        trace = traceback.format_exc()
        try:
            message = _pack("error", (error, trace))
            _unpack(message)
        except Exception:
            return _pack("error", (RuntimeError(f"{type(error).__name__}: {error}"), trace))
        return message


def _pack(kind: _Kind, value: object) -> bytes:
    """A message: what it is, and a value."""
    with deep(_DEPTH):
        return write_pickle((kind, value))


def _unpack(message: bytes) -> _Message:
    """What a message is, and its value."""
    with deep(_DEPTH):
        found: _Message = pickle.loads(message)
    return found


class _Line:
    """An end of a line on which messages travel in both directions, each behind its length."""

    __slots__ = ("end",)

    def __init__(self, end: int) -> None:
        self.end = end

    def write(self, message: bytes) -> None:
        """Sends one message."""
        left = memoryview(len(message).to_bytes(8, "little") + message)
        while left:
            left = left[os.write(self.end, left) :]

    def read(self, deadline: float | None) -> bytes:
        """The next message; EOFError at the end, TimeoutError where it does not come before a moment (monotonic)."""
        return self._read(int.from_bytes(self._read(8, deadline), "little"), deadline)

    def _read(self, count: int, deadline: float | None) -> bytes:
        parts = []
        while count:
            left = max(0.0, deadline - time.monotonic()) if deadline is not None else None
            ready, _, _ = select.select([self.end], [], [], left)
            if not ready:
                raise TimeoutError
            part = os.read(self.end, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
