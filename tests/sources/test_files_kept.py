"""`files:` keeps its index in the user's cache: only what has changed is read, and a command can list and clear it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.index.test_growing import spying
from tests.sources.kit import LetterEmbedder, TestKit
from typer.testing import CliRunner

from wellread import plugins
from wellread.cli.main import app
from wellread.errors import UsageError
from wellread.index import early, kept, manifest
from wellread.parts import Parts
from wellread.settings import Settings
from wellread.sources import files
from wellread.sources.index import IndexSource
from wellread.types import Query, Spec

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(60):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nThe kettle of room {number} whistles.")
    return folder


@asynccontextmanager
async def opened(path: Path, **options: str) -> AsyncIterator[files.Files]:
    source = files.from_spec(Spec("files", str(path), {"hops": "1", **options}), TestKit(dict(os.environ), cache=True))
    assert isinstance(source, files.Files)
    try:
        yield source
    finally:
        await source.aclose()


async def test_a_second_source_reads_only_what_has_changed(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("wellread.index.following.opened", spying(read))
    async with opened(notes, meaning="no") as source:
        assert (await source.search(Query("kettle of room 7")))[0].document == "n7.md"
    assert len(read) == 60
    (notes / "n7.md").write_text("# Note 7\n\nA teapot moved in.")
    (notes / "n8.md").unlink()
    async with opened(notes, meaning="no") as source:
        assert (await source.search(Query("teapot")))[0].document == "n7.md"
        assert not await source.passages("n8.md")
    assert read[60:] == ["n7.md"]
    place = kept.everything(os.environ)[0].place
    before = (place / "manifest.json").read_bytes()
    async with opened(notes, meaning="no") as source:
        assert await source.search(Query("teapot"))
    assert (place / "manifest.json").read_bytes() == before


async def test_another_version_reads_everything_again(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.0", "1.1"):  # which may read the same files better
        monkeypatch.setattr(files, "__version__", version)
        async with opened(notes, meaning="no") as source:
            assert await source.search(Query("kettle"))
    assert len(kept.everything(os.environ)) == 2


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call of the embedder was given."""
    counts: list[int] = []

    class Counting(LetterEmbedder):
        async def embed(self, texts, *, kind):
            counts.append(len(texts))
            return await super().embed(texts, kind=kind)

    monkeypatch.setattr(TestKit, "embedder", lambda self, spec=None: Counting())
    return counts


async def test_the_first_answer_does_not_wait_for_all_vectors(
    notes: Path, embedded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_IDLE", 0.05)
    async with opened(notes) as source:
        assert (await source.search(Query("kettle of room 7", limit=5)))[0].document == "n7.md"
        assert embedded[:2] == [5, 1]  # of what words find first, and of the question
        assert source.unfinished[0].startswith("60 passages of ")  # an answer says so, and what helps
        assert source.unfinished[0].endswith("wellread serve makes all while nobody asks")
        for _ in range(200):
            await asyncio.sleep(0.05)
            if kept.everything(os.environ)[0].vectors == 60:
                break
        assert kept.everything(os.environ)[0].vectors == 60  # made while nobody asked
        assert (await source.search(Query("kettle of room 7")))[0].document == "n7.md"
        assert source.unfinished == ()
        assert not (kept.everything(os.environ)[0].place / early.FILE).exists()
    assert sum(embedded) == 67


async def test_vectors_that_a_question_needed_are_there_for_the_next_command(notes: Path, embedded: list[int]) -> None:
    for wanted in ([5, 1], [5, 1, 1]):
        async with opened(notes) as source:
            await source.search(Query("kettle of room 7", limit=5))
            assert embedded == wanted
            source._begun += 3600  # no time for others at its end
    with (kept.everything(os.environ)[0].place / early.FILE).open("ab") as file:
        file.write(b"half of a row that a full disk cut off")
    async with opened(notes) as source:
        assert (await source.search(Query("kettle of room 7", limit=5)))[0].document == "n7.md"
    assert embedded[3] == 5


async def test_a_low_effort_makes_none_for_a_question(notes: Path, embedded: list[int]) -> None:
    source = files.from_spec(Spec("files", str(notes), {"hops": "1"}), TestKit(dict(os.environ), cache=True, effort="low"))
    assert await source.search(Query("kettle of room 7"))
    assert embedded == []
    await source.aclose()


async def test_what_is_missing_is_made_when_there_is_time(notes: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    async with opened(notes) as source:
        await source.search(Query("kettle"))
        await source.catch_up(60, lambda *step: seen.append(step))
        assert kept.everything(os.environ)[0].vectors == 60
        await source.catch_up(60, lambda *step: seen.append(step))
    assert seen[0] == ("vectors", 0, 60)
    assert seen[-1] == ("vectors", 60, 60)


async def test_a_command_leaves_a_few_vectors(notes: Path) -> None:
    async with opened(notes) as source:
        await source.search(Query("kettle"))
        source._begun -= 3600  # as if it had run for long
    assert kept.everything(os.environ)[0].vectors == 60


async def test_nobody_else_may_look_and_there_is_a_bound(notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("A whale sings.")
    async with opened(notes, meaning="no") as source:
        await source.search(Query("kettle"))
    async with opened(other, meaning="no") as source:
        await source.search(Query("whale"))
    first, second = sorted(kept.everything(os.environ), key=lambda one: -one.bytes)
    assert {first.of, second.of} == {str(notes), str(other)}
    for place in (first.place, second.place, first.place.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    os.utime(first.place / ".used", (1, 1))
    kept.keep_within(first.bytes, second.place, os.environ)
    assert [one.of for one in kept.everything(os.environ)] == [str(other)]


async def test_without_a_cache_nothing_is_kept(notes: Path) -> None:
    source = files.from_spec(Spec("files", str(notes), {"meaning": "no"}), TestKit(dict(os.environ)))
    assert await source.search(Query("kettle"))
    assert kept.everything(os.environ) == []


async def test_it_is_listed_and_cleared(notes: Path) -> None:
    async with opened(notes, meaning="no") as source:
        await source.search(Query("kettle"))
    listed = json.loads(CliRunner().invoke(app, ["cache", "list", "--json"]).stdout)
    assert [(one["of"], one["passages"]) for one in listed["kept"]] == [(str(notes), 60)]
    assert f"{notes}: 60 passages, 0 vectors" in CliRunner().invoke(app, ["cache", "list"]).stdout.replace("\n", " ")
    assert json.loads(CliRunner().invoke(app, ["cache", "clear", str(notes.parent), "--json"]).stdout) == {"bytes": 0}
    assert json.loads(CliRunner().invoke(app, ["cache", "clear", str(notes), "--json"]).stdout)["bytes"] > 0
    assert kept.everything(os.environ) == []


async def test_two_processes_at_once_read_once(notes: Path) -> None:
    async with opened(notes, meaning="no") as one, opened(notes, meaning="no") as other:
        found = await asyncio.gather(one.search(Query("kettle of room 7")), other.search(Query("kettle of room 7")))
    assert [hits[0].document for hits in found] == ["n7.md", "n7.md"]
    assert manifest.load(kept.everything(os.environ)[0].place).passages == 60


def test_a_bare_path_is_a_source(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wellread.sources.index import library_path

    monkeypatch.chdir(notes.parent)
    assert plugins.parse_source("notes?pattern=*.md") == Spec("files", "notes", {"pattern": "*.md"})
    assert plugins.parse_source(str(notes / "n1.md")) == Spec("files", str(notes / "n1.md"), {})
    assert plugins.parse_source(str(library_path())).name == "index"
    (notes.parent / "library").mkdir()
    assert plugins.parse_source("library").name == "library"  # a name is a name; ./library is the folder
    assert plugins.parse_source("./library").name == "files"
    assert isinstance(Parts(Settings()).source(f"{library_path()}?hops=1"), IndexSource)
    with pytest.raises(UsageError):
        plugins.parse_source("./nowhere")
