"""What a kind of question makes of an answer that was read: no phrase where "yes", "no" or a definition was asked for.

The small model has a short answer to every question. "Does it support plugins?" is answered by "yes", by "no", or by the
sentence that says so; "What is a key file?" by the sentence that says what it is. "Yes" and "no" are told only where they stand
in the passage in so many words, or where documents that the question names were compared: the model's
own "yes" to a manual was too seldom right (docs/log/evaluator.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.questions.defaults import asks_default, begins_entry, default_alone, is_meant, tells_default
from wellread.questions.kinds import Term, asks_yes_no, said_at_once
from wellread.ranking.answers import Best
from wellread.strategies import likely_sentences
from wellread.strategies.likely_sentences import Candidate
from wellread.text.sentences import sentences
from wellread.text.titles import mentions
from wellread.types import Passage

_BELOW = 600  # characters of an entry that its default may stand behind


@dataclass(frozen=True, slots=True)
class Defined:
    """A sentence that says what a term is, and from where on it does."""

    sentence: Candidate
    says: int

    def tells(self, short: str) -> bool:
        """Whether a short answer is how the definition begins: "a simple movie encoder", and not a word out of its middle."""
        at = self.sentence.text.find(short, self.says)
        return bool(short) and at >= 0 and len(self.sentence.text[self.says : at].split()) <= 1


def possible(question: str, answers: Sequence[Best[Passage]]) -> list[Best[Passage]]:
    """The answers that are of a kind that the question asks for."""
    if asks_yes_no(question):
        return [one for one in answers if one.kind != "span"]
    if not asks_default(question):
        return list(answers)
    return [one for one in answers if one.kind != "span" or _by_default(question, one)]


def _by_default(question: str, best: Best[Passage]) -> bool:
    """Whether a phrase is said to hold by default: beside the right entry of a list stand others with values of their own."""
    passage, verdict = best.chain[best.verdict.passage], best.verdict
    around = [(a, b) for a, b in sentences(passage.text) if a < verdict.end and verdict.start < b]
    return any(_tells(question, passage, *place) for place in around)


def _tells(question: str, passage: Passage, start: int, end: int) -> bool:
    if default_alone(passage.text[start:end]) is None:
        return tells_default(passage.text[start:end])
    return is_meant(question, passage.title, passage.text, start)


def default_below(question: str, sentence: Candidate) -> tuple[str, Candidate] | None:
    """The value that an entry of a list ends with, and the line that says it: below a sentence of the entry, "Default: 21"."""
    passage = sentence.passage
    text = passage.text
    below = [(start, end) for start, end in sentences(text[: sentence.end + _BELOW]) if start >= sentence.end]
    for start, end in below:
        if value := default_alone(text[start:end]):
            line = Candidate(passage, start, end, likely_sentences.read(text[start:end]), 0)
            return (value, line) if is_meant(question, passage.title, text, start) else None
        if begins_entry(text, start):
            return None
    return None


def headline(question: str, best: Best[Passage], sentence: Candidate) -> str:
    """The short answer that is told: none above sentences that tell it, no "yes" or "no" where that would not be safe."""
    if not asks_yes_no(question):
        return "" if best.kind == "text" else best.text
    compared = best.text if best.kind in ("yes", "no") and _of_several(question, best.chain) else ""
    return (said_at_once(sentence.text) or compared).capitalize()


def _of_several(question: str, chain: Sequence[Passage]) -> bool:
    """Whether a chain is a way through several documents that begins or ends at one that the question names."""
    titles = {passage.title for passage in chain}
    return len(titles) > 1 and any(mentions(question, title) for title in titles)


def defined(term: Term, passages: Sequence[Passage]) -> Defined | None:
    """The first sentence of the passages that says what something is."""
    every = ((one, term.defined_in(one.text)) for one in likely_sentences.candidates(passages))
    return next((Defined(one, begun.end()) for one, begun in every if begun), None)
