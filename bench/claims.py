"""Prints every figure that is promised, measured here and now, one line each, a group of claims at a time.

    python bench/claims.py drop-ins             # everything (an hour and a half at first; goes on where it stopped)
    python bench/claims.py drop-ins --quick     # a sample, under a minute
    python bench/claims.py drop-ins --stored    # measures no kernels, takes the results that are there
    python bench/claims.py reach --bases DIR    # folders that some groups look into
    python bench/claims.py                      # the groups, and what each shows
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is on the path, but the package `bench` is found from the repository's root.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.promises import (
    code_generation,
    correctness,
    drop_ins,
    emitted,
    families,
    faults,
    gemm,
    gpu,
    idioms,
    instructions,
    kernels,
    loops,
    ranking,
    reach,
    recognition,
    selection,
    structure,
    tuning,
    users,
    vliw,
)
from bench.promises.claim import Claim, Note

Examine = Callable[..., Iterator[Claim | Note]]
"""`examine(quick, stored)` yields claims as they are found, with notes between them.

quick: a sample that ends within a minute; stored: measure no times again, take the results that are there.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Claims that belong together: what they show in one sentence, how they are examined, their old name; `folders`:
    the options that name folders for them, which are not in the repository."""

    shows: str
    examine: Examine
    alias: str = ""
    folders: tuple[str, ...] = ()


GROUPS: Mapping[str, Group] = {
    "drop-ins": Group("C files are taken, verified, and faster than compilers make them", drop_ins.examine, "spine"),
    "correctness": Group("nothing wrong, false, slower, or refused without a reason", correctness.examine, "soundness"),
    "faults": Group("plain loops built without the clock: right, none 3 % slower than as compiled", faults.examine),
    "kernels": Group("kernels of every family beside the best libraries that there are", kernels.examine, "library"),
    "gemm": Group("micro-kernels beside the peak, the product beside OpenBLAS and others", gemm.examine, "schedule"),
    "code-generation": Group("AST generation beside isl's own, on isl's inputs", code_generation.examine, "astgen"),
    "recognition": Group("operations found in the corpus, their cost and their speed", recognition.examine, "raising"),
    "instructions": Group("instructions known, their classes, how long that takes", instructions.examine, "isa"),
    "selection": Group("strips of integers in instructions that are selected and proven", selection.examine),
    "idioms": Group("small loops become the instructions that an expert would write", idioms.examine),
    "loops": Group("plain loops of all kinds beside what each compiler makes of them", loops.examine),
    "vliw": Group("kernels of signal processing as packets of a VLIW machine, in its simulator", vliw.examine),
    "gpu": Group("plain C as CUDA kernels, in an emulator; faults that are planted in them", gpu.examine),
    "emitted": Group("drop-ins are as short as people would commit them, calls from Python cheap", emitted.examine),
    "reach": Group("public C code: functions that have a nest, seconds of reading", reach.examine, "", reach.FOLDERS),
    "users": Group("what somebody meets who tries it first: expectations, pages, the explorer, minutes", users.examine),
    "tuning": Group("trials are never lost, records repeat, searches beside each other, gains", tuning.examine),
    "ranking": Group("what is taken without the clock, beside what the clock would choose", ranking.examine),
    "families": Group("how much code strategies are, and which programs each takes", families.examine),
    "structure": Group("how the code is kept; nothing is measured (seconds)", structure.examine, "house"),
}
"""Each group by its name; a new one is a module with an `examine` and a line here."""
ALIASES = {x.alias: name for name, x in GROUPS.items() if x.alias} | {"nests": "code-generation"}
"""The groups' old names."""


def list_groups() -> str:
    """The groups, a line each."""
    width = max(map(len, GROUPS))
    return "\n".join(f"{name:<{width}}  {x.shows}{f' (also: {x.alias})' * bool(x.alias)}" for name, x in GROUPS.items())


def main(arguments: Sequence[str]) -> int:
    """0 where every claim holds, 1 where one is short, 2 for an unknown group, 130 when interrupted."""
    parser = argparse.ArgumentParser(description="Prints what is promised beside what is found.")
    parser.add_argument("group", metavar="GROUP", nargs="?", help=f"one of: {', '.join(GROUPS)}; none: lists them")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="a sample with smaller sizes, under a minute")
    mode.add_argument("--stored", action="store_true", help="measure no kernels, take the results that are there")
    for name in dict.fromkeys(x for group in GROUPS.values() for x in group.folders):
        users = ", ".join(key for key, group in GROUPS.items() if name in group.folders)
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER", help=f"where the {name} lie ({users})")
    asked = parser.parse_args(arguments)
    if asked.group is None:
        print(list_groups())
        return 0
    group = GROUPS.get(ALIASES.get(asked.group, asked.group))
    if group is None:
        print(f"no claims are known for `{asked.group}`; there are:\n{list_groups()}", file=sys.stderr)
        return 2
    short = 0
    try:
        folders = {name: getattr(asked, name) for name in group.folders}
        for item in group.examine(asked.quick, asked.stored, **folders):
            print(item, flush=True)
            short += isinstance(item, Claim) and not item.ok
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
