"""Comparison questions that a program can decide once two values are read: "Which was released first, A or B?".

The question is taken apart into its two sides, what to ask of each, and which value wins; dates and measures are read out of
the words that answer. What cannot be taken apart so is no comparison here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from wellread.core.values import frozen
from wellread.text import patterns as re
from wellread.text.amounts import measured
from wellread.text.dates import dates_in

Measure = Literal["date", "number"]

_FIRST = "first|earlier|earliest|before|sooner"
_LAST = "later|last|latest|more recently|most recently|after"
_DONE = rf"(?P<done>(?:was|were) [\w-]+(?: [\w-]+)?|(?:came|come) out|[\w-]+)(?: [\w-]+ the)? (?P<when>{_FIRST}|{_LAST})\b"
_KIND = r"(?:which|what|who|whose)(?: of (?:these|the two|the) \w+| (?!(?:is|was|were|has|had|did|does)\b)[\w-]+){0,2}"
_SIDES = r"[,:]? (?P<one>.+?),? or (?:was |is |did )?(?P<other>.+)"
_WHEN = re.compile(rf"{_KIND} {_DONE}{_SIDES}", re.IGNORECASE)
_WAS = re.compile(
    rf"(?P<aux>was|were|did) (?P<one>.+?) or (?P<other>.+?) (?P<verb>[\w-]+(?: out)?) (?P<when>{_FIRST}|{_LAST})", re.IGNORECASE
)
_AGES = "older|younger|oldest|youngest|newer|elder"
_AGE = re.compile(rf"(?P<kind>{_KIND}) (?:is|was) (?:the )?(?P<age>{_AGES}){_SIDES}", re.IGNORECASE)
_SIZES = {
    "longer": "long", "taller": "tall", "higher": "high", "larger": "large", "bigger": "big", "heavier": "heavy",
    "deeper": "deep", "wider": "wide", "faster": "fast", "hotter": "hot", "shorter": "long", "smaller": "large",
    "lower": "high", "lighter": "heavy", "slower": "fast", "colder": "hot",
}  # fmt: skip
_ASKED = {
    "died": "When did {} die?",
    **dict.fromkeys(("out", "came out", "come out"), "When was {} released?"),
    **dict.fromkeys(("came", "come", "happened", "occurred"), "When was {}?"),
}
_LESS = frozenset(("shorter", "smaller", "lower", "lighter", "slower", "colder"))
_SIZE = re.compile(rf"{_KIND} (?:is|was) (?:the )?(?P<size>{'|'.join(_SIZES)}){_SIDES}", re.IGNORECASE)
_COUNT = re.compile(rf"{_KIND} (?:has|had) (?P<more>more|fewer) (?P<what>[\w -]+?){_SIDES}", re.IGNORECASE)
_BARE = 3  # words; so few are the number alone


@frozen
class Comparison:
    """Two sides, what to ask of each, and whether the smaller or the larger value wins."""

    sides: tuple[str, str]
    asks: str  # a question with {} for the side
    measure: Measure
    least: bool
    counted: str = ""  # what is counted

    def value(self, side: str, words: str) -> Value | None:
        """The value of a side, out of the words that answer its question."""
        words = re.sub(rf"(?<!\w){re.escape(side)}(?!\w)", " ", words, flags=re.I)  # "Dilan 1991" was not made in 1991
        if self.counted and len(words.split()) > _BARE and not _counts(self.counted, words):
            return None
        found = _number(_counts(self.counted, words) or words) if self.measure == "number" else _date(words)
        if found is not None and self.question(side).endswith(" die?"):  # of the dates of a life the second is the death
            return _date(words[words.index(found.said) + len(found.said) :]) or found
        return found

    def question(self, side: str) -> str:
        return self.asks.format(side)


@frozen
class Value:
    """A date as year, month and day, or a measure in the unit that it is compared in; and the words it was read from."""

    said: str
    key: tuple[float, ...]
    unit: str


def comparison(question: str) -> Comparison | None:
    """The comparison that a question asks for; None where it asks for something else."""
    text = " ".join(question.split()).rstrip(" ?.!")
    return _of_dates(text) or _of_qualities(text)


def _of_dates(text: str) -> Comparison | None:
    if match := _WAS.fullmatch(text):
        asks = f"When {match['aux'].lower()} {{}} {match['verb']}?"
        return _between(match, asks, "date", least=match["when"].lower() in _FIRST.split("|"))
    match = _WHEN.fullmatch(text)
    if match is None or re.search(
        r"\b(?:director|author|composer|performer|husband|wife|father|mother)\b", text[: match.start("one")]
    ):
        return None  # of somebody who has to be found first: that takes a reader
    done = match["done"].lower()
    asked = re.fullmatch(r"(was|were) (.+)", done)
    asks = f"When {asked[1]} {{}} {asked[2]}?" if asked else _ASKED.get(done, f"When was {{}} {done}?")
    return _between(match, asks, "date", least=match["when"].lower() in _FIRST.split("|"))


def _of_qualities(text: str) -> Comparison | None:
    if match := _AGE.fullmatch(text):
        age = match["age"].lower()
        who = match["kind"].lower().startswith("who") or age in ("younger", "youngest", "elder")
        asks = "When was {} born?" if who else "When was {} founded or built?"
        return _between(match, asks, "date", least=age in ("older", "oldest", "elder"))
    if match := _SIZE.fullmatch(text):
        size = match["size"].lower()
        return _between(match, f"How {_SIZES[size]} is {{}}?", "number", least=size in _LESS)
    if match := _COUNT.fullmatch(text):
        asked = _between(match, f"How many {match['what']} does {{}} have?", "number", least=match["more"].lower() == "fewer")
        return replace(asked, counted=match["what"]) if asked else None
    return None


def _between(match: re.Match[str], asks: str, measure: Measure, *, least: bool) -> Comparison | None:
    sides = (match["one"].strip(" ,"), match["other"].strip(" ,"))
    if not all(sides) or any(len(side.split()) > 8 for side in sides) or "{" in "".join(sides):
        return None
    return Comparison(sides, asks, measure, least)


def _counts(what: str, words: str) -> str:
    """A number of these things: "146 known moons"; a year beside them is none."""
    if not what:
        return ""
    thing = re.escape(what.split()[-1].casefold().rstrip("s"))
    found = re.search(rf"\d[\d,. ]*(?: (?!\d)[\w-]+){{0,2}} {thing}", words, re.IGNORECASE)
    return found[0] if found else ""


def _date(text: str) -> Value | None:
    date = next((one for one in dates_in(text) if one.year), None)
    return Value(date.said, (date.year, date.month, date.day), "date") if date else None


def _number(text: str) -> Value | None:
    one = next((one for one in measured(text) if not one.said[0].isalpha()), None)
    if one is None:
        return None
    converts = one.unit is not None and one.unit.factor > 0
    unit = "" if one.unit is None else one.unit.of if converts else one.unit.name
    return Value(one.said, (one.value * one.unit.factor if one.unit and converts else one.value,), unit)


def decide(asked: Comparison, one: Value, other: Value) -> int | None:
    """Which side wins, 0 or 1; None where the two cannot be compared, or are equal as far as both are known."""
    if one.unit != other.unit:
        return None
    for place, (a, b) in enumerate(zip(one.key, other.key, strict=False)):
        if place and not (a and b):  # a year alone says nothing of the month
            return None
        if a != b:
            return int((a < b) != asked.least)
    return None


def shown(asked: Comparison, values: tuple[Value, Value], winner: int) -> str:
    """The comparison in words."""
    how = ("earlier" if asked.least else "later") if asked.measure == "date" else "less" if asked.least else "more"
    sides = "; ".join(f"{side}: {one.said}" for side, one in zip(asked.sides, values, strict=True))
    return f"compared {sides}; {values[winner].said} is {how}"
