"""The trial store loses nothing: writers that are killed, a full disk, tables of an earlier version."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.text.canonical_nest import canonical_text
from planish.ir.text.parser import parse_kernel
from planish.schedule.arguments import Point
from planish.tuning.store import schema
from planish.tuning.store.exchange import export_lines, import_lines, merge
from planish.tuning.store.schema import MIGRATIONS, migrate, read_version
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask, TuningTrial, parse_trial, print_trial

TASK = TuningTask("kernel nest() { }", "native", "0f", "gcc 12.2", "--fp reassociate")


def trial(number: int, score: float = 1.0, task: TuningTask = TASK) -> TuningTrial:
    return TuningTrial("ok", score, 1.0, (score,), task=task, point=Point.of({"rows": number}), seed=number)


@pytest.fixture
def store(tmp_path: Path) -> TrialStore:
    return TrialStore(tmp_path / "data" / "trials.sqlite")


def in_child(work: Callable[[], None]) -> int:
    """A process that does some work and ends without a word."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def test_what_is_not_there_is_empty(store: TrialStore) -> None:
    assert [*store.trials()] == [] and store.summaries() == () and store.best(TASK) is None
    assert not store.path.exists(), "reading makes no file"


def test_the_best_is_the_least_share_of_its_own_default(store: TrialStore) -> None:
    slow_race = replace(trial(1), value=3.0, reference=6.0)
    failed = replace(trial(3), outcome="crash", value=None, reference=None)
    store.add_all([slow_race, trial(2, 0.9), failed])
    assert store.best(TASK) == slow_race
    (summary,) = store.summaries()
    assert (summary.trials, summary.failed) == (3, 1)
    assert [x.seed for x in store.trials(best_first=True)] == [1, 2, 3]


def test_no_time_is_no_failure() -> None:
    assert replace(trial(1), value=0.0, reference=0.0).score == 1.0
    assert replace(trial(1), value=0.0, reference=1.0).score == 0.0


def test_another_machine_has_trials_of_its_own(store: TrialStore) -> None:
    other = replace(TASK, fingerprint="10")
    store.add_all([trial(1, 0.5), trial(2, 0.7, other)])
    best, elsewhere = store.best(other), store.best_elsewhere(other)
    assert best is not None and elsewhere is not None
    assert (best.seed, elsewhere.seed) == (2, 1)


def test_a_writer_that_is_killed_loses_nothing_that_was_committed(store: TrialStore, tmp_path: Path) -> None:
    told = tmp_path / "told"

    def write(writer: int) -> None:
        number = 0
        with told.open("a") as file:
            while True:
                number += 1
                made = trial(1000 * writer + number)
                store.add(made)
                os.write(file.fileno(), f"{made.digest}\n".encode())

    for round in range(3):
        children = [in_child(lambda at=4 * round + x: write(at)) for x in range(4)]  # type: ignore[misc]
        time.sleep(0.15)
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    committed = told.read_text().split()
    assert len(committed) > 4
    assert set(committed) <= {x.digest for x in store.trials()}
    assert store.check() == ""


def test_a_full_disk_is_told_and_loses_nothing(store: TrialStore) -> None:
    store.add_all([trial(n) for n in range(20)])

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
        try:
            for n in range(20, 5000):
                store.add(replace(trial(n), message="x" * 5000))
        except PlanishError as error:
            os._exit(7 if error.diagnostic.code == "E0920" and "is kept" in error.diagnostic.message else 8)

    _, status = os.waitpid(in_child(fill), 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert len([*store.trials()]) >= 20 and store.check() == ""
    store.add(trial(9999))


def test_what_is_no_store_is_refused(store: TrialStore) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_text("this is no database, but it is long enough to look like one" * 40)
    with pytest.raises(PlanishError, match="E0921"):
        store.add(trial(1))
    store.path.unlink()
    sqlite3.connect(store.path).execute("CREATE TABLE bookmarks (id INTEGER)").connection.close()
    with pytest.raises(PlanishError, match="database of another program"):
        store.add(trial(1))


@pytest.mark.parametrize("record", ["{bad", print_trial(trial(1)).replace('{"rows": 1}', '{"rows": {}}', 1)])
def test_a_damaged_record_is_told(record: str, store: TrialStore) -> None:
    store.add(trial(1))
    sqlite3.connect(store.path, isolation_level=None).execute("UPDATE trials SET record = ?", (record,))
    elsewhere = replace(TASK, fingerprint="1f")
    reads = (store.trials, lambda: store.best(TASK), lambda: store.best_elsewhere(elsewhere), lambda: store.find(""))
    for read in reads:
        with pytest.raises(PlanishError, match="E0921"):
            [*(read() or ())]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(store: TrialStore, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PlanishError, match="E0920"):
        store.add(trial(1))


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanishError, match="E0920"):
        TrialStore(tmp_path / "file" / "trials.sqlite").add(trial(1))


def test_tables_of_an_earlier_version_are_brought_up(store: TrialStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
        store.add_all([trial(1, 0.5), trial(2)])
    assert [x.seed for x in store.trials()] == [1, 2]
    with sqlite3.connect(store.path) as connection:
        assert read_version(connection) == len(MIGRATIONS)
        plan = connection.execute("EXPLAIN QUERY PLAN SELECT id FROM trials WHERE task = 1 AND score IS NOT NULL")
        assert "trials_best" in str(plan.fetchall())
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
        with pytest.raises(PlanishError, match="have version 2, and this Planish knows 1"):
            store.add(trial(3))


def test_a_migration_that_fails_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, ("ALTER TABLE trials ADD COLUMN host TEXT", "NO SQL")))
    with pytest.raises(sqlite3.Error):
        migrate(connection)
    assert read_version(connection) == len(MIGRATIONS)
    assert "host" not in str(connection.execute("PRAGMA table_info(trials)").fetchall())


def test_lines_come_back_as_they_were(store: TrialStore, tmp_path: Path) -> None:
    odd = replace(
        trial(1), message='a "quoted" line\nand another\u2028one', script='split("i", 8, ("a", "b"))\n', calls=3
    )
    store.add_all([odd, trial(2)])
    lines = "".join(export_lines(store))
    other = TrialStore(tmp_path / "other")
    assert import_lines(other, Source("x.jsonl", lines)) == (2, 0)
    assert import_lines(other, Source("x.jsonl", lines)) == (0, 2)
    assert [*other.trials()] == [odd, trial(2)]
    assert merge(other, store) == (0, 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x: x[:-1], "no JSON"),
        (lambda x: x.replace('"format": 1', '"format": 9'), "no trial in format 1"),
        (lambda x: x.replace('"calls"', '"called"'), "no field `called`"),
        (lambda x: x.replace('"value": 1.0', '"value": "fast"'), "`value` is to be a number"),
        (lambda x: x.replace('"ok"', '"fine"'), "`outcome` is one of"),
        (lambda x: x.replace('"machine"', '"computer"'), "a field is missing"),
        (lambda x: x.replace('"rows": 1', '"rows": 1.5'), "`rows` of the point"),
        (lambda x: "[" * 100_000, "no JSON"),
    ],
)
def test_a_bad_line_adds_nothing(store: TrialStore, change: Callable[[str], str], reason: str) -> None:
    text = f"{print_trial(trial(2))}\n{change(print_trial(trial(1)))}\n"
    with pytest.raises(PlanishError, match=reason) as caught:
        import_lines(store, Source("x.jsonl", text))
    assert caught.value.diagnostic.code == "E0923"
    span = caught.value.diagnostic.span
    assert span is not None and span.line == 2
    assert [*store.trials()] == []


def test_parsing_is_the_inverse_of_printing() -> None:
    assert parse_trial(print_trial(trial(5))) == trial(5)


def test_pruning(store: TrialStore) -> None:
    other = replace(TASK, kernel="kernel nest() { x }")
    failed = replace(trial(9), outcome="wrong", value=None)
    store.add_all([trial(1, 0.5), trial(2, 0.7), trial(3, 0.6), failed, trial(4, 1.0, other)])
    assert store.prune(failed=True) == 1
    assert store.prune(keep=2) == 1
    assert [x.seed for x in store.trials()] == [1, 3, 4]
    assert store.prune(before="1970") == 3, "those without a time are the oldest"
    assert store.summaries() == ()


def test_names_do_not_count_and_meaning_does() -> None:
    def text(body: str, name: str = "`step`") -> str:
        arrays = f"x: f64[n], {name}: f64[n]"
        return canonical_text(parse_kernel(f"kernel k(n; {arrays}) {{ for i in 0 .. n {{ {body} }} }}"))

    assert text("x[i] = sqrt(`step`[i])") == text("x[i] = sqrt(y[i])", "y")
    assert text("x[i] = sqrt(`step`[i])") != text("x[i] = exp(`step`[i])")
    assert "f64" in text("x[i] = 0.0") and "step" not in text("x[i] = 0.0")
