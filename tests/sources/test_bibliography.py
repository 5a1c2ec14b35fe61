"""Files of references and Zotero libraries: entries, abstracts, attached documents."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.reading.test_pdf import pdf
from tests.sources.conftest import Build, Serve
from tests.wire.loopback import Asked, Reply

from wellread.citations.references import Cited, written
from wellread.errors import SourceError, UsageError
from wellread.plugins import parse_source
from wellread.reading.tex import spelled
from wellread.sources.bibliography import entries
from wellread.types import Query, Reference

pytestmark = pytest.mark.anyio
BIB = r"""
@string{jot = "Journal of " # {Tests}}
@comment{ignored}
@article{lovelace1843,
  title = {Notes on the {Analytical} Engine \& its {\"O}conomy},
  author = "Lovelace, Ada and Menabrea, Luigi F. and {The Test Group}",
  journal = jot, year = 1843, month = sep, volume = {3}, number = {2}, pages = {666--731},
  doi = {10.5555/notes}, abstract = {It weaves algebraical patterns.},
  file = {Full Text:files/1/notes.pdf:application/pdf;other:C\:\\x.doc:application/msword}
}
@inproceedings{broken, title = {Unclosed {brace}, year = {1900}
"""
RIS = """TY  - JOUR
AU  - Lovelace, Ada
AU  - Menabrea, Luigi F.
TI  - Notes on the Analytical Engine
PY  - 1843/09/01
T2  - Journal of Tests
VL  - 3
SP  - 666
EP  - 731
DO  - 10.5555/notes
AB  - It weaves algebraical patterns.
L1  - files/1/notes.pdf
ER  -
"""


def _line(words: str) -> bytes:
    return pdf([(50, 700, 10, "F", words)], [(50, 700, 10, "F", "The number of Bernoulli is computed by the engine.")])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files" / "1").mkdir(parents=True)
    (tmp_path / "files" / "1" / "notes.pdf").write_bytes(_line("The first page says little."))
    (tmp_path / "refs.bib").write_text(BIB, "utf-8")
    (tmp_path / "refs.ris").write_text(RIS, "utf-8")
    return tmp_path


def test_bibtex_is_read(folder: Path) -> None:
    first, broken = entries(folder / "refs.bib")
    assert first.work == Reference(
        "Notes on the Analytical Engine & its Öconomy",
        ("Lovelace, Ada", "Menabrea, Luigi F.", "The Test Group"),
        1843,
        "Journal of Tests",
        "10.5555/notes",
        volume="3",
        issue="2",
        pages="666–731",
    )
    assert first.abstract == "It weaves algebraical patterns."
    assert [path.name for path in first.documents] == ["notes.pdf"]
    assert broken.work.title.startswith("Unclosed brace")
    assert (
        spelled(r"Fran{\c c}ois Sm{\"u}ller, G{\'e}rard {\O}rsted, \v{S}imon, {\ss}")
        == "François Smüller, Gérard Ørsted, Šimon, ß"
    )
    assert (
        spelled(r"{The {\TeX}book}: $\alpha_1$-decay \& \LaTeX of \{x\}~-- \$5 \emph{and} \$6\\\"ubung \ldots so")
        == r"The TeXbook: $\alpha_1$-decay & LaTeX of {x} – $5 and $6 übung … so"
    )


def test_ris_is_read_and_what_is_written_is_read_again(folder: Path) -> None:
    (one,) = entries(folder / "refs.ris")
    assert (one.work.year, one.work.pages, one.work.kind) == (1843, "666–731", "article-journal")
    assert len(one.documents) == 1
    work = Reference(
        "Räder & 100% {Sets}_1", ("Noether, Emmy", "The Group"), 1921, "Annals", "10.1/x", "https://e.org/", "83", "1", "24–66"
    )
    for how, suffix in (("bibtex", ".bib"), ("ris", ".ris"), ("csl", ".json")):
        file = folder / f"again{suffix}"
        file.write_text(written([Cited(work, (1,))], how), "utf-8")
        assert entries(file)[0].work == work, how


@pytest.mark.slow
@pytest.mark.parametrize("name", ["refs.bib", "refs.ris"])
async def test_entries_and_their_documents_are_found(build: Build, folder: Path, name: str) -> None:
    assert str(parse_source(str(folder / name))) == f"bibliography:{folder / name}"
    source = build(f"bibliography:{folder / name}?meaning=no")
    hit = (await source.search(Query("algebraical patterns")))[0]
    assert hit.url == "https://doi.org/10.5555/notes"
    assert hit.text == "It weaves algebraical patterns."
    inside = (await source.search(Query("number of Bernoulli computed")))[0]
    assert (inside.page, inside.reference) == (2, hit.reference)
    assert inside.title.startswith("Notes on the Analytical Engine")
    assert [one.page for one in await source.passages(inside.document or "")] == [1, 2]
    assert (await source.original(inside.document or "")).path == str(folder / "files" / "1" / "notes.pdf")
    with pytest.raises(UsageError, match="that is there"):
        build("bibliography:nowhere.bib")
    (folder / "empty.bib").write_text("@comment{x}")
    with pytest.raises(SourceError, match="no entry"):
        await build(f"bibliography:{folder / 'empty.bib'}").search(Query("x"))


SCHEMA = """
CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT);
CREATE TABLE items (itemID INTEGER PRIMARY KEY, itemTypeID INT, libraryID INT, key TEXT);
CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT);
CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData (itemID INT, fieldID INT, valueID INT);
CREATE TABLE creators (creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT);
CREATE TABLE itemCreators (itemID INT, creatorID INT, creatorTypeID INT, orderIndex INT);
CREATE TABLE itemAttachments (itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT, contentType TEXT, path TEXT);
CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY);
CREATE TABLE collections (collectionID INTEGER PRIMARY KEY, collectionName TEXT);
CREATE TABLE collectionItems (collectionID INT, itemID INT, orderIndex INT);
INSERT INTO itemTypes VALUES (1, 'journalArticle'), (2, 'attachment'), (3, 'note');
INSERT INTO items VALUES (1, 1, 1, 'AAAA1111'), (2, 2, 1, 'BBBB2222'), (3, 1, 1, 'CCCC3333'), (4, 3, 1, 'D'), (5, 1, 1, 'E');
INSERT INTO deletedItems VALUES (3);
INSERT INTO fields VALUES (1, 'title'), (2, 'date'), (3, 'publicationTitle'), (4, 'DOI'), (5, 'abstractNote');
INSERT INTO itemDataValues VALUES (1, 'Notes on the Engine'), (2, '1843-09-00 September 1843'), (3, 'Journal of Tests'),
  (4, '10.5555/notes'), (5, 'It weaves algebraical patterns.'), (6, 'Thrown away'), (7, 'Zeppelins');
INSERT INTO itemData VALUES (1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4), (1, 5, 5), (3, 1, 6), (5, 1, 7);
INSERT INTO creators VALUES (1, 'Ada', 'Lovelace', 0), (2, '', 'The Test Group', 1);
INSERT INTO itemCreators VALUES (1, 2, 1, 1), (1, 1, 1, 0);
INSERT INTO itemAttachments VALUES (2, 1, 0, 'application/pdf', 'storage:notes.pdf');
INSERT INTO collections VALUES (1, 'Engines');
INSERT INTO collectionItems VALUES (1, 1, 0);
"""


@pytest.mark.slow
async def test_a_zotero_folder_is_read(build: Build, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "zotero.sqlite")) as database:
        database.executescript(SCHEMA)
    (folder / "storage" / "BBBB2222").mkdir(parents=True)
    shutil.copy(folder / "files" / "1" / "notes.pdf", folder / "storage" / "BBBB2222" / "notes.pdf")
    source = build(f"zotero:{folder}?meaning=no&collection=Engines")
    hit = (await source.search(Query("algebraical")))[0]
    assert hit.reference == Reference(
        "Notes on the Engine", ("Lovelace, Ada", "The Test Group"), 1843, "Journal of Tests", "10.5555/notes"
    )
    assert (await source.search(Query("Bernoulli")))[0].page == 2
    assert not await source.search(Query("thrown zeppelins"))
    assert not source.public
    assert (await build(f"zotero:{folder}?meaning=no").search(Query("zeppelins")))[0].title == "Zeppelins"
    (folder / "zotero.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    with pytest.raises(SourceError, match="cannot be read"):
        await build(f"zotero:{folder}").search(Query("x"))
    with pytest.raises(UsageError, match=r"zotero\.sqlite"):
        build(f"zotero:{folder / 'files'}")


def zotero(asked: Asked) -> Reply:
    """The local API, as far as it is asked."""
    if asked.path == "/api/users/0/items/top" and "enig" not in asked.params["q"]:
        csl = {
            "type": "article-journal",
            "title": "Notes",
            "author": [{"family": "Lovelace", "given": "Ada"}],
            "DOI": "10.5555/notes",
        }
        entry = {"key": "AAAA1111", "csljson": csl, "data": {"abstractNote": "It weaves.", "itemType": "journalArticle"}}
        return Reply([entry, {**entry, "key": "none", "csljson": {**csl, "DOI": "10.5555/other"}}])
    if asked.path == "/api/users/0/items/AAAA1111/children":
        return Reply([{"key": "N", "data": {"itemType": "note"}}, {"key": "B", "data": {"contentType": "application/pdf"}}])
    if asked.path == "/api/users/0/items/B/fulltext":
        return Reply({"content": "The number of Bernoulli.\fPage two.", "indexedPages": 2, "totalPages": 2})
    return Reply(b"[]" if asked.path.endswith("/top") else b"Not found", 200 if asked.path.endswith("/top") else 404)


async def test_the_running_zotero_is_asked(build: Build, serve: Serve) -> None:
    server = serve(zotero)
    source = build(f"zotero?base={server.url}")
    first, second = await source.search(Query("engine"))
    assert "It weaves." in first.text
    assert "The number of Bernoulli." in first.text
    assert first.reference is not None
    assert first.reference.authors == ("Lovelace, Ada",)
    assert second.text == "It weaves."
    assert server.asked[0].params["qmode"] == "everything"
    assert not await source.search(Query("enigma"))
    assert not source.public
    with pytest.raises(SourceError, match="cannot be reached"):
        await build("zotero:groups/7?base=http://127.0.0.1:9").search(Query("x"))


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(SourceError, match="no CSL-JSON"):
        entries(tmp_path / "x.json")
    (tmp_path / "x.json").write_text(json.dumps([{"title": "A", "abstract": "B"}]))
    assert entries(tmp_path / "x.json")[0].abstract == "B"
