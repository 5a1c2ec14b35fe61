"""Tables as sentences: every row says its columns' names. CSV by the standard library."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import cast

from wellread.reading.allowance import MAX_BLOCKS, OWN_FILE
from wellread.types import Block, Page

MOST_COLUMNS = 500  # that are read of a row
_SAMPLE = 8_192
_LONGEST_NAME = 80  # characters; a longer first row is no row of names


def read_tsv(text: str, url: str, name: str) -> Page:
    return read_csv(text, url, name, delimiter="\t")


def read_csv(text: str, url: str, name: str, *, delimiter: str | None = None) -> Page:
    csv.field_size_limit(10_000_000)
    found = delimiter or _delimiter(text[:_SAMPLE])
    rows = csv.reader(text.splitlines(keepends=True), delimiter=found)
    return Page(url, name, (), kind="csv", blocks=tuple(rows_within(rows, OWN_FILE.characters)))


def read_jsonl(text: str, url: str, name: str) -> Page:
    """JSON lines: of each row its text under its title, else all that it says."""
    rows = (_said(line) for line in text.splitlines()[:MAX_BLOCKS] if line.strip())
    return Page(url, name, (), kind="jsonl", blocks=tuple(block for row in rows for block in _row(row)))


def _said(line: str) -> dict[str, object]:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        row = line
    return cast("dict[str, object]", row) if isinstance(row, dict) else {"text": str(row)}


def _row(row: dict[str, object]) -> Iterator[Block]:
    text = row.get("text")
    if not isinstance(text, str):
        yield Block("row", _sentence([str(value) for value in row.values()], list(row)))
        return
    if row.get("title"):
        yield Block("heading", str(row["title"]), 1)
    yield from (Block("paragraph", part.strip()) for part in text.split("\n\n") if part.strip())


def rows_within(rows: Iterable[Sequence[str]], characters: int) -> Iterator[Block]:
    """With the row in which the text becomes longer than that: every row says the names of all columns again."""
    for block in _rows([" ".join(cell.split()) for cell in row[:MOST_COLUMNS]] for row in islice(rows, MAX_BLOCKS + 1)):
        yield block
        characters -= len(block.text)
        if characters < 0:
            return


def _rows(rows: Iterable[list[str]]) -> Iterator[Block]:
    """The first row with more than one cell names the columns, where it looks like names and others follow."""
    names: list[str] | None = None
    named = False
    for row in rows:
        if not any(row):
            continue
        if names is None and sum(map(bool, row)) > 1:
            names = row if _is_head(row) else []
            if names:
                continue
        named = bool(names)
        yield Block("row", _sentence(row, names or []))
    if names and not named:
        yield Block("row", _sentence(names, []))


def _is_head(row: Sequence[str]) -> bool:
    filled = [cell for cell in row if cell]
    lettered = all(any(map(str.isalpha, cell)) and len(cell) <= _LONGEST_NAME for cell in filled)
    return lettered and len(set(filled)) == len(filled)


def _sentence(row: Sequence[str], names: Sequence[str]) -> str:
    if not names:
        return f"| {' | '.join(row)} |" if len(row) > 1 else row[0]
    said = [f"{names[n]}: {cell}" if n < len(names) and names[n] else cell for n, cell in enumerate(row) if cell]
    return "; ".join(said) + "."


def _delimiter(sample: str) -> str:
    first = sample.partition("\n")[0]
    return max(",;\t|", key=first.count)
