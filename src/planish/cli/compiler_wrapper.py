"""`planish cc …`: the user's compiler, with drop-ins in place of the C files that have faster nests.

$ make CC="planish cc" CFLAGS="-O3 -march=native"
$ planish cc --using clang --report build.jsonl -- -O2 -c filter.c -o filter.o
$ planish cc --summary build.jsonl
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from planish.cli.exits import OK, guarded
from planish.cli.options import Floats, read_floats
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.report.console import make_console
from planish.wrapper.driver import SECONDS, WrapperWishes, run_compiler
from planish.wrapper.finishing import finish_record
from planish.wrapper.record import read_records
from planish.wrapper.summary import summary_line, summary_table

DEFAULT_COMPILERS = ("gcc", "cc", "clang")
"""What is taken where the command names no compiler: the first that is there."""
_COMPILER = re.compile(r"(?:[\w.]+-)*(?:gcc|clang|cc|c99|c11)(?:-[\d.]+)?")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@guarded
def cc(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[--] [COMPILER] ARGUMENTS", help="A compiler's command.", show_default=False),
    ] = None,
    using: Annotated[
        str | None, typer.Option("--using", metavar="NAME", help="The compiler.", show_default="the first found")
    ] = None,
    floats: Annotated[
        Floats | None,
        typer.Option("--fp", help="What may happen to floats.", show_default="what the compiler's flags permit"),
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", min=0, metavar="SECONDS", help="How much longer a file may take; 0: any time.")
    ] = SECONDS,
    report: Annotated[
        str, typer.Option("--report", metavar="FILE", help="Add a line of JSON for each C file.", show_default=False)
    ] = "",
    verbose: Annotated[bool, typer.Option("--verbose", help="Say on stderr what becomes of each C file.")] = False,
    summary: Annotated[
        str, typer.Option("--summary", metavar="FILE", help="Print the table of such a report.", show_default=False)
    ] = "",
    finish: Annotated[
        str,
        typer.Option(
            "--finish",
            metavar="FILE",
            help="Do at leisure what a build had no time for; the next one takes it.",
            show_default=False,
        ),
    ] = "",
) -> int:
    """Compile as gcc or clang do; where nests of a C file can be made faster, its object is that of the drop-in.

    The compiler runs with the arguments as they are: what it prints, its dependence files and its exit code are
    those of the command. Options of Planish stand before those of the compiler.
    """
    if summary:
        records = read_records(summary)
        make_console(sys.stdout).print(summary_table(records))
        print(summary_line(records))
        return OK
    if finish:
        return finish_record(finish, lambda text: print(text, flush=True))
    given = list(arguments or ())
    if using is None and given and _names_compiler(given[0]):
        using = given.pop(0)
    wishes = WrapperWishes(
        _find(using), None if floats is None else read_floats(floats), budget or None,
        os.path.abspath(report) if report else "", verbose,
    )  # fmt: skip
    return run_compiler(given, wishes)


def _names_compiler(word: str) -> bool:
    """Whether the first argument is the compiler itself, as build systems put it behind a launcher's name."""
    return _COMPILER.fullmatch(Path(word).name) is not None and shutil.which(word) is not None


def _find(name: str | None) -> str:
    """The path of a compiler. Raises PlanishError E0115."""
    for candidate in DEFAULT_COMPILERS if name is None else (name,):
        if path := shutil.which(candidate):
            return path
    what = f"no compiler {name!r} is found" if name else "no compiler is found"
    raise PlanishError(Diagnostic("E0115", what, help="name one that is on the path with --using: gcc, clang, a path"))
