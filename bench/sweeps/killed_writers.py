"""Kills writers of a trial store a thousand times and looks for trials that were committed and are lost.

    python -m bench.sweeps.killed_writers              # 1000 kills, 4 writers
    python -m bench.sweeps.killed_writers 100 2        # 100 kills, 2 writers

A writer notes the digest of each trial behind `add`; what is noted has to be in the store at the end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from planish.schedule.arguments import Point
from planish.target.probe import usable_cores
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask, TuningTrial

TASK = TuningTask("kernel nest(; )\n{\n}\n", "native", "0f", "none")
LONGEST = 0.03
"""Seconds that a writer lives at most."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What came of some kills: trials noted as committed, those of them that are lost, and what SQLite finds wrong."""

    kills: int
    committed: int
    lost: int
    damage: str
    seconds: float


def kill_writers(kills: int, writers: int, folder: Path, seed: int = 1) -> Losses:
    """Kills one of some writers at a random moment, and starts another in its place, so many times."""
    store, notes = TrialStore(folder / "trials.sqlite"), folder / "notes"
    rng, began = random.Random(seed), time.monotonic()
    alive = [_start(store, notes, number) for number in range(writers)]
    for number in range(kills):
        time.sleep(rng.uniform(0, LONGEST))
        victim = rng.randrange(writers)
        _end(alive[victim])
        alive[victim] = _start(store, notes, writers + number)
        if number % 100 == 99:
            print(f"{number + 1} kills", file=sys.stderr, flush=True)
    for pid in alive:
        _end(pid)
    committed = set(notes.read_text().split()) if notes.exists() else set()
    lost = committed - {x.digest for x in store.trials()}
    return Losses(kills, len(committed), len(lost), store.check(), time.monotonic() - began)


def _start(store: TrialStore, notes: Path, writer: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            _write(store, notes, writer)
        finally:
            os._exit(1)
    return pid


def _write(store: TrialStore, notes: Path, writer: int) -> None:
    out = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    plain = TuningTrial("ok", 1.0, 2.0, tuple(map(float, range(50))), task=TASK, point=Point(), session=str(writer))
    for number in range(1 << 30):
        trial = replace(plain, seed=number)
        store.add(trial)
        os.write(out, f"{trial.digest}\n".encode())


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def main() -> int:
    """0 where nothing is lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kills", nargs="?", type=int, default=1000)
    parser.add_argument("writers", nargs="?", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="planish-kills-") as folder:
        found = kill_writers(asked.kills, asked.writers, Path(folder))
    print(f"{found.kills} kills of {asked.writers} writers on {usable_cores()} cores in {found.seconds:.0f} s")
    print(f"{found.committed} trials were committed, {found.lost} of them are lost; damage: {found.damage or 'none'}")
    return 1 if found.lost or found.damage else 0


if __name__ == "__main__":
    sys.exit(main())
