"""The tables of the trial store, as the steps by which a file comes from one version of them to the next.

>>> import sqlite3
>>> connection = sqlite3.connect(":memory:", isolation_level=None)
>>> migrate(connection), read_version(connection) == len(MIGRATIONS)
(True, True)
>>> migrate(connection)
False
"""

from __future__ import annotations

import sqlite3

APPLICATION = 0x504C5452
"""What marks a file of SQLite as a trial store: "PLTR"."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE tasks (
            id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, kernel TEXT NOT NULL, machine TEXT NOT NULL,
            fingerprint TEXT NOT NULL, compiler TEXT NOT NULL, options TEXT NOT NULL)""",
        """CREATE TABLE trials (
            id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, task INTEGER NOT NULL REFERENCES tasks (id),
            outcome TEXT NOT NULL, score REAL, made TEXT NOT NULL, record TEXT NOT NULL)""",
    ),
    (
        "CREATE INDEX trials_best ON trials (task, score) WHERE score IS NOT NULL",
        "CREATE INDEX trials_task ON trials (task, id)",
    ),
)
"""The statements that lead from each version of the tables to the next; version 0 is an empty file. A step that was
released is never changed."""


def read_version(connection: sqlite3.Connection) -> int:
    """The version of the tables that a file has."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(connection: sqlite3.Connection) -> bool:
    """Brings the tables to the newest version, all at once or not at all; whether there was anything to do. The
    connection is to leave transactions alone (`isolation_level=None`). ValueError where the file is of something else,
    or newer."""
    if _is_current(connection):
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited.
        done = _is_current(connection)
        if not done:
            for statements in MIGRATIONS[read_version(connection) :]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return not done


def _is_current(connection: sqlite3.Connection) -> bool:
    """Whether there is nothing to do; ValueError as of `migrate`."""
    version = read_version(connection)
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (version or tables) and mark != APPLICATION:
        raise ValueError("it is a database of another program")
    if version > len(MIGRATIONS):
        raise ValueError(f"its tables have version {version}, and this Planish knows {len(MIGRATIONS)}")
    return version == len(MIGRATIONS)
