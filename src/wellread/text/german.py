"""Names in German, where every noun has a capital letter: it takes more than one to tell a name.

Two capital words in a row ("Charles Lyell"), a bare place behind a preposition ("in Manchester"), capitals inside a word
("BSkyB"). What ends like a noun is none. A name that stands alone as a subject is not seen; a true sentence flagged for
every noun of its own would be worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from wellread.text.lexicon import word_set

# Words of no other language that is read here; "der", "die" and "den" stand in Danish and English too.
_PLAINLY = word_set("""
    das und ist ein eine einer eines einem einen dem des im am vom zum zur von wurde wurden wird werden nicht mit auf sich bei
    nach seit durch als auch aus oder sind waren hat haben hatte sein seine seiner ihre ihrer ihr dass wie nur noch dieser diese
    dieses viele einige keine kein keinen keiner keinem zwischen gegen unter um zu beim ins fur uber konnte konnen musste
""")
_OFTEN = word_set("der die den er sie es war")
_LETTERS = frozenset("äöüßÄÖÜ")
_BEFORE_PLACES = word_set("in aus nach bei von durch")
_NOUN_ENDINGS = (
    "ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "ion", "ionen", "tat", "taten", "ismus",
    "nis", "tum", "en", "ie", "ik", "ment", "werk", "werke", "jahr", "jahre", "weise", "zeit", "teil", "teile", "zahl",
    "hohe", "hilfe",
)  # fmt: skip
_COUNTING = word_set("""
    prozent million milliarde pfund euro dollar mark meter kilometer januar februar marz april mai juni juli august september
    oktober november dezember montag dienstag mittwoch donnerstag freitag samstag sonntag ost west nord sud norden suden osten
    westen ende anfang mitte
""")


class _Word(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def raw(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def capital(self) -> bool: ...
    @property
    def joined(self) -> bool: ...


def is_german(tokens: Sequence[_Word]) -> bool:
    plainly = sum(token.form in _PLAINLY for token in tokens)
    often = sum(token.form in _OFTEN or not _LETTERS.isdisjoint(token.raw) for token in tokens)
    return plainly >= 2 or (plainly >= 1 and often >= 1) or often >= 3


def is_name(tokens: Sequence[_Word], index: int) -> bool:
    """Whether a capital word names something."""
    word = tokens[index]
    if any(letter.isupper() for letter in word.raw[1:]) or any(letter.isdigit() for letter in word.raw):
        return not word.joined
    if not _may_name(word):
        return False
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    beside = [one for one in (before, after) if one is not None and one.capital and not one.joined and not word.joined]
    if any(_may_name(one) and one.form not in _PLAINLY | _OFTEN for one in beside):
        return True
    return before is not None and before.form in _BEFORE_PLACES and (after is None or not after.joined)


def _may_name(word: _Word) -> bool:
    return len(word.form) > 2 and word.form not in _COUNTING and not word.form.endswith(_NOUN_ENDINGS)
