"""Headings, terms and options as the questions that people would ask to be led to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wellread.text.lexicon import STOPWORDS

_NUMBER = re.compile(
    r"^(?:(?:chapter|appendix|section|part|step)\s+)?(?:[A-Z]?\d+(?:\.\d+)*|[A-Z]\.\d+(?:\.\d+)*|[ivx]+)[.:)]?\s+", re.IGNORECASE
)
_MARK = re.compile(r"[¶#§]+\s*$|^\W+|\s*\[(?:edit|top)\]\s*$")
_TO = re.compile(r"\bto ([a-z]{2,})\b")
_ASKS = re.compile(
    r"^(?:how|what|why|when|where|which|who|can|could|does|do|did|is|are|will|should|i|my|may|must)\b", re.IGNORECASE
)
_HOW_TO = re.compile(r"^how[ -]?to:?\s+(?P<rest>\w.*)", re.IGNORECASE)
_OPTION = re.compile(r"^(?:- )?(?P<all>(?P<first>--?[A-Za-z0-9][\w.-]*)(?:[ =,|/\[<].*)?)$")
_NAME = re.compile(
    r"^(?:- )?(?P<name>[A-Za-z][\w.-]*[_.:-][\w.-]*\w|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[A-Z]{3,}(?:_[A-Z]+)*)(?P<rest>\s*[(=:].*)?$"
)
_DEFAULT_TERM = re.compile(r"\(default:?\s*(?P<value>[^()]{1,60}?)\s*\)", re.IGNORECASE)
_DEFAULT_TEXT = re.compile(
    r"\b(?:the default(?: value| setting)?(?: for this (?:option|setting))? is|defaults? to|default(?: value)?:)\s+(?:to\s+)?"
    r"(?P<value>[\"“‘'`]?[\w$/.%-]+(?: (?:seconds?|minutes?|hours?|days?|bytes|KB|MB|kB|characters|ms))?)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"^(.{15,140}?)(?:[.;:]\s|[.;:]?$)", re.DOTALL)
_IS = r"\s+(?:\([^)]{1,40}\)\s+)?(?:is|are|means|refers to|stands for)\s"
_DULL = re.compile(
    r"^(?:introduction|overview|description|name|synopsis|see also|author|copyright|options?|examples?|notes?|summary|index|"
    r"contents|table of contents|references|general|miscellaneous|other|background|preface|bugs|files|history|todo|details|"
    r"usage|license|changes)\b",
    re.IGNORECASE,
)


class Wording(NamedTuple):
    text: str
    kind: str
    made: str
    answer: str = ""


class Verbs:
    """The verbs of some texts: what often follows "to"."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts = Counter(verb for text in texts for verb in _TO.findall(text) if verb not in STOPWORDS)

    def is_verb(self, word: str) -> bool:
        return self._counts[word.lower()] >= 3

    def base(self, gerund: str) -> str | None:
        """ "installing" → "install", "setting" → "set", "using" → "use"."""
        stem = gerund.lower().removesuffix("ing")
        if stem == gerund.lower() or len(stem) < 2:
            return None
        options = [
            stem,
            stem + "e",
            *([stem[:-1]] if stem[-1:] == stem[-2:-1] else []),
            *([stem[:-1] + "ie"] if stem[-1] == "y" else []),
        ]
        best = max(options, key=lambda option: self._counts[option])
        return best if self._counts[best] else None


def plain_heading(text: str) -> str:
    """Without its number and the marks that editors put around it."""
    text = " ".join(text.split())
    text = _MARK.sub("", text)
    return _MARK.sub("", _NUMBER.sub("", text)).strip()


def from_heading(heading: str, opening: str, subject: str, verbs: Verbs) -> Wording | None:
    """The question that a heading answers; None where it asks for nothing."""
    words = heading.split()
    if not 1 <= len(words) <= 16 or len(heading) < 4:
        return None
    if heading.endswith("?") and len(words) > 2:
        return Wording(heading, kind_of(heading), "heading")
    if _DULL.match(heading):
        return None
    if how := _HOW_TO.match(heading):
        return Wording(f"How do I {_lowered(how['rest'])}?", "how-to", "from heading")
    base = verbs.base(words[0])
    if base and len(words) > 1:
        return Wording(f"How do I {base} {' '.join(words[1:])}?", "how-to", "from heading")
    if verbs.is_verb(words[0]) and len(words) > 2 and words[0][0].isupper() and words[1][0].islower():
        return Wording(f"How do I {_lowered(heading)}?", "how-to", "from heading")
    if len(words) <= 5 and re.match(r"(?:an? |the )?" + re.escape(heading) + _IS, opening, re.IGNORECASE):
        return Wording(f"What is {_lowered(heading)}?", "definition", "defined")
    if 2 <= len(words) <= 7 and not _ASKS.match(heading):
        return Wording(f"{heading.lower()} {subject}", "fact", "keywords")
    return None


def from_option(term: str, told: str, subject: str, verbs: Verbs) -> Iterator[Wording]:
    """What does it do; and which one does this."""
    found = _OPTION.match(term) or _NAME.match(term)
    if found is None:
        return
    option = found.groupdict().get("first") or found["name"]
    thing = "option" if option.startswith("-") else "setting"
    yield Wording(f"What does the {option} {thing} of {subject} do?", "definition", f"{thing} told")
    sentence = _SENTENCE.match(told)
    if sentence is None:
        return
    said = sentence[1].split()
    first = said[0].lower()
    verb = (
        first
        if verbs.is_verb(first)
        else first.removesuffix("s")
        if verbs.is_verb(first.removesuffix("s")) and first.endswith("s")
        else None
    )
    if verb and len(said) > 3 and said[1] not in ("of", "with", "for") and option.lower() not in sentence[1].lower():
        asked = f"Which {thing} of {subject} do I use to {verb} {' '.join(said[1:])}?"
        yield Wording(asked, "fact", f"{thing} asked", option)


def default_in(term: str, told: str, subject: str) -> Wording | None:
    """What is the default of a setting."""
    found = _OPTION.match(term) or _NAME.match(term)
    if found is None:
        return None
    name = found.groupdict().get("first") or found["name"]
    value = _DEFAULT_TERM.search(term) or _DEFAULT_TEXT.search(told)
    if value is None:
        return None
    answer = value["value"].strip(" \"“”‘’'`.,;")
    if not answer or answer.lower() in ("the", "a", "an", "see", "this", "that"):
        return None
    kind = "number" if answer[0].isdigit() else "fact"
    return Wording(f"What is the default value of {name} in {subject}?", kind, "default", answer)


def kind_of(question: str) -> str:
    """How-to, why, definition, yes-no, number or fact, by the first words."""
    said = question.lower().lstrip("…. ")
    if re.match(r"how (?:many|much|long|often|large|big|far|old|fast)\b", said):
        return "number"
    if said.startswith("how ") or re.match(r"what (?:should|can|must) i do\b", said):
        return "how-to"
    if said.startswith(("why", "what is the reason")) or "how come" in said:
        return "why"
    if re.match(r"what(?:'s| is| are| does .* mean)\b", said):
        return "definition"
    if re.match(r"(?:can|could|does|do|did|is|are|will|would|should|may|must|has|have|am)\b", said):
        return "yes-no"
    return "fact"


def _lowered(text: str) -> str:
    """With a small first letter, unless the first word is a name."""
    first = text.split()[0]
    return text if not first[:1].isupper() or first[1:] != first[1:].lower() else text[0].lower() + text[1:]
