"""The claims `tuning` on farms: more workers build more, nothing is lost whatever dies, a thousand simulated workers.

for item in examine(quick=True): print(item)

Trials wait for recorded times in place of working (`bench.sweeps.waiting_pieces`), so that what is shown is the
coordinator, the cluster and the store; the builds of the first claim are real ones, and take the processor.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from threading import Timer

from bench.promises.claim import Claim, Note, at_least, at_most
from bench.sweeps.recorded_pieces import KERNELS, ROOT
from bench.sweeps.simulated_workers import simulate
from bench.sweeps.waiting_pieces import WaitingRun, run_waiting, store_in
from planish.cli import main
from planish.core.files import read_input
from planish.options import Options
from planish.schedule.arguments import Point
from planish.target.probe import usable_cores
from planish.tuning.farm.farm import Farm, FarmPiece
from planish.tuning.farm.local_farm import LocalFarm
from planish.tuning.points.site import TuningSite, build_point, summarise

QUIET = ("--resources", "timing=1")
MODULE = "distributed.cli.dask_"
SIMULATIONS = (("tuning.simulated_utilisation", 1000, 1500, 40, 0.0), ("", 1000, 1500, 40, 0.05))
"""The claim, workers, nests, trials of each, and the share of the workers that die, stop or are slow."""
SAMPLES = (
    ("tuning.simulated_utilisation_of_200", 200, 100, 40, 0.0),
    # 60 trials a worker, as in the run of 1,000: of the 20 above, the beginning and the end are a large part.
    ("tuning.simulated_utilisation_of_200_at_60_each", 200, 300, 40, 0.0),
)



def examine(quick: bool) -> Iterator[Claim | Note]:
    """quick: fewer trials and simulated workers."""
    yield from _examine_simulation(quick)
    yield from _examine_absence()
    if find_spec("distributed") is None:
        yield Note("Dask is not here: nothing is shown of clusters (pip install 'planish[cluster]')")
        return
    yield from _examine_rates(quick)
    yield from _examine_losses(quick)


def _examine_simulation(quick: bool) -> Iterator[Claim | Note]:
    for name, workers, nests, trials, ill in SAMPLES if quick else SIMULATIONS:
        found = simulate(workers, nests, trials, ill=ill)
        yield Note(
            f"{workers} simulated workers, {ill:.0%} of them die, stop or are slow, {nests} nests of {trials} trials:"
            f" {found.whole:.1%} of all time worked, {found.steady:.1%} between the first and the last tenth of it,"
            f" {found.rate:.0f} trials/s, {found.coordinator_ms:.2f} ms of the coordinator a trial"
        )
        if name:
            yield at_least(name, found.whole, 0.9)
        yield at_most("tuning.simulated_lost", found.trials - found.kept, 0)


def _examine_absence() -> Iterator[Claim | Note]:
    """Clusters that are not there: nothing listens, what listens is silent, the host has no name."""
    kernel = str(ROOT / "examples" / f"{KERNELS[0]}.c")
    taken, told = [], 0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        addresses = ("tcp://127.0.0.1:1", f"tcp://127.0.0.1:{port}", "tcp://no.such.host.invalid:8786")
        for address in addresses:
            began, heard = time.monotonic(), StringIO()
            with redirect_stderr(heard):
                code = main(["tune", kernel, "--cluster", address])
            taken.append(time.monotonic() - began)
            told += code == 1 and "E0662" in heard.getvalue()
    yield Note("seconds of the command without the start of the interpreter: " + ", ".join(f"{x:.2f}" for x in taken))
    yield at_most("tuning.no_cluster_seconds", max(taken), 5.0)
    yield at_least("tuning.no_cluster_told", told, len(addresses))


@contextmanager
def started_cluster(workers: int, quiet: int = 1) -> Iterator[LocalDask]:
    """A scheduler with some workers, and quiet ones, on this machine."""
    with ExitStack() as stack:
        made = LocalDask(stack, _free_port())
        made.start_scheduler()
        for number in range(workers):
            made.start_worker(f"w{number}")
        for number in range(quiet):
            made.start_worker(f"q{number}", QUIET)
        yield made


class LocalDask:
    """A scheduler and workers, each a process, that are killed at the end."""

    def __init__(self, stack: ExitStack, port: int) -> None:
        self._stack, self._port = stack, port
        self.address = f"tcp://127.0.0.1:{port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def spent(self, name: str) -> float:
        """Seconds of the processor that a process has taken."""
        fields = Path(f"/proc/{self.processes[name].pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def start_scheduler(self) -> None:
        """Starts a scheduler, and waits until it takes connections."""
        self._start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", str(self._port))
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1.0).close()
                return
            except OSError:
                time.sleep(0.1)

    def start_worker(self, name: str, more: tuple[str, ...] = ()) -> None:
        """Starts a worker."""
        self._start(name, "worker", self.address, "--nthreads", "1", "--no-nanny", *more)

    def kill(self, name: str) -> None:
        """Kills a process outright."""
        self.processes[name].kill()
        self.processes[name].wait()

    def _start(self, name: str, kind: str, *words: str) -> None:
        command = [sys.executable, "-m", f"{MODULE}{kind}", *words, "--no-dashboard"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, process_group=0
        )
        self.processes[name] = process
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def opened_cluster(cluster: LocalDask, workers: int) -> Iterator[Farm]:
    """Its farm, with so many workers."""
    # Not `opened_farm`: on a busy machine workers may take long to start.
    made = import_module("planish.tuning.farm.dask_farm").DaskFarm
    with closing(made(cluster.address, "native", None)) as farm:
        while len(farm.workers()) < workers:
            time.sleep(0.1)
        yield farm


def _examine_rates(quick: bool) -> Iterator[Claim | Note]:
    """Four local workers beside one: real builds, and pieces that wait."""
    count = 8 if quick else 40
    rates: dict[str, dict[int, float]] = {"real": {}, "waiting": {}}
    for workers in (1, 4):
        with (
            started_cluster(workers) as cluster, opened_cluster(cluster, workers + 1) as farm,
            tempfile.TemporaryDirectory() as folder,
        ):  # fmt: skip
            rates["real"][workers] = _build_rate(farm, count, workers)
            found = run_waiting(farm, 4, 2 if quick else 8, store_in(folder, f"{workers}"), scale=0.5, ahead=8)
            rates["waiting"][workers] = found.rate
    real, waiting = (rates[x][4] / rates[x][1] for x in ("real", "waiting"))
    yield Note(
        f"four Dask workers build {real:.2f} times the points of one a second on {usable_cores()} cores; the bar of"
        " 3.2x is for four cores or more"
    )
    if usable_cores() >= 4:
        yield at_least("tuning.four_workers_build", real, 3.2)
    yield Note(f"trials that wait for half the recorded times, with one quiet worker: {waiting:.2f} times")


def _build_rate(farm: Farm, count: int, workers: int) -> float:
    """Points that are built and verified a second; what workers read first is not counted."""
    path = ROOT / "examples" / "polybench/atax.c"
    site = TuningSite(read_input(str(path)).source, Options(), 0)
    values = (0, 8, 16, 32, 64)

    def submit(number: int) -> None:
        point = Point.of(
            {"version": "maxfuse", "loops.tile.1.1": values[number % 5], "loops.tile.1.2": values[number // 5 % 5]}
        )
        farm.submit(FarmPiece(number, build_point, (site, point), summary=summarise))

    for number in range(workers):
        submit(10_000 + number)
    _drain(farm, workers)
    began = time.monotonic()
    for number in range(count):
        submit(number + 1)
    _drain(farm, count)
    return count / (time.monotonic() - began)


def _drain(farm: Farm, count: int) -> None:
    while count:
        count -= len(farm.wait(10.0))


def _examine_losses(quick: bool) -> Iterator[Claim | Note]:
    """Workers killed and stopped, the scheduler restarted: the same trials as on the farm of this machine."""
    nests, trials, scale = 3, 8 if quick else 25, 0.3
    with tempfile.TemporaryDirectory() as folder:
        with closing(LocalFarm(4, "native", None)) as farm:
            local = run_waiting(farm, nests, trials, store_in(folder, "local"), scale)
        for ill in ("worker killed", "scheduler restarted"):
            with started_cluster(3) as cluster, opened_cluster(cluster, 4) as farm:
                timer = Timer(3.0, _harm, (cluster, ill))
                timer.start()
                found = run_waiting(farm, nests, trials, store_in(folder, ill), scale)
                timer.join()
            told = "; ".join(found.told) or "nothing told"
            yield Note(f"{ill}: {found.trials} trials in {found.seconds:.0f} s; {told}")
            yield at_most(f"tuning.{ill.replace(' ', '_')}_lost", _lost(local, found), 0)


def _harm(cluster: LocalDask, how: str) -> None:
    if how == "worker killed":
        cluster.kill("w1")
        return
    cluster.kill("scheduler")
    time.sleep(1.0)
    cluster.start_scheduler()
    for number in range(3):
        cluster.kill(f"w{number}")
        cluster.start_worker(f"w{number}")
    cluster.kill("q0")
    cluster.start_worker("q0", QUIET)


def _lost(local: WaitingRun, found: WaitingRun) -> int:
    """How many trials are not those of the other run."""
    return len(set(local.points) ^ set(found.points))

