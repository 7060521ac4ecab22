"""`planish select FILE.c…|--expr EXPR`: which instructions loops of integers become, at what cost, and with what proof.

$ planish select blur.c --target x86-avx2
$ planish select --expr '(a + b + 1) >> 1' --type u8
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from planish.build.project import OUTPUT, IdleFiles, list_files
from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.options import Defines, Function, Includes, Target
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.options import Options
from planish.report.selection import expression_source, select_file

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def select(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE.c|DIR]...", help="C files, or all of them.")
    ] = None,
    expr: Annotated[
        str | None, typer.Option("--expr", metavar="EXPR", help="A C expression; its names are arrays.")
    ] = None,
    type: Annotated[str, typer.Option("--type", metavar="TYPE", help="--expr: the elements of its names.")] = "u8",
    result: Annotated[
        str | None, typer.Option("--result", metavar="TYPE", help="--expr: the elements of the result.")
    ] = None,
    target: Target = "native",
    function: Function = None,
    define: Defines = None,
    include: Includes = None,
) -> int:
    """Show the strips of loops of integers, the instructions that are selected for them, and what these cost."""
    options = Options(
        target=target, functions=tuple(function or ()), defines=tuple(define or ()), include_dirs=tuple(include or ())
    )  # fmt: skip
    if not files and expr is None:
        raise PlanishError(Diagnostic("E0125", "there is nothing to select for", help="name a file, or give --expr"))
    if expr is not None:
        sys.stdout.write(select_file(expression_source(expr, type, result or type), options))
    failed, done, idle = False, False, IdleFiles()
    for file in list_files(files or (), OUTPUT):
        try:
            sys.stdout.write(select_file(read_input(file.name).source, file.options(options)))
            done = True
        except PlanishError as error:
            if not idle.takes(file, error):
                tell(error)
                failed = True
    for refused in idle.settle(done):
        tell(refused)
        failed = True
    if idle.names:
        print(f"\n{idle.describe()}")
    return USER_ERROR if failed else OK
