"""`files:` and `urls:`: read when needed, searched in memory, failures told."""

from __future__ import annotations

import asyncio
import gzip
import os
from pathlib import Path

import pytest
from tests.sources.conftest import Build
from tests.sources.kit import LetterEmbedder, Shelf

from wellread.errors import SourceError, UsageError
from wellread.sources.memory import Memory, few, tokens
from wellread.text.split import Splitting, count_tokens, passages
from wellread.types import Hits, Page, Passage, Query

pytestmark = pytest.mark.anyio

TEXTS = {
    "bread.md": "# Bread\n\nThe sourdough rested overnight before it was baked in the stone oven.\n",
    "sub/light.txt": "Lighthouses\n\nThe keeper of the lighthouse climbs its stairs every evening to light the lamp.\n",
    "sub/tokyo.txt": "東京\n\n東京は日本の首都である。\n",
    ".hidden/secret.txt": "The sourdough secret.\n",
    "picture.gif": "GIF89a sourdough",
    "broken.pdf": "this is no PDF, sourdough",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


async def test_files_are_found_by_their_words(build: Build, folder: Path) -> None:
    source = build(f"files:{folder}?meaning=no")
    hits = await source.search(Query("Where was the sourdough baked?"))
    assert [hit.id for hit in hits] == ["bread.md#0"]
    assert hits[0].title == "Bread"
    assert hits[0].document == "bread.md"
    assert "stone oven" in (hits[0].text or "")
    assert (hits[0].url or "").startswith("file:///")
    assert [hit.id for hit in await source.search(Query("日本の首都"))] == ["sub/tokyo.txt#0"]


async def test_what_cannot_be_read_is_told(build: Build, folder: Path) -> None:
    hits = await build(f"files:{folder}?meaning=no").search(Query("sourdough"))
    assert isinstance(hits, Hits)
    assert "broken.pdf: " in hits.failures[0]
    assert "picture" not in hits.failures[0]  # nobody expects text in it


async def test_pages_that_only_lead_to_another_are_not_searched_and_nothing_is_missing(build: Build, tmp_path: Path) -> None:
    """makeinfo writes one for each anchor of a manual in HTML."""
    leads = "<meta http-equiv='Refresh' content='0; url=bread.html#oven'><p>The sourdough you look for is at <a>oven</a>.</p>"
    (tmp_path / "oven.html").write_text(f"<html><head><title>Oven</title>{leads}</html>")
    (tmp_path / "bread.html").write_text("<html><title>Bread</title><p>The sourdough was baked in a stone oven.</p></html>")
    hits = await build(f"files:{tmp_path}?meaning=no").search(Query("sourdough"))
    assert ([hit.document for hit in hits], getattr(hits, "failures", ())) == (["bread.html"], ())


async def test_compressed_documents_and_texts_without_an_ending_are_read(build: Build, tmp_path: Path) -> None:
    (tmp_path / "oven.8.gz").write_bytes(gzip.compress(b".TH OVEN 8\n.SH NAME\noven \\- bakes the sourdough\n"))
    (tmp_path / "README").write_text("The sourdough is fed at noon.")
    (tmp_path / "loaves.tar.gz").write_bytes(gzip.compress(b"sourdough"))
    (tmp_path / "baker").write_bytes(b"\x7fELF sourdough")
    hits = await build(f"files:{tmp_path}?meaning=no").search(Query("sourdough"))
    assert {(hit.document, hit.title) for hit in hits} == {("oven.8.gz", "oven(8)"), ("README", "The sourdough is fed at noon.")}
    assert isinstance(hits, Hits)
    assert hits.failures == ()  # a program and an archive are nobody's documents


async def test_meaning_finds_what_words_do_not(build: Build, folder: Path) -> None:
    hits = await build(f"files:{folder}").search(Query("lighthousekeepers"))
    assert hits[0].document == "sub/light.txt"


async def test_changes_are_noticed(build: Build, folder: Path) -> None:
    source = build(f"files:{folder}?meaning=no")
    assert not await source.search(Query("penicillin"))
    (folder / "new.txt").write_text("Penicillin was found in 1928.")
    assert [hit.document for hit in await source.search(Query("penicillin"))] == ["new.txt"]
    (folder / "new.txt").unlink()
    assert not await source.search(Query("penicillin"))


async def test_one_file_a_pattern_and_limits(build: Build, folder: Path) -> None:
    assert len(await build(f"files:{folder}/bread.md?meaning=no").search(Query("oven"))) == 1
    assert not await build(f"files:{folder}?meaning=no&pattern=*.txt").search(Query("oven"))
    with pytest.raises(SourceError, match="no file to read"):
        await build(f"files:{folder}?pattern=*.rst").search(Query("oven"))
    with pytest.raises(SourceError, match="no file to read"):
        await build(f"files:{folder}?max_megabytes=0").search(Query("oven"))
    with pytest.raises(UsageError, match="nowhere"):
        build(f"files:{folder}/nowhere")


PAGES = {
    f"https://example.org/{n}": Page(f"https://example.org/{n}", f"Page {n}", (text,)) for n, text in enumerate(TEXTS.values())
}


async def test_urls_are_read_once_and_failures_told(build: Build, tmp_path: Path) -> None:
    reader = Shelf(PAGES)
    listed = tmp_path / "list.txt"
    listed.write_text("# pages\nhttps://example.org/0\n\nhttps://example.org/1\nhttps://gone.example/x?y=1,2\n")
    source = build(f"urls:{listed}?meaning=no", reader=reader)
    several = await asyncio.gather(*(source.search(Query("sourdough oven")) for _ in range(3)))
    assert all(hits[0].url == "https://example.org/0" for hits in several)
    assert several[0].failures == ("urls: https://gone.example/x?y=1,2: not on the shelf",)
    assert sorted(reader.asked) == ["https://example.org/0", "https://example.org/1", "https://gone.example/x?y=1,2"]


async def test_urls_without_any_page_are_an_error(build: Build) -> None:
    reader = Shelf({})
    source = build("urls:https://gone.example/1,2,https://gone.example/3, https://gone.example/4", reader=reader)
    with pytest.raises(SourceError, match="nothing could be read"):
        await source.search(Query("x"))
    assert sorted(reader.asked) == [f"https://gone.example/{one}" for one in ("1,2", "3", "4")]


async def test_wrong_lists_are_wrong_usage(build: Build, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("ftp://example.org\n")
    os.mkfifo(tmp_path / "pipe")  # which nobody waits for
    lists = ("", "nowhere.txt", f"{tmp_path}/list.txt", f"{tmp_path}/pipe", "https://a.org, javascript:x,https://b.org\n")
    for wrong in lists:
        with pytest.raises(UsageError):
            build(f"urls:{wrong}")


def test_pages_are_cut_between_sentences() -> None:
    sentence = "This sentence has some forty characters. "
    page = Page("https://e.org", "T", ("## Head", "Short.", sentence * 100, "x" * 5000))
    made = passages(page, "name", Splitting())
    assert [passage.id for passage in made] == [f"name#{n}" for n in range(len(made))]
    assert all(count_tokens(passage.text) <= 250 for passage in made)
    prose = [passage.text for passage in made if "sentence" in passage.text]
    assert all(text.endswith(".") for text in prose)
    assert "".join(p.text for p in made).replace("\n", "").replace(" ", "") == "".join(page.passages).replace(" ", "")


async def test_many_passages_are_compared_only_by_their_words() -> None:
    class Counting(LetterEmbedder):
        texts = 0

        async def embed(self, texts, *, kind):  # type: ignore[no-untyped-def]
            Counting.texts += len(texts)
            return await super().embed(texts, kind=kind)

    many = [Passage(f"p{n}", f"number {n} of many lighthouses" if n % 50 else "sourdough") for n in range(2500)]
    hits = await Memory(many, "s", Counting()).search("sourdough", 3)
    assert [hit.text for hit in hits] == ["sourdough"] * 3
    assert Counting.texts <= 101


def test_words_are_folded() -> None:
    assert tokens("The Lighthouses' Cafés") == tokens("lighthouse cafe")
    assert tokens("東京都") == ["東京", "京都"]
    assert few(["a", "b", "c", "d", "e"]) == "a; b; c and 2 more"
