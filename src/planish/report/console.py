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


def make_console(file: IO[str]) -> Console:
    """A console on `file`; logs and pipes get a fixed width and no colours."""
    terminal = file.isatty()
    return Console(file=file, width=None if terminal else LOG_WIDTH, highlight=False, soft_wrap=False)
