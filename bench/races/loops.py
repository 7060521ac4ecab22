"""Plain loops as drop-ins beside what each compiler makes of them by itself, kind by kind.

    python -m bench.races.loops                          # all of bench/programs/loops, without the clock
    python -m bench.races.loops reductions sum_f32       # these kinds, these loops
    python -m bench.races.loops my.c                     # a file of one's own: sizes and scalars named as in these
    python -m bench.races.loops --fp strict --measure    # strict floats beside -O3, versions chosen by the clock

>>> loop = read_loops("float scaled(int n, float x, const float *restrict a)\\n{")[0]
>>> loop.name, [str(p) for p in loop.parameters]
('scaled', ['int n', 'float x', 'const float *restrict a'])
>>> Raced(loop, "streams", {"gcc": 2.0, "ours gcc": 1.0, "clang-19": 1.5, "ours clang-19": 1.5}, True, "").ratios
{'gcc': 2.0, 'clang-19': 1.0}
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.places import PROGRAMS
from bench.harness.record import geometric_mean
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file
from planish.run.toolchains.toolchain import Compiler, find_compilers

LOOPS, DRIVER = PROGRAMS / "loops", Path(__file__).with_name("loops_driver.h")
TURNS = DRIVER.with_name("turns.h")
"""What each driver has before it."""
SIZE, ROUNDS = 8000, 31
BEHIND = 0.97
"""Below this a loop counts as slower than what the compiler makes of it."""
TOLERANCE = {"float": 2e-4, "double": 1e-11}
PLAIN = ("-O3", "-march=native", "-w")
OWN: Mapping[Floats, tuple[str, ...]] = {
    "reassociate": ("-ffast-math",), "contract": (), "strict": ("-ffp-contract=off",),
}  # fmt: skip
"""What the plain loop is compiled with where the drop-in is built with that mode."""
_HEAD = re.compile(r"^(\w+) (\w+)\(([^()]*)\)\s*\{", re.MULTILINE)
_ARRAY = re.compile(r"(?:const )?(\w+(?: \w+)*) (?:\*(?:restrict )?(\w+)|(\w+)\[.*)$")
_FILLS = {"positive": "POSITIVE", "same": "POSITIVE", "ones": "ONES", "small": "SMALL", "index": "INDEX"}


class UnfinishedDriver(subprocess.SubprocessError):
    """A driver that ended before it printed its numbers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as it is written; `array`: the element type of one that is a pointer, else ""."""

    text: str
    name: str
    array: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class PlainLoop:
    """A function of one loop nest."""

    name: str
    result: str
    parameters: tuple[Parameter, ...]

    @property
    def tolerance(self) -> float:
        """How far results may be from the original's where sums are made in another order."""
        types = {self.result, *(x.array for x in self.parameters)}
        return max((y for x, y in TOLERANCE.items() if x in types), default=0.0)


@dataclass(frozen=True, slots=True)
class Raced:
    """Seconds a call by contestant, whether the drop-in's text is its own and has vectors, and what is wrong."""

    loop: PlainLoop
    kind: str
    times: Mapping[str, float]
    vectors: bool
    wrong: str
    taken: bool = True

    @property
    def ratios(self) -> dict[str, float]:
        """How many times as fast the drop-in is, compiler by compiler."""
        return {x: y / self.times[f"ours {x}"] for x, y in self.times.items() if f"ours {x}" in self.times}

    @property
    def best(self) -> float:
        """The fastest compiler over the fastest drop-in."""
        theirs = min(y for x, y in self.times.items() if not x.startswith("ours "))
        return theirs / min(y for x, y in self.times.items() if x.startswith("ours "))

    def __str__(self) -> str:
        times = "  ".join(f"{x} {1e9 * y:8.0f}" for x, y in self.times.items())
        said = [f"{y:5.2f}" for y in self.ratios.values()]
        notes = ("unchanged" * (not self.taken), "no vectors" * (not self.vectors), self.wrong)
        told = ", ".join(x for x in notes if x)
        return f"{self.loop.name:<32} {' '.join(said)}  best {self.best:5.2f}  [ns] {times}  {told}"


def read_loops(text: str) -> list[PlainLoop]:
    """The functions of a file that other files may call."""
    heads = _HEAD.finditer(text)
    return [PlainLoop(x[2], x[1], tuple(map(_parameter, x[3].split(", ")))) for x in heads]


def _parameter(text: str) -> Parameter:
    found = _ARRAY.match(text)
    if found is None:
        return Parameter(text, text.rpartition(" ")[2], "")
    return Parameter(text, found[2] or found[3], found[1])


def write_driver(loop: PlainLoop) -> str:
    """The program that calls a loop: `PROGRAM check|exact|time SIZE ROUNDS LIBRARY…`."""
    arrays = [x for x in loop.parameters if x.array]
    arguments = [
        f"(void *)c->buffer[{arrays.index(x)}].now" if x.array else f"c->{x.name}" for x in loop.parameters
    ]  # fmt: skip
    buffers = ", ".join(
        f"{{ sizeof({x.array}), '{'f' if x.array in TOLERANCE else 'i'}', {_FILLS.get(x.name, 'SIGNED')} }}"
        for x in arrays
    )
    main = f"""struct call c = {{ .buffers = {len(arrays)}, .buffer = {{ {buffers or "{ 0 }"} }} }};
    return drive(count, argument, "{loop.name}", go, c, {int(any("[" in x.text for x in loop.parameters))});"""
    return write_frame(DRIVER.read_text(), loop, arguments, main)


def write_frame(driver: str, loop: PlainLoop, arguments: Sequence[str], main: str) -> str:
    """A program around a driver: `go` calls a loop so many times with arguments out of `struct call *c`."""
    kept = "" if loop.result == "void" else "c->result = (double)"
    return f"""{TURNS.read_text()}
{driver}
typedef {loop.result} loop({", ".join(map(str, loop.parameters))});
static void go(void *function, void *call, int times)
{{
    struct call *c = call;
    for (int i = 0; i < times; i++)
        {kept}((loop *)function)({", ".join(arguments)});
}}
int main(int count, char **argument)
{{
    {main}
}}
"""


def race_file(path: Path, only: Sequence[str], options: Options, rounds: int, folder: Path) -> Iterator[Raced]:
    """The loops of a file, one after the other."""
    text = path.read_text()
    reference = compile_library(
        find_compilers()[0], text, ("-O1", "-ffp-contract=off", "-w"), folder / f"{path.stem}-right"
    )
    libraries: dict[str, Path] = {}
    taken: set[str] = set()
    for compiler in find_compilers():
        built = build_file(Source(path.name, text), _for(options, compiler))
        own = (*PLAIN, *(("-ffp-contract=off",) if options.fp == "strict" else ()))
        libraries[compiler.name] = compile_library(
            compiler, text, (*PLAIN, *OWN[options.fp]), folder / f"{path.stem}-{compiler.name}"
        )
        libraries[f"ours {compiler.name}"] = compile_library(
            compiler, built.text, own, folder / f"{path.stem}-ours-{compiler.name}"
        )
        taken |= {x.function.name for x in built.functions if x.replacements}
    first = next(x for x in libraries if x.startswith("ours "))
    vectors = functions_with_vectors(libraries[first])
    for loop in read_loops(text):
        if only and loop.name not in only:
            continue
        driver = compile_driver(find_compilers()[0], write_driver(loop), folder / loop.name)
        ours = {x: y for x, y in libraries.items() if x.startswith("ours ")}
        mode = "exact" if options.fp == "strict" else "check"
        try:
            apart = run_driver(driver, (mode, SIZE, 0), (reference, *ours.values()))
            times = run_driver(driver, ("time", SIZE, rounds), tuple(libraries.values()))
        except UnfinishedDriver as error:
            print(f"{loop.name}: {error}", file=sys.stderr)
            continue
        wrong = "; ".join(f"{x}: {y:.2g} apart" for x, y in zip(ours, apart, strict=True) if not y <= loop.tolerance)
        in_lanes = loop.name in vectors
        yield Raced(loop, path.stem, dict(zip(libraries, times, strict=True)), in_lanes, wrong, loop.name in taken)


def _for(options: Options, compiler: Compiler) -> Options:
    return Options(fp=options.fp, measure=options.measure, compiler=str(compiler.path))


def compile_library(compiler: Compiler, text: str, flags: Sequence[str], to: Path) -> Path:
    """The library of a file of C."""
    return _compile(compiler, text, to.with_suffix(".so"), ("-fPIC", "-shared", *flags), ("-lm",))


def compile_driver(
    compiler: Compiler, text: str, to: Path, flags: Sequence[str] = ("-O2",), sources: Sequence[Path] = ()
) -> Path:
    """The program that calls a loop; `sources`: files of C beside its own."""
    return _compile(compiler, text, to, ("-w", *flags), (*map(str, sources), "-ldl", "-lm"))


def _compile(compiler: Compiler, text: str, to: Path, flags: Sequence[str], linked: Sequence[str]) -> Path:
    source = to.with_suffix(".c")
    source.write_text(text)
    subprocess.run([compiler.path, *flags, source, "-o", to, *linked], check=True, cwd=source.parent)
    return to


def run_driver(
    driver: Path, arguments: Sequence[str | int], libraries: Sequence[Path], may_exit: bool = False
) -> list[float]:
    """The numbers that a driver prints of libraries; UnfinishedDriver where it fails. `may_exit`: none where the loop
    ends the program."""
    command = [driver, *map(str, arguments), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise UnfinishedDriver(f"{arguments[0]} {done.stderr.strip() or f'ends with {done.returncode}'}")
    if not (done.stdout or may_exit):
        raise UnfinishedDriver(f"{arguments[0]} ends before it prints anything")
    return [float(x) for x in done.stdout.split()]


def one_of_each_kind() -> list[Compiler]:
    """The newest compiler of each kind, gcc before clang."""
    return [*{x.kind: x for x in find_compilers()[::-1]}.values()][::-1]


def functions_with_vectors(library: Path) -> set[str]:
    """The functions whose code, or that of what was made for them, holds instructions on whole vector registers."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True).stdout
    found = set()
    for part in listing.split("\n\n"):
        head = re.match(r"\w+ <(\w+)(?:\.\w+)*>:", part.strip())
        if head is not None and re.search(r"[yz]mm\d", part):
            found.add(re.sub(r"^planish_(\w+?)_\d+$", r"\1", head[1]))
    return found


def summarise(raced: Sequence[Raced]) -> Iterator[str]:
    """Geometric means, and how many are behind, by kind and of all."""
    kinds = list(dict.fromkeys(x.kind for x in raced))
    for kind in [*kinds, "all"]:
        these = [x for x in raced if kind in (x.kind, "all")]
        said = []
        for name in these[0].ratios:
            ratios = [x.ratios[name] for x in these]
            behind = sum(x < BEHIND for x in ratios)
            said.append(f"{name} {geometric_mean(ratios):.2f}x ({behind} below {BEHIND}, worst {min(ratios):.2f})")
        best = [x.best for x in these]
        said.append(f"best of all {geometric_mean(best):.2f}x ({sum(x < BEHIND for x in best)})")
        lanes = sum(x.vectors for x in these)
        yield f"{kind:<14} {len(these):3} loops, {lanes:3} with vectors: {', '.join(said)}"


def choose(folder: Path, only: Sequence[str]) -> Iterator[tuple[Path, Sequence[str]]]:
    """Files, each with those of its loops that are asked for (none: all): by its path, or by its name in the folder, or
    by names of its loops; all of the folder where nothing is asked for."""
    yield from ((Path(x), ()) for x in only if x.endswith(".c"))
    for path in sorted(folder.glob("*.c")):
        if not only or path.stem in only:
            yield path, ()
        elif chosen := [x.name for x in read_loops(path.read_text()) if x.name in only]:
            yield path, chosen


def race_all(only: Sequence[str], options: Options, rounds: int = ROUNDS) -> Iterator[Raced]:
    """The loops of the files, kinds or names that are given, or all."""
    with tempfile.TemporaryDirectory(prefix="planish-loops-") as folder:
        for path, chosen in choose(LOOPS, only):
            try:
                yield from race_file(path, chosen, options, rounds, Path(folder))
            except (PlanishError, subprocess.SubprocessError) as error:
                print(f"{path.name}: {error}", file=sys.stderr)


def main(arguments: Sequence[str]) -> int:
    """0 where all are right."""
    parser = argparse.ArgumentParser(description="Races plain loops, as written and as drop-ins.")
    parser.add_argument("only", nargs="*", metavar="FILE.c|KIND|LOOP", help="only these; default: all")
    parser.add_argument("--fp", choices=tuple(OWN), default="reassociate")
    parser.add_argument("--measure", action="store_true", help="builds choose by the clock")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args(arguments)
    raced = []
    for x in race_all(asked.only, Options(fp=asked.fp, measure=asked.measure), asked.rounds):
        raced.append(x)
        print(x, flush=True)
    for line in summarise(raced) if raced else ():
        print(line)
    return int(any(x.wrong for x in raced))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
