"""`wellread ask`, `search`, `plugins`: the contract a script relies on."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from wellread.cli import ask
from wellread.cli.main import app
from wellread.index import kept
from wellread.parts import Parts
from wellread.settings import Settings
from wellread.version import __version__

pytestmark = pytest.mark.slow

SATURN = "Which is the largest moon of Saturn, and who discovered it?"


def wellread(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command as a user types it, in a process of its own."""
    command = [str(Path(sys.executable).parent / "wellread"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=120, check=False)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_the_package_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wellread", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"wellread {__version__}\n")


def test_json_is_one_object_and_nothing_else() -> None:
    done = wellread("ask", SATURN, "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["outcome"] == "answered"
    assert answer["strategy"] == "quote"
    assert "Huygens" in answer["answer"]
    numbers = {citation["number"] for citation in answer["citations"]}
    assert {n for sentence in answer["sentences"] for n in sentence["citations"]} == numbers
    assert all(sentence["supported"] for sentence in answer["sentences"])
    assert answer["usage"]["searches"] >= 1


def test_on_a_pipe_it_is_plain_text_with_sources() -> None:
    done = wellread("ask", "-", stdin="When was the Eiffel Tower opened?\n")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\nSources\n[1] " in done.stdout
    opened = done.stdout.splitlines()[2] if done.stdout.splitlines()[1] == "" else done.stdout.splitlines()[0]
    assert done.stdout.count(opened.removesuffix(" [1]")) == 1  # a quote is not said again among the sources


def test_a_question_needs_no_quotes() -> None:
    quoted, bare = wellread("ask", "Who wrote Hamlet", "--json"), wellread("ask", "Who", "wrote", "Hamlet", "--json")
    assert json.loads(bare.stdout)["question"] == json.loads(quoted.stdout)["question"] == "Who wrote Hamlet"
    assert json.loads(bare.stdout)["short"] == "William Shakespeare"
    assert json.loads(wellread("search", "moons", "of", "Jupiter", "--json").stdout)["query"] == "moons of Jupiter"


@pytest.mark.parametrize("command", [(), ("ask",), ("index", "search"), ("index",), ("read",), ("completion",)])
def test_help_shows_what_is_typed_and_no_types(command: tuple[str, ...]) -> None:
    shown = invoke(*command, "--help").output
    assert "--help" in shown
    assert not [sign for sign in ("<bool>", "<str>", "<path>", "{") if sign in shown]


def test_no_answer_is_said_and_is_exit_status_3() -> None:
    done = wellread("ask", "What is the capital of Mongolia?")
    assert done.returncode == 3
    assert done.stdout.startswith("No answer found: ")


def test_events_are_json_lines_that_end_with_answered() -> None:
    done = wellread("ask", "Who wrote Hamlet?", "--events", "--effort", "low")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["event"] == "started"
    assert lines[-1]["event"] == "answered"
    assert {"searching", "searched"} <= {line["event"] for line in lines}


def test_a_trace_holds_the_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert invoke("ask", "Who wrote Hamlet?", "--trace", str(path), "--effort", "low").exit_code == 0
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["event"] == "answered"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ask", ""), "the question is empty"),
        (("ask", "\x07\x1b"), "the question is empty"),
        (("ask", "x" * 100_000), "100,000 characters"),
        (("ask", "q", "--strategy", "quot"), "did you mean quote"),
        (("ask", "q", "--strategy", "iterative"), "needs a language model"),
        (("ask", "q", "--source", "wikipeda"), "did you mean wikipedia"),
        (("ask", "q", "--source", "index:"), "index needs the folder"),
        (("ask", "q", "--param", "results"), "write name=value"),
        (("ask", "q", "--param", "result=3"), "did you mean results"),
        (("ask", "q", "--param", "results=many"), "whole number"),
        (("ask", "q", "--effort", "huge"), "one of low, normal, high"),
        (("ask", "q", "--no-such-flag"), "No such option"),
        (("search", ""), "the query is empty"),
        (("read", " "), "nothing to read"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_status_2(arguments: tuple[str, ...], words: str) -> None:
    done = wellread(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_broken_settings_file_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text("strategy = ", encoding="utf-8")
    monkeypatch.setenv("WELLREAD_CONFIG", str(path))
    done = wellread("ask", "q")
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


def test_an_index_that_is_not_there_has_failed(tmp_path: Path) -> None:
    done = wellread("ask", "q", "--source", f"index:{tmp_path / 'nowhere'}")
    assert done.returncode in (1, 2)
    assert "nowhere" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_search_lists_and_prints_json() -> None:
    plain = wellread("search", "largest moon of Saturn", "--limit", "2")
    assert plain.returncode == 0
    assert plain.stdout.startswith("1. ")
    assert max(map(len, plain.stdout.splitlines())) <= 80
    found = json.loads(wellread("search", "largest moon of Saturn", "--json", "--limit", "3").stdout)
    assert found["query"] == "largest moon of Saturn"
    assert len(found["hits"]) == 3
    always = {"id", "title", "url", "text", "snippet", "published", "score", "source"}
    assert set(found["hits"][0]) == always | {"document", "heading", "page", "anchor", "place"}


def test_plugins_fit_the_terminal_and_show_parameters() -> None:
    done = invoke("plugins")
    assert done.exit_code == 0
    assert "max_searches=5 (int" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    missing = invoke("plugins", "qoute")
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert "nothing is called 'qoute' (did you mean quote?)" in missing.stderr
    assert invoke("plugins", "strategy").stdout == invoke("plugins", "strategies").stdout != ""
    rows = json.loads(invoke("plugins", "quote", "--json").stdout)
    assert rows[0]["name"] == "quote"


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys, contextlib, io\n"
        "from wellread.cli.main import main\n"
        "sys.argv = ['wellread', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()\n"
        "print([m for m in ('asyncio', 'msgspec', 'numpy', 'wellread.types', 'wellread.settings', 'wellread.cli.ask')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_quote_loads_no_model_library() -> None:
    program = (
        "import sys, wellread\n"
        "wellread.ask('Who wrote Hamlet?', effort='low')\n"
        "print([m for m in ('pydantic_ai', 'fastapi', 'faiss', 'pyarrow', 'trafilatura', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_quick_answer_imports_only_what_it_needs() -> None:
    """Each of these costs a cold start; `-X importtime` says what came in, and by whom."""
    command = [sys.executable, "-X", "importtime", "-m", "wellread", "ask", "Who wrote Hamlet?", "--effort", "low"]
    done = subprocess.run([*command, "--strategy", "quote"], capture_output=True, text=True, timeout=60, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    needless = {"pydantic", "rich", "httpx2", "numpy.ma", "wellread.ranking.evaluator", "wellread.strategies.compose"}
    needless.add("wellread.cli.index")
    assert not loaded & needless
    assert not [name for name in loaded if name.startswith("wellread.reading.")]


def test_every_command_explains_itself() -> None:
    for command in app.registered_commands:
        done = invoke(command.name or "", "--help")
        assert done.exit_code == 0, command.name
        assert "Usage" in done.stdout


def test_an_empty_folder_is_not_blamed_on_the_words(tmp_path: Path) -> None:
    told = invoke("ask", "Who wrote Hamlet?", "--source", str(tmp_path), "--effort", "low").output
    assert "there is no file to read" in told
    assert "To try: another source." in told


def test_on_a_terminal_the_next_question_is_made_ready(tmp_path: Path) -> None:
    (folder := tmp_path / "notes").mkdir()
    for number in range(40):
        (folder / f"n{number}.md").write_text(f"# Room {number}\n\nThe kettle of room {number} whistles at {number} past ten.")
    asked = ["ask", "When does the kettle of room 7 whistle?", "--source", str(folder)]
    environ = {**os.environ, "WELLREAD_CACHE_DIR": str(tmp_path / "cache")}
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(str(Path(sys.executable).parent / "wellread"), ["wellread", *asked], environ)
    shown = b""
    with suppress(OSError):  # how Linux says that the other end was closed
        while piece := os.read(terminal, 4096):
            shown += piece
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"Ctrl-C ends that" in shown.partition(b"7 past ten")[2]
    (one,) = kept.everything(environ)
    assert (one.passages, one.vectors) == (40, 40)


@pytest.mark.anyio
async def test_who_stops_what_comes_after_the_answer_has_lost_nothing() -> None:
    class Slow(Parts):
        async def catch_up(self, seconds: float, progress: Callable[[str, int, int | None], None]) -> None:
            progress("vectors", 0, 60)
            await asyncio.sleep(60)

    task = asyncio.create_task(ask._caught_up(Slow(Settings())))
    await asyncio.sleep(0.05)
    task.cancel()
    await task
    assert not task.cancelled()
