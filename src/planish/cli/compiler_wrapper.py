"""`planish cc …`: the user's compiler, with drop-ins in place of the C files that have faster nests.

$ make CC="planish cc" CFLAGS="-O3 -march=native"
$ planish cc --using clang --report build.jsonl -- -O2 -c filter.c -o filter.o
$ planish cc --summary build.jsonl
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from planish.cli.exits import guarded
from planish.cli.options import Floats, read_floats
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.wrapper.driver import SECONDS, WrapperWishes, run_compiler

DEFAULT_COMPILERS = ("gcc", "cc", "clang")
"""What is taken where the command names no compiler: the first that is there."""
_ANY = re.compile(r".*", re.DOTALL)
_READABLE = {"--budget": re.compile(r"\d+(?:\.\d+)?"), "--fp": re.compile("|".join(Floats))}
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
    warm: Annotated[
        bool, typer.Option("--warm", help="Keep Planish loaded until no file came for a minute: less to wait for.")
    ] = False,
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
        return int(_load("summary").print_summary(summary))
    if finish:
        return int(_load("finishing").finish_record(finish, lambda text: print(text, flush=True)))
    return _compile(list(arguments or ()), using, floats, budget, report, verbose, warm)


def run_at_once(arguments: Sequence[str]) -> int | None:
    """The exit code of a compiler's command with the plainest of our options before it, without the library that reads
    all others: a build runs hundreds of these. None where that is needed."""
    rest = list(arguments)
    told: dict[str, str] = {}
    while rest and rest[0].startswith("--"):
        name, equals, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name in ("--verbose", "--warm") and not equals:
            told[name] = name
            continue
        if name not in ("--using", "--budget", "--report", "--fp"):
            return None
        value = value if equals else rest.pop(0) if rest else ""
        if not value or not _READABLE.get(name, _ANY).fullmatch(value):
            return None
        told[name] = value
    floats = Floats(told["--fp"]) if "--fp" in told else None
    budget = float(told.get("--budget", SECONDS))
    flags = "--verbose" in told, "--warm" in told
    return _compile(rest, told.get("--using"), floats, budget, told.get("--report", ""), *flags)


def _compile(
    given: list[str], using: str | None, floats: Floats | None, budget: float, report: str, verbose: bool, warm: bool
) -> int:  # fmt: skip
    if using is None and given and _names_compiler(given[0]):
        using = given.pop(0)
    wishes = WrapperWishes(
        _find(using), None if floats is None else read_floats(floats), budget or None,
        os.path.abspath(report) if report else "", verbose, warm,
    )  # fmt: skip
    return run_compiler(given, wishes)


def _load(name: str) -> Any:
    """A module that the compiler's own commands do not need: it is not loaded for these."""
    return import_module(f"planish.wrapper.{name}")


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
