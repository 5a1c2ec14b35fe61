"""Addresses of documents that this server keeps: a page of its own, never a path of its disk.

Inside the page and the API they are paths of this server; whoever reads an answer elsewhere gets a whole address, at the words.
"""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote, urlencode

from wellread.core.unicode_safety import encodable
from wellread.server.viewer import Place
from wellread.text.places import is_file

COLLECTIONS = "/collections"
WORDS = "words"  # the id of the first marked words; an address that ends with it leads there
_LONGEST = 300  # characters of a quote that an address carries: enough to find it by
Row = dict[str, Any]  # a citation or a near passage, as JSON


def collection(slug: str) -> str:
    return f"{COLLECTIONS}/{quote(slug)}"


def document(slug: str, name: str) -> str:
    return f"{collection(slug)}/documents/{quote(encodable(name))}"


def linked(answer: dict[str, Any], base: str | None) -> dict[str, Any]:
    """An answer for a reader elsewhere: each source that this server keeps with its page here as `url`, and in full as `link`.
    None: the reader is on this machine, where files have their paths."""
    rows = {name: cast("list[Row]", answer.get(name) or []) for name in ("citations", "nearest")}
    return {**answer, **{name: [linked_row(row, base) for row in some] for name, some in rows.items()}}


def linked_row(row: Row, base: str | None) -> Row:
    """One citation, near passage or hit."""
    if base is None:
        return row
    url = str(row.get("url") or "")
    if not is_file(url):
        return {**row, "link": url or None}
    own = url if url.startswith("/") else Place(str(row["source"]), str(row["document"])).path()
    words = _beginning(str(row.get("quote") or row.get("text") or ""))
    at = f"{'&' if '?' in own else '?'}{urlencode({'words': words})}#{WORDS}" if words else ""
    return {**row, "url": own, "link": f"{base.rstrip('/')}{own}{at}"}


def _beginning(words: str) -> str:
    if len(words) <= _LONGEST:
        return words
    return words[:_LONGEST].rpartition(" ")[0] or words[:_LONGEST]
