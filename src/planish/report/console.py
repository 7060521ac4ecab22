"""Consoles for tables: a terminal's own width and colours, or a log of a fixed width without any.

>>> import io
>>> make_console(io.StringIO()).width
140
"""

from __future__ import annotations

from typing import IO

from rich.console import Console

LOG_WIDTH = 140
"""Columns where the output is not a terminal."""


def make_console(file: IO[str], widest: int = LOG_WIDTH) -> Console:
    """A console on `file` of so many columns at most; logs and pipes get that width and no colours."""
    console = Console(file=file, width=None if file.isatty() else widest, highlight=False, soft_wrap=False)
    console.width = min(console.width, widest) if widest < LOG_WIDTH else console.width
    return console
