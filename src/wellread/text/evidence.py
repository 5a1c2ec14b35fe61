"""The cited passages, read once, and the search for the words in them that carry a sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from wellread.text import lexicon, roles
from wellread.text.arrangement import Line, arranged
from wellread.text.missing import about, presumed
from wellread.text.sentences import prefix_end, sentences
from wellread.text.words import Words, read, stem
from wellread.types import Passage

_WIDEST = 3  # sentences in a window
_WORTH = 0.06  # what one more sentence must add to the support
_OWN = 1e-3  # between windows that are equal with the title's words, the one that has more of its own
_ALIKE = 0.7  # from here on a passage's sentence says the same thing, so its numbers and negations count
_LINE = 1000  # characters of a sentence whose names and numbers are put in order; what is longer is no sentence
_LINES = 8  # sentences of the passages that are compared by who does what in them
_EQUAL = 1e-9  # shares that differ by less are the same
_QUOTE_MARKS = "\"'“”„‘’«»*_ \t\n"


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
        self.numbers = sum(1 << bit for bit, key in enumerate(self.keys) if key in words.counts)
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
        where = re.sub(r"[^\w]+|_", " ", f"{passage.source} {(passage.url or '').partition('//')[2]}")
        around = read(f"{passage.title}\n{passage.published or ''}\n{where}")  # a prompt shows these too
        self.forms = around.forms.union(*(words.forms for words in self.words))
        self.counts = around.counts.union(*(words.counts for words in self.words))
        self.acronyms = set(around.acronyms).union(*(words.acronyms for words in self.words))
        self.around = around.content.keys()
        self._whole = {passage.text[start:end]: (start, end) for start, end in reversed(self.spans)}

    def line(self, place: int) -> Line:
        """A sentence with its names and numbers in their places."""
        start, end = self.spans[place]
        return arranged(self.passage.text[start : min(end, start + _LINE)], self.passage.title)

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
        best, best_gain = (0, -1, 0), _EQUAL
        beside = self.beside(asked)
        reach = asked.share(union(held.values()) | beside)
        for first in sorted(held):
            bits = held[first]
            for last in range(first, min(first + _WIDEST, len(self.spans))):
                more = held.get(last, 0)
                if last > first and not more & ~bits:
                    continue  # the sentence adds nothing
                bits |= more
                gain = asked.share(bits | beside) - _WORTH * (last - first) + _OWN * asked.share(bits)
                if gain > best_gain + _EQUAL:
                    best, best_gain = (first, last, bits), gain
            if best_gain >= reach + _OWN:
                break
        first, last, bits = best
        return Window(self.spans[first][0], self.spans[last][1], first, last, bits | beside) if bits else Window(0, 0, 0, -1, 0)

    def quotation(self, sentence: str) -> tuple[int, int] | None:
        """Where the passage has the sentence word for word."""
        text = self.passage.text
        bare = sentence.strip(_QUOTE_MARKS)
        core = bare.rstrip(".。")
        if core not in text:  # a part of a sentence starts with a capital letter only in the answer
            bare, core = bare[:1].lower() + bare[1:], core[:1].lower() + core[1:]
        if not core or core not in text:
            return None
        for wanted in dict.fromkeys((sentence, bare, core)):
            if wanted in self._whole:
                return self._whole[wanted]
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


@lru_cache(maxsize=128)
def source(passage: Passage) -> Source:
    """The passage, read; answers are often checked again as they grow."""
    return Source(passage)


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

    def lacks(self, words: Words, numbers: Iterable[int]) -> bool:
        """Whether a name or number of the sentence is in none of these passages."""
        sources = [self.sources[number] for number in numbers]
        if any(not any(_has_number(source.counts, key) for source in sources) for key in words.numbers):
            return True
        spelled = {
            form
            for initials, run in words.acronyms.items()
            for form in run
            if any({initials, initials + "a"} & s.forms for s in sources)
        }
        return any(
            name not in spelled and not any(name in source.acronyms or _has_name(source.forms, name) for source in sources)
            for name in words.names
        )

    def smuggles(self, missing: str) -> bool:
        """Whether a sentence that says what is missing brings in what neither the question nor any passage has: a name, a
        number, or an event that it takes for granted."""
        asked, words = read(self._question), read(about(missing))
        taken = read(presumed(missing)).content
        everything = [source(passage) for passage in self._passages.values()]
        known = [asked.forms, *(one.forms for one in everything)]
        counts = asked.counts.union(*(one.counts for one in everything))
        if any(not _has_number(counts, key) for key in words.numbers):
            return True
        if any(not any(_has_name(forms, name) for forms in known) for name in words.names):
            return True
        heard = sum(key in asked.content or any(key in one.places or key in one.around for one in everything) for key in taken)
        return len(taken) > 2 and 2 * heard < len(taken)

    def negates(self, asked: Asked, windows: Mapping[int, Window], held: Mapping[int, Mapping[int, int]]) -> bool:
        """Whether the passages deny what the sentence asserts, or assert what it denies. For each word, the
        sentences decide that have it and are most like the claim."""
        near = [
            (asked.share(held[number].get(place, 0)), self.sources[number].words[place])
            for number, window in windows.items()
            for place in range(window.first, window.last + 1)
        ]
        top = max((share for share, _ in near), default=0.0)
        if top and all(other.denies != asked.words.denies for share, other in near if share >= top - _EQUAL):
            return True
        for key in asked.words.content:
            having = [(share, key in other.negated) for share, other in near if key in other.content]
            top = max((share for share, _ in having), default=0.0)
            if having and all(negated != (key in asked.words.negated) for share, negated in having if share >= top - _EQUAL):
                return True
        return False

    def rearranges(self, body: str, asked: Asked, held: Mapping[int, Mapping[int, int]]) -> bool:
        """Whether names or numbers of the sentence have other parts in the sentences of the passages that are most like it."""
        near = sorted(
            ((asked.share(bits), number, place) for number, places in held.items() for place, bits in places.items()),
            reverse=True,
        )[:_LINES]
        told = [self.sources[number].line(place) for _, number, place in near]
        return roles.misplaced(arranged(body[:_LINE]), told, asked.weights) is not None

    def _alike(self, asked: Asked, held: Mapping[int, Mapping[int, int]]) -> list[Words]:
        """The sentences that are nearly as much like the claim as the one most like it."""
        places = ((self.sources[number].words[place], bits) for number, found in held.items() for place, bits in found.items())
        shares = [(asked.share(bits), words) for words, bits in places]
        top = max((share for share, _ in shares), default=0.0)
        return [words for share, words in shares if share >= 0.6 * top]

    def opposes(self, asked: Asked, windows: Mapping[int, Window], held: Mapping[int, Mapping[int, int]]) -> bool:
        """Whether the sentence says "not" where the words that carry it say nothing of the kind, or has the opposite of one."""
        said = asked.words.forms
        near = [self.sources[number].words[place] for number, one in windows.items() for place in range(one.first, one.last + 1)]
        forms = set[str]().union(*(words.forms for words in near))
        refuses = bool(asked.words.negated) or any(stem(form) in lexicon.REFUSING for form in said)
        if refuses and near:
            return not any(map(_is_negative, forms))
        forms.update(*(words.forms for words in self._alike(asked, held)))
        if any(left in said and right not in said and right in forms and left not in forms for left, right in _OPPOSITES):
            return True
        return any(
            form not in forms
            and any(prefix + form in forms and prefix + form not in said for prefix in ("un", "in", "im", "il", "ir", "dis"))
            for form in said
            if len(form) > 4
        )

    def misplaces(self, asked: Asked, held: Mapping[int, Mapping[int, int]]) -> bool:
        """Whether the passages give a number of the sentence to something else: the sentences most like it
        have other numbers, and where this one stands, nothing of the claim is said that is not said there."""
        if not asked.words.numbers:
            return False
        told = self._told(asked, held)
        closest = max((one.share for one in told), default=0.0)
        found = asked.share(union(one.facts for one in told))  # words found nowhere tell nothing
        if not closest or closest < _ALIKE * found:
            return False
        alike = [one for one in told if one.share >= closest - _EQUAL]
        if not all(one.words.numbers for one in alike):
            return False
        said = union(one.facts for one in alike)
        titles = set[str]().union(*(self.sources[number].around for number in held))
        return any(_is_elsewhere(key, told, closest, said) for key in asked.words.numbers if key not in titles)

    def _told(self, asked: Asked, held: Mapping[int, Mapping[int, int]]) -> list[_Told]:
        """What each sentence that shares words with the claim says of it, numbers aside."""
        told: list[_Told] = []
        for number, places in held.items():
            known = self.sources[number]
            beside = known.beside(asked)
            for place, bits in places.items():
                facts = (bits | beside) & ~asked.numbers
                told.append(_Told(known.words[place], facts, asked.share(facts)))
        return told


_OPPOSITES = (*lexicon.OPPOSITES, *((right, left) for left, right in lexicon.OPPOSITES))


def _is_negative(form: str) -> bool:
    if form in lexicon.NEGATIVE or (form.endswith("nt") and form[:-2] in _AUXILIARIES):
        return True
    return stem(form) in lexicon.NEGATIVE_STEMS or (
        len(form) > 6 and form.startswith(("un", "non")) and not form.startswith(lexicon.NOT_PREFIXED)
    )


_AUXILIARIES = ("did", "does", "do", "is", "was", "were", "are", "could", "would", "should", "has", "have", "had", "ca", "wo")


class _Told(NamedTuple):
    words: Words
    facts: int  # bits of the claim's words
    share: float  # of the claim


def _is_elsewhere(key: str, told: Sequence[_Told], closest: float, said: int) -> bool:
    """Whether a number stands only in sentences that are less like the claim and add nothing to it."""
    holders = [one for one in told if _has_number(one.words.counts, key)]
    return bool(holders) and not any(one.share >= closest - _EQUAL or one.facts & ~said for one in holders)


def union(sets: Iterable[int]) -> int:
    """All bits that any of the sets has."""
    bits = 0
    for one in sets:
        bits |= one
    return bits


def _has_number(counts: set[str], key: str) -> bool:
    if key in counts:
        return True
    decade = key[1:-2]  # "#1960s": any year of it will do
    return key.endswith("0s") and any(count[1:-1] == decade and len(count) == len(key) - 1 for count in counts)


def _has_name(forms: set[str], name: str) -> bool:
    if name in forms or name + "s" in forms or name.removesuffix("s") in forms or name.removesuffix("es") in forms:
        return True
    stems = (name[: -len(ending)] for ending in lexicon.PEOPLE_ENDINGS if name.endswith(ending))
    return any(stem + ending in forms for stem in stems if len(stem) >= 4 for ending in lexicon.COUNTRY_ENDINGS)  # Italian, Italy


def _whole_words(text: str, start: int, end: int) -> bool:
    before = start == 0 or not (text[start - 1].isalnum() and text[start].isalnum() and text[start].isascii())
    after = end == len(text) or not (text[end - 1].isalnum() and text[end].isalnum() and text[end].isascii())
    return before and after
