"""All commands with their options, as the help has them: what completion and manual pages are made of.

>>> [x.name for x in describe_commands(["cache"])[0].inner]
['info', 'clear']
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, get_args

import typer
from typer.models import ArgumentInfo, OptionInfo

from planish.cli.entry import COMMANDS


@dataclass(frozen=True, slots=True)
class DescribedOption:
    """An option: its names, what it is given ("": nothing), what it does, and its choices where there are a few."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedCommand:
    """A command: its name, what it does in one line and at length, its arguments, options, and the commands in it."""

    name: str
    summary: str
    text: str
    arguments: tuple[str, ...]
    options: tuple[DescribedOption, ...]
    inner: tuple[DescribedCommand, ...] = ()


def describe_commands(names: Collection[str] = ()) -> tuple[DescribedCommand, ...]:
    """The commands of these names, or all; loads their modules."""
    chosen = [x for x in COMMANDS if not names or x.name in names]
    return tuple(_describe_app(importlib.import_module(x.module).app, x.name, x.summary) for x in chosen)


def _describe_app(app: typer.Typer, name: str, summary: str) -> DescribedCommand:
    """A module's command: the only one that it registers, or a group of those that it does."""
    inner = tuple(
        _describe(x.callback, x.name or x.callback.__name__.replace("_", "-"))
        for x in app.registered_commands if x.callback is not None
    )  # fmt: skip
    if app.registered_callback is None and len(inner) == 1:
        return replace(inner[0], name=name, summary=summary)
    text = inspect.getdoc(app.registered_callback.callback) if app.registered_callback is not None else ""
    return DescribedCommand(name, summary, _joined(text), (), (), inner)


def _describe(command: Callable[..., object], name: str) -> DescribedCommand:
    """A command by the signature of its function, whose annotations hold what typer reads."""
    options: list[DescribedOption] = []
    arguments: list[str] = []
    for x in inspect.signature(command, eval_str=True).parameters.values():
        type_, *told = get_args(x.annotation)
        match told[0]:
            case OptionInfo() as option if not option.hidden:
                options.append(_option(x.name, type_, option))
            case ArgumentInfo() as argument:
                arguments.append(argument.metavar or x.name.upper())
    text = _joined(inspect.getdoc(command))
    return DescribedCommand(name, _sentence(text), text, tuple(arguments), tuple(options))


def _option(name: str, type_: Any, option: OptionInfo) -> DescribedOption:
    # In an annotation the first name is where a default would be.
    told = [x for x in (option.default, *(option.param_decls or ())) if isinstance(x, str) and x.startswith("-")]
    names = [part for x in told for part in x.split("/")]
    types = (type_, *get_args(type_), *(y for x in get_args(type_) for y in get_args(x)))
    found = next((x for x in types if isinstance(x, type) and issubclass(x, StrEnum)), None)
    choices = tuple(found) if found is not None else ()
    value = "" if bool in types else option.metavar or ("|".join(choices) if choices else name.upper())
    return DescribedOption(tuple(names) or (f"--{name.replace('_', '-')}",), value, option.help or "", choices)


def _joined(text: str | None) -> str:
    return " ".join((text or "").split())


def _sentence(text: str) -> str:
    """The first sentence of a text."""
    return text.partition(". ")[0].rstrip(".") + "." if text else ""
