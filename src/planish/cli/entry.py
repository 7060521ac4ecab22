"""Dispatch of the command line: a command's module is loaded only when it is meant, so that the help appears at once.

>>> main(["--version"])
planish 0.1.0
0
"""

from __future__ import annotations

import difflib
import functools
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from planish.cli.exits import OK, USAGE_ERROR, check_interrupted, guard
from planish.cli.terminal.bytecode import keep_bytecode
from planish.cli.terminal.streams import open_streams
from planish.cli.terminal.supervision import GRACE, supervise
from planish.core.cache import default_root
from planish.core.recursion_limit import call_with_room
from planish.version import VERSION


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand: its name, the module that holds its `app`, and what it does in one line. `supervised`: a small
    process hears signals for it, and gives it `grace` seconds to end by itself; else it may become another program, and
    its module has `run_at_once`, too."""

    name: str
    module: str
    summary: str
    supervised: bool = True
    grace: float = GRACE


COMMANDS = (
    Command("build", "planish.cli.build", "Write a verified and faster drop-in for each C file."),
    Command("cc", "planish.cli.compiler_wrapper", "Compile as gcc or clang do, with faster nests.", supervised=False),
    Command("explain", "planish.cli.explain", "Say what is done to each loop nest, and why."),
    Command("report", "planish.cli.views.report", "Write a page of HTML on what a build did, and why."),
    Command("select", "planish.cli.select", "Show which instructions loops of integers become, and what they cost."),
    Command("bench", "planish.cli.bench", "Compare with what the compilers here make of the same file."),
    Command("astgen", "planish.cli.astgen", "Print the loops that run a schedule (isl's .st and .in files)."),
    Command("kernel", "planish.cli.kernel", "Generate a kernel of the library: gemm, its micro-kernels."),
    Command("targets", "planish.cli.listings.targets", "List the machines that --target takes."),
    Command("tactics", "planish.cli.listings.tactics", "List, check and explain what nests are raised to."),
    Command("strategies", "planish.cli.listings.strategies", "List and explain how nests are made faster."),
    Command("raise", "planish.cli.raise_", "Print what nests compute as NumPy, einsum, BLAS calls, MLIR or JSON."),
    Command("isa", "planish.cli.isa", "List, find and learn the instructions of processors."),
    Command("vliw", "planish.cli.machines.commands", "Pack, run and show streams of operations of VLIW machines."),
    Command("tune", "planish.cli.tuning.tune", "Search for faster schedules of each nest, and keep every trial."),
    Command("trials", "planish.cli.tuning.trials", "List, show, export, import and prune the trials of tuning."),
    Command(
        "explore", "planish.cli.views.explore", "Change, build and compare files in a browser, on this machine.",
        grace=10.0,
    ),
    Command("lsp", "planish.cli.views.lsp", "Serve editors by the Language Server Protocol."),
    Command("doctor", "planish.cli.installation.doctor", "Say what is found on this machine, and what is missing."),
    Command("completion", "planish.cli.installation.completion", "Print a script that completes commands in a shell."),
    Command("cmake", "planish.cli.installation.cmake", "Print where the package for CMake lies."),
    Command("man", "planish.cli.installation.manual", "Print the manual page."),
    Command("cache", "planish.cli.installation.cache", "Show or empty the store of earlier builds."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code: 0 done, 1 wrong input, 2 wrong usage, 70 a bug, 130 interrupted.

    Without `arguments` the process is the command: it is supervised, so that signals end it at any time."""
    open_streams()
    if arguments is None:
        keep_bytecode(default_root())
    given = list(sys.argv[1:] if arguments is None else arguments)
    match given:
        case []:
            print(_help(), end="", file=sys.stderr)
            return USAGE_ERROR
        case ["-h" | "--help" | "help", *_]:
            print(_help(), end="")
            return OK
        case ["--version", *_]:
            print(f"planish {VERSION}")
            return OK
        case [name, *rest]:
            command = next((c for c in COMMANDS if c.name == name), None)
            if command is None:
                return _refuse(name)
            run = functools.partial(guard, functools.partial(_run, command, rest))
            return supervise(run, command.grace) if arguments is None and command.supervised else run()
    return USAGE_ERROR


def _run(command: Command, arguments: list[str]) -> int:
    module = importlib.import_module(command.module)
    if not command.supervised and (code := module.run_at_once(arguments)) is not None:
        return int(code)
    try:
        call_with_room(module.app, args=arguments, prog_name=f"planish {command.name}")
    except SystemExit as end:
        # An interrupt while the options are read ends typer without a word.
        check_interrupted()
        return end.code if isinstance(end.code, int) else USAGE_ERROR
    return OK


def _help() -> str:
    width = max(len(c.name) for c in COMMANDS)
    lines = [f"  {c.name:{width}}  {c.summary}" for c in COMMANDS]
    return (
        "Usage: planish COMMAND [OPTIONS] FILE.c…\n\n"
        "Plain C loop nests in, verified and faster drop-in C out.\n\n"
        "Commands:\n" + "\n".join(lines) + "\n\n"
        "Options:\n"
        "  --help     This text; `planish COMMAND --help` tells a command's options.\n"
        "  --version  The version.\n"
    )


def _refuse(name: str) -> int:
    what = "option" if name.startswith("-") else "command"
    near = difflib.get_close_matches(name, [c.name for c in COMMANDS], 1)
    guess = f" Did you mean '{near[0]}'?" if near else ""
    print(f"No such {what} '{name}'.{guess}\nTry 'planish --help'.", file=sys.stderr)
    return USAGE_ERROR
