"""What was written by hand to train and measure with: read, placed in its passages, and made a set of the usual form."""

from __future__ import annotations

import gzip
from pathlib import Path

from training.evaluator.asked import Asked, runs
from training.evaluator.cut import cut, documents
from training.evaluator.held import located
from training.evaluator.written import rows, written

PASSAGE = "The lamp has two switches. Turn the left one to dim it. It is made in Ulm."
LINES = """
@ lamp:manual#0
? How do I make it less bright?
= 2
? Where does it come from?
= 3 "Ulm"
? Are there switches?
= 1 yes
! How do I change the bulb?
"""


def test_answers_are_marked_in_the_passage_that_was_named() -> None:
    told, short, yes, none = rows(written(LINES.splitlines()), {"lamp:manual#0": PASSAGE})
    (name, start, end), *_ = told["marks"]  # type: ignore[misc]
    assert (name, PASSAGE[start:end]) == ("lamp:manual#0", "Turn the left one to dim it.")
    assert short["answers"] == ["Ulm"]
    assert yes["yesno"] == "yes"
    assert none["impossible"]
    assert told["kind"] == "how-to"


def test_held_out_questions_are_found_by_their_checksums_alone() -> None:
    asked = Asked("lamp", "How do I make it less bright?", "", frozenset(runs("Turn the left one to dim it.")))
    (row,) = located([asked], {"lamp:manual#0": PASSAGE, "lamp:manual#1": "It has a plug and a long cable."})
    (name, start, end), *_ = row["marks"]  # type: ignore[misc]
    assert (name, PASSAGE[start:end]) == ("lamp:manual#0", "Turn the left one to dim it.")
    assert list(located([asked], {"lamp:manual#1": "It has a plug and a long cable."})) == []


def test_questions_on_passages_that_are_gone_are_left_out() -> None:
    assert list(rows(written(LINES.splitlines()), {})) == []


def test_a_package_is_cut_whatever_its_documents_are(tmp_path: Path) -> None:
    for name in ("usr/share/man/man1/lamp.1.gz", "usr/share/doc/lamp/README.gz"):
        path = tmp_path / "lamp" / name
        path.parent.mkdir(parents=True)
        text = "A lamp.\n\nIt has two switches.\n\nThe left one dims it.\n\nThe right one switches it off.\n"
        roff = f".TH LAMP 1\n.SH NAME\nlamp \\- a light\n.SH DESCRIPTION\n{text.replace(chr(10) * 2, chr(10) + '.PP' + chr(10))}"
        path.write_bytes(gzip.compress((roff if "man1" in name else text).encode()))
    (tmp_path / "lamp/usr/share/doc/lamp/copyright").write_text("All of it.")
    assert sorted(Path(name).name for name, _ in documents(tmp_path / "lamp")) == ["README", "lamp.1"]
    found = cut(tmp_path / "lamp")
    assert all(passage.id.startswith("lamp:usr/share/") for passage in found)
    assert "two switches" in " ".join(passage.text for passage in found)
