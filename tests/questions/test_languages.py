"""Which language a question is in, and its words."""

from __future__ import annotations

import pytest

from wellread.questions.languages import foreign_language, language_of, main_language, stems

QUESTIONS = {
    "en": "Who discovered the largest moon of Saturn?",
    "de": "Wer hat den größten Mond des Saturn entdeckt?",
    "es": "¿Quién descubrió la luna más grande de Saturno?",
    "fr": "Qui a découvert la plus grande lune de Saturne ?",
    "it": "Chi ha scoperto la luna più grande di Saturno?",
    "ru": "Кто открыл самый большой спутник Сатурна?",
    "zh": "谁发现了土星最大的卫星？",
}


@pytest.mark.parametrize(("code", "question"), QUESTIONS.items())
def test_the_language_of_a_question(code: str, question: str) -> None:
    assert language_of(question) == code
    assert foreign_language(question) == (None if code == "en" else code)


@pytest.mark.parametrize("text", ["", "1655?", "Titan", "?!"])
def test_what_says_too_little_is_no_foreign_language(text: str) -> None:
    assert foreign_language(text) is None


SHORT = {
    "ca": "Qui va escriure aquest llibre?",
    "cs": "Kdo napsal Hamleta?",
    "da": "Hvornår blev København grundlagt?",
    "de": "Wer hat den Mond Titan entdeckt?",
    "es": "quien descubrio titan?",
    "fi": "Kuka kirjoitti Hamletin?",
    "fr": "Quand est né Victor Hugo ?",
    "he": "מי כתב את המלט?",
    "id": "Siapa yang menulis Hamlet?",
    "it": "Chi ha scritto Amleto?",
    "ja": "ハムレットを書いたのは誰ですか",
    "ko": "햄릿은 누가 썼나요?",
    "nl": "Wie heeft Hamlet geschreven?",
    "pl": "Kto napisał Hamleta?",
    "pt": "Quem descobriu Titã?",
    "sv": "Vem har skrivit Hamlet?",
    "tr": "Hamlet oyununu kim yazdı?",
    "uk": "Хто написав Гамлета?",
    "vi": "Ai đã viết Hamlet?",
}


@pytest.mark.parametrize(("code", "question"), SHORT.items())
def test_the_language_of_a_short_question(code: str, question: str) -> None:
    assert language_of(question) == code


@pytest.mark.parametrize("code", ["de", "es", "fr", "it", "ru"])
def test_texts_of_one_language_are_stemmed_in_it(code: str) -> None:
    assert main_language([QUESTIONS[code]] * 8 + [QUESTIONS["en"], "1655?"]) == code


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["", "17 × 4"],
        [QUESTIONS["zh"]] * 5,
        [QUESTIONS["de"]] * 5 + [QUESTIONS["en"]] * 5,
        [QUESTIONS["de"]] * 6 + [QUESTIONS["fr"]] * 4,
    ],
    ids=["nothing", "no words", "no stemmer", "half English", "a mixture"],
)
def test_what_has_no_language_of_its_own_is_stemmed_in_english(texts: list[str]) -> None:
    assert main_language(texts) == "en"


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [("de", "die Gärten", "ein Garten"), ("es", "los jardines", "un jardín"), ("ru", "столицей", "столица")],
)
def test_forms_of_a_word_have_one_stem_and_small_words_none(language: str, one: str, other: str) -> None:
    assert stems(one, language) == stems(other, language)
    assert len(stems(one, language) or ()) == 1


def test_a_language_without_a_stemmer_says_so() -> None:
    assert stems("谁发现了土星", "zh") is None
