"""`planish astgen FILE.st|FILE.in…`: the loops that run a schedule, as C.

$ planish astgen tiled.st --verify
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from planish.astgen.checking.judge import choose_sizes, name_unbounded, rival_text, verify_input
from planish.astgen.code_size.isl_codegen import rival_nest
from planish.astgen.code_size.sized import SizeBound, Sized, improve
from planish.astgen.formats import CodegenInput, generate_input, load_input
from planish.astgen.option_names import check_options, find_idle_options, set_options
from planish.astgen.options import CodegenSettings
from planish.cli.exits import OK, USER_ERROR, guarded, tell
from planish.cli.terminal.progress import show_progress
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.ir.nest import Block
from planish.report.console import make_console
from planish.report.generated import compare_nests, print_nest

_FORMATS = (".st", ".in")
_VALUE = re.compile(r"([A-Za-z_]\w*)=(-?\d{1,12})")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the nest is to be like."""

    size: SizeBound
    settings: CodegenSettings


def parse_values(texts: Sequence[str] | None) -> list[dict[str, int]]:
    """The values of each `--param n=5,m=-1`; raises typer.BadParameter."""
    out = []
    for text in texts or ():
        values: dict[str, int] = {}
        for item in (x.strip() for x in text.split(",")):
            found = _VALUE.fullmatch(item)
            if found is None:
                raise typer.BadParameter(f"'{item}' is not of the form NAME=NUMBER")
            values[found[1]] = int(found[2])
        out.append(values)
    return out


def check_values(texts: list[str] | None) -> list[str] | None:
    """The texts of --param; raises typer.BadParameter."""
    parse_values(texts)
    return texts


@app.command()
@guarded
def astgen(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE.st|FILE.in", help="Schedule trees or maps.", show_default=False)
    ],
    theirs: Annotated[bool, typer.Option("--isl", help="Print isl's own answer instead.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Prove that the loops run what is scheduled.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Print figures beside those of isl's answer.")] = False,
    facts: Annotated[bool, typer.Option("--facts", help="Say which loops are coincident or isolated.")] = False,
    options: Annotated[
        str | None,
        typer.Option("--options", metavar='"{ … }"', help="Options in place of the file's.", show_default=False),
    ] = None,
    copies: Annotated[
        int | None,
        typer.Option("--copies", min=1, help="The most statements in the text; cuts are chosen.", show_default=False),
    ] = None,
    loops: Annotated[
        int | None,
        typer.Option("--loops", min=1, help="The most loops in the text; cuts are chosen.", show_default=False),
    ] = None,
    hoist: Annotated[
        int,
        typer.Option("--hoist", min=0, metavar="N", help="Conditions stay inside the outermost N dimensions."),
    ] = 0,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="n=5,…",
            help="Values of the parameters to run with; may be given several times.",
            show_default=False,
            callback=check_values,
        ),
    ] = None,
) -> int:
    """Print the loops that run the instances of a schedule in its order, as C.

    FILE.st holds a schedule tree, FILE.in a schedule map, a context and options: isl's own formats. Each instance is a
    call, as in S(i, j). With --verify the loops are read back and compared with the schedule for all values of the
    parameters; where no proof is found in time, they are run for some. --compare runs them, too, and counts. With
    --copies or --loops, loops are cut where that saves the most tests and steps for the values of --param.
    """
    failed = False
    names = list(dict.fromkeys(files))
    for name in names:
        try:
            found = _load(name, options)
            sizes = [_complete(found, values) for values in parse_values(param)]
            remarks: dict[Remark, None] = {}
            wish = Wish(SizeBound(copies, loops), CodegenSettings(hoist=hoist, remark=remarks.setdefault))
            nest = _nest(found, theirs, verify, wish, sizes)
            for remark in remarks:
                print(remark.render(found.source), file=sys.stderr)
            if len(names) > 1:
                print(f"/* {name} */")
            failed |= verify and not _verify(found, nest, sizes)
            print(rival_text(found) if theirs else print_nest(found, nest, facts), end="")
            if compare:
                ours = _ours(found, wish, sizes) if theirs else nest
                make_console(sys.stdout).print(compare_nests(found, ours, rival_nest(found), sizes))
        except PlanishError as error:
            # The other files are done all the same.
            tell(error)
            failed = True
    return USER_ERROR if failed else OK


def _nest(found: CodegenInput, theirs: bool, needed: bool, wish: Wish, sizes: Sequence[dict[str, int]]) -> Block:
    """Ours, or isl's where it is asked for; some of isl's can be printed, but not held (and need not be)."""
    if not theirs:
        return _ours(found, wish, sizes)
    return rival_nest(found) if needed else Block(())


def _ours(found: CodegenInput, wish: Wish, sizes: Sequence[dict[str, int]]) -> Block:
    try:
        plain = wish.size == SizeBound()
        return generate_input(found, settings=wish.settings) if plain else _sized(found, wish, sizes)
    except PlanishError as error:
        raise (name_unbounded(found) if error.diagnostic.code == "E0512" else None) or error from error


def _sized(found: CodegenInput, wish: Wish, sizes: Sequence[dict[str, int]]) -> Block:
    """The best nest within a size; what was found by then where the search is interrupted. Raises PlanishError E0520
    where none is that small."""
    best: Sized | None = None
    try:
        with show_progress(1, quiet=False) as progress:
            progress.start(found.source.name)
            runs = sizes or choose_sizes(found)
            for better in improve(found, wish.size, runs, progress.tell, wish.settings):
                best = better
    except KeyboardInterrupt:
        if best is None:
            raise
        print(f"stopped; the best of {found.source.name} so far follows", file=sys.stderr)
    assert best is not None
    if not wish.size.holds(best):
        limits = ((wish.size.copies, "copies"), (wish.size.loops, "loops"))
        wanted = " and ".join(f"{n} {what}" for n, what in limits if n)
        message = f"the smallest nest found for {found.source.name} has {best.copies} copies and {best.loops} loops"
        raise PlanishError(Diagnostic("E0520", f"{message}, not at most {wanted}", help="ask for no less than that"))
    return best.nest


def _load(name: str, options: str | None) -> CodegenInput:
    if Path(name).suffix not in _FORMATS and Path(name).is_file():
        message = f"{name} is neither a schedule tree (.st) nor a schedule map (.in)"
        raise PlanishError(Diagnostic("E0519", message, help="give isl's file formats; C goes to `planish build`"))
    found = load_input(name)
    if options is not None:
        return set_options(found, options)
    check_options(found)
    for warning in find_idle_options(found):
        print(warning.render(found.source), file=sys.stderr)
    return found


def _complete(found: CodegenInput, values: dict[str, int]) -> dict[str, int]:
    """The values for the parameters that the input has; raises PlanishError E0517 where one is missing."""
    missing = [name for name in found.parameters if name not in values]
    if missing:
        message = f"{found.source.name} has a parameter `{missing[0]}`, and --param gives no value for it"
        raise PlanishError(Diagnostic("E0517", message, help=f"give --param {missing[0]}=5"))
    return {name: values[name] for name in found.parameters}


def _verify(found: CodegenInput, nest: Block, sizes: Sequence[dict[str, int]]) -> bool:
    """Say what was found as a comment, or as an error where something differs."""
    verdict = verify_input(found, nest, sizes)
    match verdict.answer:
        case "proven":
            print("/* proven: runs exactly the scheduled instances, in order, for all parameters */")
        case "given up":
            print(f"/* not proven: {verdict.detail} */")
        case "differs":
            message = f"the loops for {found.source.name} do not run what is scheduled: {verdict.detail}"
            tell(Diagnostic("E0516", message, help="do not use them; please report this"))
    return verdict.answer != "differs"
