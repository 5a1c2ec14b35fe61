"""Data types: the values that travel through a run. All frozen; scores are always "higher is better"."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Literal, NamedTuple, cast, overload

from wellread import errors
from wellread.core import printing
from wellread.core.unicode_safety import Encodable
from wellread.core.values import frozen

Outcome = Literal["answered", "partial", "unsure", "exhausted", "failed"]
Verdict = Literal["carried", "not carried", "says what is missing", "not checked"]


@frozen
class Spec:
    """`name`, `name:argument` or `name:argument?key=value&key=value`, taken apart."""

    name: str
    argument: str = ""
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        text = f"{self.name}:{self.argument}" if self.argument else self.name
        if self.options:
            text += "?" + "&".join(f"{key}={value}" for key, value in self.options.items())
        return text


@frozen
class Query(Encodable):
    """A search query for a source. One that cannot filter by date or language ignores these."""

    text: str
    limit: int = 10
    since: str | None = None  # ISO dates
    until: str | None = None
    language: str | None = None
    pairs: int | None = None  # that the evaluator may read for it; None: as many as the effort allows
    without: tuple[str, ...] = ()  # sources of a group that could not be reached before
    follow: bool = True  # False: whoever asks follows what is found by itself


@frozen
class Reference(Encodable):
    """A bibliographic reference: the work that a passage is from, as data."""

    title: str = ""
    authors: tuple[str, ...] = ()  # "Family, Given" each; an organisation by its name
    year: int | None = None
    venue: str = ""  # the journal, the proceedings, the publisher
    doi: str = ""
    url: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""  # of the work in its venue
    kind: str = "article-journal"  # by the names of CSL
    pdf: str = ""  # where anybody may read all of it


@frozen
class Passage(Encodable):
    """A piece of text that can be cited: `quote == text[start:end]`. It knows where it stands in its document."""

    id: str
    text: str
    title: str = ""
    url: str | None = None
    source: str = ""
    published: str | None = None  # ISO date or date-time
    document: str | None = None  # set when it is one of the passages of a local index: a file by its path there, or an address
    links: tuple[str, ...] = ()  # titles that it refers to
    heading: str = ""  # the headings that it stands under, outermost first, with " › " between them
    page: int | None = None  # on which it begins, counted from 1, where a document has pages
    anchor: str = ""  # the id nearest before it on an HTML page
    reference: Reference | None = None  # the work that it is from, where its source knows it as data

    def settle(self) -> None:
        if self.url and not self.url.startswith(("http:", "https:")) and _is_program(self.url):
            object.__setattr__(self, "url", None)


def _is_program(url: str) -> bool:
    """Whether following it runs something; browsers leave out blanks and controls in front and within."""
    scheme = "".join(sign for sign in url.partition(":")[0] if sign > " ").lower()
    return scheme in ("javascript", "vbscript", "data")


RECOGNISED = "ocr"  # the anchor of what was read by character recognition, in documents that have no ids
BlockKind = Literal["heading", "paragraph", "item", "entry", "row", "code", "quote"]


@frozen
class Block(Encodable):
    """One piece of a document with its part in the whole; `text.split` makes passages of them.

    `text` is plain: no bullets, fences or heading signs. An `entry` is the term of a definition list with the
    first paragraph of its text; a `row` has its cells between bars. A paragraph or code with a `level` goes on
    with the item or entry before it.
    """

    kind: BlockKind
    text: str
    level: int = 0  # a heading's, from 1; of others, how many lists it is inside
    anchor: str = ""  # the id nearest before it, so that a reader can be led there
    page: int | None = None  # counted from 1, where a document has pages


@frozen
class Hit(Passage):
    """A passage that a search found. `text` is empty until its page is read; `snippet` is what a service shows of it."""

    text: str = ""
    snippet: str = ""
    score: float = 0.0
    beginning: str = ""  # of the text, where a service shows it beside its description

    @classmethod
    def of(cls, passage: Passage, score: float) -> Hit:
        return cls(**_shared(passage), score=score)

    @property
    def words(self) -> str:
        """Its text, or what a service shows of it where nothing was read."""
        return self.text or " ".join(filter(None, (self.snippet, self.beginning)))

    def passage(self) -> Passage:
        """The citable passage of a hit."""
        shared = _shared(self)
        shared["text"] = self.words
        return Passage(**shared)


@frozen
class Hits(Encodable, Sequence[Hit]):
    """Search results with more to say: what went wrong in part of the search, what it cost."""

    hits: tuple[Hit, ...] = ()
    failures: tuple[str, ...] = ()  # "source: message" each
    pairs: int = 0  # question-passage pairs that the evaluator read for it
    unreachable: Mapping[str, str] = field(default_factory=dict[str, str])  # sources of a group, and what they failed with
    unfinished: tuple[str, ...] = ()  # on a tape, what its source says of itself after a search

    @classmethod
    def all_of(cls, found: Sequence[Hit]) -> Hits:
        return found if type(found) is Hits else cls(tuple(found))  # a `Sequence` takes its time to say what it is

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]


OriginalState = Literal["same", "changed", "gone", "none"]


@frozen
class Original:
    """The file that a document was read from, and what has become of it; `none`: it was no file."""

    state: OriginalState
    path: str | None = None
    sha256: str = ""  # of what was read


def by_document(hits: Iterable[Hit]) -> list[tuple[Hit, ...]]:
    """The hits of each document together, best first: a document stands where its best passage does."""
    grouped: dict[str, list[Hit]] = {}
    for hit in hits:
        grouped.setdefault(f"{hit.source}\n{hit.document or hit.url or hit.id}", []).append(hit)
    return [tuple(group) for group in grouped.values()]


def _shared(passage: Passage) -> dict[str, Any]:
    return {name: getattr(passage, name) for name in _OF_PASSAGES}


_OF_PASSAGES = tuple(one.name for one in fields(Passage))


@frozen
class Document(Encodable):
    """The bytes of a page or file, and what is said about them; `url` is where it was in the end."""

    body: bytes
    url: str
    content_type: str = ""
    charset: str | None = None
    name: str = ""


@frozen
class Page(Encodable):
    """A page or file after reading: main text in order, boilerplate gone. `passages` is its text piece by piece."""

    url: str
    title: str
    passages: tuple[str, ...]
    published: str | None = None
    author: str | None = None
    language: str | None = None
    kind: str = "html"
    notice: str | None = None  # what a reader should know: that a part was left out, and why
    blocks: tuple[Block, ...] = ()  # what the passages were made of, where a format has such structure
    scanned: int = 0  # pages that are pictures and were not read

    @property
    def text(self) -> str:
        return "\n\n".join(self.passages)


@frozen
class Citation:
    """The words of one passage that carry one sentence."""

    number: int
    passage: Passage
    start: int
    end: int
    support: float  # 0 to 1

    @property
    def quote(self) -> str:
        return self.passage.text[self.start : self.end]


@frozen
class Sentence:
    """A sentence of an answer with what carries it. Not `supported`: a reader must be warned."""

    text: str
    start: int
    end: int
    verdict: Verdict
    citations: tuple[Citation, ...] = ()
    inferred: bool = False  # it says of itself that it draws a conclusion; what it concludes from is cited

    @property
    def supported(self) -> bool:
        return self.verdict not in ("not carried", "not checked")


@frozen
class Near:
    """A passage that comes close to a question without answering it, and the words of it that come closest."""

    passage: Passage
    start: int
    end: int
    number: int = 0  # to open it by, after those of the passages that are cited

    @property
    def words(self) -> str:
        return self.passage.text[self.start : self.end]


@frozen
class Usage(Encodable):
    """Cost of a run so far: searches, tokens, dollars. A cost of None means: at least one price is not known."""

    searches: int = 0
    pages: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    pairs: int = 0  # question-passage pairs read by the evaluator
    cost: float | None = 0.0  # US dollars


@frozen
class Answer(Encodable):
    """The answer of a run. An `unsure` or `failed` one says why in `reason`, and an unsure one what came `nearest`;
    a `partial` one says what is `missing`."""

    question: str
    text: str
    outcome: Outcome
    strategy: str
    reason: str | None = None
    model: str | None = None
    short: str | None = None  # a few words, where the strategy can tell them
    confidence: float | None = None
    missing: tuple[str, ...] = ()  # parts of the question that the sources do not answer
    sentences: tuple[Sentence, ...] = ()
    passages: Mapping[int, Passage] = field(default_factory=dict[int, Passage])
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    understood: str | None = None  # a follow-up, as it was made to stand alone
    asks: str | None = None  # what has to be asked back before there can be an answer
    nearest: tuple[Near, ...] = ()  # no answers: what a reader may look at where there is none, or no sure one
    notes: tuple[str, ...] = ()  # what a reader should know of how it was found
    tries: tuple[str, ...] = ()  # what else may find an answer, each in a few words
    unforeseen: str | None = None  # the type of an error that nobody expected; its words, in `reason`, may hold anything

    @property
    def told(self) -> str:
        """The answer's words, for a later question to refer to: the short answer first, or what was asked back."""
        return "\n\n".join(filter(None, (self.short, self.text))) or self.asks or ""

    @property
    def probable(self) -> bool:
        """Whether it tells what is likely and does not claim to know it."""
        return self.outcome == "unsure" and bool(self.text) and self.confidence is not None

    @property
    def checked(self) -> str:
        """How many of its sentences were checked, and how many of them are not carried."""
        return printing.printer().checked(self)

    def __str__(self) -> str:
        """The answer as a person reads it, marks and sources included; `text` is the text alone."""
        return printing.printer().text(self)

    def _repr_markdown_(self) -> str:
        """For notebooks that know Markdown."""
        return printing.printer().in_markdown(self)

    def _repr_html_(self) -> str:
        """For all notebooks."""
        return printing.printer().in_html(self)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Each citation once, in the order of the answer."""
        seen: dict[tuple[int, int, int], Citation] = {}
        for sentence in self.sentences:
            for citation in sentence.citations:
                seen.setdefault((citation.number, citation.start, citation.end), citation)
        return tuple(seen.values())


@frozen
class Grade:
    """How a grader judged one passage. `score` is a probability where the grader has one."""

    relevant: bool
    score: float | None = None


class Claim(NamedTuple):
    """A sentence of an answer beside the passages that it cites, the one that holds most of it first."""

    text: str
    passages: Sequence[Passage]
    share: float  # of the sentence that they hold
    exchanged: Sequence[str] = ()  # the same with two names in each other's place


class Judgement(NamedTuple):
    """Whether a sentence is carried, and whether that is sure: else somebody who reads better should be asked."""

    carried: bool
    sure: bool


@frozen
class Message(Encodable):
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()  # of an assistant
    tool_call_id: str | None = None  # of a tool's answer
    tool_name: str | None = None


@frozen
class ToolCall(Encodable):
    """A model asks for a tool."""

    id: str
    name: str
    arguments: Mapping[str, object]


@frozen
class Tool:
    """A tool as a model sees it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, object]


@frozen
class Prompt(Encodable):
    """One request to a model. A trailing assistant message is to be continued."""

    messages: tuple[Message, ...]
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    temperature: float = 0.0
    schema: Mapping[str, object] | None = None  # ask for JSON of this shape
    tools: tuple[Tool, ...] = ()


@frozen
class Completion(Encodable):
    """A model's finished reply. `stopped_at` is the stop sequence that ended it, left out of `text`."""

    text: str
    finish: Literal["end", "stop", "length", "tools", "refusal"] = "end"
    stopped_at: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


@frozen
class Capabilities:
    """Capabilities of a language model; strategies choose their form by them."""

    context_tokens: int | None = None
    continues: bool = False  # goes on from a partial assistant message
    tools: bool = False
    schemas: bool = False


@frozen
class Fault:
    """An error's class, words and facts."""

    type: str
    message: str
    facts: Mapping[str, str | int | float | None] = field(default_factory=dict[str, str | int | float | None])

    @classmethod
    def of(cls, problem: BaseException) -> Fault:
        facts = {name: value for name, value in vars(problem).items() if isinstance(value, str | int | float | None)}
        return cls(type(problem).__name__, str(problem), facts)

    def error(self) -> Exception:
        """The same error again; one of a plugin's own classes gets a class of that name."""
        kind = getattr(errors, self.type, None) or getattr(builtins, self.type, None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            kind = type(self.type, (Exception,), {})
        problem = cast("type[Exception]", kind).__new__(kind)
        problem.args = (self.message,)
        for name, value in self.facts.items():
            if isinstance(value, type(getattr(kind, name, value))):  # figures are figures
                setattr(problem, name, value)
        return problem
