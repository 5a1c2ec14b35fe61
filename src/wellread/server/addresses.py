"""Addresses of documents that this server keeps: a page of its own, never a path of its disk.

Inside the page and the API they are paths of this server; whoever reads an answer elsewhere gets a whole address, at the words.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote, urlencode

from wellread.answer_json import AnswerJson
from wellread.core.unicode_safety import encodable
from wellread.server.viewer import Place
from wellread.text.places import Placed, is_file

COLLECTIONS = "/collections"
WORDS = "words"  # the id of the first marked words; an address that ends with it leads there
_LONGEST = 300  # characters of a quote that an address carries: enough to find it by


def collection(slug: str) -> str:
    return f"{COLLECTIONS}/{quote(slug)}"


def document(slug: str, name: str) -> str:
    return f"{collection(slug)}/documents/{quote(encodable(name))}"


def linked(answer: AnswerJson, base: str | None) -> AnswerJson:
    """An answer for a reader elsewhere: each source that this server keeps with its page here as `url`, and in full as `link`.
    None: the reader is on this machine, where files have their paths."""
    if base is None:
        return answer
    citations = [replace(one, **link(one, one.quote, base)) for one in answer.citations]
    return replace(answer, citations=citations, nearest=[replace(one, **link(one, one.text, base)) for one in answer.nearest])


def link(one: Placed, words: str, base: str) -> dict[str, str | None]:
    """The `url` and the `link` of a citation, a near passage or a hit."""
    url = one.url or ""
    if not is_file(url):
        return {"url": one.url, "link": one.url}
    own = url if url.startswith("/") else Place(one.source, one.document or "").path()
    words = _beginning(words)
    at = f"{'&' if '?' in own else '?'}{urlencode({'words': words})}#{WORDS}" if words else ""
    return {"url": own, "link": f"{base.rstrip('/')}{own}{at}"}


def _beginning(words: str) -> str:
    if len(words) <= _LONGEST:
        return words
    return words[:_LONGEST].rpartition(" ")[0] or words[:_LONGEST]
