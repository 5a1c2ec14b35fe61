"""A panic of a library in Rust is an error like any other. The panics here are real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import tantivy

from wellread.errors import IndexFault, panics_as
from wellread.index.lexical import Words, WordsWriter
from wellread.types import Passage

MORE_THAN_MEMORY = 10**18


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    writer = WordsWriter(tmp_path)
    writer.add([Passage("a", "Titan is a moon.", "Titan"), Passage("b", "Saturn has many a moon.", "Saturn")])
    writer.close()
    return tmp_path


def panic(folder: Path) -> None:
    index = tantivy.Index.open(str(folder))
    index.searcher().search(tantivy.Query.all_query(), MORE_THAN_MEMORY)


def test_a_panic_becomes_the_error_that_is_named(folder: Path) -> None:
    with (
        pytest.raises(IndexFault, match=r"searching: a library has failed \(capacity overflow"),
        panics_as(IndexFault, "searching"),
    ):
        panic(folder)


@pytest.mark.parametrize("problem", [ValueError("x"), KeyboardInterrupt(), GeneratorExit(), IndexFault("y")])
def test_everything_else_passes(problem: BaseException) -> None:
    with pytest.raises(type(problem)) as caught, panics_as(IndexFault, "working"):
        raise problem
    assert caught.value is problem


@pytest.mark.parametrize("limit", [2, 10**9, MORE_THAN_MEMORY, 10**30])
def test_a_search_for_more_than_there_is_finds_what_there_is(folder: Path, limit: int) -> None:
    assert set(Words.open(folder).search("moon", limit)[0].tolist()) == {0, 1}


def test_a_panic_inside_a_search_is_typed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words.open(folder)
    monkeypatch.setattr(words, "_query", lambda terms: panic(folder))
    with pytest.raises(IndexFault, match="searching the words"):
        words.search("moon", 1)
