"""Disguised text: a sentence with signs outside of its language's alphabet cannot be checked as it is read.

Small capitals, letters of other scripts that look the same, signs in circles, emoji and formulas that say "not", digits within
words, letters within numbers, emphasis within words, what is struck through; and a sentence that is about a sentence ("It is a
myth that …"). Each is harmless where the passages have it, too. No list of tricks is kept: what is not plain is said to be so.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from wellread.text import patterns as re
from wellread.text.amounts import UNITS
from wellread.text.entities import unescaped
from wellread.types import Passage

_SYMBOLS = frozenset("°±×÷−→←≈≤≥©®™′″²³+<=>|^`~$")
_UNITS = "|".join(re.escape(word) for word in sorted(UNITS, key=len, reverse=True) if word.isalpha())
_PLAIN_NUMBER = re.compile(rf"\d+(?:st|nd|rd|th|s|{_UNITS})?", re.IGNORECASE)
_MIXED = re.compile(r"(?<![A-Za-z\d])(?:\d+[A-Za-z]|[A-Za-z]+\d)[A-Za-z\d]*")
_MARKUP = re.compile(
    r"<(?:del|strike|s)>|(?<=[^\W\d_])(?:</?[a-zA-Z]{1,12}>|\*+|`)(?=[^\W\d_])"  # struck through; within a word
    r"|~~|(?<![\w~])~\w[^~\n]{0,200}\w~(?![\w~])|\\[a-zA-Z]{2,}",  # a command of TeX
    re.IGNORECASE,
)
_ABOUT_A_SENTENCE = re.compile(
    r"\b(?:(?:false|incorrect|wrong|lie|not the case|not so|hardly true) that|contrary to (?:the )?(?:facts?|truth)"
    r"|myths?|hoax(?:es)?|misconceptions?|untrue|which (?:is|was) (?:false|wrong)|a (?:lie|falsehood|fabrication))\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"\d*[\u00bc-\u00be\u2150-\u215e]\d* ?\w*")  # "5½ mg", with what it counts
_WORD = re.compile(r"[^\W\d_]+")
_TOGETHER = frozenset(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"))  # written among Chinese signs


def as_shown(text: str) -> str:
    """The text without its invisible signs and with its entities read: so it is shown, and so it is checked."""
    text = unicodedata.normalize("NFC", unescaped(text))
    return text if text.isascii() else "".join(sign for sign in text if unicodedata.category(sign) != "Cf")


def is_disguised(sentence: str, passages: Iterable[Passage]) -> bool:
    """Whether something in a sentence may look like what it is not, and stands nowhere in its passages."""
    found = [match[0] for pattern in (_MARKUP, _ABOUT_A_SENTENCE) for match in pattern.finditer(sentence)]
    found += [match[0] for match in _MIXED.finditer(sentence) if not _PLAIN_NUMBER.fullmatch(match[0])]
    if not sentence.isascii():
        found += [*_FRACTION.findall(sentence), *filter(_is_odd, sentence), *_of_other_scripts(sentence)]
    if not found:
        return False
    known = "\n".join(f"{one.title}\n{one.text}" for one in passages).casefold()
    return any(one.casefold() not in known for one in found)


def _is_odd(sign: str) -> bool:
    """A symbol, a number in one sign, or a mark over a letter that no letter of its own has."""
    if sign.isascii() or sign in _SYMBOLS:
        return False
    category = unicodedata.category(sign)
    return category in ("So", "Sm", "Sk", "No", "Nl", "Co", "Cn") or (category[0] == "M" and _script(sign) == "COMBINING")


def _of_other_scripts(sentence: str) -> list[str]:
    """The words that are neither in the script of most letters nor in plain Latin ones, or in both."""
    words = {word: {_script(sign) for sign in word} for word in _WORD.findall(sentence)}
    counted = Counter(_script(sign) for word in _WORD.findall(sentence) for sign in word)
    main = max(counted, key=counted.__getitem__, default="LATIN")
    return [
        word for word, scripts in words.items() if not (scripts == {main} or scripts == {"LATIN"} or scripts <= {"CJK", "LATIN"})
    ]


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "")
    first = name.partition(" ")[0]
    if first == "LATIN" and (not name.startswith(("LATIN SMALL LETTER", "LATIN CAPITAL LETTER")) or "\u024f" < sign < "\u1e00"):
        return "LATIN-LIKE"  # small capitals, signs of phonetics
    return "CJK" if first in _TOGETHER else first
