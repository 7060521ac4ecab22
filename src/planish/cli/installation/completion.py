"""`planish completion bash|zsh|fish`: a script for a shell, which completes commands, their options and choices.

$ planish completion bash > ~/.local/share/bash-completion/completions/planish
$ planish completion zsh > ~/.zfunc/_planish
$ planish completion fish > ~/.config/fish/completions/planish.fish
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, assert_never

import typer

from planish.cli.exits import OK, guarded
from planish.cli.installation.described import DescribedCommand, DescribedOption, describe_commands


class ShellName(StrEnum):
    """A shell that a script can be printed for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def completion(shell: Annotated[ShellName, typer.Argument(help="The shell.", show_default=False)]) -> int:
    """Print a script that completes commands, options and their choices in a shell."""
    sys.stdout.write(completion_script(shell, describe_commands()))
    return OK


def completion_script(shell: ShellName, commands: Sequence[DescribedCommand]) -> str:
    """The script for a shell; everything else is completed as file names."""
    match shell:
        case ShellName.bash:
            return _bash(commands)
        case ShellName.zsh:
            return _zsh(commands)
        case ShellName.fish:
            return _fish(commands)
        case _:
            assert_never(shell)


def _names(commands: Sequence[DescribedCommand]) -> str:
    return " ".join(x.name for x in commands)


def _words(command: DescribedCommand) -> str:
    return " ".join((_names(command.inner), *(name for x in command.options for name in x.names), "--help")).strip()


def _chosen(commands: Sequence[DescribedCommand]) -> Iterator[tuple[str, DescribedOption]]:
    for command in commands:
        yield from ((command.name, x) for x in command.options if x.choices)
        yield from _chosen(command.inner)


def _bash(commands: Sequence[DescribedCommand]) -> str:
    cases = "\n".join(f'    {x.name}) words="{_words(x)}" ;;' for x in commands)
    inner = "\n".join(
        f'    "{x.name} {y.name}") words="{_words(y)}" ;;' for x in commands for y in x.inner
    )  # fmt: skip
    values = "\n".join(
        f'    "{name} {option}") words="{" ".join(x.choices)}" ;;'
        for name, x in dict.fromkeys(_chosen(commands)) for option in x.names
    )  # fmt: skip
    return f"""\
# Completion of planish for bash; made by `planish completion bash`.
_planish()
{{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{_names(commands)} --help --version" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{inner}
  esac
  case "${{COMP_WORDS[1]}} $before" in
{values}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ -z "$COMPREPLY" ]; then
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _planish planish
"""


def _zsh(commands: Sequence[DescribedCommand]) -> str:
    listed = "\n".join(f"    '{x.name}:{_zsh_text(x.summary)}'" for x in commands)
    cases = "\n".join(
        f"    {x.name})\n      _arguments {' '.join(_zsh_options(x))} '*:file:_files' ;;"
        for x in commands
        if not x.inner
    )
    groups = "\n".join(f"    {x.name})\n      _values command {_names(x.inner)} ;;" for x in commands if x.inner)
    return f"""\
#compdef planish
# Completion of planish for zsh; made by `planish completion zsh`.
_planish()
{{
  local -a commands
  commands=(
{listed}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case "$words[1]" in
{cases}
{groups}
  esac
}}
_planish "$@"
"""


def _zsh_text(text: str) -> str:
    return text.replace("'", "").replace(":", "\\:").replace("[", "(").replace("]", ")").replace("`", "")


def _zsh_options(command: DescribedCommand) -> Iterator[str]:
    for option in command.options:
        for name in option.names:
            told = f"[{_zsh_text(option.help)}]"
            given = (
                f":value:({' '.join(option.choices)})" if option.choices else ":value:_files" if option.value else ""
            )
            yield f"'*{name}{told}{given}'"


def _fish(commands: Sequence[DescribedCommand]) -> str:
    lines = ["# Completion of planish for fish; made by `planish completion fish`."]
    for command in commands:
        lines.append(
            f"complete -c planish -n __fish_use_subcommand -a {command.name} -d '{_fish_text(command.summary)}'"
        )
        here = f"-n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"complete -c planish {here} -a {x.name} -d '{_fish_text(x.summary)}'" for x in command.inner]
        for option in command.options:
            lines.append(f"complete -c planish {here} {_fish_option(option)}")
    return "\n".join(lines) + "\n"


def _fish_option(option: DescribedOption) -> str:
    names = " ".join(f"-l {x[2:]}" if x.startswith("--") else f"-s {x[1:]}" for x in option.names)
    given = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.value else ""
    return f"{names}{given} -d '{_fish_text(option.help)}'"


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
