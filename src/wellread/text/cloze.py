"""A sentence as questions: one of its names taken out and asked for. Who reads another answer in the passages doubts it.

"George Groves was born in Swindon" asks "Who was born in Swindon?". A reader that finds Marlon Reid there contradicts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from wellread.text import lexicon
from wellread.text.inference import unmarked
from wellread.text.markers import strip_markers
from wellread.text.words import fold, read
from wellread.types import Passage, Sentence, ShortAnswer

SURE = 0.75  # calibrated; from here on a reader's other answer counts
_NAME = re.compile(
    r"[^\W\d_a-z][\w’'-]*(?:\.(?= [^\W\d_a-z]))?(?:(?: (?:of|de|von|van))? [^\W\d_a-z][\w’'-]*(?:\.(?= [^\W\d_a-z]))?)*"
)
_WORD = re.compile(r"[^\W_]+")
_PLACED = re.compile(r"\b(?:in|at|near|to|from)\s\Z")
_UNASKED = frozenset((*lexicon.MONTHS, "bc", "bce", "ce", "ad"))
_MOST = 4  # names of a sentence that are asked for


class Cloze(NamedTuple):
    """A question for a name of a sentence."""

    question: str
    name: frozenset[str]
    opens: bool  # the sentence begins with it
    said: frozenset[str]  # all words of the sentence

    def contradicted(self, found: ShortAnswer, titles: frozenset[str]) -> bool:
        """Whether an answer names someone else: one whom the sentence does not name. The passage's own subject is what a
        reader says when it knows nothing better, so it counts only where the sentence's subject was asked for."""
        if found.kind != "span" or found.confidence < SURE:
            return False
        named = frozenset(_key(word) for word in _WORD.findall(found.text) if word[0].isupper()) - lexicon.STOPWORDS
        if not named or named & self.said or self.name & named:
            return False
        return self.opens or not named & titles


def clozes(sentence: Sentence) -> list[Cloze]:
    """The questions that a carried sentence asks. None for one in a passage's own words, and for names in titles:
    passages speak of their subject as "he"."""
    body = unmarked(strip_markers(sentence.text)).strip(" \t\n.*_-")
    if sentence.verdict != "carried" or sentence.inferred or not sentence.citations or _is_verbatim(body, sentence):
        return []
    names, titles, said = read(body).names, title_words(one.passage for one in sentence.citations), _forms(body)
    found: list[Cloze] = []
    for match in _NAME.finditer(body):
        forms = _forms(match[0])
        if not forms or forms & _UNASKED or forms & titles or not any(fold(word) in names for word in _WORD.findall(match[0])):
            continue
        before, behind = body[: match.start()], body[match.end() :]
        asking = "whose" if match[0].endswith(("'s", "’s")) else "which place" if _PLACED.search(before) else "who"
        found.append(
            Cloze(f"{before}{asking if before.strip() else asking.capitalize()}{behind}?", forms, not before.strip(), said)
        )
    return found[:_MOST]


def title_words(passages: Iterable[Passage]) -> frozenset[str]:
    """The words of titles and what they are shortened to: "ABC"."""
    titles = [passage.title for passage in passages]
    short = (frozenset(read(title).acronyms) for title in titles)
    return frozenset[str]().union(*map(_forms, titles), *short)


def _is_verbatim(body: str, sentence: Sentence) -> bool:
    return any(body.rstrip(".") in one.passage.text for one in sentence.citations)


def _forms(text: str) -> frozenset[str]:
    return frozenset(map(_key, _WORD.findall(text))) - lexicon.STOPWORDS


def _key(word: str) -> str:
    return fold(word).removesuffix("s")
