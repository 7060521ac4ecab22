"""A command as a child of a small process that hears signals at all times and can end it in the middle of anything.

The polyhedral library and the solver may work for minutes in one call, in which Python hears nothing.

>>> supervise(lambda: 3)  # doctest: +SKIP
3
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from types import FrameType

from planish.cli.exits import INTERNAL_ERROR, keep_reports_in, tell_interrupted
from planish.core.forked_process import ASKING, fork, wait

GRACE = 0.8
"""Seconds that most commands have to tidy up and to say what they have; then they are killed."""


def supervise(action: Callable[[], int], grace: float = GRACE) -> int:
    """The exit code of `action`, which runs in a child; in that child the call returns, too. The child's temporary
    files are gone afterwards, however it ended; after a signal it has `grace` seconds to end by itself.

    Signals that ask for an end are passed on; the code is then 128 plus the signal's number.
    """
    scratch = _make_scratch()
    supervisor = _Supervisor(grace)
    supervisor.listen()
    child = fork()
    if child == 0:
        supervisor.leave()
        if scratch is not None:
            keep_reports_in(tempfile.gettempdir())
            tempfile.tempdir = scratch
        return action()
    supervisor.begin(child)
    try:
        code = wait(child)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    if code >= 0:
        return code
    if supervisor.asked:
        return tell_interrupted(supervisor.asked)
    name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
    print(f"internal error: the compiler was ended by {name}", file=sys.stderr)
    return INTERNAL_ERROR


def _make_scratch() -> str | None:
    """A folder for the child's temporary files; None where there can be none, which the child will have to say."""
    try:
        return tempfile.mkdtemp(prefix="planish-")
    except OSError:
        return None


class _Supervisor:
    """Passes on the first signal that asks for an end, and kills a child that goes on for too long after it."""

    def __init__(self, grace: float) -> None:
        self.asked = 0
        self._grace = grace
        self._child = 0
        self._before = {x: y for x in ASKING if (y := signal.getsignal(x)) != signal.SIG_IGN}

    def listen(self) -> None:
        """From now on signals are kept, for a child that may not be there yet. Ignored ones stay so."""
        for number in self._before:
            signal.signal(number, self._ask)

    def leave(self) -> None:
        """In the child: signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.asked:
            os._exit(128 + self.asked)

    def begin(self, child: int) -> None:
        """Signals go to this child."""
        self._child = child
        if self.asked:
            self._pass_on()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = number
            if self._child:
                self._pass_on()

    def _pass_on(self) -> None:
        signal.signal(signal.SIGALRM, self._kill)
        signal.setitimer(signal.ITIMER_REAL, self._grace)
        self._send(self.asked)

    def _kill(self, number: int, frame: FrameType | None) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        try:
            os.kill(self._child, number)
        except ProcessLookupError:
            pass  # it ended by itself in the meantime
