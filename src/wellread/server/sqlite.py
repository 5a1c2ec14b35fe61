"""The history in one SQLite file (WAL) that belongs to one server: it needs nothing else to run."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from wellread.errors import DamagedFile
from wellread.private import private_file
from wellread.server.database import ENDED, Job, Row, Unreachable, Values
from wellread.server.history_tables import migrate


class Sqlite:
    """One connection that writes and one that reads."""

    server: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer: sqlite3.Connection | None = None
        self.reader: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open or create; runs that a crash left running are marked interrupted, for nobody else can be at work on them."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
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
        return self.reader.execute(sql, values).fetchall()  # pyright: ignore[reportArgumentType]

    def close(self) -> None:
        for connection in (self.writer, self.reader):
            if connection is not None:
                connection.close()
        self.writer = self.reader = None


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _interrupt(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    number = "(SELECT COALESCE(MAX(number), -1) + 1 FROM events WHERE run = runs.id)"
    connection.execute(f"INSERT INTO events SELECT id, {number}, ? FROM runs WHERE state = 'running'", (ENDED,))
    connection.execute("UPDATE runs SET state = 'interrupted', finished = ? WHERE state = 'running'", (time.time(),))
    connection.execute("COMMIT")
