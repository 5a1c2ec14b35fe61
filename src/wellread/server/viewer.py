"""Document viewer: the document at the place that a citation or a hit leads to.

A client names a source that the operator offers, a document and a passage. They are compared with what that source has in its
own records, and nothing that a client says becomes part of a path. What is shown is the text as it was read; a file itself is
opened only for pictures of a PDF's pages, and only while it holds the bytes that were read.

The address of a document that this server keeps is a page of its own, never a path of its disk: inside the page and the API a
path of this server; whoever reads an answer elsewhere gets a whole address, at the words.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from wellread.answer_json import AnswerJson
from wellread.core.unicode_safety import encodable
from wellread.errors import ReadError, WellreadError
from wellread.index.search import Leaves
from wellread.protocols import Source
from wellread.reading.kinds import inner_name
from wellread.reading.pdfpicture import Drawing, Picture
from wellread.server.limits import beside
from wellread.server.menu import Menu
from wellread.text.places import Placed, is_file
from wellread.text.split import number_in_document
from wellread.types import Hit, Original, Passage

Span = tuple[int, int]
COLLECTIONS = "/collections"
WORDS = "words"  # the id of the first marked words; an address that ends with it leads there
_LONGEST = 300  # characters of a quote that an address carries: enough to find it by
PART = 200  # passages of a long document that are shown at once
_CONTEXT = 400  # characters before the words that tell one place on a page from another
_NO_SOURCE = "there is no such document: its source is not one of those that this server offers"
_NO_DOCUMENT = "there is no such document in its source, or no more"
_NO_SHELF = "this source keeps no documents that could be opened"
_CHANGED = "The file has changed since it was indexed. This is what was read then."
_GONE = "The file is no longer where it was when it was indexed. This is what was read then."
_MOVED = "The document has changed since this answer was given: the passage is not as it was."


class NotThere(WellreadError):
    """A document that cannot be shown, and why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Location in a document: words of a passage, by source, document and passage."""

    source: str
    document: str
    passage: str = ""
    spans: tuple[Span, ...] = ()

    def path(self, **more: str | int) -> str:
        """Where this server shows it."""
        named = {"source": self.source, "document": self.document, "passage": self.passage}
        first = self.spans[0] if self.spans else None
        words = {"start": first[0], "end": first[1]} if first else {}
        return "/document?" + urlencode({key: value for key, value in {**named, **words, **more}.items() if value != ""})

    def picture(self, page: int) -> str:
        return "/document/page?" + urlencode({"source": self.source, "document": self.document, "page": page})


@dataclass(frozen=True, slots=True)
class View:
    """A document with the passage that was asked for."""

    place: Place
    passages: Sequence[Hit]
    at: int
    original: Original
    notes: tuple[str, ...] = ()
    page: int | None = None  # of a PDF; its passages alone are shown
    picture: Picture | None = None

    @property
    def shown(self) -> range:
        """Which passages: of a PDF those of its page, of anything else a part."""
        if self.page is not None:
            first = bisect_left(self.passages, self.page, key=_page)
            return range(first, bisect_right(self.passages, self.page, first, key=_page))
        first = self.at - self.at % PART
        return range(first, min(first + PART, len(self.passages)))


def of_hit(hit: Passage) -> Place | None:
    """Where a passage can be opened; None where its source keeps no documents."""
    return Place(hit.source, hit.document, hit.id) if hit.document and hit.source else None


async def look(menu: Menu, place: Place, page: int | None = None, *, words_alone: bool = False) -> View:
    """The document as its source has it, without a picture of a page for who wants its words alone; raises `NotThere`."""
    return await _view(place, *await _shelved(menu, place), page, words_alone)


async def look_for(menu: Menu, place: Place, words: str, page: int | None = None) -> View:
    """The document at these words, which an address names; raises `NotThere`."""
    said = Passage("", words, source=place.source, document=place.document)
    return await look_again(menu, said, [(0, len(words))], page)


async def look_again(menu: Menu, cited: Passage, quotes: Sequence[Span], page: int | None = None) -> View:
    """The document of a passage that was cited once, at the same words where it still has them."""
    place = of_hit(cited)
    if place is None:
        raise NotThere(_NO_SHELF)
    shelf, passages = await _shelved(menu, place)
    now = await beside(lambda: _now(cited, quotes, passages))
    view = await _view(now or replace(place, passage=""), shelf, passages, page)
    return view if now else replace(view, notes=(*view.notes, _MOVED))


async def picture(menu: Menu, place: Place, page: int) -> bytes:
    """A page of a PDF as PNG; raises `NotThere`."""
    shelf, _ = await _shelved(menu, place)
    original = await _original(shelf, place.document)
    if not is_pdf(place.document):
        raise NotThere("only pages of PDF files have pictures")
    try:
        return (await _drawn(original, Drawing(page, painted=True))).png
    except ReadError as problem:
        raise NotThere(f"the page cannot be drawn: {problem.reason}") from problem


def _now(cited: Passage, quotes: Sequence[Span], passages: Sequence[Hit]) -> Place | None:
    """Where the words are by now: in the passage of that id, in one after it (neighbours are cited as one), or anywhere."""
    place = Place(cited.source, cited.document or "", cited.id, tuple(quotes))
    at = _number(passages, cited.id)
    words = [cited.text[start:end] for start, end in quotes if end > start]
    for said in words or [cited.text, passages[at].text if cited.text.startswith(passages[at].text) else ""]:
        one = next((one for one in _with(passages, said, at) if said in one.text), None) if said else None
        if one is not None:
            spans = [(found, found + len(each)) for each in words if (found := one.text.find(each)) >= 0]
            return replace(place, passage=one.id, spans=tuple(spans))
    return None


async def _shelved(menu: Menu, place: Place) -> tuple[Source, Sequence[Hit]]:
    shelves = menu.shelves(place.source)
    if not shelves:
        raise NotThere(_NO_SOURCE)
    for shelf in shelves:
        passages = await shelf.passages(place.document)
        if passages and await beside(lambda found=passages: encodable(found[0].document)) == place.document:
            return shelf, passages
    raise NotThere(_NO_DOCUMENT)


def _number(passages: Sequence[Hit], identity: str) -> int:
    """Which of them has this id; 0 for none. Most ids say it themselves."""
    said = number_in_document(Passage(identity, ""))
    if said is not None and said < len(passages) and passages[said].id == identity:
        return said
    likely = passages.holding(identity) if isinstance(passages, Leaves) else range(len(passages))
    return next((number for number in likely if passages[number].id == identity), 0) if identity else 0


def _with(passages: Sequence[Hit], words: str, first: int) -> Iterator[Hit]:
    """Those that may hold these words, from one of them on and from the beginning after the last."""
    for some in (passages[first:], passages[:first]):
        likely = some.holding(words) if isinstance(some, Leaves) else range(len(some))
        yield from (some[number] for number in likely)


def _page(one: Hit) -> int:
    return one.page or 0


async def _view(place: Place, shelf: Source, passages: Sequence[Hit], page: int | None, words_alone: bool = False) -> View:
    original = await _original(shelf, place.document)
    at = await beside(lambda: _number(passages, place.passage))
    here = await beside(lambda: passages[at])
    spans = tuple(span for span in place.spans if 0 <= span[0] < span[1] <= len(here.text))
    place = replace(place, spans=spans) if here.id == place.passage else replace(place, passage="", spans=())
    notes = {"changed": (_CHANGED,), "gone": (_GONE,)}.get(original.state, ())
    view = View(place, passages, at, original, notes)
    paged = here.page is not None and is_pdf(place.document) and not words_alone
    return await _paged(view, here, page) if paged else view


async def _original(shelf: Source, document: str) -> Original:
    with suppress(WellreadError):  # records that cannot be read say nothing about the file
        return await shelf.original(document)
    return Original("none")


async def _paged(view: View, here: Hit, page: int | None) -> View:
    """Of a PDF one page, as a picture too where the file is still the one that was read."""
    wanted = page or here.page or 1
    spans = view.place.spans if wanted == here.page else ()
    words = " ".join(here.text[start:end] for start, end in spans[:1])
    before = here.text[max(0, spans[0][0] - _CONTEXT) : spans[0][0]] if spans else ""
    view = replace(view, page=wanted)
    if view.original.state != "same":
        return view
    try:
        return replace(view, picture=await _drawn(view.original, Drawing(wanted, words, before)))
    except ReadError as problem:
        return replace(view, notes=(*view.notes, f"The page cannot be drawn: {problem.reason}."))


async def _drawn(original: Original, wanted: Drawing) -> Picture:
    from wellread.index import following
    from wellread.reading import workers

    document = await asyncio.to_thread(following.original_document, original)
    return await workers.shared().adraw(document, wanted)


def is_pdf(document: str) -> bool:
    """Whether it has pages that are drawn."""
    return inner_name(document).lower().endswith(".pdf")


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
    words = words if len(words) <= _LONGEST else words[:_LONGEST].rpartition(" ")[0] or words[:_LONGEST]
    at = f"{'&' if '?' in own else '?'}{urlencode({'words': words})}#{WORDS}" if words else ""
    return {"url": own, "link": f"{base.rstrip('/')}{own}{at}"}
