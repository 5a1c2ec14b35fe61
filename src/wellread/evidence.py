"""The cited passages, read once, and the search for the words in them that carry a sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wellread import lexicon
from wellread.sentences import prefix_end, sentences
from wellread.types import Passage
from wellread.words import Words, read

_WIDEST = 3  # sentences in a window
_WORTH = 0.06  # what one more sentence must add to the support
_ALIKE = 0.7  # from here on a passage's sentence says the same thing, so its numbers and negations count
_QUOTE_MARKS = "\"'“”„‘’«»*_ \t\n"


class Window(NamedTuple):
    """Words of a passage, the share of a sentence they hold, and which of its sentences they are."""

    start: int
    end: int
    support: float
    first: int
    last: int
    found: frozenset[str]


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
        around = read(f"{passage.title}\n{passage.published or ''}")  # a prompt shows these too
        self.forms = around.forms.union(*(words.forms for words in self.words))
        self.counts = around.counts.union(*(words.counts for words in self.words))
        self.acronyms = set(around.acronyms).union(*(words.acronyms for words in self.words))

    def window(self, words: Words, weights: Mapping[str, float]) -> Window:
        """The one to three sentences that hold most of a sentence's weight; the fewest that do."""
        total = sum(weights.values())
        keys = list(weights)
        held: dict[int, int] = {}  # sentence of the passage → bits of the keys it holds
        for bit, key in enumerate(keys):
            for place in self.places.get(key, ()):
                held[place] = held.get(place, 0) | 1 << bit
        sums: dict[int, float] = {}
        best, best_gain = (0, 0, 0), 0.0
        for first in sorted(held):
            bits = 0
            for last in range(first, min(first + _WIDEST, len(self.spans))):
                bits |= held.get(last, 0)
                if bits not in sums:
                    sums[bits] = sum(weights[key] for bit, key in enumerate(keys) if bits >> bit & 1) / total
                gain = sums[bits] - _WORTH * (last - first)
                if gain > best_gain + 1e-9:
                    best, best_gain = (first, last, bits), gain
        if not best_gain:
            return Window(0, 0, 0.0, 0, -1, frozenset())
        first, last, bits = best
        found = frozenset(key for bit, key in enumerate(keys) if bits >> bit & 1)
        return Window(self.spans[first][0], self.spans[last][1], min(1.0, sums[bits]), first, last, found)

    def quotation(self, sentence: str) -> tuple[int, int] | None:
        """Where the passage has the sentence word for word."""
        text = self.passage.text
        for wanted in dict.fromkeys((sentence, sentence.strip(_QUOTE_MARKS), sentence.strip(_QUOTE_MARKS).rstrip(".。"))):
            if not wanted:
                continue
            for start, end in self.spans:
                if text.startswith(wanted, start) and end - start == len(wanted):
                    return start, end
            # a few words alone may stand anywhere; which place carries them, the window tells better
            start = text.find(wanted) if wanted.count(" ") >= 3 or len(wanted) >= 20 else -1
            if start >= 0 and _whole_words(text, start, start + len(wanted)):
                return start, start + len(wanted)
        return None

    def denied(self, start: int, end: int) -> bool:
        """Whether words in the middle of a sentence stand behind a denial ("it is not true that …")."""
        for first, last in self.spans:
            if first < start and end <= last:
                return any(form in lexicon.DENIALS for form in re.findall(r"\w+", self.passage.text[first:start].casefold())[-6:])
        return False


class Evidence:
    """All passages that an answer cites."""

    def __init__(self, passages: Mapping[int, Passage], cited: Iterable[int]) -> None:
        self.sources = {number: Source(passages[number]) for number in sorted(set(cited))}
        self._seen: Counter[str] = Counter(
            key for source in self.sources.values() for key, places in source.places.items() for _ in places
        )
        self._size = sum(len(source.spans) for source in self.sources.values())

    def weights(self, words: Words) -> dict[str, float]:
        """How much each content word says: rare words more than those that are everywhere."""
        return {key: 1.0 + math.log((1 + self._size) / (1 + self._seen[key])) for key in words.content}

    def lacks(self, words: Words, numbers: Iterable[int]) -> bool:
        """Whether a name or number of the sentence is in none of these passages."""
        sources = [self.sources[number] for number in numbers]
        if any(not any(_has_number(source.counts, key) for source in sources) for key in words.numbers):
            return True
        forms = set[str]().union(*(source.forms for source in sources))
        spelled = {form for initials, run in words.acronyms.items() if initials in forms for form in run}
        short = set[str]().union(*(source.acronyms for source in sources))
        return any(not (name in spelled or name in short or _has_name(forms, name)) for name in words.names)

    def contradicts(self, words: Words, windows: Mapping[int, Window]) -> bool:
        """Whether the passages say the opposite, or the same with other numbers, as far as words can tell."""
        return self._negated(words, windows) or any(self._misplaced(words, key, windows) for key in words.numbers)

    def _negated(self, words: Words, windows: Mapping[int, Window]) -> bool:
        asserted: set[str] = set()
        negated: set[str] = set()
        for number, window in windows.items():
            for other in self.sources[number].words[window.first : window.last + 1]:
                asserted.update(other.content.keys() - other.negated)
                negated.update(other.negated)
        plain = words.content.keys() - words.negated
        return bool((words.negated & asserted) - negated or (plain & negated) - asserted)

    def _misplaced(self, words: Words, key: str, windows: Mapping[int, Window]) -> bool:
        """A number that the passages give to something else: the sentence most alike has other numbers,
        and where this one stands nothing else of the sentence is said that is not said there."""
        weights = {word: weight for word, weight in self.weights(words).items() if word not in words.counts}
        total = sum(weights.values())
        near = [other for number in windows for other in self.sources[number].words]
        shares = [sum(weights[word] for word in weights.keys() & other.content.keys()) for other in near]
        if not near or max(shares) < _ALIKE * total:
            return False
        top = max(shares)
        alike = [other for other, share in zip(near, shares, strict=True) if share >= top - 1e-9]
        if any(_has_number(other.counts, key) or not other.numbers for other in alike):
            return False
        said = weights.keys() & set[str]().union(*(other.content.keys() for other in alike))
        return not any(_has_number(other.counts, key) and (weights.keys() & other.content.keys()) - said for other in near)


def _has_number(counts: set[str], key: str) -> bool:
    if key in counts:
        return True
    decade = key[1:-2]  # "#1960s": any year of it will do
    return key.endswith("0s") and any(count[1:-1] == decade and len(count) == len(key) - 1 for count in counts)


def _has_name(forms: set[str], name: str) -> bool:
    if name in forms or name + "s" in forms or name.removesuffix("s") in forms or name.removesuffix("es") in forms:
        return True
    for length in range(4, len(name)):  # "Italian" is carried by "Italy"
        if name[length:] in lexicon.PEOPLE_ENDINGS and any(name[:length] + ending in forms for ending in lexicon.COUNTRY_ENDINGS):
            return True
    return False


def _whole_words(text: str, start: int, end: int) -> bool:
    before = start == 0 or not (text[start - 1].isalnum() and text[start].isalnum() and text[start].isascii())
    after = end == len(text) or not (text[end - 1].isalnum() and text[end].isalnum() and text[end].isascii())
    return before and after
