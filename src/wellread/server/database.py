"""What the history needs of a database: groups of statements written together, and rows read. Two engines: SQLite and PostgreSQL.

Statements are written once, for both, with `?` for values. `write` is called from one thread and `read` from another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from wellread.errors import WellreadError

Values = Sequence[object]
Job = tuple[str, Values]
Row = tuple[object, ...]
# the last event of a run whose server is gone
ENDED = '{"event": "ended", "state": "interrupted", "reason": "the server stopped"}'


LONGEST = 5.0  # seconds that one statement reads: others wait for it


class TooSlow(WellreadError):
    """Reading took too long, and was given up."""

    def __init__(self) -> None:
        super().__init__("the history is too large to be searched for this in time: search for other words")


class Unreachable(Exception):
    """No transaction can begin: nothing can be written now, and having waited once is enough."""


class Database(Protocol):
    """One engine."""

    @property
    def server(self) -> str | None:
        """By which name the others know this server, where several may use it at the same time."""
        ...

    def open(self) -> None:
        """Connect and bring the tables up to date; raises `DamagedFile` with the reason, never with a password."""
        ...

    def write(self, group: Sequence[Sequence[Job]]) -> list[int]:
        """All in one transaction; the number of rows of each. Raises `Unreachable`, or what is wrong with one of them."""
        ...

    def read(self, sql: str, values: Values) -> list[Row]: ...

    def close(self) -> None: ...
