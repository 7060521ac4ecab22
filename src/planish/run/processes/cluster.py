"""Work on a Dask cluster, each piece in a process of its own, which has the bounds that it has on this machine.

    for result in run_on_cluster("tcp://host:8786", function, pieces, start):
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from distributed import Client, as_completed
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.run.processes.isolated_process import run_alone
from planish.run.processes.workers import tell_no_cluster

_A = TypeVar("_A")
_B = TypeVar("_B")
_PATIENCE = 4
"""Seconds that a scheduler has to answer."""


def run_on_cluster(
    address: str, function: Callable[[_A], _B], work: Sequence[_A], start: Callable[[], None]
) -> Iterator[_B]:
    """The results in the order in which they come. PlanishError E0662 where there is no cluster, or it goes away."""
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PlanishError(tell_no_cluster(address, str(error) or "it does not answer")) from error
    with client:
        running = [client.submit(run_alone, pickle.dumps((start, function, x)), pure=False) for x in work]
        try:
            for done in as_completed(running, loop=client.loop):
                yield pickle.loads(done.result())
        except (CommClosedError, KilledWorker, OSError) as error:
            message = f"the cluster at {address} goes away: {type(error).__name__}"
            raise PlanishError(Diagnostic("E0662", message, help="what was found is kept: go on with it")) from error
        finally:
            client.cancel(running)
