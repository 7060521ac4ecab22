"""Clusters by what the user calls them: the address of a scheduler, `slurm`, `ssh:FILE`, `kubernetes`.

>>> sorted(MANAGERS)
['kubernetes', 'lsf', 'pbs', 'sge', 'slurm', 'ssh']

All but an address start workers of their own, and end them. What they need is optional: `pip install 'planish[slurm]'`,
`'planish[ssh]'`, `'planish[kubernetes]'`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.progress import Progress
from planish.run.processes.workers import find_workers
from planish.tuning.farm.farm import Farm

WORKERS = 4
"""Workers that are asked for where the user says no number."""
FIRST, STARTED = 20.0, 600.0
"""Seconds until a cluster at an address has a quiet worker, and one that is started here."""
TIMING = "timing=1"
"""What workers declare that are quiet enough to time on."""
_START = "start quiet workers with `dask worker ADDRESS --nthreads 1 --resources timing=1`"


@contextmanager
def opened_farm(
    cluster: str, workers: int | None, target: str, compiler: str | None, tell: Progress
) -> Iterator[Farm]:  # fmt: skip
    """The farm of a cluster that has at least one quiet worker. PlanishError E0662 where there is none, or a package is
    missing, or what manages the cluster refuses."""
    with ExitStack() as stack:
        name, _, rest = cluster.partition(":")
        if name in MANAGERS and not rest.startswith("//") and (name == "ssh" or not rest):
            started = _start(name, rest, workers or WORKERS)
            stack.enter_context(closing(started))
            address, patience = str(started.scheduler_address), STARTED
        else:
            find_workers(cluster)
            address, patience = cluster, FIRST
        farm = _imported("planish.tuning.farm.dask_farm", "distributed", "cluster").DaskFarm(
            address, target, compiler, tell
        )
        stack.enter_context(closing(farm))
        _await_worker(farm, address, patience, tell)
        yield farm


def _await_worker(farm: Any, address: str, patience: float, tell: Progress) -> None:
    """Waits for the first quiet worker."""
    tell(f"waiting for workers at {address}")
    deadline = time.monotonic() + patience
    while not any(x.timing for x in farm.workers()):
        if time.monotonic() >= deadline:
            refusals, others = farm.refusals(), len(farm.workers())
            if refusals:
                raise refusals[0]
            found = f"{others} worker{'' if others == 1 else 's'}, none of which is" if others else "no worker that is"
            message = f"the cluster at {address} has {found} quiet (timing=1)"
            raise PlanishError(Diagnostic("E0662", message, help=_START))
        time.sleep(0.1)


def _start(name: str, rest: str, workers: int) -> Any:
    try:
        return MANAGERS[name](rest, workers)
    except PlanishError:
        raise
    except Exception as error:
        # Whatever a manager of clusters does not like, in its own words.
        message = f"no cluster of {name} can be started: {type(error).__name__}: {error}"
        raise PlanishError(Diagnostic("E0662", message, help="see docs/tuning.md for what each needs")) from error


def _imported(module: str, package: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        if not (error.name or "").startswith(package):
            raise
        message, advice = f"{package} is not installed, which this cluster needs", f"pip install 'planish[{extra}]'"
        raise PlanishError(Diagnostic("E0662", message, help=advice)) from error


def _by_queue(kind: str) -> Callable[[str, int], Any]:
    """Workers as jobs of a queueing system: queue, memory and time are Dask's own configuration (jobqueue.yaml)."""

    def start(rest: str, workers: int) -> Any:
        made = getattr(_imported("dask_jobqueue", "dask_jobqueue", "slurm"), kind)(
            processes=1, worker_extra_args=["--nthreads", "1", "--resources", TIMING]
        )
        made.scale(jobs=workers)
        return made

    return start


def _by_ssh(rest: str, workers: int) -> Any:
    """A worker on each host of a file, a host a line; the scheduler runs on the first one."""
    if not rest:
        advice = "give --cluster ssh:FILE, a host a line"
        raise PlanishError(Diagnostic("E0662", "ssh needs a file of hosts", help=advice))
    lines = (x.partition("#")[0].strip() for x in read_input(rest, "a file of hosts").source.text.splitlines())
    hosts = [x for x in lines if x]
    if not hosts:
        raise PlanishError(Diagnostic("E0662", f"{rest} names no host", help="write a host a line"))
    _imported("asyncssh", "asyncssh", "ssh")
    made = _imported("distributed", "distributed", "ssh").SSHCluster
    return made([hosts[0], *hosts], worker_options={"nthreads": 1, "resources": {"timing": 1}})


def _by_kubernetes(rest: str, workers: int) -> Any:
    """Workers as pods: the image is that of Dask's own configuration (kubernetes.image), in which Planish is."""
    made = _imported("dask_kubernetes.operator", "dask_kubernetes", "kubernetes").KubeCluster
    command = ["dask", "worker", "--nthreads", "1", "--resources", TIMING]
    return made(name="planish-tune", n_workers=workers, worker_command=command)


MANAGERS: Mapping[str, Callable[[str, int], Any]] = {
    "slurm": _by_queue("SLURMCluster"),
    "pbs": _by_queue("PBSCluster"),
    "lsf": _by_queue("LSFCluster"),
    "sge": _by_queue("SGECluster"),
    "ssh": _by_ssh,
    "kubernetes": _by_kubernetes,
}
"""What starts a cluster, with what stands behind the colon, and how many workers."""
