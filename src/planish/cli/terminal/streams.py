"""Standard streams that a process was started without: what is printed goes nowhere, and no file gets their numbers.

>>> open_streams()
"""

from __future__ import annotations

import os
import sys

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_streams() -> None:
    """Opens the null device for each of the three streams that is closed, as by `>&-`: the next file that is opened
    would stand for it else, and what others print would be written there."""
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            _occupy(number)
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _occupy(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        os.set_inheritable(number, True)
