"""Sentences as names, numbers and words in their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from wellread.text import lexicon
from wellread.text.weighted_cache import remembered
from wellread.text.words import Token, Words, key_at, read, stem, tokens_of

Kind = Literal["name", "year", "number", "ordinal", "day"]
_YEAR = re.compile(r"#(?:1\d|20)\d\d")
_ERAS = frozenset(["bc", "bce", "ce", "ad"])
_MONTHS = frozenset(lexicon.MONTHS)


class Mention(NamedTuple):
    """A name or a number, and the tokens that it takes."""

    kind: Kind
    forms: frozenset[str]
    start: int
    end: int

    def is_same(self, other: Mention) -> bool:
        return self.kind == other.kind and (self.forms <= other.forms or other.forms <= self.forms)


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence in order. `stems` has "" for words without content."""

    tokens: list[Token]
    stems: list[str]
    mentions: list[Mention]

    def following(self, place: int) -> str:
        """The next word with content behind a place, as a stem; empty where the clause ends."""
        for at in range(place + 1, len(self.tokens)):
            if self.stems[at] or self.tokens[at].kind == "stop":
                return self.stems[at]
        return ""


@remembered(1_000_000)
def arranged(text: str) -> Line:
    """One sentence."""
    words, tokens = read(text), tokens_of(text)
    stems = [""] * len(tokens)
    mentions: list[Mention] = []
    scratch = Words()
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "number" or token.form in lexicon.NUMBER_WORDS:
            key, behind = key_at(tokens, index, scratch)
            mentions.append(Mention(_number_kind(key, tokens, index, behind), frozenset((key,)), index, behind))
            stems[index] = key
            index = behind
            continue
        if token.capital and token.form in words.names and token.form not in _MONTHS:
            index = _read_name(tokens, index, stems, mentions)
            continue
        if token.kind == "word" and token.form not in lexicon.STOPWORDS:
            stems[index] = stem(token.form)
        index += 1
    return Line(tokens, stems, mentions)


def _read_name(tokens: list[Token], index: int, stems: list[str], mentions: list[Mention]) -> int:
    start, forms = index, set[str]()
    while index < len(tokens) and (
        (tokens[index].capital and tokens[index].form not in lexicon.STOPWORDS)
        or (index > start and tokens[index].joined and tokens[index].kind == "word")  # "Hae-jin"
    ):
        forms.add(tokens[index].form)
        stems[index] = stem(tokens[index].form)
        index += 1
    if not forms:
        return index + 1
    mentions.append(Mention("name", frozenset(forms - lexicon.TITLES or forms), start, index))
    return index


def _number_kind(key: str, tokens: list[Token], index: int, behind: int) -> Kind:
    token = tokens[index]
    beside = {one.form for one in (*tokens[max(0, index - 1) : index], *tokens[behind : behind + 1])}
    if token.raw.isdigit() and len(token.raw) <= 2 and beside & _MONTHS:
        return "day"
    era = not beside.isdisjoint(_ERAS) or (
        behind + 2 < len(tokens) and tokens[behind + 1].kind == "number" and tokens[behind + 2].form in _ERAS  # "66 and 70 AD"
    )
    if key.endswith("0s") or (token.raw.isdigit() and (era or _YEAR.fullmatch(key))):
        return "year"
    if token.tail in ("st", "nd", "rd", "th") or token.form in lexicon.ORDINALS:
        return "ordinal"
    return "number"
