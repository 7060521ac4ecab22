"""Walsh-Hadamard transforms in plain C, by each compiler as written and as a drop-in, number by number.

    python -m bench.races.stages                       # prints the table
    python -m bench.races.stages float 1024 65536      # only this type, these numbers

>>> Raced("float", 1024, {"gcc": 2e-6, "clang": 3e-6, "ours gcc": 4e-7, "ours clang": 5e-7}).ratio
5.0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.places import PROGRAMS
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.sizes.call_sizes import make_case
from planish.run.timing.clock import measure
from planish.run.toolchains.toolchain import compile_library, find_compilers

PROGRAM = PROGRAMS / "stages" / "walsh.c"
TYPES, NUMBERS = ("float", "double", "int", "short"), (64, 1024, 65536, 1 << 20)
FLAGS = ("-O3", "-march=native", "-w")
BUDGET = 1.0


@dataclass(frozen=True, slots=True)
class Raced:
    """Seconds a call of each contestant, the medians of one race."""

    type: str
    number: int
    times: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """The faster compiler over our faster drop-in."""
        ours = min(y for x, y in self.times.items() if x.startswith("ours"))
        return round(min(y for x, y in self.times.items() if not x.startswith("ours")) / ours, 2)

    def __str__(self) -> str:
        times = ", ".join(f"{x} {1e6 * y:.3g} us" for x, y in self.times.items())
        return f"{self.type} {self.number}: {times}: {self.ratio:.2f}x"


def race(type: str, numbers: Sequence[int], folder: Path) -> list[Raced]:
    """The transforms of one type; raises PlanishError."""
    text = PROGRAM.read_text().replace("TYPE", type)
    built = build_file(Source(PROGRAM.name, text), Options(sizes={"n": 1 << 14}))
    function = built.functions[0].function
    signature = signature_of(function)
    assert signature is not None
    entered = [
        (f"{team}{compiler.name}", compile_library(compiler, program + entry_text(signature), FLAGS, folder))
        for team, program in (("", text), ("ours ", built.text))
        for compiler in find_compilers()
    ]
    out = []
    for number in numbers:
        case = make_case(function, (), {"n": number}, seed=1, most_guess=number)
        out.append(Raced(type, number, {x.label: x.median for x in measure(entered, signature, case, BUDGET, 9)}))
    return out


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced."""
    parser = argparse.ArgumentParser(description="Races Walsh-Hadamard transforms, as written and as drop-ins.")
    parser.add_argument("chosen", nargs="*", metavar="TYPE|NUMBER", help="only these; default: all")
    chosen = parser.parse_args(arguments).chosen
    numbers = [int(x) for x in chosen if x.isdigit()] or NUMBERS
    types = [x for x in chosen if not x.isdigit()] or TYPES
    unknown = [x for x in types if x not in TYPES]
    if unknown:
        parser.error(f"no type {', '.join(unknown)}; there are {', '.join(TYPES)}")
    with tempfile.TemporaryDirectory(prefix="planish-stages-") as folder:
        for type in types:
            for raced in race(type, numbers, Path(folder)):
                print(raced, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
