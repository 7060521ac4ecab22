"""Where work is done in parallel: in processes of this machine, or on a Dask cluster.

>>> sorted(Workers().run(abs, [-1, 2], leave_interrupts))
[1, 2]
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

from planish.core.diagnostic import Diagnostic, PlanishError

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
            cluster = import_module("planish.run.cluster")
        except ImportError as error:
            if not (error.name or "").startswith("distributed"):
                raise
            message, advice = "Dask is not installed, which clusters need", 'pip install "planish[cluster]"'
            raise PlanishError(Diagnostic("E0662", message, help=advice)) from error
        found: Iterator[_B] = cluster.run_on_cluster(self.cluster, function, work, start)
        return found


CORES = Workers()
"""Those of this machine."""


def _on_cores(function: Callable[[_A], _B], work: Sequence[_A], start: Callable[[], None]) -> Iterator[_B]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ProcessPoolExecutor(min(cores, len(work)), initializer=start) as pool:
        running = [pool.submit(function, x) for x in work]
        try:
            for done in as_completed(running):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)
