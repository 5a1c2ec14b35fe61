"""Which language a question is in, or a whole index, and words without their endings.

The recogniser (py3langid) is loaded only for what does not look English at the first glance. Stems and stop words are tantivy's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, cast

from wellread import panics
from wellread.errors import WellreadError
from wellread.text.lexicon import word_set
from wellread.text.remembered import remembered

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier
    from tantivy import TextAnalyzer

ENGLISH = "en"
NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
# Those that are told apart; the more there are, the more short questions are taken for a neighbour.
_KNOWN = sorted(NAMES)
STEMMED = word_set("ar da de el es fi fr hu it nl no pt ro ru sv tr")
NO_STOP_WORDS = word_set("ar el ro tr")
_SURE = 0.9  # of 5,800 questions in 15 languages none was taken for another one with this certainty
_ENGLISH_WORDS = word_set("the of is are was were what which who when where why how does did do to and for with from")
_PLAINLY = 0.08  # of the words: an English text's share of those is about a fifth, a list of options' less
_MOSTLY = 0.7  # of the texts whose language is clear: below it they are a mixture, and stay as they are
_WORD = re.compile(r"[^\W\d_]+")
_KEPT = 4_000
_BEGINNING = 2_000  # characters


def language_of(text: str) -> str | None:
    """The ISO code of the language that a text is in; None where that is not clear. Its beginning tells."""
    return _language_of(text[:_BEGINNING])


@lru_cache(_KEPT)
def _language_of(text: str) -> str | None:
    words = [word.casefold() for word in _WORD.findall(text[:500])]
    if text.isascii() and sum(word in _ENGLISH_WORDS for word in words) >= min(2, len(words)):
        return ENGLISH
    if not words:
        return None
    try:
        recogniser = _recogniser()
    except OSError:  # no room for the file that it unpacks
        return None
    code, sure = cast("tuple[str, float]", recogniser.classify(text))
    return code if sure >= _SURE and code in NAMES else None


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
    analyser = _analyser(language)
    if analyser is None:
        return None
    with panics.typed(WellreadError, "taking words apart"):
        return tuple(dict.fromkeys(analyser.analyze(text)))


@cache
def _analyser(language: str) -> TextAnalyzer | None:
    if language not in STEMMED:
        return None
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    name = NAMES[language].lower()
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(100)).filter(Filter.lowercase())
    if language not in NO_STOP_WORDS:
        builder = builder.filter(Filter.stopword(name))
    return builder.filter(Filter.stemmer(name)).filter(Filter.ascii_fold()).build()


@cache
def _recogniser() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages(_KNOWN)
    return found
