"""`planish tactics list|check|explain`: what nests are raised to.

$ planish tactics list
$ planish tactics check mine.tdl
$ planish tactics explain gemm
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.options import Quiet
from planish.cli.terminal.progress import show_progress
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.raising.nests import raise_kernel
from planish.raising.tdl.examples import check_tactic
from planish.raising.tdl.explanation import explain_tactic
from planish.raising.tdl.reader import load_tactics, read_tactics
from planish.raising.tdl.tactic import Tactic
from planish.report.console import make_console
from planish.report.tables import tactics_table

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True)

OWN = "Tactics of your own"
Files = Annotated[list[str] | None, typer.Argument(metavar="FILE.tdl…", help=f"{OWN}.", show_default=False)]
With = Annotated[list[str] | None, typer.Option("--tactics", metavar="FILE.tdl", help=f"{OWN}; as often as you like.")]


@app.callback()
def tactics() -> None:
    """List, check and explain what nests are raised to."""


@app.command("list")
@guarded
def list_tactics(own: With = None) -> int:
    """List the tactics, those that are variants of one in one row."""
    make_console(sys.stdout).print(tactics_table([*load_tactics(), *_read(own or ())]))
    return OK


@app.command()
@guarded
def check(
    files: Files = None,
    all: Annotated[bool, typer.Option("--all", help="Those that come with Planish.")] = False,
    quiet: Quiet = False,
) -> int:
    """Check tactics of files, or those that come with Planish.

    Each must make sense, its builders must do what its pattern does (they are run on the same numbers), and it must
    apply to its examples and not to its counterexamples.
    """
    if not files and not all:
        raise PlanishError(Diagnostic("E0830", "nothing is to be checked", help="name a file, or --all"))
    chosen = [*(load_tactics() if all else ()), *_read(files or ())]
    wrong = 0
    with show_progress(len(chosen), quiet) as progress:
        for tactic in chosen:
            progress.start(tactic.name)
            problems = check_tactic(tactic, raise_kernel)
            wrong += bool(problems)
            for problem in problems:
                tell(PlanishError(problem, tactic.source))
            progress.finish()
    if not quiet:
        builders = sum(len(x.builders) for x in chosen)
        print(f"{len(chosen) - wrong} of {len(chosen)} tactics are right; {builders} builders were tried")
    return USER_ERROR if wrong else OK


@app.command()
@guarded
def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A tactic, or one with variants.", show_default=False)],
    own: With = None,
) -> int:
    """Say what a tactic looks for, what that means as a nest, what it becomes, and where it applies."""
    known = [*load_tactics(), *_read(own or ())]
    found = [x for x in known if x.name == name] or [x for x in known if x.family == name]
    if not found:
        names = {x.name for x in known} | {x.family for x in known}
        near = difflib.get_close_matches(name, sorted(names), 1)
        advice = f"did you mean `{near[0]}`?" if near else "`planish tactics list` names them all"
        raise PlanishError(Diagnostic("E0829", f"there is no tactic `{name}`", help=advice))
    print(explain_tactic(found[0]), end="")
    if len(found) > 1:
        print(f"\nother variants: {', '.join(x.name for x in found[1:])}")
    return OK


def _read(files: Sequence[str]) -> list[Tactic]:
    """The tactics of files, which may use those that come with Planish and those of the files before."""
    out: list[Tactic] = []
    for file in files:
        out += read_tactics(read_input(file).source, (*load_tactics(), *out))
    return out
