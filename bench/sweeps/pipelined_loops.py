"""Random loops on random machines, software-pipelined: right or wrong, and how near to the lower bound.

    python -m bench.sweeps.pipelined_loops run --count 10000      # packets beside the stream that they were made of
    python -m bench.sweeps.pipelined_loops bodies --count 100     # bodies of 10 to 150 operations: II beside MII
    python -m bench.sweeps.pipelined_loops bodies --exact 5       # and what OR-tools proves about the rest
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from random import Random
from statistics import median

from tests.unit.vliw.judge import Fault, run_code, run_program
from tests.unit.vliw.random_loops import Maker, random_machine

from planish.core.diagnostic import PlanishError
from planish.vliw.pack import pack
from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import Described
from planish.vliw.pack.modulo.exact import refine
from planish.vliw.pack.modulo.pipelining import prepare, roll
from planish.vliw.pack.webs import live_at_head, name_values
from planish.vliw.program import Instr, Loop

COUNTS = (0, 1, 2, 3, 5, 8, 12, 17, 30)


def run(first: int, count: int) -> bool:
    """Run random loops as packets and as streams; True where all did the same, and no packet was impossible."""
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        random = Random(seed)
        machine = random_machine(random)
        # One in four is made of values that go from iteration to iteration.
        carrying = seed % 4 == 3
        size = random.randrange(2, 9 if carrying else 26)
        program, values = Maker(random, machine).program(size, COUNTS, carrying)
        try:
            packed = pack(program, machine)
        except PlanishError as error:
            found[f"refused {error.diagnostic.code}"] += 1
            continue
        found.update(x.method for x in packed.loops)
        wanted = run_program(program, machine, values)
        try:
            right = run_code(packed.code, machine, values)[0].cells == wanted.cells
        except Fault as fault:
            print(f"seed {seed}: {fault}", flush=True)
            right = False
        found["right" if right else "WRONG"] += 1
        if not right:
            print(f"seed {seed} is wrong", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(found.items())))
    return not found["WRONG"]


def bodies(first: int, count: int, exact: float) -> None:
    """Schedule random bodies: how many reach MII, or what is proven to be the least, and how long it took."""
    times: list[float] = []
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        random = Random(seed)
        machine = random_machine(random, slow=0.1)
        # What registers cost is another question: these are enough.
        machine = replace(machine, files=tuple(replace(x, count=512) for x in machine.files))
        described = Described(machine)
        size = random.randrange(10, 151)
        body = Maker(random, machine, values=size).body(size)
        after = live_at_head(Loop("i", 9, body), frozenset(), described)
        named = [x for x in name_values(body, after, described) if isinstance(x, Instr)]
        start = time.process_time()
        problem = prepare(named, after, Control(machine), described)
        done = roll(problem, 0, problem.least + 40)
        times.append(time.process_time() - start)
        if done is None:
            found["not scheduled"] += 1
            continue
        interval, least = done.rolled.kernel.interval, done.least
        found["at MII"] += interval == problem.least
        if interval > least and exact:
            kernel, proof = refine(problem.body, done.rolled.kernel, least, exact)
            interval, least = kernel.interval, max(least, proof.least)
        found["least" if interval == least else "above"] += 1
        if interval > least:
            print(f"seed {seed}: {len(named)} operations, II {interval}, at least {least}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(found.items())))
    print(f"{median(times):.2f} s of the processor in the median, {max(times):.2f} s at most")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "bodies"])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--exact", type=float, default=0.0)
    asked = parser.parse_args()
    if asked.what == "run":
        raise SystemExit(0 if run(asked.first, asked.count) else 1)
    bodies(asked.first, asked.count, asked.exact)


if __name__ == "__main__":
    main()
