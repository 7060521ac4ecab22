"""The farm of a Dask cluster: pieces go where they may, workers die, the scheduler comes back, what is told."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planish.cli import main
from planish.core.diagnostic import PlanishError
from planish.tuning.farm import clusters
from planish.tuning.farm.clusters import MANAGERS, opened_farm
from planish.tuning.farm.farm import FarmAnswer, FarmPiece

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
dask_farm = pytest.importorskip("planish.tuning.farm.dask_farm")

QUIET = ("--resources", "timing=1")


def _start(*command: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:], "--no-dashboard"]
    return subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, process_group=0)


@contextmanager
def _started(*commands: tuple[str, ...]) -> Iterator[list[subprocess.Popen[bytes]]]:
    with ExitStack() as stack:
        made = [_start(*x) for x in commands]
        for process in made:
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield made


def _await(port: int) -> None:
    """Waits for a scheduler."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.1)


def _answers(farm: Any, count: int, seconds: float = 30.0) -> dict[int, FarmAnswer]:
    found: dict[int, FarmAnswer] = {}
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        found |= {x.number: x for x in farm.wait(1.0)}
    return found


def _sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def _add(first: int, second: int) -> int:
    return first + second


def _die(how: int) -> None:
    os.kill(os.getpid(), how)


@pytest.fixture(scope="module")
def farm() -> Iterator[Any]:
    """A scheduler in this process, with two workers, one of them quiet."""
    made = distributed.SpecCluster(
        workers={
            "loud": {"cls": distributed.Worker, "options": {"nthreads": 1, "dashboard": False}},
            "quiet": {
                "cls": distributed.Worker, "options": {"nthreads": 1, "resources": {"timing": 1}, "dashboard": False}
            },
        },
        scheduler={"cls": distributed.Scheduler, "options": {"port": 0, "dashboard": False, "protocol": "tcp://"}},
    )  # fmt: skip
    with made as cluster, opened_farm(cluster.scheduler_address, None, "native", None, lambda text: None) as found:
        while len(found.workers()) < 2:
            time.sleep(0.1)
        yield found


def test_pieces_go_where_they_may_and_results_stay_there(farm: Any) -> None:
    quiet = next(x.name for x in farm.workers() if x.timing)
    assert [x.building for x in farm.workers() if x.name == quiet] == [False]
    kind = farm.workers()[0].machine.kind
    farm.submit(FarmPiece(1, abs, (-3,), kind=kind, summary=str))
    assert _answers(farm, 1)[1].value == "3"
    farm.submit(FarmPiece(2, _add, (4,), needs=(1,), timing=True, kind=kind))
    farm.submit(FarmPiece(3, abs, (-5,), kind=kind, avoid=frozenset((quiet,))))
    found = _answers(farm, 2)
    assert found[2].value == 7 and found[2].worker == quiet and found[3].worker != quiet
    farm.submit(FarmPiece(1, abs, (-4,), summary=str))
    assert _answers(farm, 1)[1].value == "4", "a number that was there before is another piece"
    farm.release(1)


def test_a_death_and_a_time_out_are_told_apart(farm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    farm.submit(FarmPiece(11, _die, (signal.SIGKILL,)))
    with monkeypatch.context() as patched:
        patched.setattr("planish.tuning.farm.farm.BUILD_SECONDS", 0.5)
        farm.submit(FarmPiece(12, _sleep, (60.0,)))
    farm.submit(FarmPiece(13, _sleep, (0.0,)))
    found = _answers(farm, 3)
    assert found[11].status == "died" and "SIGKILL" in found[11].message
    assert found[12].status == "timeout" and "0.5 s" in found[12].message
    assert found[13].value == 0.0


def test_a_released_piece_has_no_answer(farm: Any) -> None:
    farm.submit(FarmPiece(21, _sleep, (0.2,)))
    farm.release(21)
    farm.submit(FarmPiece(22, abs, (-1,)))
    assert [*_answers(farm, 1)] == [22] and not farm.wait(0.3)


@pytest.mark.slow
def test_workers_that_are_killed_and_a_scheduler_that_comes_back_lose_nothing(free_port: int) -> None:
    address = f"tcp://127.0.0.1:{free_port}"
    scheduler = ("scheduler", "--port", str(free_port), "--host", "127.0.0.1")
    worker = ("worker", address, "--nthreads", "1", "--no-nanny")
    with _started(scheduler, worker, (*worker, *QUIET)) as (first, loud, quiet):
        _await(free_port)
        with closing(dask_farm.DaskFarm(address, "native", None)) as farm:
            while len(farm.workers()) < 2:
                time.sleep(0.1)
            farm.submit(FarmPiece(1, abs, (-3,), summary=str))
            assert _answers(farm, 1)[1].value == "3"
            farm.submit(FarmPiece(2, _sleep, (5.0,)))
            time.sleep(1.0)
            loud.kill()
            with _started(worker):
                assert _answers(farm, 1, 60.0)[2].value == 5.0
                farm.submit(FarmPiece(3, _sleep, (2.0,)))
                first.kill()
                with _started(scheduler, worker, (*worker, *QUIET)):
                    farm.submit(FarmPiece(4, _add, (1,), needs=(1,), timing=True))
                    found = _answers(farm, 2, 60.0)
                    assert found[3].value == 2.0 and found[4].value == 4


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    Path("a.c").write_text("void f(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 1; }\n")
    yield "a.c"


@pytest.mark.parametrize("command", [["tune"], ["build", "--tune"]])
@pytest.mark.parametrize("cluster", ["tcp://127.0.0.1:1", "nowhere", "ssh:", "ssh:hosts", "ssh:none", "kubernetes"])
def test_a_cluster_that_is_not_there_is_told_at_once(
    command: list[str], cluster: str, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("hosts").write_text("# none\n")
    began = time.monotonic()
    assert main([*command, source, "--cluster", cluster]) == 1
    assert time.monotonic() - began < 5
    told = capsys.readouterr().err
    assert "E0662" in told or "E0101" in told
    assert "help: " in told


@pytest.mark.parametrize(("name", "package"), [("slurm", "dask_jobqueue"), ("kubernetes", "dask_kubernetes")])
def test_a_manager_is_asked_for_quiet_workers(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Cluster:
        scheduler_address = "tcp://127.0.0.1:1"

        def __init__(self, **options: Any) -> None:
            asked.append(options)

        def scale(self, jobs: int) -> None:
            asked.append(jobs)

    modules = {"dask_jobqueue": {"SLURMCluster": Cluster}, "dask_kubernetes.operator": {"KubeCluster": Cluster}}
    monkeypatch.setattr(clusters, "import_module", lambda x: SimpleNamespace(**modules[x]))
    MANAGERS[name]("", 7)
    assert "timing=1" in str(asked[0]) and ("7" in str(asked))

    def missing(module: str) -> None:
        raise ImportError(name=package)

    monkeypatch.setattr(clusters, "import_module", missing)
    with pytest.raises(PlanishError) as told:
        MANAGERS[name]("", 7)
    assert f"planish[{name}]" in told.value.diagnostic.help


def test_workers_without_the_resource_are_told_of(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "FIRST", 3.0)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp://"
        ) as found,
        pytest.raises(PlanishError) as told,
        opened_farm(found.scheduler_address, None, "native", None, lambda text: None),
    ):  # fmt: skip
        pytest.fail("it has no quiet worker")
    assert "none of which is quiet" in told.value.diagnostic.message
    assert "--resources timing=1" in told.value.diagnostic.help
