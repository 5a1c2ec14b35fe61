"""Evidence in the cited passages, which are read once: the search for the words in them that carry a sentence."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from wellread.citations.arrangement import Known, Line, Mention, arranged, enumerates, follows, is_small_count
from wellread.citations.missing import about, presumed
from wellread.text import lexicon
from wellread.text.amounts import amounts
from wellread.text.dates import Date, dates_in
from wellread.text.inert import unescaped
from wellread.text.markers import rounded, same_address
from wellread.text.sentences import prefix_end, sentences
from wellread.text.weighted_cache import remembered
from wellread.text.words import Words, read
from wellread.types import Passage

_WIDEST = 3  # sentences in a window
_WORTH = 0.06  # what one more sentence must add to the support
_OWN = 1e-3  # between windows that are equal with the title's words, the one that has more of its own
_PART = 4  # letters of each half of a name in two words
LINE = 1000  # characters of a sentence whose names and numbers are put in order; what is longer is no sentence
EQUAL = 1e-9  # shares that differ by less are the same
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]\"'“”]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_MONTHS = [{month, month[:3], month[:4]} for month in lexicon.MONTHS]
_ONE_LINE = str.maketrans("\n\t", "  ")
_QUOTE_MARKS = "\"'“”„‘’«»*_ \t\n"


def as_shown(text: str) -> str:
    """The text without its invisible signs and with its entities read: so it is shown, and so it is checked."""
    text = unicodedata.normalize("NFC", unescaped(text))
    return text if text.isascii() else "".join(sign for sign in text if unicodedata.category(sign) != "Cf")


class Window(NamedTuple):
    """Words of a passage, which of its sentences they are, and which words of the claim they hold."""

    start: int
    end: int
    first: int
    last: int
    bits: int


class Asked:
    """A sentence of the answer as a list of weighted keys; a set of them is an integer's bits."""

    def __init__(self, words: Words, weights: Mapping[str, float]) -> None:
        self.words = words
        self.keys = list(weights)
        self.weights = weights
        self._weights = list(weights.values())
        self._total = sum(self._weights)
        self._shares: dict[int, float] = {}

    def share(self, bits: int) -> float:
        """How much of the sentence these keys are."""
        known = self._shares.get(bits)
        if known is None:
            held = sum(weight for bit, weight in enumerate(self._weights) if bits >> bit & 1)
            known = self._shares[bits] = min(1.0, held / self._total) if self._total else 0.0
        return known


class Source:
    """One passage: its sentences, what each says, and where each word is."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.spans = [(prefix_end(passage.text, *span), span[1]) for span in sentences(passage.text)]
        self.words = [read(passage.text[start:end]) for start, end in self.spans]
        self.places: dict[str, list[int]] = {}
        for index, words in enumerate(self.words):
            for key in words.content:
                self.places.setdefault(key, []).append(index)
        outlet = passage.heading if passage.document is None else ""
        where = re.sub(r"[^\w]+|_", " ", f"{passage.source} {outlet} {(passage.url or '').partition('//')[2]}")
        around = read(f"{passage.title}\n{passage.published or ''}\n{where}")  # a prompt shows these too
        self.forms = around.forms.union(*(words.forms for words in self.words))
        self.counts = around.counts.union(*(words.counts for words in self.words))
        self.acronyms = around.acronyms.union(*(words.acronyms for words in self.words))
        self.around = around.content.keys()
        self._whole = {as_shown(self.quotable[start:end]): (start, end) for start, end in reversed(self.spans)}

    @cached_property
    def amounts(self) -> set[tuple[str, str]]:
        return amounts(f"{self.passage.title}\n{self.passage.text}")

    @cached_property
    def dates(self) -> list[Date]:
        return dates_in(f"{self.passage.title}\n{self.passage.published or ''}\n{self.passage.text}")

    def between(self, first: int, last: int) -> str:
        """The sentences from one place to another, each as far as it is looked at."""
        return "\n".join(self.passage.text[start : min(end, start + LINE)] for start, end in self.spans[first : last + 1])

    def has(self, name: str) -> bool:
        """Whether the passage has a name, perhaps in two words: "bell flower" for "Bellflowers"."""
        if name in self.acronyms or _has_name(self.forms, name):
            return True
        whole = name.removesuffix("s")
        halves = ((whole[:at], whole[at:]) for at in range(_PART, len(whole) - _PART + 1))
        known = [(a, b) for a, b in halves if a in self.forms and not self.forms.isdisjoint((b, f"{b}s"))]
        text = self.passage.text.casefold() if known else ""
        return any(f"{a} {b}" in text or f"{a}-{b}" in text for a, b in known)

    def held(self, asked: Asked) -> dict[int, int]:
        """Which keys each sentence of the passage holds; sentences without any are left out."""
        held: dict[int, int] = {}
        for bit, key in enumerate(asked.keys):
            for place in self.places.get(key, ()):
                held[place] = held.get(place, 0) | 1 << bit
        return held

    def beside(self, asked: Asked) -> int:
        """Which keys the passage's title, date and address hold."""
        return union(1 << bit for bit, key in enumerate(asked.keys) if key in self.around)

    def window(self, asked: Asked, held: Mapping[int, int]) -> Window:
        """The one to three sentences that hold most of the claim; the fewest that do, then the first.
        What the title says need not be said again: "She died in 1934" is enough under "Marie Curie"."""
        best, best_gain = (0, -1, 0), EQUAL
        beside = self.beside(asked)
        reach = asked.share(union(held.values()) | beside)
        seen = set[tuple[int | None, ...]]()
        for first in sorted(held):
            alike = tuple(map(held.get, range(first, first + _WIDEST)))
            if alike in seen:
                continue  # the first such sentences have been looked at
            seen.add(alike)
            bits = held[first]
            for last in range(first, min(first + _WIDEST, len(self.spans))):
                more = held.get(last, 0)
                if last > first and not more & ~bits:
                    continue  # the sentence adds nothing
                bits |= more
                gain = asked.share(bits | beside) - _WORTH * (last - first) + _OWN * asked.share(bits)
                if gain > best_gain + EQUAL:
                    best, best_gain = (first, last, bits), gain
            if best_gain >= reach + _OWN:
                break
        first, last, bits = best
        return Window(self.spans[first][0], self.spans[last][1], first, last, bits | beside) if bits else Window(0, 0, 0, -1, 0)

    @cached_property
    def quotable(self) -> str:
        """The passage as it is quoted, in one line and with round brackets around its own numbers, sign for sign."""
        return rounded(self.passage.text).translate(_ONE_LINE)

    def quotation(self, sentence: str) -> tuple[int, int] | None:
        """Where the passage has the sentence word for word."""
        text, sentence = self.quotable, sentence.translate(_ONE_LINE)
        bare = sentence.strip(_QUOTE_MARKS)
        core = bare.rstrip(".。")
        if core not in text and bare not in self._whole:  # a part of a sentence starts with a capital letter only in the answer
            bare, core = bare[:1].lower() + bare[1:], core[:1].lower() + core[1:]
        for wanted in dict.fromkeys(filter(None, (sentence, bare, core))):
            if wanted in self._whole:
                return self._whole[wanted]
            # a few words alone may stand anywhere; which place carries them, the window tells better
            start = text.find(wanted) if wanted.count(" ") >= 3 or len(wanted) >= 20 else -1
            if start >= 0 and _whole_words(text, start, start + len(wanted)):
                return start, start + len(wanted)
        return None

    def denied(self, start: int, end: int) -> bool:
        """Whether words inside of a sentence stand behind a denial or before one ("it is not true that …", "… is false")."""
        place = bisect_left(self.spans, (start,)) - 1
        if place < 0 or end > self.spans[place][1]:
            return False
        first, last = self.spans[place]
        before, behind = (re.findall(r"\w+", self.passage.text[a:b].casefold()) for a, b in ((first, start), (end, last)))
        return not lexicon.DENIALS.isdisjoint(before[-6:]) or not (lexicon.DENIALS - lexicon.NEGATORS).isdisjoint(behind[:4])


# A passage, read; answers are often checked again as they grow. Some fifty bytes for each character.
source = remembered(1_000_000)(Source)


def read_ahead(passages: Iterable[Passage]) -> None:
    """Read passages that will be cited."""
    for passage in passages:
        source(passage)


class Evidence:
    """All passages that an answer cites."""

    def __init__(self, passages: Mapping[int, Passage], cited: Iterable[int], question: str = "") -> None:
        self._passages, self._question = passages, question
        self.sources = {number: source(passages[number]) for number in sorted(set(cited))}
        self._seen: Counter[str] = Counter()
        for known in self.sources.values():
            self._seen.update({key: len(places) for key, places in known.places.items()})
        self._size = sum(len(known.spans) for known in self.sources.values())

    def ask(self, words: Words) -> Asked:
        """Weigh the words of a sentence: rare ones say more than those that are everywhere."""
        return Asked(
            words,
            {
                key: 1.0 + math.log((1 + self._size) / (1 + seen))
                for key in words.content
                if (seen := self._seen[key]) or key not in lexicon.FILLERS
            },
        )

    def lacks(self, body: str, words: Words, numbers: Iterable[int]) -> bool:
        """Whether a name or number of the sentence is in none of these passages, and follows from nothing there."""
        cited = list(numbers)
        return (
            self.leads_astray(body, cited)
            or bool(self.unknown_names(words, cited))
            or any(
                not is_small_count(one, line)
                for line in [arranged(body[:LINE])]
                for one in self.unknown_numbers(line, words, cited)
            )
        )

    def leads_astray(self, body: str, numbers: Iterable[int]) -> bool:
        """Whether the sentence has an address that none of these passages has: of a page, or of a mailbox."""
        said = [found.rstrip(".,;:!?*_`") for found in _ADDRESS.findall(body)]
        passages = [self.sources[number].passage for number in numbers] if said else []
        known = {same_address(passage.url) for passage in passages if passage.url}
        texts = [passage.text.casefold() for passage in passages]
        return any(same_address(one) not in known and not any(one.casefold() in text for text in texts) for one in said)

    def unknown_names(self, words: Words, numbers: Iterable[int]) -> list[str]:
        """The names of the sentence that none of these passages has."""
        sources = [self.sources[number] for number in numbers]
        return [name for name in words.names if not any(source.has(name) for source in sources)]

    def unknown_numbers(self, line: Line, words: Words, numbers: Collection[int]) -> list[Mention]:
        """The numbers of the sentence that none of these passages has and that follow from none there."""
        counts = set[str]().union(*(self.sources[number].counts for number in numbers))
        lacking = {key for key in words.numbers if not has_number(counts, key)}
        if not lacking:
            return []
        said = [one for one in line.mentions if one.kind != "name" and one.forms & lacking and not enumerates(one, line)]
        unplaced = lacking.difference(*(one.forms for one in line.mentions))  # behind what is read in order
        known = Known.of(counts | words.counts - lacking)
        unknown = [one for one in said if not follows(one, line, known)]
        return [*unknown, *(Mention("number", frozenset((key,)), 0, 0) for key in unplaced)]

    def smuggles(self, missing: str) -> bool:
        """Whether a sentence that says what is missing brings in what neither the question nor any passage has: a name, a
        number, or an event that it takes for granted."""
        asked, words = read(self._question), read(about(missing))
        taken = read(presumed(missing)).content
        everything = [source(passage) for passage in self._passages.values()]
        known = [asked.forms, *(one.forms for one in everything)]
        counts = asked.counts.union(*(one.counts for one in everything))
        if any(not has_number(counts, key) for key in words.numbers):
            return True
        if any(not any(_has_name(forms, name) for forms in known) for name in words.names):
            return True
        heard = sum(key in asked.content or any(key in one.places or key in one.around for one in everything) for key in taken)
        return len(taken) > 2 and 2 * heard < len(taken)


def union(sets: Iterable[int]) -> int:
    """All bits that any of the sets has."""
    bits = 0
    for one in sets:
        bits |= one
    return bits


def has_number(counts: set[str], key: str) -> bool:
    if key in counts:
        return True
    decade = key[1:-2]  # "#1960s": any year of it will do
    return key.endswith("0s") and any(count[1:-1] == decade and len(count) == len(key) - 1 for count in counts)


def _has_name(forms: set[str], name: str) -> bool:
    if name in forms or name + "s" in forms or name.removesuffix("s") in forms or name.removesuffix("es") in forms:
        return True
    return any(other in forms for other in _also_called(name))


@lru_cache(maxsize=4096)
def _also_called(name: str) -> frozenset[str]:
    """A country by its people and the other way round: Italian, Italy; a month by its first letters: Aug., August."""
    found = set[str]().union(*(group for group in (*lexicon.SAME_COUNTRY, *_MONTHS) if name in group))
    for mine, theirs in ((lexicon.PEOPLE_ENDINGS, lexicon.COUNTRY_ENDINGS), (lexicon.COUNTRY_ENDINGS, lexicon.PEOPLE_ENDINGS)):
        for ending in mine:
            if name.endswith(ending) and len(head := name[: len(name) - len(ending)]) >= 4:
                found.update(head + other for other in theirs)
    return frozenset(found)


def _whole_words(text: str, start: int, end: int) -> bool:
    before = start == 0 or not (text[start - 1].isalnum() and text[start].isalnum() and text[start].isascii())
    after = end == len(text) or not (text[end - 1].isalnum() and text[end].isalnum() and text[end].isascii())
    return before and after
