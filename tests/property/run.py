"""Many random programs by hand: `python -m tests.property.run --count 20000 --seed 0`, with `src` on the path.

Each program goes through every check in a child process, which is ended if one takes too long. The line of progress
names the next seed, so that a run which was interrupted goes on with `--seed`; faults are printed and counted. With
`--of programs-sampled`, the costly checks are made for a part of them, as in the suite. With `--of maps`,
schedule maps (see `tests.property.maps`) are made instead of programs, with `--of scripts` scripts for programs, with
`--of sums` nests of sums (see `tests.property.sums`).

>>> parse(["--count", "3"]).seed
0
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from tests.property.checks import CHECKS, EVERY, run_check
from tests.property.maps import MAP_CHECKS, check_map
from tests.property.programs import Program, make_program
from tests.property.scripts import SCRIPT_CHECKS, check_script
from tests.property.sums import make_sums

Answer = tuple[int, list[str], "Counter[str]"]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.property.run", description=__doc__)
    parser.add_argument("--of", choices=sorted(FAMILIES), default="programs", help="what is made from each seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed")
    parser.add_argument("--jobs", type=int, default=1, help="child processes")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that one program may take")
    parser.add_argument("--checks", help="which checks, with commas between (default: all)")
    return parser.parse_args(arguments)


def serve(link: Connection, family: str, checks: tuple[str, ...]) -> None:
    """What a child does: answer seeds with the faults found."""
    while True:
        seed = link.recv()
        if seed is None:
            return
        count: Counter[str] = Counter()
        try:
            faults = FAMILIES[family].check(seed, checks, count)
        except Exception:  # any exception is a fault, which is reported with its trace
            faults = [f"seed {seed}: raised\n{traceback.format_exc(limit=-6)}"]
        link.send((seed, faults, count))


def check_sampled(seed: int, names: tuple[str, ...], count: Counter[str]) -> list[str]:
    """As `check_program`, but the costly checks are made for a part of the seeds only."""
    return check_program(seed, tuple(n for n in names if seed % EVERY[n] == EVERY[n] - 1), count)


def check_program(seed: int, names: tuple[str, ...], count: Counter[str]) -> list[str]:
    """The faults of a seed's program, which is made once."""
    return _check(make_program(seed), names, count)


def check_sums(seed: int, names: tuple[str, ...], count: Counter[str]) -> list[str]:
    """As `check_program`, of nests of sums."""
    return _check(make_sums(seed), names, count)


def _check(program: Program, names: tuple[str, ...], count: Counter[str]) -> list[str]:
    faults = []
    for name in names:
        try:
            fault = run_check(name, program, count)
        except Exception:  # the other checks are made all the same
            fault = f"seed {program.seed}: {name} raised\n{traceback.format_exc(limit=-6)}"
        if fault is not None:
            faults.append(fault)
    return faults


@dataclass(frozen=True, slots=True)
class Family:
    """What is made from a seed: the names of its checks, and what runs them."""

    names: tuple[str, ...]
    check: Callable[[int, tuple[str, ...], Counter[str]], list[str]]


FAMILIES = {
    "programs": Family(tuple(CHECKS), check_program),
    "programs-sampled": Family(tuple(CHECKS), check_sampled),
    "maps": Family(MAP_CHECKS, check_map),
    "sums": Family(("strategies", "shapes", "plan", "sums"), check_sums),
    "scripts": Family(SCRIPT_CHECKS, check_script),
}


@dataclass(slots=True)
class Child:
    """A child process with the seed that it works on, and when it got it."""

    process: SpawnProcess
    link: Connection
    seed: int = -1
    since: float = 0.0

    def give(self, seed: int) -> None:
        self.seed, self.since = seed, time.monotonic()
        self.link.send(seed)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.link.close()


def start(family: str, checks: tuple[str, ...]) -> Child:
    """A fresh child."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, family, checks), daemon=True)
    process.start()
    there.close()
    return Child(process, here)


def receive(child: Child) -> Answer:
    """A child's answer, or its death."""
    try:
        answer: Answer = child.link.recv()
    except EOFError:
        child.end()
        return child.seed, [f"seed {child.seed}: the process died"], Counter()
    return answer


def main(arguments: Sequence[str]) -> int:
    """Run and report; 1 where a fault was found."""
    options = parse(arguments)
    checks = tuple(options.checks.split(",")) if options.checks else FAMILIES[options.of].names
    seeds = iter(range(options.seed, options.seed + options.count))
    total: Counter[str] = Counter()
    slow: list[int] = []
    faults = done = 0
    children: list[Child] = []
    for seed in seeds:
        children.append(start(options.of, checks))
        children[-1].give(seed)
        if len(children) == options.jobs:
            break
    while children:
        ready = wait([c.link for c in children], timeout=1.0)
        for child in list(children):
            if child.link in ready:
                _, found, count = receive(child)
                total += count
                faults += len(found)
                for fault in found:
                    print(f"\nFAULT {fault}", flush=True)
                if not child.process.is_alive():
                    children.remove(child)
                    child = start(options.of, checks)
                    children.append(child)
            elif time.monotonic() - child.since > options.limit:
                slow.append(child.seed)
                child.end()
                children.remove(child)
                child = start(options.of, checks)
                children.append(child)
            else:
                continue
            done += 1
            seed = next(seeds, -1)
            if seed >= 0:
                child.give(seed)
            else:
                child.end()
                children.remove(child)
            nearest = min((c.seed for c in children), default=options.seed + options.count)
            print(f"\r{done}/{options.count} programs, {faults} faults, {len(slow)} too slow, next seed {nearest} ",
                  end="", flush=True)  # fmt: skip
    print()
    print(", ".join(f"{name}: {number}" for name, number in sorted(total.items())))
    if slow:
        print("too slow:", *slow)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
