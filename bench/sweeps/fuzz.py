"""Random C files through the whole compiler: nothing wrong, no internal error, nothing that takes too long.

    python -m bench.sweeps.fuzz --count 10000 --seed 0 --minutes 60
    python -m bench.sweeps.fuzz --count 10000 --settings any,any-strict --turns --ways 0   # unchecked: fast

Each program (see `tests/property/listings`) is built in every setting, the drop-ins are compiled in several ways, run,
and compared with the plain file. What was judged is stored with the state of planish, so that a run can be interrupted
and goes on; what another planish was judged for is done again. Faults are clustered by the innermost place of planish
that raised, or by what is wrong; the first of each cluster is reduced.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shutil import which

from tests.property.listings.judge import SETTINGS, Fault, judge, run_program, warm
from tests.property.listings.listing import write_listing
from tests.property.listings.reduce import reduce_text

from bench.harness.contest import compiler_state
from bench.harness.places import RESULTS
from bench.harness.progress import spell_seconds

STORE = RESULTS / "fuzz"
CLANG = which("clang") or which("clang-19") or ""
WAYS = {
    "gcc -O2": ["gcc", "-O2"], "gcc -O3 native": ["gcc", "-O3", "-march=native"], "gcc -O1": ["gcc", "-O1"],
    **({"clang -O2": [CLANG, "-O2"], "clang -O3 native": [CLANG, "-O3", "-march=native"]} if CLANG else {}),
}  # fmt: skip
SANITIZED = ["gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BENIGN = frozenset({"caught"})
"""Kinds of which the compiler knew in time: the version was refused."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after these (0: at the end)")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that a build without the clock may take")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="which, with commas between")
    parser.add_argument("--turns", action="store_true", help="one setting a program, in turns")
    parser.add_argument("--ways", type=int, default=1, help="compilers besides the printed command, in turns; 0: one")
    parser.add_argument("--store", type=Path, default=STORE, help="folder of what was judged")
    parser.add_argument("--reduce", type=float, default=0.0, help="seconds for a reduction (0: none)")
    return parser.parse_args(arguments)


def ways_for(seed: int, number: int) -> dict[str, list[str]]:
    """Some of the ways to compile, in turns; those for two drop-ins where the number is 0."""
    if not number:
        names = ["printed", *WAYS]
        # By another turn than that of the settings.
        return {x: WAYS.get(x, []) for x in (names[seed // 4 % len(names)], names[(seed // 4 + 2) % len(names)])}
    names = list(WAYS)
    turns = [names[(seed + k) % len(names)] for k in range(min(number, len(names)))]
    return {x: WAYS[x] for x in turns}


def main(arguments: Sequence[str]) -> int:
    """Judges, stores, clusters; 1 where there is a fault."""
    options = parse(arguments)
    options.store.mkdir(parents=True, exist_ok=True)
    journal = options.store / "judged.jsonl"
    known, older = recall(options)
    print(f"{len(known)} of {options.count} programs are judged, {len(older)} by another state of planish")
    if any(x.startswith("any") for x in options.settings.split(",")):
        warm()
    done = {x["seed"] for x in known}
    seeds = [x for x in range(options.seed, options.seed + options.count) if x not in done]
    began = time.monotonic()
    try:
        with journal.open("a") as file:
            for number, seed in enumerate(seeds, 1):
                record = judge_seed(seed, {x: SETTINGS[x] for x in settings_for(seed, options)}, options)
                known.append(record)
                print(json.dumps(record), file=file, flush=True)
                elapsed = time.monotonic() - began
                for fault in record["faults"]:
                    print(f"\rFAULT seed {seed} {fault['setting']}: {fault['kind']} {fault['where']} ", end="")
                    print(fault["detail"][-200:])
                faulty = sum(1 for x in known if is_faulty(x))
                left = spell_seconds(elapsed / number * (len(seeds) - number))
                print(f"\r{number}/{len(seeds)} programs, {faulty} faulty, {60 * number / elapsed:.1f} a minute, "
                      f"{left} left, seed {seed} ", end="", flush=True)  # fmt: skip
                if options.minutes and elapsed > 60 * options.minutes:
                    break
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on")
    print()
    return report(known, options)


def settings_for(seed: int, options: argparse.Namespace) -> tuple[str, ...]:
    """The settings in which a program is built."""
    names = tuple(options.settings.split(","))
    return (names[seed % len(names)],) if options.turns else names


def recall(options: argparse.Namespace) -> tuple[list[dict], list[dict]]:
    """What was judged of the programs that are asked for, in all settings that are: by this very planish; and by others
    alone. The last record of a program counts."""
    journal = options.store / "judged.jsonl"
    wanted = range(options.seed, options.seed + options.count)
    known: tuple[dict[int, dict], dict[int, dict]] = ({}, {})
    for line in journal.read_text().splitlines() if journal.exists() else ():
        record = json.loads(line)
        seed = record["seed"]
        if seed in wanted and {*settings_for(seed, options)} <= {*record["seconds"]}:
            known[record.get("state") != compiler_state()][seed] = record
    mine, others = known
    return [*mine.values()], [x for seed, x in others.items() if seed not in mine]


def judge_seed(seed: int, settings: dict, options: argparse.Namespace) -> dict:
    """What became of a program."""
    ways, printed = ways_for(seed, options.ways), options.ways > 0
    verdict = judge(write_listing(seed), settings, options.limit, ways, f"p{seed}.c", printed)
    return {
        "seed": seed,
        "state": compiler_state(),
        "faults": [asdict(x) for x in verdict.faults],
        "seconds": {k: round(x.seconds, 2) for k, x in verdict.built.items()},
        "taken": {k: len(x.taken) for k, x in verdict.built.items()},
        "left": [list(x) for x in next((b.left for b in verdict.built.values()), ())],
    }


def is_faulty(record: dict) -> bool:
    """Whether anything is to be mended."""
    return any(x["kind"] not in BENIGN for x in record["faults"])


def report(records: list[dict], options: argparse.Namespace) -> int:
    """Clusters with their seeds, and how much was taken."""
    clusters: dict[tuple[str, str], list[tuple[int, dict]]] = defaultdict(list)
    for record in records:
        for fault in record["faults"]:
            where = "" if fault["kind"] in ("wrong", "dies") else fault["where"]
            clusters[fault["kind"], where].append((record["seed"], fault))
    for (kind, where), found in sorted(clusters.items(), key=lambda x: -len(x[1])):
        seeds = list(dict.fromkeys(x for x, _ in found))
        print(f"{kind} {where}: {len(seeds)} programs: {' '.join(map(str, seeds[:12]))}")
        print("    " + found[0][1]["detail"][-300:].replace("\n", "\n    "))
        if options.reduce:
            path = options.store / f"{kind}-{seeds[0]}.c"
            if not path.exists():
                path.write_text(reduce_fault(seeds[0], Fault(**found[0][1]), options))
            print(f"    reduced: {path}")
    seconds = sorted(x for r in records for x in r["seconds"].values())
    nothing = sum(1 for r in records if not any(r["taken"].values()))
    kinds = Counter(x["kind"] for r in records for x in r["faults"])
    print(f"{len(records)} programs, {nothing} with nothing taken; {dict(kinds)}")
    if seconds:
        print(f"a build: {seconds[len(seconds) // 2]:.1f} s in the median, {seconds[-1]:.1f} s at most")
    return 1 if any(is_faulty(x) for x in records) else 0


def reduce_fault(seed: int, fault: Fault, options: argparse.Namespace) -> str:
    """A smaller program with the same fault."""
    settings = {fault.setting: SETTINGS[fault.setting]}
    runs = fault.kind in ("wrong", "dies", "compile")
    text = write_listing(seed)
    if not runs:
        text = text.partition("#ifdef MAIN")[0]
    ways = {fault.where: WAYS[fault.where]} if fault.where in WAYS else {}
    folder = options.store / "reduced"
    folder.mkdir(exist_ok=True)

    def fails(candidate: str) -> bool:
        found = judge(candidate, settings, options.limit, ways).faults
        if not any(x.kind == fault.kind and (runs or x.where == fault.where) for x in found):
            return False
        return not runs or run_program(candidate, [*SANITIZED, "-Wno-all"], folder)[0] == 0

    return reduce_text(text, fails, options.reduce)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
