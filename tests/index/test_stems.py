"""The word index is stemmed in the language of its passages, and whoever joins or searches it keeps to that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed

from wellread.cluster import sharded
from wellread.cluster.merged import open_folder
from wellread.cluster.reshard import shard_index
from wellread.errors import DamagedFile
from wellread.index import manifest
from wellread.index.build import add, build
from wellread.index.lexical import query_terms
from wellread.index.search import LocalIndex, SearchOptions
from wellread.questions.languages import analyser
from wellread.types import Passage

pytestmark = pytest.mark.anyio

PLACES = ("Bremen", "Lübeck", "Erfurt", "Passau", "Görlitz", "Weimar", "Trier", "Emden")
GERMAN = [
    *(
        Passage(f"{place}#0", f"In {place} wurden im letzten Jahrhundert viele alte Straßen und Plätze erneuert.", place)
        for place in PLACES
    ),
    Passage("dom#0", "Die Türme des Doms wurden erst nach langen Unterbrechungen fertig.", "Der Dom"),
    Passage("park#0", "Hier wachsen seltene Bäume, die der Gärtner aus dem Süden mitgebracht hat.", "Der Park"),
]
BY_WORDS = SearchOptions(meaning=False)


def english(count: int) -> list[Passage]:
    text = "This is a note of the town, and it was written for the council, number"
    return [Passage(f"e{n}", f"{text} {n}.", "Note") for n in range(count)]


async def found(folder: Path, text: str) -> list[str]:
    return [hit.id for hit in await LocalIndex.open(folder).search(text, None, 3, BY_WORDS)]


async def test_another_form_of_a_word_is_found(tmp_path: Path) -> None:
    made = await build(tmp_path, feed(GERMAN))
    assert (made.language, manifest.load(tmp_path).language) == ("de", "de")
    assert await found(tmp_path, "Turm") == ["dom#0"]
    assert await found(tmp_path, "seltener Baum") == ["park#0"]
    assert await found(tmp_path, "des und der") == []  # small words of the language


async def test_english_stays_as_it_was(tmp_path: Path) -> None:
    made = await build(tmp_path, feed(english(9)))
    assert made.language == "en"
    assert await found(tmp_path, "writing towns")


async def test_what_joins_a_large_segment_keeps_to_its_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.index.build.MERGE_BELOW", 0)
    await build(tmp_path, feed(GERMAN))
    made = await add(tmp_path, feed([*english(3), Passage("see#0", "Am See stehen drei Häuser.", "Der See")]))
    assert [segment.language for segment in made.segments] == ["de", "de"]
    assert await found(tmp_path, "Haus") == ["see#0"]


async def test_what_is_written_together_is_stemmed_in_the_language_of_all(tmp_path: Path) -> None:
    await build(tmp_path, feed(GERMAN))
    made = await add(tmp_path, feed(english(60)))
    assert [segment.language for segment in made.segments] == ["en"]
    assert await found(tmp_path, "councils") == ["e0", "e1", "e2"]


async def test_shards_keep_to_the_language_of_the_whole(tmp_path: Path) -> None:
    await build(tmp_path / "one", feed(GERMAN))
    made = await shard_index(tmp_path / "one", tmp_path / "many", 2)
    assert (made.language, sharded.load(tmp_path / "many").language) == ("de", "de")
    merged = open_folder(tmp_path / "many")
    for text in ("Turm", "seltener Baum", "alter Platz in Lübeck"):
        wanted = await LocalIndex.open(tmp_path / "one").search(text, WordEmbedder(), 3, BY_WORDS)
        got = (await merged.search(text, WordEmbedder(), 3, BY_WORDS)).hits
        assert [hit.id for hit in got] == [hit.id for hit in wanted] != []
        assert [hit.score for hit in got] == pytest.approx([hit.score for hit in wanted], rel=1e-5)


async def test_a_language_that_nobody_can_stem_is_damage(tmp_path: Path) -> None:
    made = await build(tmp_path, feed(GERMAN))
    (only,) = made.segments
    object.__setattr__(only, "language", "xx")
    manifest.save(tmp_path, made)
    with pytest.raises(DamagedFile, match="stemmed in 'xx'"):
        manifest.load(tmp_path)


def test_words_that_only_ask_are_not_searched_for() -> None:
    assert query_terms("What does DFSG stand for?", analyser()) == ["dfsg", "stand"]
    assert query_terms("How do I set up the CAN bus for the WHO?", analyser()) == ["set", "up", "can", "bus", "who"]
    assert query_terms("what is it", analyser()) == ["what"], "where nothing else is left they are"
