"""`wellread open N`: what the last answer's numbers lead to, from a terminal."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.reading.test_pdf import pdf, prose

pytestmark = pytest.mark.slow
STORM = "The great storm of 1839 put out the light for two nights."


class Terminal:
    """Commands in one folder, with one state folder and programs of its own."""

    def __init__(self, root: Path) -> None:
        self.root, self.state, self.programs = root, root / "state", root / "programs"
        self.docs = root / "docs"
        for folder in (self.programs, self.docs):
            folder.mkdir()
        self.docs.joinpath("book.pdf").write_bytes(pdf(prose(780), [*prose(780), (50, 640, 10, "F", STORM)]))
        self.docs.joinpath("honey.html").write_text("<h1 id='jars'>Jars</h1><p>The cellar holds forty jars of honey.</p>")
        self.docs.joinpath("soup.txt").write_text("The soup was made of nettles and cream.")

    def program(self, name: str) -> Path:
        """A program that writes down what it was called with."""
        told = self.root / f"{name}.told"
        path = self.programs / name
        path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{told}"\n')
        path.chmod(0o755)
        return told

    def run(self, *arguments: str, display: bool = False, status: int = 0, typed: str = "") -> subprocess.CompletedProcess[str]:
        environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environ |= {
            "PATH": str(self.programs),
            "WELLREAD_STATE_DIR": str(self.state),
            "WELLREAD_CACHE_DIR": str(self.root / "cache"),
        }
        environ |= {"DISPLAY": ":9"} if display else {}
        program = "import sys; from wellread.cli.main import main; sys.argv[0] = 'wellread'; main()"
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=environ, capture_output=True, text=True, timeout=120, check=False, input=typed
        )
        assert done.returncode == status, done.stderr
        return done

    def search(self, words: str, source: str = "docs?meaning=no") -> None:
        self.run("search", words, "--source", f"files:{source}")


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def told(path: Path) -> list[str]:
    deadline = time.monotonic() + 10
    while not path.exists() or not path.read_text().endswith("\n"):
        assert time.monotonic() < deadline, "the program was never called"
        time.sleep(0.02)
    return path.read_text().splitlines()


def test_the_last_answer_of_a_chat_opens(terminal: Terminal) -> None:
    how = ("chat", "--source", "docs", "--model", "none", "--effort", "low")
    asked = terminal.run(*how, typed="What was the soup made of?\nHow many jars of honey does the cellar hold?\n")
    assert "soup.txt" in asked.stdout
    assert "«" not in asked.stdout
    assert "»The cellar holds forty jars of honey.«" in terminal.run("open", "1", "--print").stdout
    assert terminal.run("cite", "1", "--format", "bibtex").stdout.startswith("@misc{")
    assert "[1] honey.html" in terminal.run("cite").stdout
    assert "forty jars of honey" in terminal.run("cite", "--format", "footnotes").stdout
    assert "has no source 7" in terminal.run("cite", "7", status=2).stderr
    assert "must be one of" in terminal.run("cite", "-f", "word", status=2).stderr
    terminal.run(*how, "--no-cache", typed="What was the soup made of?\n")
    assert "forty jars" in terminal.run("open", "1", "--print").stdout, "kept before, and nothing since"


def test_an_answer_opens_at_the_page_of_its_pdf(terminal: Terminal) -> None:
    asked = terminal.run(
        "ask", "What put out the light for two nights?", "--source", "docs", "--model", "none", "--effort", "low"
    )
    assert "book.pdf, page 2" in asked.stdout
    evince = terminal.program("evince")
    done = terminal.run("open", "1", display=True)
    assert told(evince) == ["--page-index=2", str(terminal.docs / "book.pdf")]
    assert "book.pdf, page 2" in done.stderr
    assert done.stdout == ""


def test_without_a_display_the_passage_and_the_command_are_printed(terminal: Terminal) -> None:
    terminal.search("great storm")
    evince = terminal.program("evince")
    for arguments, display in ((("open", "1"), False), (("open", "1", "--print"), True)):
        shown = terminal.run(*arguments, display=display).stdout
        assert shown.startswith("book.pdf, page 2")
        assert STORM in shown
        assert shown.splitlines()[-1].endswith(f"evince --page-index=2 {terminal.docs / 'book.pdf'}")
    assert not evince.exists()


def test_a_browser_shows_the_words_of_a_page_and_a_page_of_a_pdf(terminal: Terminal) -> None:
    browser = terminal.program("x-www-browser")
    terminal.search("jars of honey")
    terminal.run("open", "1", display=True)
    assert told(browser) == [f"{(terminal.docs / 'honey.html').as_uri()}"]
    browser.unlink()
    terminal.search("great storm")
    terminal.run("open", "1", display=True)
    assert told(browser) == [f"{(terminal.docs / 'book.pdf').as_uri()}#page=2"]


def test_the_desktop_opens_other_files_and_addresses(terminal: Terminal) -> None:
    desktop = terminal.program("xdg-open")
    terminal.search("nettles")
    terminal.run("open", "1", display=True)
    assert told(desktop) == [str(terminal.docs / "soup.txt")]
    desktop.unlink()
    row = {
        "number": 1,
        "place": "Saturn (https://a.example/s)",
        "source": "wikipedia",
        "document": None,
        "page": None,
        "anchor": "",
    }
    web = row | {"url": "https://a.example/s", "quote": "It has 146 moons.", "text": "It has 146 moons."}
    (terminal.state / "last.json").write_text(json.dumps({"where": str(terminal.root), "shown": [web]}))
    terminal.run("open", "1", display=True)
    assert told(desktop) == ["https://a.example/s#:~:text=It%20has%20146%20moons."]


def test_what_was_shown_is_nobody_elses_business(terminal: Terminal) -> None:
    old = os.umask(0)
    try:
        terminal.search("nettles")
    finally:
        os.umask(old)
    path = terminal.state / "last.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["last.json"]
    before = path.read_bytes()
    terminal.run("search", "honey", "--source", "files:docs?meaning=no", "--no-cache")
    assert path.read_bytes() == before


def test_numbers_that_mean_nothing_are_wrong_usage(terminal: Terminal) -> None:
    assert "nothing has been asked yet" in terminal.run("open", "1", status=2).stderr
    terminal.search("nettles")
    assert "no source 7; it has: 1" in terminal.run("open", "7", status=2).stderr
    terminal.run("open", "0", status=2)
    terminal.run("open", "one", status=2)
    for damage in ("", "[]", '{"where": 1, "shown": [{}]}', '{"shown": 5}'):
        (terminal.state / "last.json").write_text(damage)
        assert "ask again" in terminal.run("open", "1", status=2).stderr


def test_a_file_that_is_gone_or_that_a_desktop_would_run_is_not_opened(terminal: Terminal) -> None:
    desktop = terminal.program("xdg-open")
    terminal.search("nettles")
    (terminal.docs / "soup.txt").unlink()
    assert "soup.txt" in terminal.run("open", "1", display=True, status=1).stderr
    (terminal.docs / "evil.desktop").write_text("[Desktop Entry] nettles Exec=true")
    terminal.run("index", "build", "docs", "--output", "idx", "--words-only")
    terminal.run("search", "nettles", "--source", "index:idx")
    shown = terminal.run("open", "1", display=True).stdout
    assert "evil.desktop" in shown
    time.sleep(0.3)
    assert not desktop.exists()
