"""`planish cache info|clear`: the store of earlier builds.

$ planish cache info
"""

from __future__ import annotations

import typer

from planish.cli.exits import OK, guarded
from planish.cli.terminal.bytecode import clear_bytecode
from planish.core.cache import Cache
from planish.report.tables import describe_cache

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def cache() -> None:
    """Show or empty the store of earlier builds."""


@app.command()
@guarded
def info() -> int:
    """Say where the store is, and what it holds."""
    print(describe_cache(Cache().info()))
    return OK


@app.command()
@guarded
def clear() -> int:
    """Empty the store."""
    store = Cache()
    before = store.info()
    store.clear()
    clear_bytecode(store.root)
    print(f"removed from {describe_cache(before)}")
    return OK
