"""Exit codes, and the one place where exceptions become messages.

>>> guard(lambda: 3)
3
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec

import typer

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import tell_no_scratch
from planish.core.forked_process import ASKING
from planish.version import VERSION

KEPT = "what was finished is kept, nothing is half-written"
"""What an interrupted command says, unless the exception says more."""

OK, USER_ERROR, USAGE_ERROR, INTERNAL_ERROR, INTERRUPTED = 0, 1, 2, 70, 130
EXIT_CODES = (
    ("0", "done"),
    ("1", "wrong input, which a diagnostic with a code tells; by doctor: something that is needed is missing"),
    ("2", "wrong usage"),
    ("70", "an internal error, a bug of Planish"),
    ("130, 143", "interrupted, terminated"),
)
"""What the exit codes of all commands mean, but for `planish cc`, which has those of the compiler."""

_SYSTEM_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE,
     errno.ENOMEM, errno.EAGAIN, errno.EIO}
)  # fmt: skip
"""What the system may refuse at any place, and which is no bug of this program."""

_P = ParamSpec("_P")


class _Interruption:
    """The signal that asked for an end (0: none): the polyhedral library drops exceptions raised in its callbacks."""

    seen = 0


class _Reports:
    """Where reports of bugs are left; the folder of temporary files (None) may be emptied at the end."""

    folder: str | None = None


def keep_reports_in(folder: str) -> None:
    """From now on reports of bugs are left there."""
    _Reports.folder = folder


def has_scratch() -> bool:
    """Whether there is a folder for temporary files."""
    try:
        tempfile.gettempdir()
    except OSError:
        return False
    return True


def check_interrupted(message: str = "") -> None:
    """Raises KeyboardInterrupt where the user asked for an end and it was lost on the way; takes what is being done."""
    if _Interruption.seen:
        raise KeyboardInterrupt


def guard(action: Callable[[], int]) -> int:
    """The exit code of `action`, every exception told on stderr: the user's errors, interrupts, and bugs."""
    with _interruptible():
        try:
            return action()
        except KeyboardInterrupt as end:
            return tell_interrupted(_Interruption.seen, str(end) or KEPT)
        except BrokenPipeError:
            # Whoever read the output has gone; Python would complain once more when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return USER_ERROR
        except Exception as error:
            return tell_interrupted(_Interruption.seen) if _Interruption.seen else _tell_failure(error)


def guarded(command: Callable[_P, int]) -> Callable[_P, None]:
    """A command's body under `guard`, for typer."""

    @functools.wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        raise typer.Exit(guard(lambda: command(*args, **kwargs)))

    return run


def tell(problem: Diagnostic | PlanishError) -> None:
    """A diagnostic on stderr."""
    print(problem if isinstance(problem, PlanishError) else problem.render(), file=sys.stderr)


def tell_crashes(places: Sequence[str]) -> None:
    """Says of what nothing is known since Planish crashed there, if there is anything, and that this is a bug."""
    if places:
        print(f"internal error: the analysis crashed of {', '.join(places)}", file=sys.stderr)
        print("This is a bug in Planish. Please report it with the file; the rest was built", file=sys.stderr)


def tell_interrupted(number: int, state: str = KEPT) -> int:
    """Says that a signal ended the command, and what is left; the exit code."""
    print(f"\ninterrupted: {state}", file=sys.stderr)
    return 128 + number if number else INTERRUPTED


def _tell_failure(error: Exception) -> int:
    if isinstance(error, PlanishError):
        tell(error)
    elif isinstance(error, OSError) and not has_scratch():
        tell(tell_no_scratch(error))
    elif isinstance(error, OSError) and error.errno in _SYSTEM_ERRORS:
        where = f" ({error.filename})" if error.filename else ""
        advice = "check the space, the permissions and the limits"
        tell(Diagnostic("E0905", f"the system refused: {error.strerror}{where}", help=advice))
    elif isinstance(error, MemoryError):
        tell(Diagnostic("E0906", "there is not enough memory"))
    else:
        return _tell_bug(error)
    return USER_ERROR


def _tell_bug(error: Exception) -> int:
    trace = "".join(traceback.format_exception(error))
    facts = f"planish {VERSION}, Python {platform.python_version()}, {platform.platform()}\n{' '.join(sys.argv)}\n\n"
    print(f"internal error: {type(error).__name__}: {error}", file=sys.stderr)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="planish-error-", suffix=".txt", dir=_Reports.folder, delete=False
        ) as file:
            file.write(facts + trace)
        print(f"This is a bug in Planish. Please report it with the file {file.name}", file=sys.stderr)
    except OSError:
        print(f"This is a bug in Planish. Please report it with this:\n{facts}{trace}", file=sys.stderr)
    return INTERNAL_ERROR


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C and the like are remembered as well as raised; warnings come without their place in this program."""
    shown = warnings.showwarning
    warnings.showwarning = lambda message, *_: print(message, file=sys.stderr)
    before = {}
    for number in ASKING:
        # A shell starts background jobs with interrupts ignored, and they stay so.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        _Interruption.seen = 0
        warnings.showwarning = shown
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # A second one (a terminal sends it to this process and to the one that supervises it) would end the tidying up.
    if not _Interruption.seen:
        _Interruption.seen = number
        raise KeyboardInterrupt
