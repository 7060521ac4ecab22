"""The progress bar on a terminal's stderr; in a log nothing is shown.

with show_progress(2, quiet=False) as progress:
    progress.start("a.c")
    progress.tell("reading")
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from planish.cli.exits import check_interrupted
from planish.report.console import make_console


@dataclass(slots=True)
class Bar:
    """A bar over files; `tell` may be called from anywhere in a build."""

    bar: Progress
    task: TaskID
    name: str = field(default="")

    def start(self, name: str) -> None:
        """The next file begins."""
        self.name = name
        self.tell("")

    def tell(self, message: str) -> None:
        """What is being done to the file now; raises KeyboardInterrupt where the user asked for an end."""
        check_interrupted()
        self.bar.update(self.task, description=f"{self.name}  {message}")

    def finish(self) -> None:
        """The file is done."""
        self.bar.advance(self.task)

    def step(self, message: str) -> None:
        """The next of many parts begins, as `tell`; the bar counts them."""
        self.tell(message)
        self.finish()


@contextmanager
def show_progress(total: int, quiet: bool) -> Iterator[Bar]:
    """A bar over `total` files while the block runs; it vanishes at the end."""
    console = make_console(sys.stderr)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Bar(progress, progress.add_task("", total=total))
