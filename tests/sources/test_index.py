from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path
from typing import ClassVar

import pytest
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed
from tests.index.test_search import PASSAGES, make

from wellread.embedding.onnx import OnnxEmbedder
from wellread.errors import IndexFault, UsageError
from wellread.index.build import add, build, remove
from wellread.index.search import LocalIndex, SearchOptions
from wellread.protocols import Judge
from wellread.sources.index import IndexSource, Options, from_spec, library, weighed
from wellread.types import Passage, Query, Spec

pytestmark = pytest.mark.anyio


class Parts:
    effort = "normal"
    environ: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def embedder(self, spec: str | None = None) -> WordEmbedder:
        self.asked.append(spec)
        return WordEmbedder(name=spec or "words-64")

    def answer_reader(self) -> None:
        return None


def source(folder: Path, **options: str) -> IndexSource:
    return from_spec(Spec("index", str(folder), options), Parts())  # type: ignore[arg-type]


async def test_hits_carry_text_document_links_and_source(tmp_path: Path) -> None:
    await make(tmp_path)
    found = await source(tmp_path).search(Query("largest moon of Saturn", 2))
    assert len(found) == 2
    assert (found[0].id, found[0].document, found[0].links) == ("titan#0", "titan", ("Saturn",))
    assert found[0].source == f"index:{tmp_path}"
    assert found[0].text == PASSAGES[0].text


async def test_cross_references_and_whole_documents(tmp_path: Path) -> None:
    await make(tmp_path)
    index = source(tmp_path)
    assert [hit.id for hit in await index.find_title("saturn")] == ["saturn#0", "saturn#1"]
    assert [hit.source for hit in await index.passages("mars")] == [f"index:{tmp_path}"]
    await index.aclose()


async def test_files_are_closed_when_a_source_is_let_go(tmp_path: Path) -> None:
    """Not at the next collection of garbage: with many indexes to close, that takes a quarter of a second of everybody's time."""
    await make(tmp_path)
    held = source(tmp_path, hops="2")
    await held.search(Query("largest moon of Saturn", 2))
    index = weakref.ref(held.members[0])
    gc.collect()
    gc.disable()
    try:
        del held
        await asyncio.sleep(0)
        assert index() is None
    finally:
        gc.enable()


async def test_a_change_is_seen_at_once(tmp_path: Path) -> None:
    await make(tmp_path)
    index = source(tmp_path)
    assert [hit.id for hit in await index.search(Query("pluto", 10, None)) if hit.id == "pluto#0"] == []
    await add(tmp_path, feed([Passage("pluto#0", "Pluto is far.", "Pluto", document="pluto")]))
    assert (await index.search(Query("pluto", 1)))[0].id == "pluto#0"
    remove(tmp_path, ["pluto"])
    assert all(hit.id != "pluto#0" for hit in await index.search(Query("pluto", 10)))


@pytest.mark.parametrize("look", ["passages", "find_title"])
async def test_a_document_is_found_while_an_index_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    """What was opened has not been read yet, and its files are gone by then."""
    await make(tmp_path)
    index, current, times = source(tmp_path, hops="1"), IndexSource._current, 0

    async def replaced(self: IndexSource) -> LocalIndex:
        nonlocal times
        found, times = await current(self), times + 1
        if times == 1:
            await add(tmp_path, feed([Passage("pluto#0", "Pluto is far.", "Pluto", document="pluto")]))
        return found

    monkeypatch.setattr(IndexSource, "_current", replaced)
    assert [hit.title for hit in await getattr(index, look)("mars")] == ["Mars"]
    assert times == 2


async def test_two_steps_reach_what_the_first_passages_name(tmp_path: Path) -> None:
    passages = [
        Passage("film", "The film Arrow was directed by Jane Quill.", "Arrow", links=("Jane Quill",)),
        Passage("jane", "Jane Quill was born in Lisbon.", "Jane Quill"),
        *[Passage(f"x{n}", f"The director of film number {n} was not born yet.", f"Film {n}") for n in range(30)],
    ]
    await make(tmp_path, passages)
    question = Query("Where was the director of the film Arrow born?", 40)
    place: dict[str, int] = {}
    for hops in ("1", "2"):
        found = [hit.id for hit in await source(tmp_path, hops=hops).search(question)]
        assert found[0] == "film"
        place[hops] = found.index("jane")
    assert place["2"] < place["1"]


async def test_words_or_meaning_alone_and_rank_fusion(tmp_path: Path) -> None:
    await make(tmp_path)
    kit = Parts()
    alone = from_spec(Spec("index", str(tmp_path), {"meaning": "off"}), kit)  # type: ignore[arg-type]
    assert (await alone.search(Query("rust", 5)))[0].id == "mars#0"
    assert kit.asked == []
    assert (await source(tmp_path, words="off").search(Query("red rust", 1)))[0].id == "mars#0"
    ranks = await source(tmp_path, fusion="ranks", hops="1").search(Query("red rust", 1))
    assert ranks[0].score == pytest.approx(1.0)


async def test_the_embedder_of_the_package_is_remembered_and_another_refused(tmp_path: Path) -> None:
    from wellread.index.build import build

    named = "onnx:all-minilm-l6-v2?pooling=cls"
    await build(tmp_path / "local", feed(PASSAGES, WordEmbedder(name=named)))
    kit = Parts()
    await from_spec(Spec("index", str(tmp_path / "local")), kit).search(Query("moon"))  # type: ignore[arg-type]
    assert kit.asked[-1] == named
    await build(tmp_path / "far", feed(PASSAGES, WordEmbedder(name="openai:m@http://far.example")))
    with pytest.raises(IndexFault, match=r"built with the embedder openai:m@http://far\.example"):
        await source(tmp_path / "far").search(Query("moon"))
    assert await source(tmp_path / "far", embedder="openai:m@http://far.example").search(Query("moon"))


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "magic"},
        {"top_k": "3"},
        {"hops": "0"},
        {"similarity_search_rescore_multiplier": "x"},
        {"words": "off", "meaning": "off"},
    ],
)
def test_senseless_options(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        source(Path("anywhere"), **options)


def test_defaults_are_those_of_the_recipe() -> None:
    o = Options()
    assert (o.similarity_search_top_k_nodes, o.similarity_search_rescore_multiplier) == (100, 4)


async def test_needs_a_folder_that_is_an_index(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="index:PATH"):
        from_spec(Spec("index"), Parts())  # type: ignore[arg-type]
    with pytest.raises(IndexFault, match="is not an index"):
        await source(tmp_path).search(Query("x"))
    assert library(Spec("library"), Parts()).name == "library"  # type: ignore[arg-type]


async def test_words_find_by_themselves_in_a_language_that_the_embedder_does_not_know(tmp_path: Path) -> None:
    """An embedder that does not know the question's language is not asked, unless words are not."""
    german = [
        Passage("a", "Der Titan ist der größte Mond des Saturn und hat eine dichte Atmosphäre aus Stickstoff.", "Titan"),
        Passage("b", "Die Elbe ist ein Fluss, der durch Dresden und Hamburg fließt und in die Nordsee mündet.", "Elbe"),
        Passage("c", "Das Brot wird aus Mehl, Wasser, Salz und Hefe gebacken, und es ist mit Butter am besten.", "Brot"),
    ]
    await build(tmp_path, feed(german, English()))
    kit = Parts()
    kit.embedder = lambda spec=None: embedder  # type: ignore[method-assign,assignment]
    question = Query("Welcher Fluss fließt durch Dresden?", 1, language="de")
    for options, used in ({}, False), ({"words": "no"}, True):
        embedder = English()
        found = await from_spec(Spec("index", str(tmp_path), options), kit).search(question)  # type: ignore[arg-type]
        assert [hit.id for hit in found] == ["b"]
        assert bool(embedder.calls) is used


@pytest.mark.parametrize(
    ("asked", "indexed", "share"),
    [
        (None, "en", 1.0),
        ("en", "en", 1.0),
        ("de", "de", 0.6),
        ("de", "en", 1.0),
        ("en", "de", 1.0),
        ("th", "en", None),
        ("ru", "ru", None),
    ],
)
def test_meaning_counts_as_far_as_the_language_is_known(asked: str | None, indexed: str, share: float | None) -> None:
    """Less beside the words of an index in a language that the shipped embedder hardly knows; of another embedder nobody says."""
    english, other = OnnxEmbedder(), WordEmbedder()
    used, options = weighed(english, SearchOptions(), asked, indexed)
    assert (used is english, options.share if used else None) == (share is not None, share)
    assert weighed(other, SearchOptions(), asked, indexed) == (other, SearchOptions())


class English(Judge, WordEmbedder):
    """Knows English alone."""

    def knows(self, language: str) -> bool:
        return language == "en"
