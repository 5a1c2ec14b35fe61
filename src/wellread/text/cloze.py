"""A sentence as questions: one of its names taken out and asked for. Where other words of the passage answer, it is doubted.

"George Groves was born in Swindon" asks "Who was born in Swindon?". A reader that finds Marlon Reid far likelier contradicts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from wellread.text import lexicon
from wellread.text.inference import unmarked
from wellread.text.markers import strip_markers
from wellread.text.words import fold, read
from wellread.types import Passage, Rivals, Sentence

# What a name is doubted for, fitted by benchmarks/citations_fit.py on the part of the sentences that may be tuned on.
# The lead is by how much other words are likelier than the name, in logarithms.
WEIGHTS = {
    "lead": 0.424,
    "over a title": -0.262,  # passages speak of their subject as "he"
    "of the title": 0.284,
    "likelihood": 0.121,
    "unanswered": 0.068,
    "bias": -1.878,
}
DOUBTED = 3.0  # from here on a sentence is not carried: below, more true sentences are doubted than answers have untrue ones
_MOST_LEAD, _LEAST = 10.0, -6.0
_ONE = r"[^\W\d_a-zß-öø-ÿ][\w’'-]*(?:\.(?= [^\W\d_a-z]))?"
_NAME = re.compile(rf"{_ONE}(?:(?: (?:of|de|von|van|the|and the))* {_ONE})*")
_WORD = re.compile(r"[^\W_]+")
_PLACED = re.compile(r"\b(?:in|at|near|to|from)\s\Z")
_ARTICLE = re.compile(r"\b(?:the|an?)\s\Z", re.IGNORECASE)
_UNASKED = frozenset((*lexicon.MONTHS, "bc", "bce", "ce", "ad"))
_MOST = 4  # names of a sentence that are asked for


class Cloze(NamedTuple):
    """A question for a name of a sentence."""

    question: str
    name: frozenset[str]

    def signs(self, found: Rivals, titles: frozenset[str]) -> dict[str, float]:
        """What speaks against the name, by the names of the weights."""
        lead = min(_MOST_LEAD, max(0.0, found.other - found.own))
        return {
            "lead": lead,
            "over a title": lead * bool(self.name & titles),
            "of the title": lead * bool(name_words(found.text) & titles),
            "likelihood": max(_LEAST, found.other),
            "unanswered": found.unanswered,
            "bias": 1.0,
        }

    def doubt(self, found: Rivals, titles: frozenset[str]) -> float:
        return sum(WEIGHTS[name] * value for name, value in self.signs(found, titles).items())


def clozes(sentence: Sentence) -> list[Cloze]:
    """The questions that a carried sentence asks. None for one in a passage's own words."""
    body = unmarked(strip_markers(sentence.text)).strip(" \t\n.*_-")
    if sentence.verdict != "carried" or sentence.inferred or not sentence.citations or _is_verbatim(body, sentence):
        return []
    names = read(body).names
    found: list[Cloze] = []
    for match in _NAME.finditer(body):
        first, name = _without_article(match)
        forms = name_words(name)
        if not forms or forms & _UNASKED or not any(fold(word) in names for word in _WORD.findall(name)):
            continue
        before, behind = body[:first], body[match.end() :]
        found.append(Cloze(_asked(before, name, behind), forms))
    return found[:_MOST]


def _without_article(match: re.Match[str]) -> tuple[int, str]:
    """Where a name starts, and the name: "The Stone Roses" opens a sentence with an article."""
    head, blank, rest = match[0].partition(" ")
    cut = blank and fold(head) in lexicon.STOPWORDS
    return (match.start() + len(head) + 1, rest) if cut else (match.start(), match[0])


def _asked(before: str, name: str, behind: str) -> str:
    if name.endswith(("'s", "’s")):
        asking = "whose"
    elif _PLACED.search(before):
        asking = "which place"
    else:
        asking = "what" if _ARTICLE.search(before) else "who"
    return f"{before}{asking if before.strip() else asking.capitalize()}{behind}?"


def title_words(passages: Iterable[Passage]) -> frozenset[str]:
    """The words of titles and what they are shortened to: "ABC"."""
    titles = [passage.title for passage in passages]
    short = (frozenset(read(title).acronyms) for title in titles)
    return frozenset[str]().union(*map(name_words, titles), *short)


def _is_verbatim(body: str, sentence: Sentence) -> bool:
    return any(body.rstrip(".") in one.passage.text for one in sentence.citations)


def name_words(text: str) -> frozenset[str]:
    """The words of a name, folded; without those that say nothing."""
    return frozenset(fold(word).removesuffix("s") for word in _WORD.findall(text)) - lexicon.STOPWORDS
