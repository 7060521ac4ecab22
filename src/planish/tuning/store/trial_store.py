"""The trial store: trials of all nests in one file of SQLite, written by several processes at once, each at once.

>>> import tempfile
>>> from planish.schedule.arguments import Point
>>> task = TuningTask("kernel nest() { }", "native", "0f", "gcc 12.2")
>>> store = TrialStore(Path(tempfile.mkdtemp()) / "trials.sqlite")
>>> trials = [TuningTrial("ok", 1.0 / n, 1.0, task=task, point=Point.of({"rows": n})) for n in (1, 4)]
>>> store.add_all(trials), store.add_all(trials)
(2, 0)
>>> str(store.best(task).point)
'rows=4'
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.schedule.arguments import Point
from planish.tuning.store.schema import migrate
from planish.tuning.trial import TuningTask, TuningTrial, parse_trial, print_trial

PATIENCE = 60.0
"""Seconds that a writer waits for others."""
_TASK = "tasks.kernel, tasks.machine, tasks.fingerprint, tasks.compiler, tasks.options"


def default_store() -> Path:
    """The user's store (`$XDG_DATA_HOME/planish/trials.sqlite`, else below `~/.local/share`)."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    folder = Path(base) if base and Path(base).is_absolute() else Path(os.path.expanduser("~")) / ".local" / "share"
    return folder / "planish" / "trials.sqlite"


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task, how many trials of it there are and how many failed, the best one, and where its nest stood."""

    task: TuningTask
    trials: int
    failed: int
    best: TuningTrial | None
    label: str


@dataclass(frozen=True, slots=True)
class TrialStore:
    """The trials in a file, which need not be there yet.

    A trial is on the disk when `add` returns: the file is in WAL mode, where a writer that is killed leaves what others
    committed, and each commit waits for the disk. Each call opens the file by itself, so that a store may be used in
    any process and thread, also behind a fork. All raise PlanishError: E0920 where the file cannot be written or read
    (no space, no permission), E0921 where it is no store or is damaged, E0922 where another process keeps it.
    """

    path: Path

    def add(self, trial: TuningTrial) -> bool:
        """Keeps a trial; False where it is there already."""
        return self.add_all((trial,)) == 1

    def add_all(self, trials: Iterable[TuningTrial]) -> int:
        """Keeps trials, all or none; how many are new."""
        added = 0
        with self._writing() as connection:
            for trial in trials:
                task = _task_number(connection, trial.task)
                score = None if trial.score == inf else trial.score
                row = (trial.digest, task, trial.outcome, score, trial.made, print_trial(trial))
                names = "digest, task, outcome, score, made, record"
                done = connection.execute(f"INSERT OR IGNORE INTO trials ({names}) VALUES (?, ?, ?, ?, ?, ?)", row)
                added += done.rowcount
        return added

    def trials(self, task: TuningTask | None = None, *, best_first: bool = False) -> Iterator[TuningTrial]:
        """The trials of a task, or all, in the order in which they were made, or the best first."""
        where, values = ("WHERE tasks.digest = ?", (task.digest,)) if task is not None else ("", ())
        order = "score IS NULL, score, trials.id" if best_first else "trials.id"
        with self._reading() as connection:
            if connection is None:
                return
            query = f"SELECT record FROM trials JOIN tasks ON tasks.id = trials.task {where} ORDER BY {order}"
            for (record,) in connection.execute(query, values):
                yield parse_trial(record)

    def best(self, task: TuningTask) -> TuningTrial | None:
        """The trial of a task that takes the least of what its default takes; None where none is of any use. Of a point
        that was tried several times the middle trial counts: the luckiest one says little."""
        tried: dict[Point, list[TuningTrial]] = {}
        for trial in self._records("tasks.digest = ? AND score IS NOT NULL ORDER BY score, trials.id", task.digest):
            tried.setdefault(trial.point, []).append(trial)
        # Of an even number the slower one of the middle.
        return min((x[len(x) // 2] for x in tried.values()), key=lambda x: x.score, default=None)

    def count(self, task: TuningTask, point: Point) -> int:
        """How many times a point was measured."""
        found = self._records("tasks.digest = ? AND score IS NOT NULL", task.digest)
        return sum(x.point == point for x in found)

    def best_elsewhere(self, task: TuningTask) -> TuningTrial | None:
        """The best trial of the same nest with the same options on another machine, or by another compiler."""
        where = "tasks.kernel = ? AND tasks.options = ? AND tasks.digest <> ? AND score IS NOT NULL"
        values = (task.kernel, task.options, task.digest)
        return next(self._records(f"{where} ORDER BY score, trials.id LIMIT 1", *values), None)

    def find(self, prefix: str) -> tuple[TuningTrial, ...]:
        """The trials whose digests, or those of whose tasks, begin with some digits."""
        like = prefix.replace("%", "").replace("_", "") + "%"
        where = "trials.digest LIKE ? OR tasks.digest LIKE ? ORDER BY score IS NULL, score, trials.id"
        return tuple(self._records(where, like, like))

    def summaries(self) -> tuple[TaskSummary, ...]:
        """Every task with the number of its trials and the best one, in the order in which they came."""
        query = (
            f"SELECT {_TASK}, count(*), sum(outcome NOT IN ('ok', 'stopped')), min(trials.id) FROM trials"
            " JOIN tasks ON tasks.id = trials.task GROUP BY tasks.id ORDER BY tasks.id"
        )
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(query).fetchall()
            first = "SELECT record FROM trials WHERE id = ?"
            labels = [parse_trial(connection.execute(first, (x[-1],)).fetchone()[0]).label for x in rows]
        tasks = [TuningTask(*x[:-3]) for x in rows]
        return tuple(
            TaskSummary(task, count, failed, self.best(task), label)
            for task, (*_, count, failed, _), label in zip(tasks, rows, labels, strict=True)
        )

    def prune(self, keep: int | None = None, *, failed: bool = False, before: str = "", task: str = "") -> int:
        """Drops trials: all but the best `keep` of each task; those that failed; those made `before` a time (ISO, UTC);
        all of the tasks whose digest begins with `task`. How many are gone; their space is given back."""
        ways: list[tuple[str, tuple[object, ...]]] = []
        if keep is not None:
            place = "row_number() OVER (PARTITION BY task ORDER BY score IS NULL, score, id) AS place"
            ways.append((f"id IN (SELECT id FROM (SELECT id, {place} FROM trials) WHERE place > ?)", (keep,)))
        if failed:
            ways.append(("outcome NOT IN ('ok', 'stopped')", ()))
        if before:
            ways.append(("made < ?", (before,)))
        if task:
            ways.append(("task IN (SELECT id FROM tasks WHERE digest LIKE ?)", (task.replace("%", "") + "%",)))
        gone = 0
        with self._writing() as connection:
            for where, values in ways:
                gone += connection.execute(f"DELETE FROM trials WHERE {where}", values).rowcount
            connection.execute("DELETE FROM tasks WHERE id NOT IN (SELECT task FROM trials)")
        with self._writing(transaction=False) as connection:
            connection.execute("VACUUM")
        return gone

    def check(self) -> str:
        """What SQLite finds wrong with the file; "" for nothing."""
        with self._reading() as connection:
            if connection is None:
                return ""
            found = [x for (x,) in connection.execute("PRAGMA integrity_check")]
        return "" if found == ["ok"] else "; ".join(found)

    def _records(self, where: str, *values: str) -> Iterator[TuningTrial]:
        with self._reading() as connection:
            if connection is None:
                return
            query = f"SELECT record FROM trials JOIN tasks ON tasks.id = trials.task WHERE {where}"
            found = [parse_trial(x) for (x,) in connection.execute(query, values)]
        yield from found

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection that reads; None where there is no file."""
        if not self.path.exists():
            yield None
            return
        with self._opened() as connection:
            yield connection

    @contextmanager
    def _writing(self, transaction: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction, which is committed at the end."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _refuse(self.path, "E0920", error.strerror or str(error)) from error
        with self._opened() as connection:
            if transaction:
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            if transaction:
                connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection whose errors are told as diagnostics; what was not committed is undone."""
        connection = None
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection)
            yield connection
        except sqlite3.Error as error:
            raise _tell(self.path, error) from error
        except ValueError as error:
            raise _refuse(self.path, "E0921", str(error)) from error
        finally:
            if connection is not None:
                connection.close()


def _task_number(connection: sqlite3.Connection, task: TuningTask) -> int:
    row = (task.digest, task.kernel, task.machine, task.fingerprint, task.compiler, task.options)
    names = "digest, kernel, machine, fingerprint, compiler, options"
    connection.execute(f"INSERT OR IGNORE INTO tasks ({names}) VALUES (?, ?, ?, ?, ?, ?)", row)
    (number,) = connection.execute("SELECT id FROM tasks WHERE digest = ?", (task.digest,)).fetchone()
    return int(number)


def _tell(path: Path, error: sqlite3.Error) -> PlanishError:
    """What SQLite says, as a diagnostic."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _refuse(path, "E0922", "another process has kept it for a minute")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or isinstance(error, sqlite3.IntegrityError):
        return _refuse(path, "E0921", str(error))
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
        return _refuse(path, "E0920", str(error))
    return _refuse(path, "E0921", str(error))


def _refuse(path: Path, code: str, reason: str) -> PlanishError:
    what = "cannot be used as a trial store" if code == "E0921" else "cannot be written or read"
    kept = "; what was committed before is kept" if code == "E0920" else ""
    return PlanishError(Diagnostic(code, f"the trial store {path} {what}: {reason}{kept}"))
