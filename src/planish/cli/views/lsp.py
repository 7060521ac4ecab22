"""`planish lsp`: the language server, for editors that start it.

$ planish lsp --check
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Annotated

import typer

from planish.cli.exits import OK, guarded
from planish.core.diagnostic import Diagnostic, PlanishError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def lsp(check: Annotated[bool, typer.Option("--check", help="Only say whether it can be started.")] = False) -> int:
    """Serve an editor on standard input and output, by the Language Server Protocol: diagnostics from remarks, hovers
    with the verdict on a nest, code lenses that build."""
    if find_spec("pygls") is None:
        raise PlanishError(Diagnostic("E0131", "the language server needs pygls, which is not here"))
    if check:
        print("planish lsp can be started")
        return OK
    importlib.import_module("planish.language_server.server").make_server().start_io()
    return OK
