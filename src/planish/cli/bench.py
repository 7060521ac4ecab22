"""`planish bench FILE.c…`: the drop-in beside what the compilers found here make of the original.

$ planish bench gemm.c --size ni=1000,nj=1000,nk=1000 --json gemm.json
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from planish.build.project import OUTPUT, IdleFiles, JoinedFiles, list_files
from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.files import check_writable, write_files
from planish.cli.options import (
    Defines,
    Floats,
    Fp,
    Function,
    Includes,
    ProjectFiles,
    Sizes,
    Target,
    Threads,
    parse_sizes,
    read_floats,
)
from planish.cli.terminal.progress import show_progress
from planish.cli.tuning.trials import open_store
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.options import Options
from planish.report.comparison import contest_table, print_contests, summary_table
from planish.report.compiler_comparison import Contest, run_contests
from planish.report.console import make_console
from planish.report.store import build_cached
from planish.run.toolchains.cross import is_foreign
from planish.run.toolchains.toolchain import Compiler, choose_compiler, find_compilers
from planish.target.load import load_target

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def bench(
    files: ProjectFiles,
    target: Target = "native",
    function: Function = None,
    threads: Threads = 1,
    fp: Fp = Floats.reassociate,
    size: Sizes = None,
    define: Defines = None,
    include: Includes = None,
    cc: Annotated[
        list[str] | None, typer.Option("--cc", metavar="NAME", help="Only these compilers.", show_default=False)
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", min=0.01, max=3600.0, help="Seconds of timing for each function.")
    ] = 5.0,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the summary only.")] = False,
) -> int:
    """Compare the drop-in with the original under every compiler found here.

    Originals are compiled with -O3 for the target, with and without -ffast-math, and by Polly where clang has it; the
    drop-in by each of these compilers with the flags of its banner, and with --fp strict without contraction, as it is
    verified. Every contestant is verified first. All are timed pinned and in turns.
    """
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), sizes=parse_sizes(size),
        defines=tuple(define or ()), include_dirs=tuple(include or ()), compiler=cc[0] if cc else None,
    )  # fmt: skip
    machine = load_target(target)
    if is_foreign(machine):
        message = f"code for {machine.name} cannot be timed here, where the processor is of another kind"
        raise PlanishError(Diagnostic("E0819", message, help="build it with `planish build`, and time it there"))
    compilers = _compilers(cc or [])
    if json is not None:
        check_writable(json.parent)
    project, idle = list_files(files, OUTPUT), IdleFiles()
    joined = JoinedFiles(project, options)
    console, contests, failed = make_console(sys.stdout), list[Contest](), False
    with show_progress(len(project), quiet=False) as progress:
        for file in project:
            progress.start(file.name)
            own = file.options(options)
            try:
                source = joined.read(file, read_input(file.name).source)
                account, _ = build_cached(
                    source, own, Cache(), tell=progress.tell, trials=open_store(None)
                )
                for contest in run_contests(source, account, own, compilers, budget, progress.tell):
                    contests.append(contest)
                    if not quiet:
                        console.print(contest_table(contest))
                        console.print()
            except PlanishError as error:
                if not idle.takes(file, error):
                    tell(error)
                    failed = True
            progress.finish()
            if json is not None:
                # After every file, so that an interrupt keeps what was found.
                write_files(json.parent, {json.name: print_contests(contests, options)}, "utf-8")
    for refused in idle.settle(done=bool(contests)):
        tell(refused)
        failed = True
    if contests:
        console.print(summary_table(contests))
    if idle.names:
        print(f"\n{idle.describe()}")
    return USER_ERROR if failed else OK


def _compilers(names: list[str]) -> tuple[Compiler, ...]:
    """The compilers of these names; without any, the newest of each kind and every other found on the path."""
    if names:
        return tuple(dict.fromkeys(choose_compiler(name) for name in names))
    choose_compiler(None)
    return find_compilers()
