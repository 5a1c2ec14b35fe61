"""`datasette:URL[/database[/table]]`: full-text search in a Datasette, through its JSON API.

It finds the tables with a full-text index by itself, asks with SQL (`_shape=array`) ordered by rank,
and falls back to the table's own search where a server allows no SQL. The blog search of the ReAct
recipe is one configuration: `datasette:https://HOST/DATABASE/blog_entry`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from wellread.errors import SourceError
from wellread.net.payload import Payload
from wellread.net.service import Http, Refused
from wellread.parameters import param
from wellread.protocols import Parts
from wellread.sources.hits import cleaned, fused, hit, plain
from wellread.sources.service import RecordOptions, Service, keywords
from wellread.types import Hit, Query, Spec

_SNIPPET = 1000  # characters of a text without its tags
_MOST_TABLES = 8


@dataclass(frozen=True, slots=True)
class Options(RecordOptions):
    sql: str | None = param(None, "your own query with :q for the words (escaped for FTS) and :limit")
    url: str | None = param(None, "column with the address; else the row's page in Datasette")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be searched."""

    database: str
    name: str
    index: str  # its FTS table
    keys: tuple[str, ...] = ()
    ranked: bool = True  # FTS5 knows ranks, FTS4 does not


class Datasette(Service[Options]):
    """Full-text search in a Datasette. Rows are hits, with the text of their longest column."""

    address = "https://datasette.example.org/database/table"
    hint = (
        "A database of documents searched by words. A few telling words, no sentence and no operators; "
        "entries that have all of them come before those that have only some."
    )

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        self.public = not self.at.own
        self._found: tuple[str, tuple[Table, ...]] | None = None

    async def find(self, query: Query) -> Sequence[Hit]:
        for words in dict.fromkeys((matching(query.text), matching(query.text, " OR "))):
            if words and (rows := await self._rows(words, query.limit)):
                return rows[: query.limit]
        return []

    async def _rows(self, words: str, limit: int) -> Sequence[Hit]:
        if self.options.sql:
            rows = await self.http.get(f"{self.base}.json", _sql(self.options.sql, words, limit))
            return await self._hits(rows, None, "")
        if self._found is None:
            self._found = await discover(self.http, self.base)
        root, tables = self._found
        lists = await asyncio.gather(*(self._table(root, table, words, limit) for table in tables))
        return lists[0] if len(lists) == 1 else fused(lists, limit)

    async def _table(self, root: str, table: Table, words: str, limit: int) -> list[Hit]:
        index, name = _quoted(table.index), _quoted(table.name)
        order = f"{index}.rank" if table.ranked else f"{name}.rowid desc"
        joined = f"{index} join {name} on {name}.rowid = {index}.rowid" if index != name else index
        sql = f"select {name}.rowid as _rowid, {name}.* from {joined} where {index} match :q order by {order} limit :limit"
        try:
            rows = await self.http.get(f"{root}/{quote(table.database)}.json", _sql(sql, words, limit))
        except Refused as problem:
            if problem.status != 403:  # this server allows no SQL of ours, but searches its tables
                raise
            params: dict[str, str | int] = {"_search": words, "_searchmode": "raw", "_shape": "array", "_size": limit}
            rows = await self.http.get(f"{root}/{quote(table.database)}/{quote(table.name)}.json", params)
        return await self._hits(rows, table, root)

    async def _hits(self, rows: Payload, table: Table | None, root: str) -> list[Hit]:
        def of(row: Payload, rank: int) -> Hit | None:
            text = self.options.text_of(row)
            place = f"{self.base}#{row.text('id') or rank}"
            if table:  # the row's own page
                keys = [_tilde(row.text(key)) for key in table.keys] or [row.text("_rowid")]
                place = f"{root}/{_tilde(table.database)}/{_tilde(table.name)}/{','.join(keys)}"
            return hit(
                title=self.options.said("title", row),
                url=self.options.said("url", row) or place,
                snippet=plain(text[: 10 * _SNIPPET])[:_SNIPPET],
                text=text,
                published=self.options.said("date", row),
                id=place,
            )

        return await cleaned((of(row, rank) for rank, row in enumerate(rows)), self.name)


async def discover(http: Http, address: str) -> tuple[str, tuple[Table, ...]]:
    """The server's root and its searchable tables, from the address of server, database or table."""
    root, databases, only = await _root(http, address)
    lists = await asyncio.gather(*(_tables(http, root, database) for database in databases))
    tables = [table for found in lists for table in found if only in (None, table.name)]
    if not tables:
        raise http.error(f"table {only!r} has no full-text index" if only else "no table there has a full-text index")
    return root, tuple(tables[:_MOST_TABLES])


async def _tables(http: Http, root: str, database: str) -> list[Table]:
    """Tables with an index, by the definitions of the indexes; by Datasette's own guess where it allows no SQL."""
    place = f"{root}/{quote(database)}.json"
    listed = (await http.get(place)).items("tables")
    keys = {item.text("name"): tuple(key.text() for key in item.items("primary_keys")) for item in listed}
    try:
        asked = {"sql": "select name, sql from sqlite_master where sql like '%using fts%'", "_shape": "array"}
        definitions = [(row.text("name"), row.text("sql")) for row in await http.get(place, asked)]
    except Refused:
        indexed = [(item.text("name"), item.text("fts_table")) for item in listed]
        return [Table(database, name, index, keys[name]) for name, index in indexed if index and index != name]
    found: list[Table] = []
    for index, definition in definitions:
        content = re.search(r"""\bcontent\s*=\s*["'\[`]?([^"'\]`,)]+)""", definition, re.I)
        name = content[1].strip() if content and content[1].strip() in keys else index
        found.append(Table(database, name, index, keys.get(name, ()), "fts5" in definition.lower()))
    return found


async def _root(http: Http, address: str) -> tuple[str, list[str], str | None]:
    """Datasette may live under a prefix: the server is where `/-/databases.json` answers. The shortest address comes first, for
    one of a table it takes for that of a row, and fails."""
    problem: SourceError | None = None
    parts = address.split("/")
    for given in (2, 1, 0):
        if len(parts) - given < 3:
            continue
        root = "/".join(parts[: len(parts) - given])
        try:
            answer = await http.get(f"{root}/-/databases.json")
        except SourceError as failed:
            problem = failed  # at last that of the address as it was given
            continue
        rest = parts[len(parts) - given :]
        names = [rest[0]] if rest else [item.text("name") for item in answer if item.text("name") != "_internal"][:_MOST_TABLES]
        return root, names, rest[1] if len(rest) > 1 else None
    raise http.error(f"no Datasette found there ({problem.message if problem else 'nothing answers'})")


def _tilde(text: str) -> str:
    """A part of an address, in which Datasette writes other characters than letters and digits as ~XX."""
    safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
    return "".join(c if c in safe else "+" if c == " " else "".join(f"~{b:02X}" for b in c.encode()) for c in text)


def _sql(sql: str, words: str, limit: int) -> Mapping[str, str | int]:
    return {"sql": sql, "q": words, "limit": limit, "_shape": "array"}


def _quoted(name: str) -> str:
    return "[" + name.replace("]", "") + "]"


def matching(text: str, joint: str = " ") -> str:
    """A query for SQLite's full-text search: every word literal, all of them needed, or one of them."""
    return joint.join(f'"{word}"' for word in keywords(text))
