"""A process that has the compiler loaded and forks a child for each translation: a build of many files loads it once.

It serves the program whose files have one stamp, and the user who started it, through a socket that only the user can
reach; it ends when nobody has asked for a while. What is asked and answered is JSON.

>>> ask_server(Path("/nowhere"), None, Path("/"), lambda: True) is None
True
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import socket
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from planish.core.fingerprint import stamp_program
from planish.core.forked_process import flush_streams, fork
from planish.wrapper.request import (
    Translation,
    TranslationRequest,
    print_translation,
    read_request,
    read_translation,
)

Work = Callable[[TranslationRequest, Path, Callable[[], bool]], Translation | None]
"""What makes a translation as long as it is wanted, with files in a folder; None: there was no time."""
IDLE = 60.0
"""Seconds without a question after which it ends."""
_TURN = 0.05
_WAITING = 64
_ANSWER = 5.0
"""Seconds that the text of a question may take to arrive."""


@dataclass(frozen=True, slots=True)
class ServedTranslation:
    """What a server has answered; None: there was no time."""

    made: Translation | None


def ask_server(
    folder: Path, request: TranslationRequest | None, scratch: Path, wanted: Callable[[], bool]
) -> ServedTranslation | None:
    """What the server whose socket lies in the folder makes of a request, as long as it is `wanted`; None where none
    answers."""
    with ExitStack() as stack:
        line = _connect(folder, stack)
        if line is None or request is None:
            return None
        mask = os.umask(0)
        os.umask(mask)
        parts: list[bytes] = []
        try:
            asked = {
                "request": asdict(request), "scratch": str(scratch), "folder": os.getcwd(), "mask": mask,
                "environment": dict(os.environ),
            }  # fmt: skip
            line.sendall(json.dumps(asked).encode("utf-8", "surrogatepass"))
            line.shutdown(socket.SHUT_WR)
            while True:
                if select.select([line], [], [], _TURN)[0]:
                    if not (part := line.recv(1 << 20)):
                        break
                    parts.append(part)
                elif not wanted():
                    return ServedTranslation(None)
        except OSError:
            return None
    try:
        text = b"".join(parts)
        return ServedTranslation(None if text == b"null" else read_translation(text))
    except (ValueError, KeyError, TypeError):
        return None


def start_server(folder: Path, translate: Work, modules: Sequence[str]) -> None:
    """Starts a server that loads modules, and calls `prepare` of those that have it, unless there is one; it outlives
    this process and holds nothing of it."""
    flush_streams()
    if child := os.fork():
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            silence = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(silence, number)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.chdir("/")
            _serve(folder, translate, modules)
    finally:
        os._exit(0)


def _connect(folder: Path, stack: ExitStack) -> socket.socket | None:
    try:
        place = _open(folder, stack)
        line = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        line.settimeout(_ANSWER)  # a server that is stopped takes nothing
        line.connect(f"{place}/socket")
        return line if _peer(line) == os.geteuid() else None
    except OSError:
        return None


def _open(folder: Path, stack: ExitStack) -> str:
    """A short name of a folder that is the user's alone: names of sockets must not be long. OSError where it is not."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    stack.callback(os.close, number)
    found = os.fstat(number)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(str(folder))
    return f"/proc/self/fd/{number}"


def _peer(line: socket.socket) -> int:
    """The user at the other end."""
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(user)


def _serve(folder: Path, translate: Work, modules: Sequence[str]) -> None:
    with ExitStack() as stack:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = _open(folder, stack)
        lock = stack.enter_context(open(f"{place}/lock", "w"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = stamp_program.__wrapped__()
        loaded = [import_module(name) for name in modules]
        if stamp_program.__wrapped__() != before or before != stamp_program():
            return  # the program was changed while it was loaded
        for module in loaded:
            getattr(module, "prepare", _nothing)()
        gc.collect()
        gc.freeze()
        own = Path(place, "socket")
        own.unlink(missing_ok=True)
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listener.bind(str(own))
        listener.listen(_WAITING)
        stack.callback(own.unlink, missing_ok=True)
        children: set[int] = set()
        last = time.monotonic()
        while children or time.monotonic() < last + IDLE:
            children -= {x for x in children if os.waitpid(x, os.WNOHANG)[0]}
            if not select.select([listener], [], [], _TURN if children else 1.0)[0]:
                continue
            line, _ = listener.accept()
            last = time.monotonic()
            with line:
                if _peer(line) != os.geteuid():
                    continue
                if child := fork():
                    children.add(child)
                    continue
                try:
                    listener.close()
                    _answer(line, translate)
                finally:
                    os._exit(0)


def _nothing() -> None:
    """A module may have nothing to prepare."""


def _answer(line: socket.socket, translate: Work) -> None:
    """The child's life: what is asked is done where, and as, the one who asks would do it."""
    asked = json.loads(_receive(line).decode("utf-8", "surrogatepass"))
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    os.umask(asked["mask"])
    scratch = Path(asked["scratch"])
    tempfile.tempdir = str(scratch)

    def is_wanted() -> bool:
        # The other end has said all; there is something to read again only when it is closed.
        poll = select.poll()
        poll.register(line, select.POLLHUP | select.POLLERR)
        return not poll.poll(0)

    made = translate(read_request(asked["request"]), scratch, is_wanted)
    line.sendall(b"null" if made is None else print_translation(made))


def _receive(line: socket.socket) -> bytes:
    line.settimeout(_ANSWER)
    parts = []
    while part := line.recv(1 << 20):
        parts.append(part)
    line.settimeout(None)
    return b"".join(parts)


def server_folder(root: Path) -> Path:
    """Where the socket of the server of this program lies, by the stamp of its files and the interpreter."""
    return root / "servers" / f"{stamp_program()[:32]}-{sys.implementation.cache_tag}"
