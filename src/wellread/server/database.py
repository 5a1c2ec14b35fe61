"""The history's database: SQLite, or PostgreSQL, which several servers can share. Transactions of many statements, rows,
migrations.

Statements are written once, for both, with `?` for values. `write` is called from one thread and `read` from another. A
connection to PostgreSQL that breaks is made anew, and a group that breaks is written again on it, also where it broke during the
commit and nobody can say whether it was written: every statement of the history may be said twice.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wellread.core.private_files import private_file
from wellread.core.unicode_safety import encodable
from wellread.errors import DamagedFile, UsageError, WellreadError, optional

if TYPE_CHECKING:
    import psycopg

Values = Sequence[object]
Job = tuple[str, Values]
Row = tuple[object, ...]
T = TypeVar("T")
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
            self.write([_interrupted()])
            self.reader = connect(self.path)
        except (sqlite3.DatabaseError, OSError, Unreachable) as problem:
            raise DamagedFile(f"{self.path}: the history cannot be opened: {problem}") from None

    def write(self, group: Sequence[Sequence[Job]]) -> list[int]:
        """All in one transaction; the number of rows of each. Raises `Unreachable`, or what is wrong with one of them."""
        assert self.writer is not None
        try:
            self.writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as problem:
            raise Unreachable(problem) from None
        with self.writer:  # which knows that SQLite ends a transaction itself when the disk is full
            return [sum(self.writer.execute(sql, values).rowcount for sql, values in jobs) for jobs in group]  # pyright: ignore[reportArgumentType]

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


def _interrupted() -> Sequence[Job]:
    number = "(SELECT COALESCE(MAX(number), -1) + 1 FROM events WHERE run = runs.id)"
    ends = f"INSERT OR IGNORE INTO events SELECT id, {number}, ? FROM runs WHERE state = 'running'", (ENDED,)
    return ends, ("UPDATE runs SET state = 'interrupted', finished = ? WHERE state = 'running'", (time.time(),))


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date; each step is one transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise DamagedFile("the history was written by a newer version of wellread")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        with connection:
            for statement in ("BEGIN IMMEDIATE", *statements, f"PRAGMA user_version = {number}"):
                connection.execute(statement)


PATIENCE = 5.0  # seconds in which a database that restarts may come back before anybody is told
_PAUSE = 0.1
_EXPECTED = "postgresql://USER@HOST:PORT/DATABASE"
# a network that swallows packets must not hold a server for the quarter of an hour that TCP would wait
_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
    "application_name": "wellread",
}
SCHEMA = "wellread"
_LOCK = 0x77656C6C  # servers that start at the same time take turns
# its steps as those of MIGRATIONS; names are compared by their bytes, as SQLite does, whatever the language of the database
TABLES: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id TEXT COLLATE "C" PRIMARY KEY, thread TEXT NOT NULL, parent TEXT, question TEXT NOT NULL,
            strategy TEXT NOT NULL, model TEXT, sources TEXT NOT NULL, state TEXT NOT NULL,
            created DOUBLE PRECISION NOT NULL, finished DOUBLE PRECISION, outcome TEXT, answer TEXT, words TEXT NOT NULL,
            turns TEXT, via TEXT, server TEXT, stop BOOLEAN NOT NULL DEFAULT FALSE
        )""",
        "CREATE INDEX runs_created ON runs (created)",
        "CREATE INDEX runs_thread ON runs (thread, created)",
        "CREATE INDEX runs_running ON runs (server) WHERE state = 'running'",
        """CREATE TABLE events (
            run TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (run, number)
        )""",
        "CREATE TABLE names (thread TEXT PRIMARY KEY, name TEXT NOT NULL)",
        """CREATE FUNCTION forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                DELETE FROM names WHERE thread = OLD.thread AND NOT EXISTS (SELECT 1 FROM runs WHERE thread = OLD.thread);
                RETURN NULL;
            END $$""",
        "CREATE TRIGGER forgotten AFTER DELETE ON runs FOR EACH ROW EXECUTE FUNCTION forgotten()",
        "CREATE TABLE servers (id TEXT PRIMARY KEY, seen TIMESTAMPTZ NOT NULL)",
    ),
)


def register(server: str | None) -> Job:
    """Tell the others that this server is there."""
    return "INSERT INTO servers VALUES (?, now()) ON CONFLICT (id) DO UPDATE SET seen = now()", (server,)


def end_orphans() -> Job:
    """End the runs that no server works on. In one statement, so that two servers who do this do it once."""
    dead = """UPDATE runs SET state = 'interrupted', finished = ?
        WHERE state = 'running' AND (server IS NULL OR server NOT IN (SELECT id FROM servers)) RETURNING id"""
    number = "(SELECT COALESCE(MAX(number), -1) + 1 FROM events WHERE run = dead.id)"
    return f"WITH dead AS ({dead}) INSERT INTO events SELECT id, {number}, ? FROM dead", (time.time(), ENDED)


class Postgres:
    """One connection that writes and one that reads."""

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        self.server: str | None = secrets.token_urlsafe(6)
        self._address = Address(address)
        self._writer = _Line(self._address, patience)
        self._reader = _Line(self._address, patience, LONGEST)

    def open(self) -> None:
        try:
            _migrate(self._writer.dial())
            self.write([[register(self.server), end_orphans()]])
            self._reader.dial()
        except _errors().Error as problem:
            raise DamagedFile(f"{self._address}: the history cannot be opened: {self._address.discreet(problem)}") from None

    def write(self, group: Sequence[Sequence[Job]]) -> list[int]:
        try:
            return self._writer.use(lambda connection: _written(connection, group))
        except _errors().Error as problem:
            raise DamagedFile(self._address.discreet(problem)) from None

    def read(self, sql: str, values: Values) -> list[Row]:
        try:
            return self._reader.use(lambda connection: connection.execute(_own(sql), _sent(values)).fetchall())
        except _errors().errors.QueryCanceled:
            raise TooSlow from None
        except (_errors().Error, Unreachable) as problem:
            raise DamagedFile(f"the history cannot be read: {self._address.discreet(problem)}") from None

    def close(self) -> None:
        with suppress(_errors().Error):  # what this server leaves undone is known at once; without it, a little later
            self._writer.leave(self.server)
        self._writer.close()
        self._reader.close()


def check(address: str) -> None:
    """Whether it can be opened; nothing is changed."""
    where = Address(address)
    line = _Line(where, 0)
    try:
        line.dial()
    except _errors().Error as problem:
        raise DamagedFile(f"{where}: {where.discreet(problem)}") from None
    finally:
        line.close()


class Address:
    """Where the database is. As a text it has no password."""

    def __init__(self, address: str) -> None:
        with optional("a history in PostgreSQL", "postgres"):
            import psycopg.conninfo as conninfo
        try:
            given = {name: str(value) for name, value in conninfo.conninfo_to_dict(address).items() if value is not None}
        except _errors().Error:  # its text may quote the password
            raise UsageError(f"the address of the history cannot be read; it should be like {_EXPECTED}") from None
        self.parts: dict[str, str] = {**_DEFAULTS, **given}

    def __str__(self) -> str:
        parts = self.parts
        user = f"{parts['user']}@" if "user" in parts else ""
        port = f":{parts['port']}" if "port" in parts else ""
        return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"

    def discreet(self, problem: BaseException) -> str:
        """The first line of what went wrong, without the password."""
        text = str(problem).strip().partition("\n")[0] or type(problem).__name__
        password = self.parts.get("password")
        return text.replace(password, "…") if password else text


class _Line:
    """One connection. When it breaks, what is under way is done again on a new one, for as long as patience lasts."""

    def __init__(self, address: Address, patience: float, longest: float = 0) -> None:
        self._address, self._longest = address, longest
        self._patience = patience
        self._connection: psycopg.Connection[Row] | None = None
        self._down = False  # those who come later in an outage do not wait it out again, one after the other

    def dial(self) -> psycopg.Connection[Row]:
        import psycopg

        if self._connection is None or self._is_lost():
            self._connection = psycopg.connect(autocommit=True, **self._address.parts)  # pyright: ignore[reportArgumentType]
            self._connection.execute(f"SET search_path TO {SCHEMA}".encode())
            self._connection.execute(f"SET statement_timeout TO {int(1000 * self._longest)}".encode())
        return self._connection

    def use(self, action: Callable[[psycopg.Connection[Row]], T]) -> T:
        """Raises `Unreachable` where there is no connection, or what `action` raises on a sound one."""
        until = time.monotonic() + (0 if self._down else self._patience)
        while True:
            try:
                result = action(self.dial())
            except (_errors().OperationalError, _errors().InterfaceError) as problem:
                if problem.sqlstate is not None and not problem.sqlstate.startswith("57P") and not self._is_lost():
                    raise  # the database is there and does not want it
                self.close()  # also one that only seems to be there: stuck in the middle of a group it would take nothing more
                if time.monotonic() > until:
                    self._down = True
                    raise Unreachable(self._address.discreet(problem)) from None
                time.sleep(_PAUSE)
            else:
                self._down = False
                return result

    def _is_lost(self) -> bool:
        return self._connection is None or self._connection.closed

    def leave(self, server: str | None) -> None:
        if self._connection is not None and not self._is_lost():
            self._connection.execute("DELETE FROM servers WHERE id = %s", (server,))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _written(connection: psycopg.Connection[Row], group: Sequence[Sequence[Job]]) -> list[int]:
    """In as many round trips however many statements there are."""
    with connection.transaction(), connection.pipeline():
        sent = [[connection.execute(_own(sql), _sent(values)) for sql, values in jobs] for jobs in group]
    return [sum(cursor.rowcount for cursor in cursors if cursor.description is None) for cursors in sent]  # rows that changed


@lru_cache(maxsize=200)
def _own(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def _sent(values: Values) -> Values:
    """PostgreSQL has no NUL in its texts."""
    return [encodable(value) for value in values]


def _errors() -> Any:
    import psycopg

    return psycopg


def _migrate(connection: psycopg.Connection[Row]) -> None:
    """Bring the tables up to date, all in one transaction."""
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})".encode())
        # asked first: a user without the right to make schemas can use one that was made for it
        if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchall():
            connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        connection.execute(b"CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)")
        version = int(str((connection.execute(b"SELECT MAX(number) FROM version").fetchone() or (0,))[0] or 0))
        if version > len(TABLES):
            raise DamagedFile("the history was written by a newer version of wellread")
        for number, statements in enumerate(TABLES[version:], version + 1):
            for statement in statements:
                connection.execute(statement.encode())
            connection.execute("INSERT INTO version VALUES (%s)", (number,))
