"""The history's tables in SQLite, as a list of steps: a file made by an older version is brought up to date on opening."""

from __future__ import annotations

import sqlite3

from wellread.errors import DamagedFile

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
