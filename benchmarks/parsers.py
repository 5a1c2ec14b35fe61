"""Every reader of foreign text, by name: what `complexity.py` measures."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import cast

from starlette.requests import Request

from wellread.answer_json import AnswerJson
from wellread.citations import arrangement, check, missing
from wellread.core.codec import decode
from wellread.core.unicode_safety import encodable
from wellread.engine import clean_question
from wellread.models import structured, tokens
from wellread.models.reply import Stops, Thinking
from wellread.net import robots
from wellread.net.address import canonical
from wellread.present import html
from wellread.present import markdown as copied
from wellread.questions import comparisons, followups, languages, mentions
from wellread.questions import kinds as questions
from wellread.reading import (
    asciidoc,
    charset,
    docbook,
    extract,
    info,
    mail,
    man,
    markdown,
    org,
    plain_text,
    pod,
    rst,
    rtf,
    tables,
    tex,
)
from wellread.reading.markup import Target
from wellread.reading.office import Office
from wellread.replay.record import Covers
from wellread.server import intake, openai_format, security
from wellread.server.viewer import Place, View
from wellread.server.web import configuring, documents
from wellread.sources import hits as markup
from wellread.sources import mediawiki, newsapi, service, slack
from wellread.strategies import attribution, context, likely_sentences, refine, relevance, trail, turns
from wellread.text import blocks, dates, inert, markers, places, quoting, sentences, split, words
from wellread.tools import calculate
from wellread.types import Hit, Original, Passage

Parser = Callable[[str], object]
QUESTION = 4_000  # characters; longer ones are refused
TERM = questions.Term("magic word")


def _streamed(feed: Callable[[str], object], text: str) -> None:
    for at in range(0, len(text), 16):
        feed(text[at : at + 16])


def _passages(text: str) -> dict[int, Passage]:
    return {
        1: Passage("1", text, "Title", "http://a.b/c"),
        2: Passage("2", "Ten words that stand in some other passage. 1960.", text[:200]),
    }


def _answer(text: str) -> AnswerJson:
    said = [{"text": text[a:b], "supported": False} for a, b in sentences.sentences(text)]
    return decode(AnswerJson, {"answer": text, "outcome": "answered", "sentences": said})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class _Request:
    """A form that comes in pieces."""

    headers = {"content-type": "multipart/form-data; boundary=b"}  # noqa: RUF012

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def stream(self) -> AsyncGenerator[bytes]:
        for at in range(0, len(self._body), 65_536):
            yield self._body[at : at + 65_536]


def _form(before: str, text: str) -> None:
    async def arrive(folder: str) -> None:
        request = cast("Request", _Request(_bytes(f"--b\r\n{before}{text}\r\n--b--\r\n")))
        async with intake.arriving(request, intake.Room(100, 10**8, 10**9), Path(folder), lambda: False, 10**9):
            pass

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(arrive(folder))


_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def _in_a_cell(target: Target, cell: tuple[str, ...], paragraph: tuple[str, ...], text: str) -> None:
    """Each word a paragraph, all of them in one cell of a table."""
    for tag in cell:
        target.start(tag, {})
    for word in text.split(" "):
        for tag in paragraph:
            target.start(tag, {})
        target.data(word)
        for tag in reversed(paragraph):
            target.end(tag)
    for tag in reversed(cell):
        target.end(tag)


def _shown(text: str) -> str:
    """As the viewer shows a document: at most so many passages, each of a usual length."""
    hits = [
        Hit(str(at), text[at : at + 1_000], text[:100], source="s", document="d", heading=text[at : at + 50])
        for at in range(0, len(text), 1_000)
    ]
    return str(documents.document(View(Place("s", "d", "0", ((0, 5),)), hits, 0, Original("none"))))


PARSERS: dict[str, Parser] = {
    "question": lambda text: clean_question(text[:20_000]),
    "sentences": sentences.sentences,
    "words": words.read,
    "markers": markers.markers,
    "links": markers.links,
    "strip markers": markers.strip_markers,
    "check of an answer": lambda text: check.check(text, _passages("Short.")),
    "check against a passage": lambda text: check.check("Something is a. [1] A b. [1]", _passages(text)),
    "check against much the same": lambda text: check.check(f"{text} b [1].", _passages(f"A {text}.")),
    "title": places.bare_title,
    "mention": lambda text: places.mentions(text, "aaaa"),
    "split": lambda text: split.split([text], split.Splitting()),
    "attribution": lambda text: attribution.attributed(text, _passages("Short.")),
    "attribution streamed": lambda text: _streamed(attribution.Attribution(_passages("Short.")).feed, text),
    "tags": lambda text: turns.blocks(text, "search"),
    "tag query": lambda text: turns.query(text, "search"),
    "tags taken out": lambda text: turns.without(text, "search", "think"),
    "closed tag": lambda text: turns.until_closed(text, "search"),
    "turn": turns.read_turn,
    "begun turn": lambda text: turns.read_turn(text, finished=False),
    "cut to a window": lambda text: context.cut(text, 200, tokens.estimate),
    "content words": relevance.content,
    "tokens": tokens.estimate,
    "JSON": lambda text: structured.parse(text),
    "thinking": lambda text: _streamed(Thinking().feed, text),
    "stops": lambda text: _streamed(Stops(("</search>", "PAUSE")).feed, text),
    "web page": lambda text: extract.extract(f"<html><body><article><p>{text}"),
    "web page's head": lambda text: extract.extract(f"<head><title>{text}</title><meta name=author content='{text}'></head><p>a"),
    "JSON-LD": lambda text: extract.extract(f'<script type="application/ld+json">{text}</script><p>a'),
    "plain text": lambda text: plain_text.read_text(text, "a"),
    "GNU Info": lambda text: info.read_info(f"\x1f\nFile: a,  Node: Top\n\n{text}", "a"),
    "DocBook": lambda text: docbook.read_docbook(f"<book><chapter><title>a</title><para>{text}", "a", "a"),
    "Org": lambda text: org.read_org(text, "a"),
    "POD": lambda text: pod.read_pod(f"=head1 a\n\n{text}", "a"),
    "LaTeX": lambda text: tex.read_tex(f"\\begin{{document}}{text}", "a"),
    "Markdown": lambda text: markdown.read_markdown(text, "a"),
    "front matter": lambda text: markdown.read_markdown(f"---\n{text[:4000]}\n---\n", "a"),
    "charset": lambda text: charset.decode(text.encode("utf-8", "replace")),
    "date": lambda text: dates.iso_date(text),
    "words of a hit": markup.lines,
    "wikitext": markup.without_wikitext,
    "wiki extract": mediawiki.from_extract,
    "wiki page": mediawiki.from_html,
    "newsapi's cut mark": newsapi._without_cut_mark,
    "slack": slack._words,
    "keywords": service.keywords,
    "robots.txt": lambda text: robots.parse(text).allows("/a" * 50),
    "address": lambda text: canonical(f"http://a.b/{text[:20_000]}"),
    "cookies": security._cookie,
    "secrets": lambda text: Covers({"A_KEY": "abcdefgh"}).text(text),
    "answer as HTML": lambda text: html.answer_html(_answer(text)),
    "answer as Markdown": lambda text: copied.markdown(_answer(text)),
    "numbers": lambda text: openai_format.cited(text, _answer(text)),
    "calculation": lambda text: calculate.as_python(text),
    "yes or no": lambda text: questions.asks_yes_no(text[:QUESTION]),
    "what is asked": lambda text: questions.term_asked(text[:QUESTION]),
    "said at once": questions.said_at_once,
    "defined in a sentence": TERM.defined_in,
    "defined in a passage": lambda text: trail.defined(TERM, [Passage("1", text, "Title", "")]),
    "list below a sentence": lambda text: quoting.with_what_follows(f"Do this:\n{text}", 0, 8),
    "quotation": lambda text: quoting.quoted(text, "[1]"),
    "what a label names": lambda text: quoting.with_what_it_names(text, len(text) // 2, len(text) // 2 + 9),
    "inert": inert.inert,
    "inert streamed": lambda text: _streamed(inert.Inert(lambda url: False).feed, text),
    "what is missing": missing.told,
    "names": mentions.names,
    "phrases": mentions.phrases,
    "spoken of": lambda text: mentions.spoken_of("Who was it?", text),
    "comparison": lambda text: comparisons.comparison(text[:QUESTION]),
    "follow-up": lambda text: followups.understand(text[:QUESTION], [("Who was Ada?", "Ada was a poet.")]),
    "history": lambda text: followups.understand("And where was she born?", [("Who was Ada?", text)]),
    "asked again": lambda text: followups.instead(text[:QUESTION], "Who was Ada?", joined=True),
    "pronouns": lambda text: followups.references(text[:QUESTION]),
    "arrangement": arrangement.arranged,
    "language": languages.language_of,
    "likely sentences": lambda text: likely_sentences.candidates([Passage("1", text, "Title", "")]),
    "strips": refine.strips,
    "pieces": blocks.in_pieces,
    "viewer": _shown,
    "address of words": lambda text: places.at_words("http://a.b/c", text),
    "file name": intake.file_name,
    "collection's address": lambda text: intake.slug(text, ()),
    "settings file": lambda text: configuring.changed(text[:20_000], {"model": "x"}, {"A_KEY": "y"}),
    "form": lambda text: _form("", text),
    "document in a form": lambda text: _form('Content-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n', text),
    "name in a form": lambda text: _form('Content-Disposition: form-data; name="f"; filename="', text),
    "manual": lambda text: man.read_man(text, "a"),
    "RTF": lambda text: rtf.read_rtf(_bytes("{\\rtf1 " + text), "a", "a"),
    "notebook": lambda text: markdown.read_notebook(text, "a", "a"),
    "letter": lambda text: mail.read_eml(_bytes(text), "a", "a"),
    "a letter's sender": lambda text: mail.read_eml(_bytes(f"From: {text}"), "a", "a"),
    "a letter's subject": lambda text: mail.read_eml(_bytes(f"Subject: =?utf-8?q?{text}"), "a", "a"),
    "a letter's kind": lambda text: mail.read_eml(_bytes(f"Content-Type: text/plain; a={text}"), "a", "a"),
    "a cell of OpenDocument": lambda text: _in_a_cell(
        Office(10**9), (f"{_TABLE}table-row", f"{_TABLE}table-cell"), (f"{_TEXT}p",), text
    ),
    "a cell of a slide": lambda text: _in_a_cell(
        Office(10**9), (f"{_DRAWING}tr", f"{_DRAWING}tc"), (f"{_DRAWING}p", f"{_DRAWING}t"), text
    ),
    "letters": lambda text: mail.read_mbox(_bytes(text), "a", "a"),
    "reStructuredText": lambda text: rst.read_rst(text, "a"),
    "AsciiDoc": lambda text: asciidoc.read_asciidoc(text, "a"),
    "table": lambda text: tables.read_csv(text, "a", "a"),
    "encodable": encodable,
}
