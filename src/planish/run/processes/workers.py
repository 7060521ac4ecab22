"""Parallel workers: processes of this machine, or a Dask cluster.

>>> sorted(Workers().run(abs, [-1, 2], leave_interrupts))
[1, 2]
"""

from __future__ import annotations

import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.target.probe import usable_cores

_A = TypeVar("_A")
_B = TypeVar("_B")


def leave_interrupts() -> None:
    """Leaves interrupts to the process that waits for this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(frozen=True, slots=True)
class Workers:
    """Those of this machine, one for each of its cores; or those of the Dask cluster whose scheduler has an address, as
    `tcp://host:8786`. There, Planish has to be installed, and files to lie where they do here."""

    cluster: str = ""

    def run(self, function: Callable[[_A], _B], work: Sequence[_A], start: Callable[[], None]) -> Iterator[_B]:
        """The results in the order in which they come. Each process calls `start` first. What has not begun when they
        are no longer asked for is left. PlanishError E0662 where there is no such cluster, or it goes away."""
        if not work:
            return iter(())
        return self._on_cluster(function, work, start) if self.cluster else _on_cores(function, work, start)

    def _on_cluster(
        self, function: Callable[[_A], _B], work: Sequence[_A], start: Callable[[], None]
    ) -> Iterator[_B]:
        try:
            cluster = import_module("planish.run.processes.cluster")
        except ImportError as error:
            if not (error.name or "").startswith("distributed"):
                raise
            message, advice = "Dask is not installed, which clusters need", 'pip install "planish[cluster]"'
            raise PlanishError(Diagnostic("E0662", message, help=advice)) from error
        found: Iterator[_B] = cluster.run_on_cluster(self.cluster, function, work, start)
        return found


CORES = Workers()
"""Those of this machine."""

_PATIENCE = 4.0
"""Seconds that a scheduler has to take a connection and to speak."""
_MOST_FRAMES = 1 << 24
_ADDRESS = re.compile(r"(?:(?P<kind>tcp|tls|ws|wss)://)?(?P<host>[^/:\[\]]+|\[[^/\[\]]+\]):(?P<port>\d{1,5})")


def find_workers(cluster: str) -> Workers:
    """Those of a cluster ("": of this machine), known to be there; PlanishError E0662 where nothing answers at its
    address, which is asked before any work is begun."""
    if cluster:
        found = _ADDRESS.fullmatch(cluster)
        if found is None:
            raise PlanishError(tell_no_cluster(cluster, "an address is a host and a port"))
        try:
            _greet(found["host"].strip("[]"), int(found["port"]), found["kind"] in (None, "tcp"))
        except (OSError, OverflowError) as error:
            raise PlanishError(tell_no_cluster(cluster, str(error))) from error
    return Workers(cluster)


def _greet(host: str, port: int, speaks: bool) -> None:
    """Raises OSError where nothing takes a connection, or (`speaks`) what does is no scheduler: that speaks first, and
    begins with how many frames there are, in eight bytes."""
    deadline = time.monotonic() + _PATIENCE
    with socket.create_connection((host, port), _PATIENCE) as connection:
        said = b""
        while speaks and len(said) < 8:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            more = connection.recv(8 - len(said))
            if not more:
                raise ConnectionError("what answers is no scheduler")
            said += more
        if int.from_bytes(said, "little") >= _MOST_FRAMES:
            raise ConnectionError("what answers is no scheduler")


def tell_no_cluster(address: str, reason: str) -> Diagnostic:
    """That there is no cluster at an address, and what an address is."""
    advice = "`dask scheduler` says its address, as tcp://host:8786; workers are started with `dask worker`"
    return Diagnostic("E0662", f"there is no cluster at {address}: {reason}", help=advice)


def _on_cores(function: Callable[[_A], _B], work: Sequence[_A], start: Callable[[], None]) -> Iterator[_B]:
    with ProcessPoolExecutor(min(usable_cores(), len(work)), initializer=start) as pool:
        running = [pool.submit(function, x) for x in work]
        try:
            for done in as_completed(running):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)
