"""`planish explore [DIR]`: change a file in a browser, build it again, compare; schedule it step by step.

$ planish explore examples --no-open
"""

from __future__ import annotations

import importlib
import json
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from planish.cli.exits import OK, guarded
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import refusal

FORMAT = 1

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def explore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder whose C files are shown.")] = Path("."),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: one that is free.")] = 0,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Requests that are done at once.")] = 2,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> int:
    """Serve a page, on this machine alone, in which a C file is changed, built, and compared with earlier builds, and a
    nest is scheduled step by step. Sources are not written; schedules are, as scripts beside them. Ctrl-C ends it.
    """
    if missing := [x for x in ("starlette", "uvicorn") if find_spec(x) is None]:
        raise PlanishError(Diagnostic("E0131", f"the explorer needs {' and '.join(missing)}: not here"))
    if not folder.is_dir():
        raise refusal("E0101", f"there is no folder {folder}", "name a folder with C files")

    def tell(address: str) -> None:
        print(json.dumps({"format": FORMAT, "address": address}) if as_json else f"planish explore: {address}")
        sys.stdout.flush()
        if browse:
            # A browser in the terminal is waited for, and has to be served in the meantime.
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server = importlib.import_module("planish.explorer.server")
    try:
        listening = server.listen(port)
    except OSError as error:
        message = f"port {port} cannot be used: {error.strerror or error}"
        raise refusal("E0132", message, "choose another port") from error
    server.serve(folder.resolve(), listening, workers, tell)
    return OK
