"""`planish explain FILE.c…`: what is done to each loop nest, and why.

$ planish explain gemm.c --function gemm
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.machines.device_build import explain_on_device
from planish.cli.machines.machine_build import explain_for_machine
from planish.cli.options import (
    Compiler,
    Defines,
    Files,
    Floats,
    Fp,
    Function,
    Includes,
    Sizes,
    Target,
    Threads,
    parse_sizes,
    read_floats,
)
from planish.cli.tuning.trials import open_store
from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.options import Options
from planish.report.account import FileAccount
from planish.report.explanation import explain_file
from planish.report.store import recall
from planish.target.device import is_device
from planish.vliw.description import is_machine

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def explain(
    files: Files,
    target: Target = "native",
    function: Function = None,
    threads: Threads = 1,
    fp: Fp = Floats.reassociate,
    size: Sizes = None,
    define: Defines = None,
    include: Includes = None,
    cc: Compiler = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Tell dependences, schedules and all refusals, too.")
    ] = False,
) -> int:
    """Say what becomes of each function, and the one thing that holds it back; with -v what was recognised, which
    dependences hold it, which schedules are tried and why, and what was refused.

    Nothing is run. Where the same options were built before, the version that the clock chose is told as well.
    """
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), sizes=parse_sizes(size),
        defines=tuple(define or ()), include_dirs=tuple(include or ()), compiler=cc,
    )  # fmt: skip
    failed = False
    for name in dict.fromkeys(files):
        try:
            source = read_input(name).source
            if is_machine(target):
                sys.stdout.write(explain_for_machine(source, options, target))
                continue
            if is_device(target):
                sys.stdout.write(explain_on_device(source, options, target))
                continue
            sys.stdout.write(explain_file(source, options, _recall(source, options), verbose))
        except PlanishError as error:
            tell(error)
            failed = True
    return USER_ERROR if failed else OK


def _recall(source: Source, options: Options) -> FileAccount | None:
    """An earlier build; without a compiler there is none, and the explanation does not need one."""
    try:
        return recall(source, options, Cache(), open_store(None))
    except PlanishError as error:
        if error.diagnostic.code.startswith("E08"):
            return None
        raise
