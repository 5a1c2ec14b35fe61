"""The history's tables in PostgreSQL, in a schema of their own, as a list of steps like those of SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellread.errors import DamagedFile

if TYPE_CHECKING:
    import psycopg

    from wellread.server.database import Row

SCHEMA = "wellread"
_LOCK = 0x77656C6C  # servers that start at the same time take turns
# Names are compared by their bytes, as SQLite does, whatever the language of the database.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
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
        # who serves, and who is being served, which need not survive a crash of the database
        "CREATE TABLE servers (id TEXT PRIMARY KEY, seen TIMESTAMPTZ NOT NULL)",
        """CREATE UNLOGGED TABLE places (
            id TEXT PRIMARY KEY, server TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
            kind TEXT NOT NULL, client TEXT NOT NULL
        )""",
        "CREATE INDEX places_client ON places (client, kind)",
    ),
)


def migrate(connection: psycopg.Connection[Row]) -> None:
    """Bring the tables up to date, all in one transaction."""
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})".encode())
        # asked first: a user without the right to make schemas can use one that was made for it
        if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchall():
            connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        connection.execute(b"CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)")
        version = int(str((connection.execute(b"SELECT MAX(number) FROM version").fetchone() or (0,))[0] or 0))
        if version > len(MIGRATIONS):
            raise DamagedFile("the history was written by a newer version of wellread")
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                connection.execute(statement.encode())
            connection.execute("INSERT INTO version VALUES (%s)", (number,))
