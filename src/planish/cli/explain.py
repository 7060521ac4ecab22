"""`planish explain FILE.c…`: what is done to each loop nest, and why.

$ planish explain gemm.c --function gemm
$ planish explain src/*.c --sarif > planish.sarif
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from planish.build.project import NOTHING, OUTPUT, IdleFiles, JoinedFiles, ProjectFile, list_files
from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.machines.device_build import explain_on_device
from planish.cli.machines.machine_build import explain_for_machine
from planish.cli.options import (
    Compiler,
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
from planish.cli.tuning.trials import open_store
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.options import Options
from planish.report.account import FileAccount
from planish.report.explanation import explain_file
from planish.report.store import recall
from planish.report.verdicts.json_summary import FORMAT
from planish.service.analysis import analyse
from planish.service.sarif import to_sarif
from planish.target.device import is_device
from planish.vliw.description import is_machine

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def explain(
    files: ProjectFiles,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print verdicts and remarks as JSON.")] = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print remarks as SARIF, which editors and code hosts show.")
    ] = False,
) -> int:
    """Say what becomes of each function, and the one thing that holds it back; with -v what was recognised, which
    dependences hold it, which schedules are tried and why, and what was refused.

    A folder stands for all C files in it; several files are a project, as for `planish build`. Nothing is run. Where
    the same options were built before, the version that the clock chose is told as well.
    """
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), sizes=parse_sizes(size),
        defines=tuple(define or ()), include_dirs=tuple(include or ()), compiler=cc,
    )  # fmt: skip
    if as_json and as_sarif:
        raise PlanishError(Diagnostic("E0127", "--json and --sarif cannot both be printed", help="give one of them"))
    if verbose and (as_json or as_sarif):
        format = "--sarif" if as_sarif else "--json"
        raise PlanishError(Diagnostic("E0127", f"-v is of no use with {format}", help=f"leave out -v, or {format}"))
    if as_json or as_sarif:
        return _print_data(list_files(files, OUTPUT), options, as_sarif)
    failed, idle, texts = False, IdleFiles(), list[str]()
    project = list_files(files, OUTPUT)
    joined = JoinedFiles(project, options)
    for file in project:
        own = file.options(options)
        try:
            source = joined.read(file, read_input(file.name).source)
            if is_machine(target):
                texts.append(explain_for_machine(source, own, target))
            elif is_device(target):
                texts.append(explain_on_device(source, own, target))
            else:
                texts.append(explain_file(source, own, _recall(source, own), verbose))
            sys.stdout.write("\n" * (len(texts) > 1) + texts[-1])
        except PlanishError as error:
            if not idle.takes(file, error):
                tell(error)
                failed = True
    for refused in idle.settle(done=bool(texts)):
        tell(refused)
        failed = True
    if idle.names:
        print(f"\n{idle.describe()}")
    return USER_ERROR if failed else OK


def _print_data(project: Sequence[ProjectFile], options: Options, as_sarif: bool) -> int:
    """The verdicts and remarks of files as data; what is wrong with a file is among its problems."""
    if is_machine(options.target) or is_device(options.target):
        raise PlanishError(Diagnostic("E0127", f"there is no JSON for {options.target}"))
    joined = JoinedFiles(project, options)
    found = [(file.name, _analyse(file, joined, options)) for file in project]
    listed = [{"file": name, **x} for name, x in found]
    print(json.dumps(to_sarif(found) if as_sarif else {"format": FORMAT, "files": listed}, indent=1))
    return USER_ERROR if any(p["severity"] == "error" for _, x in found for p in x["problems"]) else OK


def _analyse(file: ProjectFile, joined: JoinedFiles, options: Options) -> dict[str, Any]:
    """The problems and functions of a file; that it cannot be read is one, too."""
    quiet = NOTHING if file.found else ()
    try:
        return analyse(joined.read(file, read_input(file.name).source), file.options(options), quiet)
    except PlanishError as error:
        problem = error.diagnostic
        if problem.code in quiet:
            return {"problems": [], "functions": []}
        place = {"line": 1, "column": 1, "end_line": 1, "end_column": 1}
        told = {"severity": "error", "code": problem.code, "message": problem.message, "help": problem.advice}
        return {"problems": [{**place, **told}], "functions": []}


def _recall(source: Source, options: Options) -> FileAccount | None:
    """An earlier build; without a compiler there is none, and the explanation does not need one."""
    try:
        return recall(source, options, Cache(), open_store(None))
    except PlanishError as error:
        if error.diagnostic.code.startswith("E08"):
            return None
        raise
