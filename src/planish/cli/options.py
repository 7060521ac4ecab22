"""Option types that several commands share, and how values are read.

>>> parse_sizes(["N=1000,M=20"])
{'N': 1000, 'M': 20}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, assert_never

import typer

from planish.core.diagnostic import Diagnostic, PlanishError

MOST_THREADS = 1024


class Floats(StrEnum):
    """What may happen to floating-point results."""

    strict = "strict"
    contract = "contract"
    reassociate = "reassociate"


class Style(StrEnum):
    """How drop-ins are laid out."""

    full = "full"
    compact = "compact"


_SIZE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)=(\d{1,12})")
_DEFINE = re.compile(r"[A-Za-z_]\w*(\([\w, ]*\))?(=.*)?", re.S)


def parse_sizes(texts: Sequence[str] | None) -> dict[str, int]:
    """The sizes in "N=1000,M=20"; raises typer.BadParameter."""
    out: dict[str, int] = {}
    for item in (x.strip() for text in texts or () for x in text.split(",")):
        found = _SIZE.fullmatch(item)
        if found is None:
            raise typer.BadParameter(f"'{item}' is not of the form NAME=NUMBER")
        out[found[1]] = int(found[2])
    return out


def check_sizes(texts: list[str] | None) -> list[str] | None:
    """The texts of --size; raises typer.BadParameter."""
    parse_sizes(texts)
    return texts


def check_gain(gain: float, measure: bool, elsewhere: str = "") -> None:
    """That --gain has something to decide: it sets the estimates of versions beside the original where no clock does,
    and not `elsewhere` ("for hexagon"). Raises PlanishError E0113."""
    if gain and elsewhere:
        raise PlanishError(Diagnostic("E0113", f"--gain is of no use {elsewhere}", help="leave it out"))
    if gain and measure:
        raise PlanishError(Diagnostic("E0113", "--gain is of no use where versions are timed", help="add --no-measure"))


def check_defines(texts: list[str] | None) -> list[str] | None:
    """The macros of -D; raises typer.BadParameter."""
    for text in texts or ():
        if not _DEFINE.fullmatch(text):
            raise typer.BadParameter(f"'{text}' is not of the form NAME or NAME=VALUE")
    return texts


Files = Annotated[list[str], typer.Argument(metavar="FILE.c", help="C files.", show_default=False)]
ProjectFiles = Annotated[
    list[str],
    typer.Argument(metavar="FILE.c|DIR|compile_commands.json", help="C files, or all of them.", show_default=False),
]
Target = Annotated[str, typer.Option("--target", help="The machine: a name (planish targets) or a .toml file.")]
Targets = Annotated[
    str,
    typer.Option(
        "--target", metavar="NAME[,NAME…]",
        help="The machine: a name (planish targets) or a .toml file; or several, which share one drop-in.",
    ),
]  # fmt: skip
Function = Annotated[
    list[str] | None,
    typer.Option(
        "--function", metavar="NAME", help="Only this function; may be given several times.", show_default=False
    ),
]
Threads = Annotated[int, typer.Option("--threads", min=1, max=MOST_THREADS, help="Cores to use (OpenMP).")]
Fp = Annotated[
    Floats,
    typer.Option("--fp", help="strict: bit-exact; contract: fused products and sums; reassociate: sums in any order."),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size", metavar="N=1000,…", help="Sizes to check and time with.", show_default=False, callback=check_sizes
    ),
]
Defines = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro.", show_default=False, callback=check_defines),
]
Includes = Annotated[
    list[Path] | None, typer.Option("-I", metavar="DIR", help="Look for headers here.", show_default=False)
]
Compiler = Annotated[
    str | None, typer.Option("--cc", metavar="NAME", help="The C compiler to use.", show_default="the first found")
]
Measure = Annotated[
    bool, typer.Option("--measure/--no-measure", help="Time each version; without, take the most promising one.")
]
Gain = Annotated[
    float,
    typer.Option(
        "--gain", min=0.0, max=100.0, metavar="RATIO",
        help="Without the clock: keep loops as written where none promises to be so many times as fast.",
    ),
]  # fmt: skip
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")]


def read_floats(floats: Floats) -> Literal["strict", "contract", "reassociate"]:
    """The choice as the rest of the program spells it."""
    match floats:
        case Floats.strict:
            return "strict"
        case Floats.contract:
            return "contract"
        case Floats.reassociate:
            return "reassociate"
        case _:
            assert_never(floats)
