"""Where cited words are by now: quotes are looked for from their own passage on."""

from __future__ import annotations

import pytest

from wellread.server.viewer import Place, _now
from wellread.types import Hit, Passage

TEXTS = ("Oil burns. Wicks smoke.", "Lamps stand still. Oil burns.", "Nobody saw it.")
NOW = [Hit(f"a.txt#{number}", text, source="files:docs", document="a.txt") for number, text in enumerate(TEXTS)]


def cited(text: str, number: int = 0) -> Passage:
    return Passage(f"a.txt#{number}", text, source="files:docs", document="a.txt")


def spans(passage: Passage, *quotes: str) -> list[tuple[int, int]]:
    return [(passage.text.index(quote), passage.text.index(quote) + len(quote)) for quote in quotes]


@pytest.mark.parametrize(
    ("text", "number", "quotes", "passage", "words"),
    [
        (TEXTS[0], 0, ["Wicks smoke."], 0, ["Wicks smoke."]),
        (TEXTS[1], 1, ["Oil burns."], 1, ["Oil burns."]),  # not the same words further up
        (f"{TEXTS[0]}\n\n{TEXTS[1]}", 0, ["Lamps stand still."], 1, ["Lamps stand still."]),  # neighbours as one source
        (f"{TEXTS[0]}\n\n{TEXTS[1]}", 0, ["Lamps stand still.", "Wicks smoke."], 1, ["Lamps stand still."]),  # the best first
        ("Before. Nobody saw it.", 0, ["Nobody saw it."], 2, ["Nobody saw it."]),  # moved
        (f"{TEXTS[0]}\n\n{TEXTS[1]}", 0, [], 0, []),
    ],
)
def test_words_are_found_where_they_are(text: str, number: int, quotes: list[str], passage: int, words: list[str]) -> None:
    found = _now(cited(text, number), spans(cited(text), *quotes), NOW)
    assert isinstance(found, Place)
    assert found.passage == NOW[passage].id
    assert [NOW[passage].text[start:end] for start, end in found.spans] == words


def test_words_that_are_gone_are_nowhere() -> None:
    gone = cited("Whales sing.")
    assert _now(gone, spans(gone, "Whales sing."), NOW) is None
    assert _now(gone, [], NOW) is None
