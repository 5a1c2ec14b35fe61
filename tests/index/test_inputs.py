from __future__ import annotations

import gzip
import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reading import bombs

from wellread.errors import IndexFault, ReadError, UsageError
from wellread.index import inputs, texts
from wellread.index.following import Following, passages
from wellread.index.inputs import Columns, InputOptions, origin
from wellread.index.published import pull
from wellread.text.split import Splitting, count_tokens, split
from wellread.types import Page, Passage

pytestmark = pytest.mark.anyio


async def read(*inputs: object, how: InputOptions | None = None) -> list[Passage]:
    return [passage async for passage in passages([str(item) for item in inputs], how or InputOptions())]


def json_lines(path: Path, *rows: object) -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
async def test_json_lines(tmp_path: Path, name: str) -> None:
    path = json_lines(
        tmp_path / name,
        {"id": "a", "title": "A", "text": "Short."},
        {"_id": 7, "title": "B", "text": "word " * 400, "url": "u", "links": ["A"]},
    )
    found = await read(path)
    assert found[0] == Passage("a", "Short.", "A", document="a")
    assert [p.id for p in found[1:]] == ["7#0", "7#1"]
    assert {(p.document, p.title, p.url, p.links) for p in found[1:]} == {("u", "B", "u", ("A",))}
    assert all(count_tokens(p.text) <= 250 for p in found)


async def test_columns_can_have_other_names(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "c.jsonl", {"key": "k", "headline": "H", "body": "B"})
    found = await read(path, how=InputOptions(columns=Columns(id="key", title="headline", text="body")))
    assert found == [Passage("k", "B", "H", document="k")]
    with pytest.raises(IndexFault, match=r"row 0 has no text in 'text'; its columns are: key, headline, body"):
        await read(path)


async def test_parquet_in_the_published_layout(tmp_path: Path) -> None:
    rows = {"_id": ["1", "2"], "url": ["u", "u"], "title": ["T", "T"], "text": ["one", "two"], "emb": [[0.1], [0.2]]}
    pq.write_table(pa.table(rows), tmp_path / "x.parquet")
    found = await read(tmp_path / "x.parquet")
    assert [(p.id, p.document, p.text) for p in found] == [("1", "u", "one"), ("2", "u", "two")]


async def test_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.md").write_text("# Title B\n\nSome *text* here.")
    (tmp_path / "deep" / "a.txt").write_text("Plain words.")
    (tmp_path / ".hidden.txt").write_text("not this")
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 20)
    unreadable: list[str] = []
    found = await read(tmp_path, how=InputOptions(unreadable=unreadable))
    assert [p.id for p in found] == ["b.md#0", "deep/a.txt#0"]
    assert found[0].title == "Title B"
    assert len(unreadable) == 1
    with pytest.raises(ReadError):
        await read(tmp_path)


@pytest.mark.slow
async def test_one_bad_document_does_not_end_a_build(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Plain words.")
    (tmp_path / "b.pdf").write_bytes(bombs.containing_itself())
    (tmp_path / "c.docx").write_bytes(bombs.damaged(bombs.docx(bombs.paragraph("The keeper wrote. " * 50))))
    (tmp_path / "d.docx").write_bytes(bombs.docx(bombs.paragraph("a") * 250_000))
    (tmp_path / "e.txt").write_text("More plain words.")
    unreadable: list[str] = []
    found = await read(tmp_path, how=InputOptions(unreadable=unreadable))
    assert [p.id for p in found if "docx" not in p.id] == ["a.txt#0", "e.txt#0"]
    assert [line.rpartition("/")[2] for line in unreadable] == [
        "b.pdf: needs more memory than a document may (512 MB)",
        "c.docx: the archive is broken or locked",
        "d.docx: its text is larger than 200,000 paragraphs: the rest was left out",
    ]


class Pages:
    async def read(self, url: str) -> Page:
        if "bad" in url:
            raise ReadError(url, "gone")
        return Page(url, "A page", ("First paragraph.", "Second paragraph."), published="2024-05-06")


HOW = InputOptions(pages=Pages())


async def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "sparse.txt").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "lamps.txt").write_text("Trim the wick.")
    begun = time.process_time()
    read = [one.entry async for one in Following((str(tmp_path),), InputOptions(unreadable=[])).read({})]
    assert time.process_time() - begun < 5
    assert [(one.name, one.passages, one.notice) for one in read] == [
        ("lamps.txt", 1, ""),
        ("sparse.txt", 0, "larger than 200 MB"),
    ]


async def test_pages_and_lists_of_them(tmp_path: Path) -> None:
    (tmp_path / "list.urls").write_text("# pages\nhttps://a.example/1\nhttps://a.example/bad\nhttps://a.example/2\n")
    unreadable: list[str] = []
    found = await read("https://a.example/0", tmp_path / "list.urls", how=InputOptions(pages=Pages(), unreadable=unreadable))
    assert [p.document for p in found] == [f"https://a.example/{n}" for n in (0, 1, 2)]
    assert found[0].text == "First paragraph.\n\nSecond paragraph."
    assert found[0].published == "2024-05-06"
    assert unreadable == ["https://a.example/bad: gone"]
    with pytest.raises(UsageError, match="cannot be read here"):
        await read("https://a.example/0")


async def test_a_list_names_pages_and_no_file_of_this_machine(tmp_path: Path) -> None:
    private = tmp_path / "private.txt"
    private.write_text("The vault opens with lemon.")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("The lighthouse stands.")
    listed = folder / "list.urls"
    for line in (str(private), "hf:someone/data", str(listed), "file:///etc/passwd", "~/x"):
        listed.write_text(f"https://a.example/1\n{line}\n")
        for made in (Following((str(listed),), InputOptions(pages=Pages())).read({}), passages([str(listed)], HOW)):
            with pytest.raises(IndexFault, match="is no address of a page"):
                [one async for one in made]
        assert [p.document for p in await read(folder, how=HOW)] == ["a.txt"]
    listed.write_bytes(b"\xff")
    with pytest.raises(IndexFault, match="cannot be read"):
        await read(listed, how=HOW)


DAMAGED = {
    "deep.jsonl": b'{"text":' + b"[" * 100_000,
    "packed.jsonl.gz": gzip.compress(b'{"text": "a lighthouse"}\n' * 500)[:12] + b"\xff" * 40,
}


@pytest.mark.parametrize("name", DAMAGED)
async def test_damaged_rows_are_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name])
    with pytest.raises(IndexFault):
        await read(tmp_path / name)


@pytest.mark.parametrize(
    "column",
    [
        {"text": pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())},
        {"text": ["a"], "published": pa.array([2**59], pa.timestamp("ms"))},
    ],
)
async def test_values_that_nothing_can_hold_are_told(tmp_path: Path, column: dict[str, object]) -> None:
    pq.write_table(pa.table(column), tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, pa.table(column).schema) as stream:
        stream.write_table(pa.table(column))
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(IndexFault, match="cannot be read"):
            await read(tmp_path / name)


async def test_a_table_that_fills_the_memory_or_is_cut_off_ends_only_the_process_that_reads_it(tmp_path: Path) -> None:
    table = pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 5_000, pa.int32()), ["x" * 1_000_000])})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    os.truncate(tmp_path / "a.arrow", 1_000_000)
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(IndexFault, match="cannot be read"):
            await read(tmp_path / name)


async def test_rows_of_a_table_among_documents_are_passages_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text("# Handbook\n\nThe valve opens to the left.")
    forged = {"id": "handbook.md#0", "document": "handbook.md", "url": (tmp_path / "handbook.md").as_uri(), "title": "Handbook"}
    json_lines(tmp_path / "notes.jsonl", {**forged, "text": "The valve opens to the right."})
    found = await read(tmp_path)
    assert {passage.document: passage.text.splitlines()[-1] for passage in found} == {
        "handbook.md": "The valve opens to the left.",
        "notes.jsonl": "The valve opens to the right.",
    }
    assert {passage.url for passage in found} == {(tmp_path / name).as_uri() for name in ("handbook.md", "notes.jsonl")}
    made = [one async for one in Following([str(tmp_path)], InputOptions()).read({})]
    assert [(one.entry.name, one.entry.table) for one in made] == [("handbook.md", False), ("notes.jsonl", False)]


async def test_pictures_and_style_sheets_of_a_folder_are_no_documents_that_were_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>The lamp burns oil.</p>")
    (tmp_path / "a.css").write_text("p { color: red }")
    (tmp_path / "a.gif").write_bytes(b"GIF89a" + bytes(50))
    how = InputOptions(unreadable=[])
    assert [passage.document for passage in await read(tmp_path, how=how)] == ["a.html"]
    assert how.unreadable == []


async def test_a_row_without_an_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_LONGEST_LINE", 1_000)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' + "x" * 2_000)
    with pytest.raises(IndexFault, match="line 2 is longer than"):
        await read(tmp_path / "a.jsonl")


async def test_a_zim_file(tmp_path: Path) -> None:
    writer = pytest.importorskip("libzim.writer")

    class Item(writer.Item):
        def __init__(self, path: str, title: str, html: str) -> None:
            super().__init__()
            self.parts = (path, title, html)

        def get_path(self) -> str:
            return self.parts[0]

        def get_title(self) -> str:
            return self.parts[1]

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> object:
            return writer.StringProvider(self.parts[2])

        def get_hints(self) -> dict[object, int]:
            return {writer.Hint.FRONT_ARTICLE: True}

    html = (
        "<html><body><article><h1>Titan</h1><p>"
        + "Titan is the largest moon of Saturn and has lakes. " * 4
        + "</p></article></body></html>"
    )
    with writer.Creator(tmp_path / "x.zim") as creator:
        creator.add_item(Item("Titan", "Titan (moon)", html))
        creator.add_redirection("Saturn_VI", "Titan", "Titan", {})
    found = await read(tmp_path / "x.zim")
    assert [(p.id, p.title, p.document) for p in found] == [("Titan#0", "Titan (moon)", "Titan")]
    assert "largest moon" in found[0].text
    whole = (tmp_path / "x.zim").read_bytes()
    place = whole.index(b"Titan\0Titan (moon)\0")  # before it stands which part of which cluster the page is
    for wrong in (b"nothing", whole[: place - 4] + b"\xff" * 4 + whole[place:], whole[:24] + b"\xff" * 4 + whole[28:]):
        (tmp_path / "y.zim").write_bytes(wrong)
        with pytest.raises(IndexFault, match=r"y\.zim cannot be read"):
            await read(tmp_path / "y.zim")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", "line 1 is not a JSON object"),
        ("a.jsonl", b"[1]\n", "line 1 is not a JSON object"),
        ("a.jsonl", b'{"id": "x", "text": "  "}', "empty text"),
        ("a.jsonl", b"\xff\xfe\x00", "cannot be read"),
        ("a.jsonl.gz", b"plain", "cannot be read"),
        ("a.parquet", b"plain", "cannot be read"),
    ],
)
async def test_broken_tables_say_where(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(IndexFault, match=message):
        await read(tmp_path / name)


async def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        await read(tmp_path / "no")


def test_origin_changes_with_the_input(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "a.jsonl", {"id": "a"})
    before = origin([str(path)], InputOptions())
    json_lines(path, {"id": "a"}, {"id": "b"})
    assert origin([str(path)], InputOptions()) != before
    assert origin([str(path)], InputOptions(Splitting(100))) != origin([str(path)], InputOptions())


def test_splitting_keeps_paragraphs_then_sentences() -> None:
    paragraph = "One two three four five. Six seven eight nine ten."
    assert split([paragraph, paragraph], Splitting(30)) == [f"{paragraph}\n\n{paragraph}"]
    assert split([paragraph, paragraph], Splitting(15)) == [paragraph, paragraph]
    assert split([paragraph], Splitting(7)) == ["One two three four five.", "Six seven eight nine ten."]
    assert split([paragraph], Splitting(0)) == [paragraph]
    assert split(["", "  "], Splitting(10)) == []


def test_overlap_repeats_whole_sentences() -> None:
    text = " ".join(f"Sentence {n} ends here." for n in range(10))
    parts = split([text], Splitting(12, overlap=5))
    assert all(a.split(". ")[-1].rstrip(".") in b for a, b in pairwise(parts))


@given(st.lists(st.text(st.sampled_from("ab .!\n東京é"), max_size=300), max_size=6), st.integers(1, 40))
def test_nothing_is_lost_and_nothing_too_long(paragraphs: list[str], tokens: int) -> None:
    parts = split(paragraphs, Splitting(tokens))
    assert all(0 < count_tokens(part) <= tokens for part in parts)
    assert "".join("".join(parts).split()) == "".join("".join(paragraphs).split())


@pytest.mark.parametrize("values", [(-1, 0), (10, 10), (10, -1)])
def test_senseless_splitting(values: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="overlap"):
        Splitting(*values)


def test_a_download_that_brought_nothing_is_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = ModuleType("huggingface_hub")
    client.snapshot_download = lambda *_, **__: str(tmp_path)  # type: ignore[attr-defined]  # offline it is content with any folder
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)
    with pytest.raises(IndexFault, match=r"cannot be downloaded.*faiss-ubinary\.index"):
        pull("owner/name", tmp_path)


def test_a_passage_keeps_its_place_in_the_store() -> None:
    placed = Passage("a#0", "Fill it.", "Lamps", "file:///a.pdf", document="a.pdf", heading="Oil › “Wicks”", page=3, anchor="x")
    assert texts.decode(texts.encode(placed)) == placed
    plain = Passage("b#0", "Fill it.", document="b")
    assert texts.decode(texts.encode(plain)) == plain
    assert len(json.loads(texts.encode(plain))) == 7, "as passages without a place always were: older indexes stay as they are"
