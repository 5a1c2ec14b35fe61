"""Sentences as names, numbers and words in their places, for the question who does what to whom, and when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from wellread.text import lexicon
from wellread.text.disguises import as_seen
from wellread.text.weighted_cache import remembered
from wellread.text.words import Token, Words, key_at, read, stem, tokens_of

Kind = Literal["name", "year", "number", "ordinal", "day"]
_YEAR = re.compile(r"#(?:1\d|20)\d\d")
_BE = frozenset(["is", "are", "was", "were", "be", "been", "being"])
_PRONOUNS = frozenset(["he", "she", "it", "they", "his", "her", "hers", "its", "their", "theirs", "him", "them"])
_ERAS = frozenset(["bc", "bce", "ce", "ad"])
_LIFE = 14  # tokens from the birth to the death in "(2 May 1915 – 3 June 1978)"
_MONTHS = frozenset(lexicon.MONTHS)
_SUBJECTS = frozenset(("he", "she", "it", "they", "who", "we", "i"))
_POSSESSIVES = frozenset(["his", "her", "its", "their"])
_CHAIN = frozenset((",", "and", "or", "&"))
_PARTING = frozenset(["which", "that", "where", "when", "while", "but", "although", "because", "whom", "after", "before"])
_POSSESSIVE = re.compile(r"['’]s?\Z")
_PREPOSITIONS = frozenset(["against", "for", "from", "to", "over", "with", "after", "before", "behind"])
_BEHIND_PARTICIPLES = frozenset(["in", "on", "by", "as", "for", "to", "at", "from", "with", "of"])
_GOVERNED = 7  # words between a verb or a preposition and its name
_AGENT_WITHIN = 7  # words behind "by"


class Mention(NamedTuple):
    """A name or a number, and the tokens that it takes."""

    kind: Kind
    forms: frozenset[str]
    start: int
    end: int

    def is_same(self, other: Mention) -> bool:
        return self.kind == other.kind and (self.forms <= other.forms or other.forms <= self.forms)


class Date(NamedTuple):
    """A day and month, a month and year, or all three; "" for what is not said."""

    day: str
    month: str
    year: str
    mention: Mention

    def agrees(self, other: Date) -> bool:
        return self.month == other.month and all(
            not mine or not theirs or mine == theirs for mine, theirs in ((self.day, other.day), (self.year, other.year))
        )

    def is_rival(self, other: Date) -> bool:
        """Whether it shares a part with another and differs in one that both have."""
        return not self.agrees(other) and (
            self.month == other.month
            or (self.day != "" and self.day == other.day)
            or (self.year != "" and self.year == other.year)
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence in order. `stems` has "" for words without content; `title` stands where a pronoun does."""

    tokens: list[Token]
    stems: list[str]
    mentions: list[Mention]
    title: frozenset[str] = frozenset()

    def places(self, wanted: str) -> list[int]:
        return [place for place, key in enumerate(self.stems) if key == wanted]

    def at(self, form: str) -> list[int]:
        return [place for place, token in enumerate(self.tokens) if token.form == form]

    def following(self, place: int) -> str:
        """The next word with content behind a place, as a stem; empty where the clause ends."""
        for at in range(place + 1, len(self.tokens)):
            if self.stems[at] or self.tokens[at].kind == "stop":
                return self.stems[at]
        return ""

    def before(self, place: int) -> list[Mention]:
        return [one for one in self.mentions if one.end <= place]

    def after(self, place: int) -> list[Mention]:
        return [one for one in self.mentions if one.start > place]

    def actors(self) -> dict[str, tuple[list[Mention], int]]:
        """Whom a passive names as the one who did it: "directed and produced by X" gives X for both words."""
        found: dict[str, tuple[list[Mention], int]] = {}
        for place, token in enumerate(self.tokens):
            if token.form == "by" and (actors := self._named_behind(place)):
                for verb in self._chain_before(place) or self._verb_before(place):
                    found.setdefault(self.stems[verb], (actors, verb))
        for one in self.mentions:  # "Napoleon's occupation"
            if one.kind == "name" and _POSSESSIVE.search(self.tokens[one.end - 1].raw) and one.end < len(self.tokens):
                found.setdefault(self.stems[one.end], ([one], one.end))
        return found

    def governed(self) -> dict[str, list[Mention]]:
        """Which names stand behind a verb or a preposition: "against X", "part of X", "introduced the young poet X"."""
        found: dict[str, list[Mention]] = {}
        for one in self.mentions:
            if one.kind == "name" and self.tokens[one.start].form not in _PRONOUNS:
                for key in self._governors(one):
                    found.setdefault(key, []).append(one)
        for place, token in enumerate(self.tokens):  # "the poet X, whom she introduced"
            if token.form == "whom" and place + 2 < len(self.tokens) and (before := self.before(place)):
                found.setdefault(self.stems[place + 2], []).append(before[-1])
        return found

    def _governors(self, one: Mention) -> list[str]:
        """The verb or preposition before a name; behind "after the years of" it is both "years of" and "after"."""
        found: list[str] = []
        for place in range(one.start - 1, max(-1, one.start - _GOVERNED), -1):
            token = self.tokens[place]
            if token.kind == "stop" or token.capital or token.form in _PRONOUNS or token.form == "by":
                break
            if token.form == "of":
                found += [] if found else self._of(place)
            elif token.form in _PREPOSITIONS:
                between = self.tokens[place + 1 : one.start]
                infinitive = token.form == "to" and any(word.form not in lexicon.STOPWORDS for word in between)  # "to found X"
                return found if infinitive or (found and token.form not in ("after", "before")) else [*found, token.form]
            elif self.is_verb(place):
                return found if found or self.is_passive(place) else [self.stems[place]]
        return found

    def _of(self, place: int) -> list[str]:
        """ "part of", "son of": what the name behind it is said to have."""
        before = (self.stems[place - 1] or self.tokens[place - 1].form) if place else ""
        return [f"{before} of"] if before and before[0] != "#" and (self.stems[place - 1] or before in lexicon.KIN) else []

    def related(self) -> dict[str, str]:
        """What someone is to another, where it stands before the name: "his father Elmo"."""
        return {
            form: self.tokens[one.start - 1].form
            for one in self.mentions
            if one.kind == "name" and one.start and self.tokens[one.start - 1].form in lexicon.KIN
            for form in one.forms
        }

    def _named_behind(self, place: int) -> list[Mention]:
        found: list[Mention] = []
        reach = place + _AGENT_WITHIN
        for one in self.mentions:
            if one.kind != "name" or one.start <= place or self.tokens[one.start].form in _POSSESSIVES:
                continue
            gap = [token.raw for token in self._but_initials((found[-1].end if found else place + 1), one.start)]
            joined = (
                all(raw in _CHAIN for raw in gap) or self._describes(found[-1].end, one.start)
                if found
                else one.start <= reach and not any(raw in (",", ";", ".", "(") for raw in gap)
            )
            if not joined:
                break
            found.append(one)
        return [one for one in found if not _POSSESSIVE.search(self.tokens[one.end - 1].raw)]

    def _describes(self, start: int, end: int) -> bool:
        """Whether the words there lead from "American" to the name: "by American singer and songwriter X"."""
        words = self.tokens[start:end]
        return bool(words and self.stems[start]) and all(
            token.raw in _CHAIN or (self.stems[place] and not token.capital and not self.is_verb(place))
            for place, token in enumerate(words, start)
        )

    def _but_initials(self, start: int, end: int) -> list[Token]:
        """The tokens there without "L. V." before a name, or the point of "Christopher B." within one."""
        found: list[Token] = []
        initial = len(self.tokens[start - 1].form) == 1 and self.tokens[start - 1].capital
        for token in self.tokens[start:end]:
            dotted = token.raw == "." and initial
            initial = len(token.form) == 1 and token.capital
            if not initial and not dotted:
                found.append(token)
        return found

    def _verb_before(self, place: int) -> list[int]:
        """The passive verb of "was founded as … by"."""
        near = range(place - 1, max(0, place - 10), -1)
        return [at for at in near if self.is_verb(at) and self.is_passive(at)][:1]

    def _chain_before(self, place: int) -> list[int]:
        """The words that a "by" belongs to."""
        verbs: list[int] = []
        at = self._before_date(place - 1)
        while at >= 0 and self.stems[at] and not self.tokens[at].capital:
            if verbs and not _is_past(self.tokens[at].form):
                break
            verbs.append(at)
            at -= 1 + (at > 0 and self.tokens[at - 1].form in ("co", "re"))  # "co-written"
            if at < 0 or self.tokens[at].raw not in _CHAIN:
                break
            while at >= 0 and self.tokens[at].raw in _CHAIN:
                at -= 1
        return verbs

    def _before_date(self, at: int) -> int:
        """The place before "in 1974" or "on 3 May 1974" of "directed in 1974 by"."""
        first = at
        while first >= 0 and (
            self.stems[first].startswith("#") or self.tokens[first].form in _MONTHS or self.tokens[first].raw == ","
        ):
            first -= 1
        return first - 1 if first < at and first >= 0 and self.tokens[first].form in ("in", "on") else at

    def dates(self) -> list[Date]:
        """The dates with a month: "17 April 1982", "April 17, 1982", "April 1982", "17 April"."""
        found: list[Date] = []
        for place, token in enumerate(self.tokens):
            if token.form in _MONTHS and token.capital:
                beside = [one for one in self.mentions if -2 <= one.start - place <= 3 and one.kind in ("day", "year")]
                day = next((one for one in beside if one.kind == "day" and abs(one.start - place) == 1), None)
                behind = place + 1 + (day is not None and day.start == place + 1)
                year = next((one for one in beside if one.kind == "year" and 0 <= one.start - behind <= 1), None)
                if mention := day or year:
                    key, of = (next(iter(one.forms)) if one else "" for one in (day, year))
                    found.append(Date(key, token.form, of, mention))
        return found

    def subjects(self, place: int) -> list[Mention]:
        """The names that may be the subject of the verb there: before it, in its clause."""
        begun = max((at for at in range(place) if self._parts(at) or self.tokens[at].form in _SUBJECTS), default=0)
        return [one for one in self.before(place) if one.kind == "name" and one.start >= begun and self._acts(one, place)]

    def is_pronoun(self, one: Mention) -> bool:
        return self.tokens[one.start].form in _PRONOUNS

    def _acts(self, one: Mention, place: int) -> bool:
        """Whether a name can be what acts in the verb there, not what describes it: "X's wife", "the American director",
        "the director of X"."""
        owns = _POSSESSIVE.search(self.tokens[one.end - 1].raw) is not None
        described = one.end < place and self._describes(one.end, one.end + 1) and not _may_act(self.tokens[one.end].form)
        belongs = one.start > 1 and self.tokens[one.start - 1].form == "of" and not self.tokens[one.start - 2].capital
        return not (owns or described or belongs)

    def _parts(self, at: int) -> bool:
        """Whether a clause begins behind this word."""
        return self.tokens[at].form in _PARTING or self.tokens[at].raw in (";", ":")

    def is_verb(self, place: int) -> bool:
        return not self.tokens[place].capital and _is_past(self.tokens[place].form)

    def is_passive(self, place: int) -> bool:
        return any(token.form in _BE for token in self.tokens[max(0, place - 3) : place]) or self._is_added(place)

    def _is_added(self, place: int) -> bool:
        """Whether a participle belongs to the noun before it: "a team based in", ", born in"."""
        before, behind = self.tokens[place - 1 : place], self.tokens[place + 1 : place + 2]
        added = bool(before) and (before[0].raw in (",", "(") or bool(self.stems[place - 1] and not before[0].capital))
        return added and bool(behind) and behind[0].form in _BEHIND_PARTICIPLES


def _is_past(form: str) -> bool:
    return (form.endswith("ed") and form not in lexicon.NOT_PAST) or form in lexicon.IRREGULAR or form in lexicon.PAST


def _may_act(form: str) -> bool:
    """Whether a word behind a name may be what it does, or how: "plays", "beat", "eventually"."""
    return (
        form.endswith("ly")
        or (form.endswith("s") and not form.endswith("ss"))
        or form in lexicon.UNCHANGED
        or form in ("later", "soon", "again", "twice", "often", "eventually")
    )


@remembered(1_000_000)
def arranged(text: str, title: str = "") -> Line:
    """One sentence; under a title, the title's name also stands where a pronoun does."""
    text = as_seen(text)
    words = read(text)
    tokens = tokens_of(text)
    stems = [""] * len(tokens)
    mentions: list[Mention] = []
    scratch = Words()
    about = read(title)
    implied = frozenset(about.forms - lexicon.STOPWORDS)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "number" or token.form in lexicon.NUMBER_WORDS:
            key, behind = key_at(tokens, index, scratch)
            mentions.append(Mention(_number_kind(key, tokens, index, behind), frozenset((key,)), index, behind))
            stems[index] = key
            index = behind
            continue
        if token.capital and token.form in words.names and token.form not in lexicon.MONTHS:
            index = _read_name(tokens, index, words, stems, mentions)
            continue
        if token.form in _PRONOUNS and implied:
            mentions.append(Mention("name", implied, index, index + 1))
        if token.kind == "word" and token.form not in lexicon.STOPWORDS:
            stems[index] = stem(token.form)
        index += 1
    if title:
        _read_life(tokens, stems, mentions)
    return Line(tokens, stems, mentions, implied | about.counts)


def _read_life(tokens: list[Token], stems: list[str], mentions: list[Mention]) -> None:
    """Two years in brackets are a birth and a death: the brackets say so, in the place of words."""
    for start, token in enumerate(tokens):
        if token.raw != "(":
            continue
        end = next((at for at in range(start, min(start + _LIFE, len(tokens))) if tokens[at].raw == ")"), start)
        years = [one for one in mentions if one.kind == "year" and start < one.start < end]
        words = [stem for stem, one in zip(stems[start:end], tokens[start:end], strict=True) if stem and one.form not in _MONTHS]
        if len(years) == 2 and all(word.startswith("#") or word == "born" for word in words):
            stems[start], stems[end] = "born", "die"


def _read_name(tokens: list[Token], index: int, words: Words, stems: list[str], mentions: list[Mention]) -> int:
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
    era = any(one.form in _ERAS for one in (*tokens[max(0, index - 1) : index], *tokens[behind : behind + 1])) or (
        behind + 2 < len(tokens) and tokens[behind + 1].kind == "number" and tokens[behind + 2].form in _ERAS  # "66 and 70 AD"
    )
    if key.endswith("0s") or (token.raw.isdigit() and (era or _YEAR.fullmatch(key))):
        return "year"
    if token.tail in ("st", "nd", "rd", "th") or token.form in lexicon.ORDINALS:
        return "ordinal"
    return "number"
