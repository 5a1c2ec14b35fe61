"""Question classification, by kinds that not every phrase out of a passage answers: is it so, what is it, what holds by
default."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, cast

from wellread.core.values import frozen
from wellread.text import patterns as re

Kind = Literal["person", "place", "date", "number", "thing"]
ASKING = "who|whom|whose|what|which|when|where|why|how"
AUXILIARY = "is|are|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|had"

_PEOPLE = "person|man|woman|scientist|astronomer|king|queen|president|author|writer|poet|actor|actress|singer|player|engineer"
_PLACES = "country|city|town|state|place|island|continent|region|village|river|sea|ocean"
_MEASURES = "many|much|long|far|old|tall|high|big|large|deep|wide|fast|heavy|hot|often"
_WANTED = re.compile(
    rf"\b(?:(?P<person>who|whom|whose|(?:what|which) (?:\w+ )?(?:{_PEOPLE}))"
    r"|(?P<date>when|(?:what|which) (?:year|date|day|month|century))"
    rf"|(?P<place>where|(?:what|which) (?:{_PLACES}))|(?P<number>how (?:{_MEASURES})|what (?:percentage|number)))\b",
    re.IGNORECASE,
)
_NO_NAMING = r"(?:is|are|was|were|do|does|did|can|should|happen\w*)\b"
_NAMING = re.compile(
    rf"^(?:\W*\w+ ){{0,3}}?(?:which\b|what (?!{_NO_NAMING})|what(?:'s| is| was) the \w+(?: \w+)? of\b)", re.IGNORECASE
)
_AUX = rf"(?:(?:{AUXILIARY})(?:n['’]?t)?|am|can['’]t|won['’]t)"
_CLAUSE = r"(?:(?:when|if|while|after|before|once|with|without|for|in|on)\b[^?]{3,150}?,\s*|(?:and|but|so),?\s+)?"
_YES_NO = re.compile(rf"{_CLAUSE}(?P<aux>{_AUX})\b", re.IGNORECASE)
# "Is the Amazon or the Nile longer?" wants a side; "Can I move or copy it?" does not.
_SIDES = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had)\Z", re.IGNORECASE)
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_CHOICE = re.compile(r"\A(?:which|who|what)\b[^,?]{3,150},\s*[^,?]{2,60}\bor\b[^,?]{2,60}\?*\Z", re.IGNORECASE)
_ASKS_TO_BE_TOLD = re.compile(
    rf"{_AUX} (?:you|we|i|anyone|anybody|someone) (?:please )?(?:tell|know|explain|say|show|list|name|describe|give)\b"
    r"|is there (?:a|any|some) (?:way|chance|trick)\b",
    re.IGNORECASE,
)
_SAID = re.compile(r"(?:[-*•>]\s+|A(?:nswer)?[:.]\s+)?(?P<said>yes|no)\b(?=\s*(?:[.,;:!–—(-]|\Z))", re.IGNORECASE)

_WHAT = r"what(?:\s+exactly)?(?:\s+(?:is|are)|['’]s)\s+(?:meant\s+by\s+)?"
_DEFINES = (
    re.compile(r"what\s+(?:do|does)\s+(?:the\s+|an?\s+)?(?P<term>.+?)\s+(?:mean|stand\s+for)", re.IGNORECASE),
    re.compile(r"what\s+is\s+the\s+(?:meaning|definition)\s+of\s+(?:the\s+|an?\s+)?(?P<term>.+)", re.IGNORECASE),
    re.compile(rf"{_WHAT}(?:an?\s+)?(?P<term>(?!the\s).+)", re.IGNORECASE),  # "What is the capital?" is after a fact
)
_PLACE = re.compile(r"\s+(?:in|within|under)\s+(?:the\s+)?[\w.+-]+(?:\s+[\w.+-]+)?\Z")
_LABEL = re.compile(r"\A(?:term|word|name|acronym|abbreviation|expression|phrase)\s+|\s+(?:term|option|setting)\Z", re.IGNORECASE)
# With one of these the question is after a fact about something: "What is it made of?", "What is France's capital?".
_FACT = re.compile(
    r"[,;:?!/]|['’]s\b|(?<![\w-])(?:of|for|to|from|with|by|on|at|in|about|than|that|this|it|they|these|those|which|who|when|where"
    r"|how|if|and|or|called|named|known|made|used|like|most|least|best|worst|first|last|only|same|new|common|typical|default"
    r"|current)(?![\w-])",
    re.IGNORECASE,
)
# Questions that ask for an instruction, a reason or an explanation rather than for a name or a number; also whatever somebody
# asks about what is their own.
_TELL = re.compile(
    rf"\b(?:how(?! (?:{_MEASURES})\b)|why|what (?:should|happens|can i|do i|is (?:the (?:way|difference|purpose)|wrong))"
    r"|what['’]s wrong|what does .+ (?:do|mean)|is (?:it possible|there (?:a|any) way))\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:[Cc]an|[Cc]ould|[Dd]o|[Dd]id|[Ss]hould|[Mm]ust|[Mm]ay|[Hh]ave|[Aa]m|[Ww]ill|[Ww]ould|[Ww]hen|[Ii]f|[Ww]here|but) I\b"
    r"|\bI (?:am|can|cannot|can['’]t|do|don['’]t|get|have|need|want|would)\b|\bI['’](?:m|ve|d)\b"
    r"|\b[Mm]y\b|\b(?:[Cc]an|[Cc]ould|[Dd]o) you\b"
)
_SHORT = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z]{2,8}")
_MOST_WORDS = 5
_LONGEST = 300  # characters of a question that is after a definition


@frozen
class Term:
    """A term whose definition is asked for."""

    words: str
    letters: bool = False  # whether it is asked what these stand for

    def defined_in(self, sentence: str) -> re.Match[str] | None:
        """A sentence's beginning, up to where it says what the term is; None where it does not."""
        return _defining(self.words).match(sentence)

    def spelt_out_in(self, sentence: str) -> str | None:
        """The words of an abbreviation, where its letters begin those beside it: "cold water immersion (CWI)"."""
        found = _spelt_out(self.words).search(sentence) if _SHORT.fullmatch(self.words) else None
        return (found["before"] or found["after"]) if found else None


Said = Literal["yes", "no"]


@lru_cache(4_000)
def wanted(question: str) -> Kind | None:
    """The kind of thing that a question asks for, by its first word that asks; None where its answer is no name or number."""
    if found := _WANTED.search(question):
        return cast("Kind", found.lastgroup)
    return "thing" if _NAMING.search(question) else None


@lru_cache(4_000)
def asks_yes_no(question: str) -> bool:
    """Whether "yes" or "no" would answer."""
    found = _YES_NO.match(question.strip())
    if found is None or _ASKS_TO_BE_TOLD.search(question):
        return False
    return not (_OR.search(question, found.end()) and _SIDES.match(found["aux"]))


@lru_cache(4_000)
def asks_choice(question: str) -> bool:
    """Whether one of two that it names would answer, of which one sentence says something and of the other its opposite."""
    return _CHOICE.search(question.strip()) is not None


def to_be_told(question: str) -> bool:
    """Whether a question asks for an instruction, a reason or an explanation: sentences, which several passages may share."""
    return _TELL.search(question) is not None or _OWN.search(question) is not None


def said_at_once(told: str) -> Said | None:
    """The "yes" or "no" that an answer begins with in so many words."""
    found = _SAID.match(told)
    return None if found is None else "yes" if found["said"].lower() == "yes" else "no"


@lru_cache(4_000)
def term_asked(question: str) -> Term | None:
    """The term that is to be defined; None where the question asks for something else."""
    if len(asked := " ".join(question.split())) > _LONGEST:
        return None
    asked = _PLACE.sub("", asked.rstrip("?!. "))
    for form in _DEFINES:
        if found := form.fullmatch(asked):
            words = _LABEL.sub("", found["term"]).strip(" \"'“”‘’`")
            if not words or _FACT.search(words) or len(words.split()) > _MOST_WORDS:
                return None  # "What is it made of?" is after a fact
            return Term(words, "stand" in found[0][-10:].lower())
    return None


@lru_cache(500)
def _defining(term: str) -> re.Pattern[str]:
    """A sentence that has the term as its subject and goes on to say what it is."""
    before = r"(?:[-*•]\s+)?(?:(?:currently|so|thus|here|basically|generally),?\s+)?(?:in\s+[^,.]{2,40},\s+)?"
    opened = rf"{before}(?:an?\s+|the\s+)?[\"'“‘`*]*"
    aside = r"[\"'”’`*]*(?:\s*\([^)]{1,80}\))?(?:,[^,.]{1,80},)?\s+"
    article = r"(?:is|are|was|were)\s+(?:(?:simply|just|basically|essentially|actually|also)\s+)?(?=(?:an?|the|one|any)\s)"
    verb = rf"{aside}(?:{article}|(?:means?|refers?\s+to|stands?\s+for|denotes?)\s+)"
    entry = r"[\"'”’`*]*(?::\s+|(?:,\s+[\w.-]+){0,6}\s+[-–—]\s+)(?=\w)"  # "iqr: the inter-quartile range"
    named = rf"\s(?:an?\s+|the\s+)?[\"'“‘`*]*{_worded(term)}\b"
    call = rf"(?:i|we|you|they)\s+(?:\w+\s+)?call\s+(?=.{{3,100}}?{named})"
    called = rf"(?=.{{3,120}}?\b(?:is|are)\s+(?:called|known\s+as){named})"
    return re.compile(rf"{opened}{_worded(term)}(?:{verb}|{entry})|{call}|{called}", re.IGNORECASE)


@lru_cache(500)
def _spelt_out(letters: str) -> re.Pattern[str]:
    """The words that an abbreviation is made of, beside it."""
    begun = (rf"[{letter.lower()}{letter.upper()}][\w'’]*" for letter in letters)
    words = r"[\s/-]+(?:(?:and|for|in|of|on|the|to)\s+)?".join(begun)
    leads = r"[\"'”’]?\s*(?:[(:=]|\s[–—-]\s|\b(?:stands?|(?:is|are)\s+short)\s+for\b|\bmeans?\b)\s*[\"'“‘]?"
    return re.compile(rf"\b(?P<before>{words})[\"'”’]?\s*\([\"'“‘]?{letters}s?\b|\b{letters}s?\b{leads}(?P<after>{words})")


def _worded(term: str) -> str:
    """A pattern for a term, of one or of several."""
    singular = re.sub(r"(?<=[^s])s\Z", "", term)
    return r"[\s-]+".join(re.escape(word) for word in re.split(r"[\s-]+", singular)) + r"(?:e?s)?"


# Defaults and entries of manuals: `--quiet: print nothing`, one below the other, and lines like "Default: 21" that end them.
# "How do I change the default printer?" is after an instruction.
_DEFAULT_ASKED = re.compile(
    r"\A(?!\s*(?:how (?:do|does|can|could|should|would|to)|why)\b).*\bdefaults?\b", re.IGNORECASE | re.DOTALL
)
_DEFAULT_TOLD = re.compile(
    r"default|\b(?:initial\w*|normally|usual\w*|standard|omitted|otherwise|unless)\b"
    r"|\b(?:no|not|without)\b[^.\n]{0,40}\b(?:given|named|present|set|specified)\b",
    re.IGNORECASE,
)
_DEFAULT_ALONE = re.compile(
    r"(?P<open>\()?defaults?(?: value| setting)?\s*(?:\b(?:is|to)\b\s*:?|[:=])\s*(?P<value>[^\s,;][^,;\n]{0,60}?)"
    r"\s*(?:[,;][^\n]{0,200}?)?(?(open)\)\.?|\.?)",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"[ \t]*(?:[-*+•][ \t]+)?[^\s:|][^:|\n]{0,60}(?::[ \t]|[ \t]+[–—][ \t])")


@lru_cache(4_000)
def asks_default(question: str) -> bool:
    """Whether it is asked what holds unless something else is said."""
    return _DEFAULT_ASKED.match(question) is not None


def tells_default(sentence: str) -> bool:
    """Whether a sentence says what holds by default."""
    return _DEFAULT_TOLD.search(sentence) is not None


def default_alone(sentence: str) -> str | None:
    """The value, where a sentence or line says nothing else: "Default: 21"."""
    found = _DEFAULT_ALONE.fullmatch(sentence.strip())
    return found["value"].strip("\"'“”‘’`") if found else None


def begins_entry(text: str, start: int) -> bool:
    """Whether a line begins at this place of a text, and with a label: "Note: …" within a line is none."""
    line = text.rfind("\n", 0, start) + 1
    return not text[line:start].strip(" \t-*+•") and _ENTRY.match(text, line) is not None
