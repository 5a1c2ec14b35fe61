"""HTML of one question with its answer, its sources and its steps: the same live, after a reload and shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from urllib.parse import urlsplit

from wellread import events
from wellread.answer_json import AnswerJson, CitationJson, NearJson
from wellread.citations.references import brief
from wellread.events import AnswerDelta, Event, counted
from wellread.present.html import answer_html, draft_html, markdown_html
from wellread.present.markdown import markdown, plain
from wellread.present.sections import UNDERSTOOD, Cited, Doubt, Sections, sections
from wellread.server.history import Record, decoded, passages_of
from wellread.server.menu import Menu
from wellread.server.viewer import WORDS, Place, linked, of_hit
from wellread.server.web.controls import facts, ways_on
from wellread.server.web.html import Child, Safe, el, icon, join, marked_words, warning
from wellread.text.blocks import without_signs
from wellread.text.places import at_words, inside, is_file, is_web, place
from wellread.types import Hit, Passage, by_document

_AROUND = 900  # characters of a long passage shown before and after the quotes
_STATES = {
    "stopped": "You stopped this run.",
    "interrupted": "The server stopped before this run had ended.",
    "failed": "This run failed.",
}
_OUTCOMES = {
    "partial": "This answers a part of the question. Missing in the sources:",
    "unsure": "No answer could be found in the sources.",
    "exhausted": "A limit was reached: this answer is built from what was found until then.",
    "failed": "This run failed.",
}
_LONG = 1_200  # characters of a model's thought that are shown
_FOLDED = 160  # … and from how many on it has to be unfolded
_STATUS = 120
# The picture of each kind of event that makes a step, and the look of it.
_STEPS: dict[type[events.Event], tuple[str, str]] = {
    events.Thought: ("thought", "step"),
    events.Searched: ("search", "step"),
    events.PageRead: ("page", "step"),
    events.PageFailed: ("warning", "step step-weak"),
    events.Ranked: ("rank", "step"),
    events.Graded: ("check", "step"),
    events.Decided: ("fork", "step"),
    events.Rewritten: ("fork", "step"),
    events.Understood: ("fork", "step"),
    events.Outlined: ("fork", "step"),
    events.Section: ("check", "step"),
    events.ModelCalled: ("model", "step step-quiet"),
    events.Notice: ("warning", "step step-weak"),
    events.Exhausted: ("warning", "step step-weak"),
    events.Cut: ("warning", "step"),
}


def article(record: Record, log: Sequence[str], base: str, menu: Menu | None = None, *, waiting: bool = False) -> Safe:
    """The whole article; copies link to `base`. One that is still running knows from which event on its page has to listen; one
    that has ended leads on to what the menu has."""
    seen = decoded(log)
    running = record.state == "running"
    steps = join(*(step(event) for event in seen))
    ways = ways_on(menu, record, seen) if menu else None
    attributes = {"data_run": record.id, "data_state": record.state, "data_offset": len(log) if running else None}
    return el(
        "article",
        el("h2", record.question, class_="question"),
        el("p", *(el("span", fact) for fact in facts(record)), class_="facts"),
        _running(seen, waiting=waiting) if running else _finished(record, passages_of(seen), base, ways),
        _trail(record, steps),
        class_="run",
        **attributes,
    )


class Drafted:
    """An answer that is being written, as the page draws it: its words, or the sections of a report and how far they are."""

    def __init__(self, seen: Iterable[Event] = ()) -> None:
        self._words, self._outline, self._sections = "", events.Outlined(()), dict[int, events.Section]()
        self.due = any([self.hears(event) for event in seen])  # every one of them

    def hears(self, event: Event | None) -> bool:
        """Whether there is something new to draw."""
        match event:
            case AnswerDelta():
                self._words += event.text
            case events.Outlined():
                self._outline = event
            case events.Section():
                self._sections[event.number] = event
            case _:
                return False
        return True

    def html(self) -> Safe:
        if self._words or not self._outline.sections:
            return Safe(draft_html(self._words))
        rows: list[Safe] = []
        for number, planned in enumerate(self._outline.sections, 1):
            section = self._sections.get(number)
            state = section.state if section else "searching"
            rows.append(el("li", planned.title, " ", el("small", state), data_state=state))
        told = [(one.title, one.text) for _, one in sorted(self._sections.items()) if one.text]
        text = "\n\n".join(f"## {title}\n\n{words}" for title, words in told)
        return join(el("ol", *rows, class_="contents", aria_label="Sections"), Safe(draft_html(text)))


def _running(seen: Sequence[Event], *, waiting: bool) -> Safe:
    said = [line for line in map(status, seen) if line]
    now = "Waiting for a free place" if waiting else said[-1] if said else "Getting started"
    stop = el("button", icon("stop"), "Stop", type="button", class_="button stop", data_action="stop")
    return join(
        el("div", el("span", class_="pulse", aria_hidden="true"), el("span", now, class_="status-text"), stop, class_="status"),
        el("div", Drafted(seen).html(), class_="answer draft", aria_busy="true"),
    )


def _finished(record: Record, passages: Mapping[int, Passage], base: str, ways: Safe | None) -> Safe:
    if record.answer is None:
        return join(_notes(record, None), ways, _actions(record, ""))
    body, parts = Safe(answer_html(record.answer, f"part-{record.id}")), sections(record.answer)  # sanitised
    answer = parts.answer
    short = el("p", answer.short, class_="short") if answer.short and body else None
    remarks = [el("p", f"Note: {note}.", class_="facts") for note in answer.notes]
    sure = el("p", parts.sure, class_="facts sure") if parts.sure and body else None
    meant = el("p", UNDERSTOOD, el("b", answer.understood), class_="facts understood") if answer.understood else None
    return join(
        meant,
        None if parts.contents and answer.outcome == "partial" else _notes(record, answer),
        short,
        sure,
        *remarks,
        _contents(record, parts),
        el("div", body, _not_found(parts), class_="answer") if body else None,
        _checked(parts) if body else None,
        ways,
        _actions(record, markdown(linked(record.answer, base)), report=len(parts.contents) > 1),
        _sources(record, parts, passages),
        _nearest(parts),
    )


def _contents(record: Record, parts: Sections) -> Safe | None:
    """The table of contents of a report."""
    rows = [el("li", el("a", title, href=f"#part-{record.id}-{place}")) for place, title in enumerate(parts.contents, 1)]
    return el("nav", el("ol", *rows, class_="contents"), aria_label="Contents of the report") if len(rows) > 1 else None


def _not_found(parts: Sections) -> Safe | None:
    rows = [el("li", Safe(markdown_html(plain(row)))) for row in parts.answer.missing] if parts.contents else []
    return join(el("h2", parts.headings.missing), el("ul", *rows)) if rows else None


def _checked(parts: Sections) -> Safe:
    """How many sentences were checked, and those that are marked, each beside the words that come nearest."""
    if not parts.legend:
        return el("p", parts.checked, class_="facts checked")
    mark = el("span", "?", class_="mark", aria_hidden="true")
    return el(
        "details",
        el("summary", parts.checked, " ", mark),
        el("ol", *map(_doubt, parts.doubts)),
        class_="note note-weak doubts",
    )


def _doubt(one: Doubt) -> Safe:
    said, quote = el("p", marked_words(one.sentence, 0, len(one.sentence), one.ours)), one.cited.quote if one.cited else ""
    words = el("blockquote", marked_words(quote, 0, len(quote), one.theirs)) if quote else None
    lead = join("It cites no source that was found.")
    if one.cited:
        number = one.cited.number
        link = el(
            "a", number, href=f"#source-{number}", class_="cite", data_number=number, role="button", aria_label=f"Source {number}"
        )
        lead = join(link, " ", one.cited.title, None if quote else " has nothing that comes near.")
    attributes = {"data_number": f"?{one.number}", "data_title": "Not carried by its source"}
    return el("li", el("div", said, el("p", lead), words), id=f"doubt-{one.number}", class_="source", **attributes)


def _nearest(parts: Sections) -> Safe | None:
    """Nearest passages, where there is no answer, or no sure one."""
    if not parts.answer.nearest:
        return None
    items = (
        el("li", el("p", _near_link(one), class_="source-head"), el("blockquote", without_signs(one.text)))
        for one in parts.answer.nearest
    )
    listed = el("ul", *items, class_="sources")
    return el("section", el("h3", parts.near), listed, aria_label=parts.near, class_="source-list nearest")


def _near_link(one: NearJson) -> Safe:
    if not (one.document and one.source and one.id):
        return el("b", place(one))
    at = Place(one.source, one.document, one.id, ((one.start, one.end),))
    return el("a", place(one), href=f"{at.path()}#{WORDS}")


def _notes(record: Record, answer: AnswerJson | None) -> Safe:
    if answer is None or record.state in ("stopped", "interrupted"):
        return warning(_STATES.get(record.state, _STATES["failed"]))
    if answer.outcome == "answered":
        return Safe("")
    if answer.asks:
        return warning(answer.asks, el("small", "Please ask again with its name, or just say it."))
    reason = answer.reason or "; ".join(answer.missing)
    return warning(_OUTCOMES[answer.outcome], el("small", reason) if reason else None)


def _actions(record: Record, copied: str, *, report: bool = False) -> Safe:
    copy = el("button", icon("copy"), "Copy as Markdown", type="button", class_="button", data_action="copy", data_text=copied)
    link = el(
        "button", icon("link"), "Copy link", type="button", class_="button", data_action="link", data_path=f"/r/{record.id}"
    )
    delete = el("button", icon("delete"), "Delete", class_="button")
    form = el("form", delete, method="post", action=f"/r/{record.id}/delete", data_confirm="Delete this question and its answer?")
    kinds = [("HTML", "html"), *([("Word", "docx")] if find_spec("docx") else [])] if report else []
    files = [
        el("a", icon("page"), f"Save as {name}", href=f"/r/{record.id}/report.{kind}", class_="button") for name, kind in kinds
    ]
    return el("div", copy if copied else None, *files, link, form, class_="actions")


def _trail(record: Record, steps: Safe) -> Safe:
    seconds = f"{record.finished - record.created:.1f} s" if record.finished else ""
    searches = record.answer.used.searches if record.answer else 0
    facts = " · ".join(part for part in (counted(searches, "search", "searches") if searches else "", seconds) if part)
    running = record.state == "running"
    summary = el("summary", "Steps so far" if running else "How this was answered ", el("small", facts))
    return el("details", summary, el("ol", steps, class_="steps"), class_="trail", open=running)


def _sources(record: Record, parts: Sections, passages: Mapping[int, Passage]) -> Safe | None:
    if not parts.sources:
        return None
    items = [_source(one, passages.get(one.number), record.id) for one in parts.sources]
    place = f"/api/runs/{record.id}/references?format="
    links = [el("a", name, href=place + how) for how, name in _REFERENCES.items()]
    taken = el("p", el("span", "References"), *(el("span", link) for link in links), class_="facts taken")
    listed = el("ol", *items, class_="sources")
    return el("section", el("h3", "Sources"), listed, taken, aria_label="Sources", class_="source-list")


def _source(cited: Cited, passage: Passage | None, run: str) -> Safe:
    """A card; its quotes come best carried first, and those that the answer says word for word are not said again."""
    number, first, found = cited.number, cited.best, cited.citations
    name = first.title or first.url or first.source
    opened = _opened(number, first, passage, run)
    outside = opened is None or is_web(opened)
    title = el("a", name, href=opened, **_ELSEWHERE if outside else {}) if opened else el("b", name)
    whole = el("div", el("p", _highlighted(passage, found)), class_="passage") if passage else None
    shown = el("details", el("summary", "Show in its passage"), whole) if whole else None
    head = el("div", el("span", number, class_="number", aria_hidden="true"), title, class_="source-head")
    new = [el("blockquote", quote) for quote in cited.new]
    inside = None if outside else opened
    # that the sources' own words stand in the sources tells nothing
    support = max(one.support for one in found) if new or not cited.quotes else None
    facts = _source_facts(first, support, passage)
    return el("li", head, facts, *new, shown, id=f"source-{number}", class_="source", data_number=number, data_document=inside)


_REFERENCES = {"bibtex": "BibTeX", "ris": "RIS", "csl": "CSL-JSON", "plain": "list", "footnotes": "answer with footnotes"}
_ELSEWHERE: dict[str, str] = {"target": "_blank", "rel": "noopener noreferrer"}


def _opened(number: int, first: CitationJson, passage: Passage | None, run: str) -> str | None:
    """Where a source opens at the quoted words: a document in our own viewer, a page where it is."""
    if passage is not None and of_hit(passage) is not None:
        return f"/r/{run}/source/{number}#{WORDS}"
    return at_words(first.url or "", first.quote, first.anchor) if is_web(first.url) else None


def _source_facts(first: CitationJson, support: float | None, passage: Passage | None) -> Safe:
    # a file by its path in its folder; anything else by the source that it came from
    name = site(first.url) if is_web(first.url) else first.document if is_file(first.url) else first.source
    when = passage.published[:10] if passage and passage.published else None
    place = ", ".join(part for part in (name, inside(first.heading, first.page, first.anchor)) if part)
    work = first.reference or None
    told = el("span", brief(work)) if work else None
    carried = el("span", "quoted word for word")
    if support is not None:  # how much of what is said the quote carries, and that this is all it means
        meaning = "how much of the sentence stands in the quoted words; not how sure it is that the answer is right"
        meter = el("meter", f"{support:.0%}", min=0, max=1, value=round(support, 2), aria_label="Support")
        carried = el("span", meter, f" {support:.0%} support", title=meaning)
    return el("p", told, el("span", place), el("span", when) if when and not told else None, carried, class_="facts")


def _highlighted(passage: Passage, found: Sequence[CitationJson]) -> Safe:
    """The passage with its quotes marked; a long one is shown around them."""
    spans = sorted((one.start, one.end) for one in found if one.quote)
    begin = max(0, spans[0][0] - _AROUND) if spans else 0
    end = min(len(passage.text), (spans[-1][1] if spans else _AROUND) + _AROUND)
    words = marked_words(passage.text, begin, end, spans)
    return join("… " if begin else "", words, " …" if end < len(passage.text) else "")


def step(event: events.Event) -> Safe:
    """The step's HTML; empty for events that make none."""
    (picture, look), words = _STEPS.get(type(event), ("", "")), event.said()
    if not picture or words is None:
        return Safe("")
    if isinstance(event, events.Graded) and not event.relevant:
        picture = "cross"
    body = el("div", *_body(event, words), class_="step-body")
    at = el("time", f"{event.at:.1f} s", class_="step-time")
    return el("li", icon(picture), body, at, class_=look)


def status(event: events.Event) -> str:
    """A line on what is being done now; empty when the event says nothing about that."""
    words = event.said()
    line = words.short(_STATUS) if words else ""
    return line[:1].upper() + line[1:]


def site(url: str | None) -> str:
    """The host of an address, or what stands before its colon."""
    if not url:
        return ""
    parts = urlsplit(url)
    return (parts.hostname or parts.scheme or url).removeprefix("www.")


def _body(event: events.Event, words: events.Words) -> list[Child]:
    did = words.did.capitalize()
    match event:
        case events.Thought(text=text) if len(text) > _FOLDED:
            shown = text if len(text) <= _LONG else text[:_LONG] + " …"
            return [el("details", el("summary", did), el("p", shown, class_="step-text"))]
        case events.Searched():
            failures = [el("p", failure, class_="step-warning") for failure in event.failures]
            return [f"{did} ", el("q", words.what), _hits(event), *failures]
        case events.PageRead() | events.ModelCalled():
            return [f"{did} ", el("b", words.what), " ", el("small", f"{words.detail}, {event.seconds:.1f} s")]
        case _:
            return [f"{did} ", el("b", words.what), " ", el("small", words.detail)]


def _hits(event: events.Searched) -> Safe:
    progress = f"; {event.number} of {event.of} queries" if event.of else ""
    if not event.hits:
        return el("p", f"nothing found{progress}", class_="step-quiet")
    groups = by_document(event.hits)
    items = [el("li", hits[0].title or hits[0].id, " ", el("small", _where(hits))) for hits in groups[:20]]
    counts = f"{len(event.hits)} found" + (f" in {len(groups)} documents" if 1 < len(groups) < len(event.hits) else "")
    counts += progress
    return el("details", el("summary", counts), el("ul", *items))


def _where(hits: Sequence[Hit]) -> str:
    """A document's name and the places in it, each once."""
    first = hits[0]
    name = first.document if is_file(first.url) else site(first.url) or first.source
    places = dict.fromkeys(inside(hit.heading, hit.page, hit.anchor) for hit in hits)
    return ", ".join(part for part in (name, *places) if part)
