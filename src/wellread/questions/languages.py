"""Language detection and stemming: which language a question is in, or a whole index, and words without their endings.

Languages are told apart by a linear model over hashed words and letters (training/languages.py): a table with a row of small
integers for each hash, which loads in a millisecond. Stems and stop words are tantivy's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING
from zlib import crc32

from wellread.errors import WellreadError, panics_as
from wellread.text.lexicon import word_set
from wellread.text.weighted_cache import remembered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tantivy import TextAnalyzer

ENGLISH = "en"
NAMES = {
    "ar": "Arabic", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
CODES = sorted(NAMES)  # the table's columns
BUCKETS = 1 << 14  # its rows
STEP = 1 / 16  # what one unit in it weighs
STEMMED = word_set("ar da de el es fi fr hu it nl no pt ro ru sv tr")
NO_STOP_WORDS = word_set("ar el ro tr")
_SURE = 0.7  # less, and names are taken for a language (docs/log/languages.md)
_ENGLISH_WORDS = word_set("the of is are was were what which who when where why how does did do to and for with from")
_PLAINLY = 0.08  # of the words: an English text's share of those is about a fifth, a list of options' less
_MOSTLY = 0.7  # of the texts whose language is clear: below it they are a mixture, and stay as they are
_WORD = re.compile(r"[^\W\d_]+")
_KEPT = 4_000
_BEGINNING = 500  # characters


def language_of(text: str) -> str | None:
    """The ISO code of the language that a text is in; None where that is not clear. Its beginning tells."""
    return _language_of(text[:_BEGINNING])


@lru_cache(_KEPT)
def _language_of(text: str) -> str | None:
    words = [word.casefold() for word in _WORD.findall(text)]
    if text.isascii() and sum(word in _ENGLISH_WORDS for word in words) >= min(2, len(words)):
        return ENGLISH
    code, sure = _likeliest(text)
    return code if sure >= _SURE else None


def features(text: str) -> list[int]:
    """The rows of the table that a text has: its words, runs of two to four letters in them, and the blocks of rare letters."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        padded = f"_{word}_"
        found.append(padded)
        found += (padded[at : at + n] for n in (2, 3, 4) if n < len(padded) for at in range(len(padded) - n + 1))
        if not word.isascii():
            found += (f"block {ord(letter) >> 7}" for letter in word if letter > "\x7f")
    return [crc32(one.encode("utf-8", "surrogatepass")) % BUCKETS for one in found]


def _likeliest(text: str) -> tuple[str, float]:
    """The code of the likeliest language, and how likely it is."""
    rows = features(text)
    if not rows:
        return ENGLISH, 0.0
    sums: list[float] = (_table()[rows].sum(axis=0, dtype="int32") * STEP).tolist()
    best = max(sums)
    return CODES[sums.index(best)], 1 / math.fsum(math.exp(one - best) for one in sums)


@cache
def _table() -> NDArray[np.int8]:
    import numpy as np

    return np.load(BytesIO(files("wellread.questions").joinpath("languages.npy").read_bytes()))


def main_language(texts: Sequence[str]) -> str:
    """The language that most of the texts are in, where their words can be stemmed in it; else English."""
    words = [word.casefold() for text in texts for word in _WORD.findall(text[:500])]
    if sum(word in _ENGLISH_WORDS for word in words) >= _PLAINLY * len(words):
        return ENGLISH
    clear = Counter(found for text in texts if (found := language_of(text)) is not None)
    ((most, count),) = clear.most_common(1) or [(ENGLISH, 0)]
    return most if most in STEMMED and count >= _MOSTLY * clear.total() else ENGLISH


def foreign_language(question: str) -> str | None:
    """The language of a question that is clearly in another one than English, for which the small models were trained."""
    found = language_of(question)
    return None if found == ENGLISH else found


@remembered(2_000_000)
def stems(text: str, language: str) -> tuple[str, ...] | None:
    """The words that say something, without endings and accents, each once; None where no stemmer knows the language."""
    if language not in STEMMED:
        return None
    with panics_as(WellreadError, "taking words apart"):
        return tuple(dict.fromkeys(analyser(language, fold_first=False).analyze(text)))


@cache
def analyser(language: str = ENGLISH, *, fold_first: bool = True) -> TextAnalyzer:
    """Lower case, no stop words, stems of a language; over-long strings (data, not words) dropped. Accents are folded first in an
    index, where some write them and some do not, and last for words that are compared one by one."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    name = NAMES[language].lower()
    stop = [] if language in NO_STOP_WORDS else [Filter.stopword(name)]
    stemming, folding = [*stop, Filter.stemmer(name)], [Filter.ascii_fold()]
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.remove_long(100), Filter.lowercase(), *(folding + stemming if fold_first else stemming + folding)):
        builder = builder.filter(step)
    return builder.build()
