"""`planish cmake`: where the package for CMake lies.

$ cmake -B out -D Planish_DIR=$(planish cmake)
"""

from __future__ import annotations

from pathlib import Path

import typer

from planish.cli.exits import OK, guarded

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

PACKAGE = Path(__file__).parents[2] / "cmake"
"""The folder with PlanishConfig.cmake."""


@app.command()
@guarded
def cmake() -> int:
    """Print the folder of the package for CMake, for -D Planish_DIR=FOLDER."""
    print(PACKAGE)
    return OK
