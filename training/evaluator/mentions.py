"""Which passages a passage points to: those whose title it mentions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from training.evaluator.data import Passage

from wellread.text.places import bare_title

LONGEST = 8  # words of a title
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def title_key(title: str) -> tuple[str, ...]:
    """A title as it would stand in a sentence: without "(film)", as words in lower case."""
    return tuple(word.lower() for word in words_of(bare_title(title)))


class Mentions:
    """Finds titles of a set of passages in running text."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._by_title: dict[tuple[str, ...], list[int]] = {}
        for passage in passages:
            key = title_key(passage.title)
            # A title of one short or plain word would be found everywhere.
            if 1 <= len(key) <= LONGEST and len("".join(key)) > 3:
                self._by_title.setdefault(key, []).append(passage.number)
        self._starts = {key[0] for key in self._by_title}

    def find(self, text: str, limit: int = 24) -> list[int]:
        """Numbers of the passages whose titles `text` mentions, in order, the longest title at each place."""
        words = words_of(text)
        lower = [word.lower() for word in words]
        found: dict[int, None] = {}
        for start, word in enumerate(lower):
            # Names are written with a capital or a digit; this skips nearly every place.
            if word not in self._starts or not (words[start][0].isupper() or words[start][0].isdigit()):
                continue
            for length in range(min(LONGEST, len(words) - start), 0, -1):
                numbers = self._by_title.get(tuple(lower[start : start + length]))
                if numbers:
                    found |= dict.fromkeys(numbers[:3])
                    break
            if len(found) >= limit:
                break
        return list(found)[:limit]
