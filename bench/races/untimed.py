"""Plain loops as drop-ins of `planish build --no-measure --gain 1.1`, beside the same compiler's `-O3 -march=native`.

    python -m bench.races.untimed                       # all of bench/programs/untimed, by every compiler
    python -m bench.races.untimed images luma_rgb       # these files, these loops
    python -m bench.races.untimed my.c --rounds 31      # a file of one's own: int n, or int w and int h, and arrays

Each loop runs at 64, 3,000 and 100,000 elements (rows of 8, 60 and 400), in turns, by the processor's time; the
least of all rounds counts. Nothing is assumed of sums: rivals keep their order, as they do for the user.

>>> row = Row("f", "gcc", 64, 3.0, 2.0, "maxfuse")
>>> row.ratio, str(row)
(1.5, 'f                            64 gcc       1.50x  [3 | 2 ns] maxfuse')
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.places import PROGRAMS
from bench.harness.record import geometric_mean
from bench.races.loops import (
    TOLERANCE,
    Parameter,
    PlainLoop,
    choose,
    compile_driver,
    compile_library,
    one_of_each_kind,
    read_loops,
    write_frame,
)
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.library.gain import GAIN
from planish.options import Options
from planish.pipeline import FileResult, build_file

LOOPS, DRIVER = PROGRAMS / "untimed", Path(__file__).with_name("untimed_driver.h")
ROUNDS = 15
BEHIND = 0.97
"""Below this a drop-in counts as slower."""
RESOLVED = 4.0
"""Nanoseconds from which on a call is told from another one: below, both differ by where their code lies."""
_FLAGS = ("-O3", "-march=native", "-w")


@dataclass(frozen=True, slots=True)
class Row:
    """A loop at a size: nanoseconds of a call of the original and of the drop-in, both by one compiler."""

    loop: str
    compiler: str
    size: int
    before: float
    after: float
    version: str

    @property
    def ratio(self) -> float:
        """How many times as fast the drop-in is."""
        return self.before / self.after

    @property
    def is_slower(self) -> bool:
        """Whether it is, by more than the clock is off."""
        return self.ratio < BEHIND and self.after > RESOLVED

    def __str__(self) -> str:
        times = f"[{self.before:.0f} | {self.after:.0f} ns]"
        return f"{self.loop:<22} {self.size:>8} {self.compiler:<8} {self.ratio:5.2f}x  {times} {self.version}"


def write_driver(loop: PlainLoop) -> str:
    """The program that calls a loop: `PROGRAM ROUNDS LIBRARY…`."""
    arrays = [x for x in loop.parameters if x.array]
    arguments = [f"(void *)c->buffer[{arrays.index(x)}]" if x.array else _scalar(x) for x in loop.parameters]
    kinds = ", ".join(f"{{ sizeof({x.array}), {int(x.array in TOLERANCE)} }}" for x in arrays)
    main = f"""static const struct kind kinds[] = {{ {kinds} }};
    return drive(count, argument, "{loop.name}", go, {len(arrays)}, kinds);"""
    return write_frame(DRIVER.read_text(), loop, arguments, main)


def _scalar(x: Parameter) -> str:
    """The argument of a scalar: a size, a weight, a threshold of bytes, or one of wider integers."""
    if x.name in ("n", "w", "h"):
        return f"c->{x.name}"
    kinds = set(x.text.split())
    return "0.7" if kinds & TOLERANCE.keys() else "100" if "int" in kinds else "7"


def race_file(path: Path, only: Sequence[str], rounds: int) -> Iterator[Row | str]:
    """The rows of the loops of a file; a text for each that is wrong."""
    text = path.read_text()
    with tempfile.TemporaryDirectory(prefix="planish-untimed-") as name:
        folder = Path(name)
        compilers = one_of_each_kind()
        libraries, built = list[Path](), dict[str, FileResult]()
        for x in compilers:
            libraries.append(compile_library(x, text, _FLAGS, folder / f"{x.name}-before"))
            options = Options(measure=False, gain=GAIN, compiler=str(x.path))
            built[x.name] = build_file(Source(path.name, text), options)
            libraries.append(compile_library(x, built[x.name].text, _FLAGS, folder / f"{x.name}-after"))
        for loop in read_loops(text):
            if only and loop.name not in only:
                continue
            driver = compile_driver(compilers[0], write_driver(loop), folder / loop.name)
            done = subprocess.run(
                [driver, str(rounds), *libraries], capture_output=True, text=True, timeout=300, check=True
            )
            wrong, *lines = done.stdout.splitlines()
            if int(wrong):
                yield f"{loop.name}: {wrong} results are wrong"
            for line in lines:
                size, *times = line.split()
                for n, x in enumerate(compilers):
                    before, after = map(float, times[2 * n : 2 * n + 2])
                    yield Row(loop.name, x.name, int(size), before, after, _version(built[x.name], loop.name))


def _version(built: FileResult, name: str) -> str:
    """What was taken of a function."""
    found = next((x.selection for x in built.functions if x.function.name == name), None)
    return "unchanged" if found is None or found.version is None else found.version.label


def race_all(only: Sequence[str] = (), rounds: int = ROUNDS) -> Iterator[Row | str]:
    """The rows of the files and loops that are given, or of all."""
    for path, chosen in choose(LOOPS, only):
        try:
            yield from race_file(path, chosen, rounds)
        except (PlanishError, subprocess.SubprocessError) as error:
            yield f"{path.name}: {error}"


def summarise(rows: Sequence[Row]) -> Iterator[str]:
    """The geometric mean and the least of each compiler, and how many are slower."""
    for name in dict.fromkeys(x.compiler for x in rows):
        these = [x for x in rows if x.compiler == name]
        mean, least = geometric_mean([x.ratio for x in these]), min(these, key=lambda x: x.ratio)
        slower = sum(x.is_slower for x in these)
        yield f"{name}: {len(these)} calls, {mean:.2f}x, {slower} slower, least {least.ratio:.2f}x ({least.loop})"


def main(arguments: Sequence[str]) -> int:
    """0 where all are right."""
    parser = argparse.ArgumentParser(description="Races drop-ins that were built without the clock.")
    parser.add_argument("only", nargs="*", metavar="FILE.c|NAME|LOOP", help="only these; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args(arguments)
    rows, wrong = list[Row](), 0
    for x in race_all(asked.only, asked.rounds):
        print(x, flush=True)
        if isinstance(x, Row):
            rows.append(x)
        else:
            wrong += 1
    for line in summarise(rows) if rows else ():
        print(line)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
