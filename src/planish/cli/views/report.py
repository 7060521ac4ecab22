"""`planish report FILE.c|DIR -o page.html`: what a build did, as one page for a browser.

$ planish report gemm.c -o gemm.html
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from planish.build.project import OUTPUT, IdleFiles, JoinedFiles, ProjectFile, list_files
from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.files import write_files
from planish.cli.options import (
    Compiler,
    Defines,
    Floats,
    Fp,
    Function,
    Gain,
    Includes,
    Measure,
    ProjectFiles,
    Quiet,
    Sizes,
    Target,
    Threads,
    check_gain,
    parse_sizes,
    read_floats,
)
from planish.cli.terminal.progress import show_progress
from planish.cli.tuning.trials import open_store
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import check_ours, read_input, refusal
from planish.core.progress import Progress
from planish.options import Options
from planish.report.page.contents import FilePage, gather_file
from planish.report.page.rendering import GENERATOR, HEAD, render_page
from planish.report.store import build_cached
from planish.report.verdicts.json_summary import FORMAT, summarise_function
from planish.target.device import is_device
from planish.tuning.choices import with_known_choices
from planish.tuning.store.trial_store import TrialStore
from planish.vliw.description import is_machine

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def report(
    files: ProjectFiles,
    output: Annotated[Path, typer.Option("-o", metavar="PAGE.html", help="Where the page goes.")] = Path("report.html"),
    target: Target = "native",
    function: Function = None,
    threads: Threads = 1,
    fp: Fp = Floats.reassociate,
    measure: Measure = True,
    gain: Gain = 0.0,
    size: Sizes = None,
    define: Defines = None,
    include: Includes = None,
    cc: Compiler = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a page that Planish did not write.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the page has in short, as JSON.")] = False,
    quiet: Quiet = False,
) -> int:
    """Write one page of HTML on what becomes of each function: the verdict, the source beside the generated C and the
    assembly, loops before and after, dependences, all versions with their times, and the roofline of this machine.

    The files are built first where no earlier build of the same text and options is known. The page needs no network.
    """
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), measure=measure,
        gain=gain,
        sizes=parse_sizes(size), defines=tuple(define or ()), include_dirs=tuple(include or ()), compiler=cc,
    )  # fmt: skip
    if is_machine(target) or is_device(target):
        message = f"there is no page for {target}, whose code is no C with a drop-in"
        raise PlanishError(Diagnostic("E0127", message))
    check_gain(gain, measure)
    _check_page(output, force)
    idle = IdleFiles()
    pages, failed = _gather(list_files(files, OUTPUT), options, quiet, idle)
    for refused in idle.settle(done=bool(pages)):
        tell(refused)
        failed = True
    if not pages:
        if not failed:
            raise refusal("E0105", f"no loop was found in {', '.join(files)}", "name a file that has one")
        return USER_ERROR
    title = Path(files[0]).name if len(files) == 1 else f"{len(pages)} files"
    write_files(output.parent, {output.name: render_page(pages, title).encode("utf-8", "surrogateescape")})
    if as_json:
        print(json.dumps(_summary(output, pages), indent=1))
    elif not quiet:
        for page in (x for file in pages for x in file.functions):
            print(f"{page.account.function}: {page.verdict}")
        if idle.names:
            print(idle.describe())
        print(f"wrote {output}")
    return USER_ERROR if failed else OK


def _gather(
    project: tuple[ProjectFile, ...], options: Options, quiet: bool, idle: IdleFiles
) -> tuple[list[FilePage], bool]:  # fmt: skip
    """The pages of the files that have loops, and whether another one was in error; the others are `idle`."""
    cache, trials, joined = Cache(), open_store(None), JoinedFiles(project, options)
    pages: list[FilePage] = []
    failed = False
    with show_progress(len(project), quiet) as progress:
        for file in project:
            progress.start(file.name)
            try:
                pages.append(_page(file, joined, options, cache, trials, progress.tell))
            except PlanishError as error:
                if not idle.takes(file, error):
                    tell(error)
                    failed = True
            progress.finish()
    return [x for x in pages if x.functions], failed


def _page(
    file: ProjectFile, joined: JoinedFiles, options: Options, cache: Cache, trials: TrialStore, tell: Progress
) -> FilePage:  # fmt: skip
    source, own = joined.read(file, read_input(file.name).source), file.options(options)
    account, _ = build_cached(source, own, cache, tell=tell, trials=trials)
    return gather_file(source, with_known_choices(source, own, trials), account, cache, tell)


def _check_page(output: Path, force: bool) -> None:
    """That a page may be written there; PlanishError E0902 and E0904."""
    if output.is_dir():
        raise refusal("E0902", f"cannot write {output}: it is a folder", "name a file with -o")
    check_ours(output, GENERATOR, HEAD, force=force)


def _summary(output: Path, pages: list[FilePage]) -> dict[str, object]:
    """What `--json` prints (docs/report.md)."""
    listed = [{"file": file.name, **summarise_function(x.account)} for file in pages for x in file.functions]
    return {"format": FORMAT, "page": str(output), "functions": listed}
