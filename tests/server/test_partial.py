"""An answer to a part of the question says what is missing at every door."""

from __future__ import annotations

from dataclasses import replace

from wellread.answer_json import AnswerJson
from wellread.citations.check import check
from wellread.cli import ask
from wellread.cli.compare import _words  # pyright: ignore[reportPrivateUsage]
from wellread.engine import Engine
from wellread.present import markdown, terminal
from wellread.present.sections import sections
from wellread.server import openai_format
from wellread.server.history import Record
from wellread.server.menu import Menu
from wellread.server.options import ServerOptions
from wellread.server.web.articles import article
from wellread.server.web.pages import listing
from wellread.settings import Settings
from wellread.types import Answer, Passage

PASSAGES = {1: Passage("p", "Rome Nights was directed by Anna Bell.", title="Rome Nights")}
TEXT = "Rome Nights was directed by Anna Bell. [1]"
PARTIAL = Answer(
    "Who made it?",
    TEXT,
    "partial",
    "guided",
    missing=("who produced it",),
    sentences=tuple(check(TEXT, PASSAGES)),
    passages=PASSAGES,
)


def test_json_and_markdown_tell_it() -> None:
    body = AnswerJson.of(PARTIAL)
    assert (body.outcome, body.missing) == ("partial", ["who produced it"])
    assert "**Missing:** who produced it" in markdown.markdown(body)  # MCP, and to copy
    assert openai_format.sources(body).startswith("\n\n**Missing:** who produced it")
    assert markdown.missing_line(sections(replace(body, outcome="answered"))) == ""


def test_the_terminal_tells_it() -> None:
    assert "Missing: who produced it" in list(terminal.lines(AnswerJson.of(PARTIAL)))
    assert "partial: missing: who produced it" in _words(PARTIAL)
    assert ask.EXIT["partial"] == 0


def test_the_page_and_the_history_tell_it() -> None:
    record = Record(
        id="r", thread="t", parent=None, question="Who made it?", strategy="guided", model=None, sources=("library",),
        state="done", created=0.0, finished=1.0, outcome="partial", answer=AnswerJson.of(PARTIAL),
    )  # fmt: skip
    page = str(article(record, (), "http://here.example/"))
    assert "answers a part of the question" in page
    assert "who produced it" in page
    assert "in part" in str(listing([[record]], {}, ""))


def test_a_run_that_failed_can_be_asked_again_without_its_model() -> None:
    record = Record(
        id="r", thread="t", parent=None, question="Who made it?", strategy="guided", model="ollama:x", sources=("library",),
        state="failed", created=0.0, finished=1.0, outcome="failed", answer=None,
    )  # fmt: skip
    menu = Menu(Engine(Settings(model="none")), ServerOptions())
    page = str(article(record, (), "http://here.example/", menu))
    assert "Ask without it" in page
    assert 'href="/settings"' in page
    assert '<input type="hidden" name="strategy" value="quote">' in page
    assert 'name="model"' not in page
    assert "Ask without it" not in str(article(replace(record, model=None), (), "http://here.example/", menu))
    shared = Menu(Engine(Settings(model="none")), ServerOptions(token="t" * 20))
    assert 'href="/settings"' not in str(article(record, (), "http://here.example/", shared))
