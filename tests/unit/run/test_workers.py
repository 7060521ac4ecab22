"""Work in parallel: on the cores of this machine and on a cluster, and what is told where there is none."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from planish.cli import main
from planish.core.cache import Cache
from planish.core.diagnostic import PlanishError
from planish.isa.classes.operation_classes import shape_all
from planish.isa.collection import load_collection
from planish.run.instructions.shapes import find_shapes
from planish.run.processes import workers as module
from planish.run.processes.workers import Workers, find_workers, leave_interrupts


def _process_of(x: int) -> tuple[int, int]:
    return x, os.getpid()


def _fail(x: int) -> int:
    raise ValueError(f"no {x}")


def test_cores_and_a_cluster_give_the_same(cluster_address: str) -> None:
    for workers in (Workers(), Workers(cluster_address)):
        assert sorted(workers.run(abs, [-3, 1, -2], leave_interrupts)) == [1, 2, 3]
        assert list(workers.run(abs, [], leave_interrupts)) == []


def test_on_a_cluster_each_piece_has_a_process_of_its_own(cluster_address: str) -> None:
    found = dict(Workers(cluster_address).run(_process_of, range(4), leave_interrupts))
    assert len({*found.values(), os.getpid()}) == 5


def test_what_fails_on_a_cluster_is_told(cluster_address: str) -> None:
    with pytest.raises(RuntimeError, match="no 7"):
        list(Workers(cluster_address).run(_fail, [7], leave_interrupts))


def test_shapes_are_found_on_a_cluster_and_kept(cluster_address: str, tmp_path: Path) -> None:
    entries = [x for x in load_collection("hvx") if x.status == "verified"]
    store = Cache(tmp_path)
    done: list[int] = []
    found = find_shapes(entries, Workers(cluster_address), store, done.append)
    assert found == shape_all(entries)
    assert sum(done) == len(entries)
    again = find_shapes(entries, Workers("tcp://127.0.0.1:1"), store, done.append)  # nothing is left to ask it
    assert again == found
    assert sum(done) == 2 * len(entries)


def test_classes_are_found_on_a_cluster(cluster_address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "classes", "add_saturate", "--cluster", cluster_address, "-q"]) == 0
    assert "V6_vaddbsat" in capsys.readouterr().out


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "nowhere"])
def test_where_no_cluster_is_that_is_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = pytest.importorskip("planish.run.processes.cluster", reason="Dask is not installed")
    monkeypatch.setattr(cluster, "_PATIENCE", 1)
    with pytest.raises(PlanishError, match="E0662"):
        list(Workers(address).run(abs, [1], leave_interrupts))


@pytest.mark.parametrize("command", [["isa", "classes"], ["isa", "learn", "--sve", "-o", "lib"]])
@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "127.0.0.1:1", "tcp://[::1]:1", "tcp://127.0.0.1:99999", "nowhere", "x://h:1"]
)
def test_an_address_where_nothing_is_is_told_before_any_work(
    command: list[str], address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planish.cli.isa._loaded", lambda isa: pytest.fail("the work has begun"))
    assert main([*command, "--cluster", address]) == 1
    told = capsys.readouterr().err
    assert f"error[E0662]: there is no cluster at {address}: " in told and "= help: `dask scheduler`" in told


def test_what_answers_and_is_no_scheduler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(PlanishError, match="E0662"):
        find_workers(f"tcp://127.0.0.1:{silent.getsockname()[1]}")


def test_a_cluster_that_is_there_is_found(cluster_address: str) -> None:
    assert find_workers(cluster_address) == Workers(cluster_address)


def test_without_dask_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name=name.replace("planish.run.processes.cluster", "distributed"))

    monkeypatch.setattr(module, "import_module", refuse)
    with pytest.raises(PlanishError) as told:
        list(Workers("tcp://127.0.0.1:1").run(abs, [1], leave_interrupts))
    assert "planish[cluster]" in told.value.diagnostic.help
