"""The file behind a document: an index may be a stranger's, and gets nothing that its maker did not know."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from wellread.errors import ReadError
from wellread.index import following, ledger
from wellread.index.following import RECORD
from wellread.index.ledger import Entry
from wellread.index.manifest import Manifest

SECRET = b"the colour of the vault is vermilion"


def records(index: Path, inputs: object, *entries: Entry) -> Manifest:
    index.mkdir(exist_ok=True)
    listed = ledger.save(index, {entry.name: entry for entry in entries}, 1)
    origin = {RECORD: json.dumps({"inputs": inputs})}
    return Manifest("", 0, (), "sign", (), read=listed, origin=origin)


def entry(name: str, content: bytes, changed: int = 0) -> Entry:
    return Entry(name, len(content), changed, hashlib.sha256(content).hexdigest(), 1)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "secret.txt").write_bytes(SECRET)
    (tmp_path / "docs" / "a.txt").write_bytes(b"Oil burns.")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "../vault/secret.txt",
        "/etc/hostname",
        "a.txt\0",
        "x/../../vault/secret.txt",
        "link.txt",
        "folder/secret.txt",
        "pipe",
        "zero",
        ".",
    ],
)
def test_names_that_lead_out_of_an_input_lead_nowhere(vault: Path, name: str) -> None:
    (vault / "docs" / "link.txt").symlink_to(vault / "vault" / "secret.txt")
    (vault / "docs" / "folder").symlink_to(vault / "vault")
    (vault / "docs" / "zero").symlink_to("/dev/zero")
    os.mkfifo(vault / "docs" / "pipe")
    content = records(vault / "index", [str(vault / "docs")], entry(name, SECRET))
    found = following.find_original(vault / "index", content, name)
    assert found.state in ("gone", "none")
    assert found.path is None
    with pytest.raises(ReadError):
        following.original_document(found)


def test_a_stranger_gets_only_what_he_knew(vault: Path) -> None:
    """His records name the vault itself; without the checksum of what is in it that leads to nothing."""
    guess = b"x" * len(SECRET)
    for changed in (0, (vault / "vault" / "secret.txt").stat().st_mtime_ns):
        content = records(vault / "index", ["/"], entry(str(vault / "vault" / "secret.txt").lstrip("/"), guess, changed))
        found = following.find_original(vault / "index", content, str(vault / "vault" / "secret.txt").lstrip("/"))
        with pytest.raises(ReadError, match=r"changed|not what was read"):
            following.original_document(found)


@pytest.mark.parametrize("inputs", [["docs"], "docs", 5, None, [7], ["https://a.example/"], []])
def test_inputs_that_are_no_places_of_this_machine_are_left_out(vault: Path, inputs: object) -> None:
    content = records(vault / "index", inputs, entry("a.txt", b"Oil burns."))
    assert following.find_original(vault / "index", content, "a.txt").state == "gone"


def test_a_file_is_the_same_by_its_content(vault: Path) -> None:
    content = records(vault / "index", [str(vault / "docs")], entry("a.txt", b"Oil burns."))
    same = following.find_original(vault / "index", content, "a.txt")
    assert (same.state, same.path) == ("same", str(vault / "docs" / "a.txt"))
    assert following.original_document(same).body == b"Oil burns."
    (vault / "docs" / "a.txt").write_bytes(b"Oil smoke.")
    assert following.find_original(vault / "index", content, "a.txt").state == "changed"
    with pytest.raises(ReadError, match="changed"):
        following.original_document(same)  # between looking and reading
    (vault / "docs" / "a.txt").unlink()
    assert following.find_original(vault / "index", content, "a.txt").state == "gone"


def test_pages_rows_and_unknown_names_have_no_file(vault: Path) -> None:
    page, table = entry("https://a.example/", b"x"), Entry(str(vault / "docs" / "a.txt"), table=True)
    content = records(vault / "index", [str(vault / "docs")], page, table)
    for name in (page.name, table.name, "b.txt"):
        assert following.find_original(vault / "index", content, name).state == "none"
