"""What may be asked outside.

A page can tell a model to put a private document into a query to a public service. Once a run has seen private passages,
such queries are made of words from the question and from what public sources said, and of no others: each once and as it was
said there, for signs, capital letters and single letters can spell a document, too. Nor do a model's own
instructions leave: a query that recites them becomes the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from wellread.protocols import Remembering, Source, is_public, members
from wellread.types import Hit, Prompt, Query

_WORD = re.compile(r"\w+")
_RECITED = 5  # words in a row that come from the instructions and not from the question


@dataclass(slots=True)
class Outbound:
    """The memory of one run: which words may leave."""

    question: str
    open: bool = False  # the operator lets private words out
    private: bool = False  # whether anything private was seen
    _said: list[str] = field(default_factory=list[str])  # by the user and the public; its words are taken when they are asked for
    _known: dict[str, str] = field(default_factory=dict[str, str])  # folded, and as they were said first
    _asked: dict[int, _Reach] = field(default_factory=dict[int, "_Reach"])
    _prompts: list[Prompt] = field(default_factory=list[Prompt])

    def __post_init__(self) -> None:
        self.learn([self.question])

    def learn(self, texts: Iterable[str]) -> None:
        """Words that the user, or the public, has said."""
        self._said.extend(texts)

    def continued(self, where: Source, history: Sequence[tuple[str, str]], before: Sequence[Source] = ()) -> None:
        """A conversation goes on. The user's words may leave; earlier answers may be made of private ones, and what may
        leave of them is what public sources are known to have said. `before` remember answers and are not searched."""
        if not history:
            return
        self.learn(asked for asked, _ in history)
        inside = (*members(where), *before)
        remembered = [hit for source in inside if isinstance(source, Remembering) for hit in source.remembered()]
        self._remember(_Reach.of(where, before), remembered)
        self.private |= any(not is_public(source) for source in inside if not isinstance(source, Remembering))

    def instructed(self, prompt: Prompt) -> None:
        """What models were told to do."""
        self._prompts.append(prompt)

    def query(self, where: Source, query: Query) -> Query:
        """The query as this source may hear it; a group hears both, and passes on to each what it may."""
        if self.open:
            return query
        reach = self._reach(where)
        if reach.mixed:
            return replace(query, outside=self._allowed(query.text))
        return replace(query, text=self._allowed(query.text)) if reach.public else query

    def heard(self, where: Source, hits: Sequence[Hit]) -> None:
        """Remember what was said, and by whom."""
        self._remember(self._reach(where), hits)

    def _remember(self, reach: _Reach, hits: Sequence[Hit]) -> None:
        if not reach.public:
            self.private = self.private or bool(hits)
            return
        for hit in hits:
            if reach.single or _plain(hit.source) in reach.public:
                self.learn((hit.title, hit.words))
            else:
                self.private = True

    def _reach(self, where: Source) -> _Reach:
        """Each source of a run is asked once."""
        if (known := self._asked.get(id(where))) is None:
            known = self._asked[id(where)] = _Reach.of(where)
        return known

    def _recites(self, text: str) -> bool:
        rows = _rows(text) - _rows(self.question)
        if not rows:
            return False
        instructions = {message.text for prompt in self._prompts for message in prompt.messages if message.role == "system"}
        return any(not rows.isdisjoint(_rows(instruction)) for instruction in instructions)

    def _allowed(self, text: str) -> str:
        if self._recites(text):
            return self.question
        if not self.private:
            return text
        if text == self.question:
            return text
        for word in (word for said in self._said for word in _WORD.findall(said)):
            self._known.setdefault(word.casefold(), word)
        self._said.clear()
        own = {word.casefold() for word in _WORD.findall(self.question)}
        asked = dict.fromkeys(word.casefold() for word in _WORD.findall(text))
        return (
            " ".join(self._known[word] for word in asked if word in own or (len(word) > 1 and word in self._known))
            or self.question
        )


@dataclass(frozen=True, slots=True)
class _Reach:
    """Which of a source's members anyone can ask."""

    source: Source  # kept, so that no other object gets its number
    public: frozenset[str]  # their names, without options
    mixed: bool
    single: bool  # it is one source, and public

    @classmethod
    def of(cls, where: Source, before: Sequence[Source] = ()) -> _Reach:
        inside = (*members(where), *before)
        outside = [source for source in inside if is_public(source)]
        names = frozenset(_plain(source.name) for source in outside)
        return cls(where, names, 0 < len(outside) < len(inside), len(inside) == len(outside) == 1)


def _rows(text: str) -> set[tuple[str, ...]]:
    """The words in rows, wherever one begins."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {tuple(words[start : start + _RECITED]) for start in range(len(words) - _RECITED + 1)}


def _plain(name: str) -> str:
    """Without options. Where a source is stays: of two wikis one may be private."""
    return name.partition("?")[0]
