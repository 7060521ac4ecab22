"""`planish man`: the manual page, from the same table as the help.

$ planish man > ~/.local/share/man/man1/planish.1
$ planish man build | man -l -
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from planish.cli.exits import EXIT_CODES, OK, guarded
from planish.cli.installation.described import DescribedCommand, describe_commands
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.version import VERSION

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def man(
    command: Annotated[
        str | None, typer.Argument(metavar="[COMMAND]", help="Only this command.", show_default=False)
    ] = None,
) -> int:
    """Print the manual page of planish, or of one of its commands, as troff."""
    found = describe_commands(() if command is None else (command,))
    if not found or command == "":
        known = ", ".join(x.name for x in describe_commands())
        raise PlanishError(Diagnostic("E0116", f"there is no command `{command}`", help=f"take one of {known}"))
    sys.stdout.write(manual_page(found, command))
    return OK


def manual_page(commands: Sequence[DescribedCommand], alone: str | None = None) -> str:
    """The page of some commands: one `alone`, or those of the whole program."""
    title = f"planish-{alone}" if alone else "planish"
    what = commands[0].summary if alone else "plain C loop nests in, verified and faster drop-in C out"
    lines = [
        f'.TH {title.upper()} 1 "" "planish {VERSION}" "User commands"', ".SH NAME", _text(f"{title} - {what}"),
        ".SH SYNOPSIS", *_synopsis(commands, alone),
    ]  # fmt: skip
    for command in commands:
        lines += _command(command, alone is not None)
    lines += [".SH EXIT STATUS"]
    for codes, meaning in EXIT_CODES:
        lines += [".TP", _text(codes), _text(meaning)]
    return "\n".join(lines) + "\n"


def _synopsis(commands: Sequence[DescribedCommand], alone: str | None) -> Iterator[str]:
    if alone is None:
        yield ".B planish\n.I COMMAND\n[OPTIONS]\n[ARGUMENTS]"
        return
    yield f".B planish {_text(commands[0].name)}\n[OPTIONS] {_text(' '.join(commands[0].arguments))}"


def _command(command: DescribedCommand, alone: bool, outer: str = "") -> Iterator[str]:
    name = f"{outer}{command.name}"
    yield ".SH DESCRIPTION" if alone and not outer else f".SS planish {_text(' '.join((name, *command.arguments)))}"
    yield _text(command.text or command.summary)
    for option in command.options:
        yield ".TP"
        yield _text(" ".join((", ".join(option.names), option.value)).strip())
        yield _text(option.help or "-")
    for inner in command.inner:
        yield from _command(inner, alone, f"{name} ")


def _text(text: str) -> str:
    """A line that troff takes for text alone."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
