"""The docs, typed: every command and every block of Python in them is run, unless it needs what cannot be had here."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from tests.test_docs import ROOT, commands
from typer.testing import CliRunner

from wellread.cli.main import app
from wellread.plugins import everything, parse_spec

pytestmark = pytest.mark.slow

# What a command needs that is not on this machine, or that never ends. All others are run.
NEEDS = re.compile(
    r"""--model|https?://|wikipedia|newsapi|slack|searxng|wiki\.zim|embed\ wikipedia        # services, models, downloads
    |arxiv|openalex|pubmed|semanticscholar|crossref|zotero|stackexchange|github:|youtube|--source\ web
    |--embedder\ |--watch|\bserve\b|\bmcp\b|\bchat\b|strategy\ (?!quote|first)|import\ published  # or a person, or gigabytes
    |--ray\ |ray:|cluster\ (?:split|reshard|publish|deploy|status|scale|stop)  # tests/cluster types these
    |/etc/|>>|eval\ --effort|\bcompare\b|--replay\ FILE""",
    re.VERBOSE,
)
STATUS = {"capital of Mongolia": 3, "--diff": 1}  # what these show is that status
PYTHON_NEEDS = ("https://example.com/", "ollama:", "OpenAI(")  # the last is run beside a server in tests/server/test_docs.py
TITAN = "Titan was discovered by Christiaan Huygens in 1655. It is the largest of the moons of Saturn."


def pages() -> list[str]:
    return sorted({page for page, line in commands() if "command-line" not in page and not NEEDS.search(line)})


def blocks() -> list[tuple[str, int, str]]:
    """Page, number and text of every block of Python."""
    return [
        (page.relative_to(ROOT).as_posix(), number, code)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    ]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the docs speak of."""
    for folder, name, text in (
        ("notes", "titan.md", TITAN),
        ("notes", "caching.md", "On 3 May we decided to keep search results for an hour."),
        ("recipes", "bread.md", "The sourdough rests for twelve hours before it is baked."),
        (".", "today.md", "Today it rained on Titan."),
        (".", "thesis.bib", "@article{a, title={Rain}, abstract={The methane rain of Titan was discovered by Anna Berg.}}"),
        ("FOLDER", "corpus.jsonl", json.dumps({"id": "a", "title": "Titan", "text": TITAN})),
        (
            "FOLDER",
            "questions.jsonl",
            json.dumps({"id": "q", "question": "Who discovered Titan?", "answers": ["x"], "gold": ["a"]}),
        ),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(text + "\n", encoding="utf-8")
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress((tmp_path / "FOLDER" / "corpus.jsonl").read_bytes()))
    paper(tmp_path / "paper.pdf")
    monkeypatch.chdir(tmp_path)
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(display, raising=False)  # what is opened is printed
    return tmp_path


def paper(path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    figure.text(0.1, 0.5, TITAN)
    figure.savefig(path)


@pytest.mark.parametrize("page", pages())
def test_the_commands_of_a_page_work_in_their_order(page: str, desk: Path) -> None:
    for at, line in commands():
        if at != page or NEEDS.search(line):
            continue
        words = shlex.split(line, comments=True)[1:]
        words = words[: words.index("|")] if "|" in words else words
        done = CliRunner().invoke(app, words)
        expected = next((status for sign, status in STATUS.items() if sign in line), 0)
        assert done.exit_code == expected, f"{page}: {line}\n{done.output}\n{done.exception!r}"


@pytest.mark.parametrize(("page", "number", "code"), blocks(), ids=lambda value: Path(str(value)).stem[:20])
def test_the_python_of_a_page_works(page: str, number: int, code: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(sign in code for sign in PYTHON_NEEDS):
        code = "\n".join(re.findall(r"^(?:from|import) .*$", code, re.MULTILINE))  # what it names is there at least
    shown = io.StringIO()
    module = ModuleType("typed")
    monkeypatch.setitem(sys.modules, "typed", module)
    with contextlib.redirect_stdout(shown):
        exec(compile(code, f"{page}:{number}", "exec", dont_inherit=True), module.__dict__)
    text = (ROOT / page).read_text("utf-8")
    printed = re.match(r"```\n\n((?:    .*\n)+)", text[text.index(code) + len(code) :]) if code in text else None
    if printed:  # what the page says that it prints
        assert shown.getvalue() == re.sub(r"^    ", "", printed[1], flags=re.MULTILINE)


def test_commands_are_run() -> None:
    assert len([line for page, line in commands() if "command-line" not in page and not NEEDS.search(line)]) > 30


KINDS = {
    "--source": "sources",
    "--fallback": "sources",
    "--model": "models",
    "--embedder": "embedders",
    "--strategy": "strategies",
}


@pytest.mark.parametrize(("page", "line"), [(page, line) for page, line in commands() if NEEDS.search(line)])
def test_what_cannot_be_run_here_names_plugins_and_options_that_exist(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    known = {(plugin.kind, plugin.name): {one.name for one in plugin.parameters} for plugin in everything()}
    for flag, value in pairwise(words):
        if flag in KINDS and value not in ("none", "first") and not Path(value).suffix and "/" not in value.partition(":")[0]:
            spec = parse_spec(value)
            assert (KINDS[flag], spec.name) in known, f"{page}: {value}"
            own = (
                {"from", "to", "pageSize", "sortBy"} if spec.name == "newsapi" else set()
            )  # the service's own words are taken too
            assert set(spec.options) <= known[KINDS[flag], spec.name] | own, f"{page}: {value}"
