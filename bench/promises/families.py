"""The claims `families`: how much code the strategies are, and whether each takes programs that it was not written for.

for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.harness.places import ROOT
from bench.harness.taken import (
    OPTIONS,
    WrittenKernel,
    first_versions,
    is_taken,
    read_in,
    takes_on_device,
    written_kernels,
)
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.promises.structure import LINES, SOURCE
from planish.build.read import read_file
from planish.core.span import Source
from planish.library.registry import DEVICE_STRATEGIES, STRATEGIES
from planish.library.strategy import Strategy
from planish.options import Options

LIBRARY = SOURCE / "library"
PROGRAMS = ROOT / "bench" / "programs" / "families"
"""A file of each strategy, of functions that it was not written for: other names, orders, layouts and types."""
LEAST_PROGRAMS = 3
"""So many programs each strategy has to take."""
SAMPLE = 8
"""The quick run takes every eighth program and kernel."""

_NODES = frozenset({"Alloc", "Assign", "Block", "Call", "For", "If", "Let", "Reduce", "While"})
_REWRITES = frozenset({"map_block", "map_exprs", "with_blocks", "put_in_place", "substitute_block"})
_MADE_BY_STEPS = ("planish.schedule.steps", "planish.schedule.program")


@dataclass(frozen=True, slots=True)
class Making:
    """How a module makes nests: by steps of the scheduling language, or as nodes that it builds or exchanges itself."""

    steps: bool
    nodes: bool


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All of them; no kernel is run. `quick` plans a sample of programs; `stored` plans none."""
    yield from examine_size()
    if stored:
        yield Note("which strategies take which programs is not stored: ask without --stored")
        return
    yield from examine_languages(quick)
    yield from examine_programs(quick)


def examine_size() -> Iterator[Claim | Note]:
    """The lines of the program and of its library, and how modules of the library make nests."""
    texts = {x: x.read_text() for x in sorted(SOURCE.rglob("*.py"))}
    counts = {x: len(text.splitlines()) for x, text in texts.items()}
    yield at_least("families.lines_fewer", LINES - sum(counts.values()), 8000)
    own = {x: text for x, text in texts.items() if x.is_relative_to(LIBRARY)}
    yield at_most("families.library_lines", sum(counts[x] for x in own), 6000)
    yield at_most("families.longest_strategy", max(counts[x] for x in own if "strategies" in x.parts), 150)
    making = {x: how_made(text) for x, text in own.items()}
    steps, nodes = (sum(getattr(x, kind) for x in making.values()) for kind in ("steps", "nodes"))
    made = [x for x in making.values() if x.steps or x.nodes]
    yield Note(f"{len(made)} modules of the library make nests, {nodes} build nodes themselves, {steps} apply steps")
    yield at_least("families.made_by_steps", sum(not x.nodes for x in made) / len(made), 0.9)


def how_made(text: str) -> Making:
    """How a module makes nests. Nodes: it calls a constructor of a statement, or a function that puts statements in the
    place of others; patterns in `match` and `isinstance` do neither. Steps: it imports some.

    >>> how_made("from planish.ir.nest import For, Kernel\\ndef find(x: Kernel) -> bool: return isinstance(x, For)")
    Making(steps=False, nodes=False)
    >>> how_made("from planish.ir.nest import Block\\nempty = Block(())")
    Making(steps=False, nodes=True)
    """
    tree = ast.parse(text)
    imported = [(x.module or "", y.name, y.asname or y.name) for x in ast.walk(tree) if isinstance(x, ast.ImportFrom)
                for y in x.names]  # fmt: skip
    building = {alias for module, name, alias in imported if module == "planish.ir.nest" and name in _NODES}
    building |= {alias for module, name, alias in imported if module.startswith("planish.") and name in _REWRITES}
    matched = {id(x.cls) for x in ast.walk(tree) if isinstance(x, ast.MatchClass)}
    called = [x.func for x in ast.walk(tree) if isinstance(x, ast.Call)]
    nodes = any(isinstance(x, ast.Name) and x.id in building and id(x) not in matched for x in called)
    return Making(any(module.startswith(_MADE_BY_STEPS) for module, _, _ in imported), nodes)


def examine_languages(quick: bool) -> Iterator[Claim | Note]:
    """The kernels that take the same strategies from C, Python and MLIR."""
    kernels = written_kernels()
    asked = [*kernels.items()][:: SAMPLE if quick else 1]
    same = [name for name, x in asked if is_same(x)]
    yield from (Note(f"`{name}` is not the same in C, Python and MLIR") for name, _ in asked if name not in same)
    if quick:
        yield Note(f"a sample: {len(same)} of {len(asked)} kernels are the same in three languages")
    yield at_least("families.kernels_in_three_languages", len(kernels) - len(asked) + len(same), 40)


def is_same(kernel: WrittenKernel) -> bool:
    """Whether a kernel takes its versions in each language."""
    return all(first_versions(read_in(x, text)) == [*kernel.versions] for x, text in kernel.texts.items())


def examine_programs(quick: bool) -> Iterator[Claim | Note]:
    """The foreign programs of each strategy that it takes."""
    asked, taken, enough = 0, 0, 0
    strategies = (*STRATEGIES, *DEVICE_STRATEGIES)
    for strategy in strategies:
        path = PROGRAMS / f"{strategy.name}.c"
        found = dict(programs_taken(strategy, path, 1 if quick else None)) if path.exists() else {}
        missed = [name for name, good in found.items() if not good]
        yield from (Note(f"`{name}` is not taken by {strategy.name}") for name in missed)
        asked, taken = asked + len(found), taken + len(found) - len(missed)
        enough += len(found) - len(missed) >= (1 if quick else LEAST_PROGRAMS)
    yield Note(f"{taken} of {asked} foreign programs are taken" + " (a sample: the first one of each)" * quick)
    yield at_least("families.foreign_taken", taken / asked, 0.9)
    yield at_least("families.with_three_programs", enough, len(strategies))


def programs_taken(strategy: Strategy[Any], path: Path, most: int | None = None) -> Iterator[tuple[str, bool]]:
    """The functions of a file, and whether the strategy takes each."""
    source = Source(str(path), path.read_text())
    options = options_of(source.text)
    functions = read_file(source, options).functions[:most]
    if strategy in DEVICE_STRATEGIES:
        taken = takes_on_device(strategy, source)
        yield from ((x.name, x.name in taken) for x in functions)
    else:
        yield from ((x.name, is_taken(strategy, x, options)) for x in functions)


def options_of(text: str) -> Options:
    """The options that a file asks for in its first line.

    >>> found = options_of("// --threads 2 --size d=3\\nvoid f(int d);")
    >>> found.threads, found.sizes
    (2, {'d': 3})
    """
    first = text.partition("\n")[0]
    words = first.split()[1:] if first.startswith("// --") else []
    given = [*zip(words[::2], words[1::2], strict=True)]
    sizes = {name: int(value) for option, x in given if option == "--size" for name, _, value in [x.partition("=")]}
    threads = next((int(x) for option, x in given if option == "--threads"), 1)
    return replace(OPTIONS, threads=threads, sizes=sizes)
