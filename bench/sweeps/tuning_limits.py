"""The limits of tuning on many machines, each piece by itself: bytes, Dask's scheduler, the store, searches.

    python -m bench.sweeps.tuning_limits

What is measured here is what docs/scaling.md adds up. Say under which load it was run.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from bench.promises.tuning_farms import opened_cluster, started_cluster
from bench.sweeps.killed_writers import TASK
from bench.sweeps.recorded_pieces import read_record
from bench.sweeps.waiting_pieces import SPACE, ratio_of
from planish.schedule.arguments import Point
from planish.tuning.farm.farm import Farm, FarmPiece
from planish.tuning.searches.registry import SEARCHES
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTrial, print_trial

TRIAL = TuningTrial(
    "ok", 0.00123, 0.00234, (0.00123,) * 20, calls=16, worst=1e-15, task=TASK, code="0" * 64, label="a.c: f, line 3",
    point=Point.of({"version": "maxfuse", "loops.tile.1.1": 64, "loops.jam.1.1": 4, "loops.lanes.1": 2}),
    version="0.1.0", search="evolutionary", session="0" * 32, made="2030-01-01T00:00:00+00:00",
)  # fmt: skip


def measure_store(folder: Path, commits: int = 40) -> list[tuple[int, float, float]]:
    """For batches of some sizes: the batch, seconds of a commit, trials a second."""
    out, number = [], 0
    for batch in (1, 10, 100, 1000):
        store = TrialStore(folder / f"{batch}.sqlite")
        store.add(TRIAL)
        taken = []
        for _ in range(max(3, commits // max(1, batch // 10))):
            trials = [replace(TRIAL, seed=number + x) for x in range(batch)]
            number += batch
            began = time.perf_counter()
            store.add_all(trials)
            taken.append(time.perf_counter() - began)
        out.append((batch, median(taken), batch / median(taken)))
    return out


def bytes_of_trial(folder: Path, count: int = 5000) -> float:
    """Bytes of the store's file a trial."""
    store = TrialStore(folder / "bytes.sqlite")
    store.add_all(replace(TRIAL, seed=x) for x in range(count))
    store.prune(count)
    return store.path.stat().st_size / count


def measure_scheduler(farm: Farm, pieces: int = 600) -> float:
    """Seconds of a piece that does nothing, summary included, with all that client, scheduler and workers do for it."""
    for number in range(1, 5):
        farm.submit(FarmPiece(-number, abs, (1,), summary=abs))
    _drain(farm, 4)
    began = time.perf_counter()
    for number in range(1, pieces + 1):
        farm.submit(FarmPiece(number, abs, (number,), summary=abs))
    _drain(farm, pieces)
    return (time.perf_counter() - began) / pieces


def _drain(farm: Farm, count: int) -> None:
    while count:
        count -= len(farm.wait(10.0))


def measure_search(name: str, trials: int) -> float:
    """Seconds of the processor for each suggestion."""
    search = SEARCHES[name](SPACE, 1)
    began = time.process_time()
    for _ in range(trials):
        point = search.suggest()
        if point is None:
            break
        search.hear(point, ratio_of(point))
    return (time.process_time() - began) / trials


def main() -> None:
    """Prints the limits."""
    record = read_record()
    print(f"recorded: build {median(record.builds):.2f} s of the processor (most {max(record.builds):.2f}),"
          f" race {median(record.races):.2f} s, space {median(record.spaces):.2f} s a nest")  # fmt: skip
    print(f"bytes: site {median(record.sites):.0f} (once a nest and worker), library {median(record.libraries):.0f}"
          f" (to the worker that times), messages {median(record.messages):.0f} a trial,"
          f" line of JSON {len(print_trial(TRIAL))}")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="planish-limits-") as folder:
        print(f"store: {bytes_of_trial(Path(folder)):.0f} bytes a trial in the file")
        for batch, seconds, rate in measure_store(Path(folder)):
            print(f"store: {batch} trials a commit: {1e3 * seconds:.1f} ms, {rate:,.0f} trials/s")
    for name in ("random", "evolutionary", "model"):
        found = ", ".join(f"{1e3 * measure_search(name, x):.2f} over {x}" for x in (30, 100))
        print(f"search {name}: ms a suggestion {found} trials")
    if find_spec("distributed") is None:
        print("scheduler: Dask is not installed")
    else:
        _print_scheduler()


def _print_scheduler() -> None:
    """What a piece takes of the processor in the scheduler and in the client, with a cluster of this machine."""
    pieces = 600
    with started_cluster(2) as cluster, opened_cluster(cluster, 3) as farm:
        scheduler, client = cluster.spent("scheduler"), time.process_time()
        seconds = measure_scheduler(farm, pieces)
        scheduler, client = (cluster.spent("scheduler") - scheduler) / pieces, (time.process_time() - client) / pieces
    print(f"scheduler: {1e3 * scheduler:.2f} ms of the processor for a piece (two tasks), client {1e3 * client:.2f} ms;"
          f" {1e3 * seconds:.1f} ms on the wall with two workers beside them on this machine")  # fmt: skip


if __name__ == "__main__":
    main()
