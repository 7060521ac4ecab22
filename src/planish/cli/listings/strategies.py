"""`planish strategies list|explain`: the ways in which nests are made faster, as the registry has them.

$ planish strategies list
$ planish strategies explain gemv-rows
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from planish.cli.exits import OK, guarded
from planish.report.console import make_console
from planish.report.strategies import explain_strategy, strategies_table

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def strategies() -> None:
    """List and explain how nests are made faster."""


@app.command("list")
@guarded
def list_strategies() -> int:
    """List the strategies, in the order in which those that cost the same are tried."""
    make_console(sys.stdout).print(strategies_table())
    return OK


@app.command()
@guarded
def explain(name: Annotated[str, typer.Argument(metavar="NAME", help="As `planish strategies list` has it.")]) -> int:
    """Say what a strategy does, when it is tried, and where it is written."""
    sys.stdout.write(explain_strategy(name))
    return OK
