"""A library for another processor, called in an emulator as one of this processor is called here.

    command = (*find_emulator("aarch64"), str(build_caller(compiler, flags, folder)))
    EmulatedLibrary(command, path, signature).call(arguments)
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
from collections.abc import Sequence

import numpy as np

from planish.core.forked_process import die_with
from planish.run.calls.loaded_library import Arguments, Library, LibraryError
from planish.run.calls.signature import Signature

_RESULT = 16


class EmulatedLibrary:
    """The entry that `entry_text` made, in a library for another processor; raises LibraryError.

    `command` begins the emulator with the program of `build_caller`. A crash there ends this process by the same
    signal, as one of a library that is called here does.
    """

    def __init__(self, command: Sequence[str], path: str, signature: Signature) -> None:
        self._parent = os.getpid()
        full = [*command, path, signature.entry]
        self._process = subprocess.Popen(
            full, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=self._tie
        )
        if self._take(1) != b"\1":
            assert self._process.stdout is not None
            raise LibraryError(self._process.stdout.read(1000).decode("utf-8", "replace"))

    def _tie(self) -> None:
        die_with(self._parent)

    def call(self, arguments: Arguments) -> bool:
        """Calls the function once with copies of the arguments, and puts what is left of them in their places; whether
        any operation was rounded."""
        assert self._process.stdin is not None
        parameters = arguments.signature.parameters
        parts = [struct.pack("=q", len(parameters))]
        for i, p in enumerate(parameters):
            if p.kind == "array":
                buffer = arguments.buffers[p.name]
                place = -1 if p.name in arguments.absent else buffer.place
                parts += [struct.pack("=2q", buffer.pages.nbytes, place), buffer.pages.tobytes()]
            else:
                value = ctypes.string_at(arguments.vector[i] or 0, p.type.size)
                parts += [struct.pack("=2q", -1, 0), value.ljust(_RESULT, b"\0")]
        try:
            self._process.stdin.write(b"".join(parts))
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fall()
        rounded = self._take(1) == b"\1"
        ctypes.memmove(arguments.result_address, self._take(_RESULT), _RESULT)
        for p in arguments.signature.arrays:
            pages = arguments.buffers[p.name].pages
            pages[:] = np.frombuffer(self._take(pages.nbytes), np.uint8)
        return rounded

    def _take(self, count: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(count)
        if len(data) < count:
            self._fall()
        return data

    def _fall(self) -> None:
        """Ends as the program in the emulator did."""
        code = self._process.wait()
        number = -code if code < 0 else signal.SIGABRT
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def open_library(path: str, signature: Signature, emulator: Sequence[str] = ()) -> Library | EmulatedLibrary:
    """A library, as it is called here or by the command of an emulator; raises LibraryError."""
    return EmulatedLibrary(emulator, path, signature) if emulator else Library(path, signature)
