"""The history's database in SQLite: transactions of many statements, rows, migrations. `postgres` does the same on a server.

Statements are written once, for both, with `?` for values. `write` is called from one thread and `read` from another.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from wellread.core.private_files import private_file
from wellread.errors import DamagedFile, UsageError, WellreadError

Values = Sequence[object]
Job = tuple[str, Values]
Row = tuple[object, ...]
# the last event of a run whose server is gone
ENDED = '{"event": "ended", "state": "interrupted", "reason": "the server stopped"}'
LONGEST = 5.0  # seconds that one statement reads: others wait for it
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, thread TEXT NOT NULL, parent TEXT, question TEXT NOT NULL,
            strategy TEXT NOT NULL, model TEXT, sources TEXT NOT NULL, state TEXT NOT NULL,
            created REAL NOT NULL, finished REAL, outcome TEXT, answer TEXT, words TEXT NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX runs_created ON runs (created)",
        "CREATE INDEX runs_thread ON runs (thread, created)",
        """CREATE TABLE events (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (run, number)
        ) WITHOUT ROWID""",
    ),
    ("ALTER TABLE runs ADD COLUMN turns TEXT",),
    (
        "ALTER TABLE runs ADD COLUMN via TEXT",
        "CREATE TABLE names (thread TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID",
        """CREATE TRIGGER forgotten AFTER DELETE ON runs WHEN NOT EXISTS (SELECT 1 FROM runs WHERE thread = OLD.thread)
            BEGIN DELETE FROM names WHERE thread = OLD.thread; END""",
    ),
    ("ALTER TABLE runs ADD COLUMN server TEXT",),  # empty here: there is one
    # what is searched, without the answers that stand before it in every row
    ("DROP INDEX runs_created", "CREATE INDEX runs_words ON runs (created, thread, words)"),
)


class TooSlow(WellreadError):
    """Reading took too long, and was given up."""

    def __init__(self) -> None:
        super().__init__("the history is too large to be searched for this in time: search for other words")


class Unreachable(Exception):
    """No transaction can begin: nothing can be written now, and having waited once is enough."""


class Sqlite:
    """One connection that writes and one that reads."""

    server: str | None = None  # by which name others know this one, where several may use a database at the same time

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.writer: sqlite3.Connection | None = None
        self.reader: sqlite3.Connection | None = None
        self.lock: int | None = None

    def open(self) -> None:
        """Open or create; runs that a crash left running are marked interrupted, for nobody else can be at work on them."""
        if self.path is None:  # in memory
            self.writer = self.reader = connect(":memory:")
            return migrate(self.writer)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.path.exists() and not self.path.is_file():
                raise UsageError(f"{self.path}: the history must be a file")
            self.lock = _alone(self.path)
            private_file(self.path)  # questions are nobody else's business; its journal gets the same permissions
            self.writer = connect(self.path)
            self.writer.execute("PRAGMA journal_mode = WAL")
            self.writer.execute("PRAGMA synchronous = NORMAL")
            migrate(self.writer)
            _interrupt(self.writer)
            self.reader = connect(self.path)
        except (sqlite3.DatabaseError, OSError) as problem:
            raise DamagedFile(f"{self.path}: the history cannot be opened: {problem}") from None

    def write(self, group: Sequence[Sequence[Job]]) -> list[int]:
        """All in one transaction; the number of rows of each. Raises `Unreachable`, or what is wrong with one of them."""
        assert self.writer is not None
        try:
            self.writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as problem:
            raise Unreachable(problem) from None
        try:
            counts = [sum(self.writer.execute(sql, values).rowcount for sql, values in jobs) for jobs in group]  # pyright: ignore[reportArgumentType]
            self.writer.execute("COMMIT")
        finally:
            if self.writer.in_transaction:  # SQLite ends one itself when the disk is full
                self.writer.execute("ROLLBACK")
        return counts

    def read(self, sql: str, values: Values) -> list[Row]:
        assert self.reader is not None
        until = time.monotonic() + LONGEST
        self.reader.set_progress_handler(lambda: time.monotonic() > until, 100_000)
        try:
            return self.reader.execute(sql, values).fetchall()  # pyright: ignore[reportArgumentType]
        except sqlite3.OperationalError as problem:
            if time.monotonic() > until:
                raise TooSlow from None
            raise DamagedFile(f"the history cannot be read: {problem}") from None
        finally:
            self.reader.set_progress_handler(None, 0)

    def close(self) -> None:
        for connection in (self.writer, self.reader):
            if connection is not None:
                connection.close()
        if self.lock is not None:
            os.close(self.lock)
        self.writer = self.reader = self.lock = None


def _alone(path: Path) -> int:
    """The lock of a history, gone with the process: a second server would take the first one's runs for those of a crash."""
    lock = path.with_name(f"{path.name}.lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise UsageError(f"{path}: another server keeps this history (name another, or share one in PostgreSQL)") from None
    except OSError as problem:
        if problem.errno not in (errno.ENOLCK, errno.ENOTSUP):  # a file system that has no locks
            os.close(handle)
            raise
    return handle


def connect(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _interrupt(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    number = "(SELECT COALESCE(MAX(number), -1) + 1 FROM events WHERE run = runs.id)"
    connection.execute(f"INSERT OR IGNORE INTO events SELECT id, {number}, ? FROM runs WHERE state = 'running'", (ENDED,))
    connection.execute("UPDATE runs SET state = 'interrupted', finished = ? WHERE state = 'running'", (time.time(),))
    connection.execute("COMMIT")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date; each step is one transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise DamagedFile("the history was written by a newer version of wellread")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
