"""What a build says in the end, and what a list of results looks like."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from wellread.cli import show
from wellread.cli.feeds import by_reason, ticking
from wellread.events import documents_json
from wellread.index.inputs import files_under
from wellread.types import Hit, by_document

PICTURES = [f"file:///a/{n}.png: no text we can read" for n in range(209)]


def test_what_was_not_read_is_said_by_kind_and_reason() -> None:
    said = by_reason(
        ["file:///a/b.pdf: scanned pages without text: 2, 3", *PICTURES, "file:///a/x.pdf: locked", "file:///a/y.pdf: locked"]
    )
    assert said == [
        "209 .png files: no text we can read",
        "2 .pdf files: locked",
        "file:///a/b.pdf: scanned pages without text: 2, 3",
    ]


def test_all_of_it_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ticking(False, PICTURES, report=tmp_path / "report.txt"):
        pass
    assert capsys.readouterr().err.count("\n") == 1
    assert (tmp_path / "report.txt").read_text().splitlines() == PICTURES
    with ticking(False, PICTURES, verbose=True):
        pass
    assert capsys.readouterr().err.count("not read: ") == 209


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, asyncio.CancelledError])  # outside of the loop, and within
def test_who_stops_it_is_told_how_it_goes_on(stopped: type[BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(stopped), ticking(go_on="the same command goes on"):
        raise stopped
    assert capsys.readouterr().err == "the same command goes on\n"


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "notes", tmp_path / "secret"
    folder.mkdir()
    outside.mkdir()
    (outside / "key.txt").write_text("secret")
    (folder / "own.txt").write_text("mine")
    (folder / "inside.txt").symlink_to(folder / "own.txt")
    (folder / "key.txt").symlink_to(outside / "key.txt")
    (folder / "all").symlink_to(outside)
    (outside / "back").symlink_to(folder)  # a ring
    assert [path.name for path in files_under(folder)] == ["own.txt"]
    assert [path.name for path in files_under(folder, follow_links=True)] == ["key.txt", "inside.txt", "key.txt", "own.txt"]


HITS = [
    Hit("a#1", "Fill it.", "A", "file:///x/a.pdf", "index:i", document="a.pdf", heading="Oil", page=2, score=3.0),
    Hit("b#0", "Wait.", "B", "file:///x/b.txt", "index:i", document="b.txt", score=2.0),
    Hit("a#7", "Trim it.", "A", "file:///x/a.pdf", "index:i", document="a.pdf", heading="Wicks", page=9, score=1.0),
    Hit("https://w.example", "", "W", "https://w.example", "web", snippet="Words.", score=0.5),
]


def test_results_are_listed_by_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert [[hit.id for hit in group] for group in by_document(HITS)] == [["a#1", "a#7"], ["b#0"], ["https://w.example"]]
    assert [row["hits"] for row in documents_json(HITS)] == [["a#1", "a#7"], ["b#0"], ["https://w.example"]]
    for number, group in enumerate(by_document(HITS), 1):
        show.found_document(number, group)
    out = capsys.readouterr().out
    assert "1. A  (a.pdf, page 2, “Oil”)\n   Fill it.\n   · page 9, “Wicks”: Trim it.\n2. B  (b.txt)" in out
