"""Random loops on random machines, software-pipelined: right or wrong, and how near to the lower bound.

python -m bench.sweeps.pipelined_loops run --count 10000      # packets beside the stream that they were made of
python -m bench.sweeps.pipelined_loops bodies --count 100     # bodies of 10 to 150 operations: II beside MII
python -m bench.sweeps.pipelined_loops bodies --exact 5       # and what OR-tools proves about the rest
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from tests.unit.vliw.judge import Fault, run_code, run_program
from tests.unit.vliw.random_loops import Maker, random_machine

import planish.vliw
from bench.harness.places import RESULTS, ROOT
from bench.harness.progress import Progress
from planish.core.diagnostic import PlanishError
from planish.vliw.pack import pack
from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import Described
from planish.vliw.pack.modulo.exact import refine
from planish.vliw.pack.modulo.pipelining import prepare, roll
from planish.vliw.pack.modulo.search import proven_least
from planish.vliw.pack.webs import live_at_head, name_values
from planish.vliw.program import Instr, Loop

STORE = RESULTS / "pipelined_loops.jsonl"
BATCH = 100
COUNTS = (0, 1, 2, 3, 5, 8, 12, 17, 30)


def run(first: int, count: int, store: Path) -> bool:
    """Run random loops as packets and as streams; True where all did the same, and no packet was impossible. What was
    judged is in `store`: a line for each hundred of seeds, so that a run that was ended goes on where it was."""
    state = packing_state()
    judged = {x["first"]: x for x in _lines_of(store) if x["state"] == state}
    found: Counter[str] = Counter()
    progress = Progress(-(-count // BATCH), resumed=0)
    for start in range(first, first + count, BATCH):
        size = min(BATCH, first + count - start)
        known = judged.get(start)
        if known is None or known["count"] != size:
            progress.begin(f"seeds from {start}")
            made = Counter[str]()
            for seed in range(start, start + size):
                made.update(judge(seed))
            store.parent.mkdir(parents=True, exist_ok=True)
            known = {"state": state, "first": start, "count": size, "found": made}
            with store.open("a") as file:
                file.write(json.dumps(known) + "\n")
        found.update(known["found"])
        progress.finish(summary(found))
    progress.close()
    print(summary(found))
    return not found["WRONG"]


def judge(seed: int) -> list[str]:
    """What becomes of the random loop of a seed: how it was scheduled, and whether its packets do what its stream
    does."""
    random = Random(seed)
    machine = random_machine(random)
    # One in four is made of values that go from iteration to iteration.
    carrying = seed % 4 == 3
    size = random.randrange(2, 9 if carrying else 26)
    program, values = Maker(random, machine).program(size, COUNTS, carrying)
    try:
        packed = pack(program, machine)
    except PlanishError as error:
        return [f"refused {error.diagnostic.code}"]
    wanted = run_program(program, machine, values)
    try:
        right = run_code(packed.code, machine, values)[0].cells == wanted.cells
    except Fault as fault:
        print(f"seed {seed}: {fault}", flush=True)
        right = False
    if not right:
        print(f"seed {seed} is wrong", flush=True)
    return [*(x.method for x in packed.loops), "right" if right else "WRONG"]


def summary(found: Counter[str]) -> str:
    """Counts in words.

    >>> summary(Counter({"right": 3, "modulo": 2}))
    '2 modulo, 3 right'
    """
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))


def packing_state() -> str:
    """A digest of what packs, and of what makes the loops."""
    said = hashlib.sha256()
    for folder in (Path(planish.vliw.__file__).parent, ROOT / "tests" / "unit" / "vliw"):
        for path in sorted(folder.rglob("*.py")):
            said.update(path.read_bytes() if not path.name.startswith("test_") else b"")
    return said.hexdigest()[:16]


def _lines_of(store: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in store.read_text().splitlines()] if store.exists() else []


def bodies(first: int, count: int, exact: float, placements: int) -> None:
    """Schedule random bodies: how many reach MII, or what is proven to be the least, by a search of so many placements
    for each interval where packing has not shown it; and how long packing took."""
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
        if interval > least and placements:
            least = proven_least(problem.body, least, interval, placements)
        if interval > least and exact:
            kernel, proof = refine(problem.body, done.rolled.kernel, least, exact)
            interval, least = kernel.interval, max(least, proof.least)
        found["least" if interval == least else "above"] += 1
        if interval > least:
            print(f"seed {seed}: {len(named)} operations, II {interval}, at least {least}", flush=True)
    print(summary(found))
    print(f"{median(times):.2f} s of the processor in the median, {max(times):.2f} s at most")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "bodies"])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--store", type=Path, default=STORE, help="where what was judged is kept")
    parser.add_argument("--exact", type=float, default=0.0)
    parser.add_argument("--placements", type=int, default=1_000_000, help="of the search for a proof; 0: none")
    asked = parser.parse_args()
    if asked.what == "run":
        raise SystemExit(0 if run(asked.first, asked.count, asked.store) else 1)
    bodies(asked.first, asked.count, asked.exact, asked.placements)


if __name__ == "__main__":
    main()
