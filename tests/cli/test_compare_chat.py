"""`wellread compare` and `wellread chat`, with a language model that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.wire import openai
from tests.wire.server import WireServer, serving
from typer.testing import CliRunner, Result

from wellread.cli.main import app
from wellread.errors import UsageError

pytestmark = pytest.mark.slow

TITAN = "Titan was discovered by Christiaan Huygens on 25 March 1655. [1]"
QUESTION = "Who discovered Titan?"


def say(asked: dict[str, Any]) -> str:
    """A model that answers each recipe's prompts about Titan."""
    text = "\n".join(str(message.get("content")) for message in asked["messages"])
    if "Follow-up:" in text:
        return "When was Titan discovered?"
    if "You are a researcher" in text:
        return (
            f"<information>{TITAN}</information>"
            if "<item index" in text
            else "<search_query>Titan moon discovery</search_query>"
        )
    if "queries for a search service" in text:
        return '{"queries": ["Titan discovery", "Huygens"]}'
    if "Thought, Action, PAUSE" in text:
        return (
            f"Answer: {TITAN}"
            if "Observation: [1]" in text.partition("An example:")[2].partition("Danube")[2].partition("Question: Who")[2]
            else "Action: library: Titan discovery\nPAUSE"
        )
    if "You judge" in text:
        return '{"relevant": "yes"}'
    return '{"keep": [1, 2, 3]}' if "numbered strips" in text else TITAN


@pytest.fixture
def server() -> Iterator[WireServer]:
    with serving(openai.chat(say)) as running:
        yield running


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def spec(server: WireServer) -> str:
    return f"openai:m@{server.url}/v1"


def test_compare_runs_every_strategy_and_shows_one_table(server: WireServer) -> None:
    small = (
        "protocol=text",
        "wikipedia=none",
        "grader=llm",
        "results_per_query=4",
        "similarity_search_top_k_nodes=4",
        "top_k_nodes=2",
    )
    flags = [flag for pair in small for flag in ("--param", pair)]
    done = invoke("compare", QUESTION, "--model", spec(server), "--effort", "low", *flags)
    assert done.exit_code == 0, done.output
    for strategy in ("corrective", "digest", "fanout", "iterative", "quote", "react"):
        assert f"│ {strategy}" in done.stdout
    for heading in ("answer", "cited", "supported", "searches", "tokens", "seconds"):
        assert heading in done.stdout
    assert done.stdout.count("Huygens") >= 6


def test_compare_as_json_with_chosen_strategies(server: WireServer) -> None:
    done = invoke("compare", QUESTION, "-s", "quote", "-s", "iterative", "--model", spec(server), "-p", "protocol=text", "--json")
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert result["question"] == QUESTION
    assert [run["strategy"] for run in result["runs"]] == ["quote", "iterative"]
    assert all(run["outcome"] == "answered" for run in result["runs"])
    assert result["runs"][1]["usage"]["input_tokens"] > 0


@pytest.mark.parametrize("columns", [80, 120])
def test_compare_is_as_wide_as_the_terminal_or_as_columns_says(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = invoke("compare", QUESTION, "--model", "none").stdout
    assert {len(line) for line in done.splitlines()} == {columns}
    assert "│ searches " in done or columns > 100  # figures stand under the name where there is little room


def test_compare_without_a_model_and_without_an_answer() -> None:
    done = invoke("compare", QUESTION, "--json")
    assert [run["strategy"] for run in json.loads(done.stdout)["runs"]] == ["quote"]
    assert "no language model" in done.stderr
    assert invoke("compare", "What is the capital of Mongolia?").exit_code == 3


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("compare Who? -s quote -p nonsense=1", "none of quote has a parameter 'nonsense'"),
        ("compare Who? -s quote -s iterative --model none", "this needs a language model"),
        ("chat -s iterative --model none", "this needs a language model"),
        ("chat -s quote -p nonsense=1", "strategy quote has no parameter 'nonsense'"),
    ],
)
def test_what_cannot_be_is_told_before_the_first_answer(words: str, problem: str) -> None:
    done = invoke(*words.split(), stdin="Who?\n")
    assert isinstance(done.exception, UsageError)
    assert problem in str(done.exception)
    assert not done.output


def test_chat_rewrites_follow_ups_and_reuses_sources(server: WireServer, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    lines = f"{QUESTION}\nAnd when?\n/sources\n/what\n\n/quit\nnever asked\n"
    how = ("chat", "--strategy", "iterative", "--model", spec(server), "-p", "protocol=text", "--history", str(file))
    done = invoke(*how, stdin=lines)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("Christiaan Huygens on 25 March 1655") >= 2
    asked = [str(request.json["messages"]) for request in server.requests if request.method == "POST"]
    follow_up = next(text for text in asked if "Follow-up: And when?" in text)
    assert f"Question: {QUESTION}" in follow_up
    assert any("When was Titan discovered?" in text for text in asked)
    both = r"- a small encyclopaedia[^\\]*\\n- passages that earlier answers of this conversation were built on"
    assert [bool(re.search(both, text)) for text in asked if "What you can search" in text] == [False, False, True, True]
    assert "/sources" in done.stderr
    assert "[1] Titan" in done.stdout
    assert [json.loads(line)["question"] for line in file.read_text().splitlines()] == [QUESTION, "And when?"]

    done = invoke(*how, stdin="And where?\n/clear\n")
    asked = [str(request.json["messages"]) for request in server.requests if request.method == "POST"]
    assert "Question: And when?" in next(text for text in asked if "Follow-up: And where?" in text)
    assert not file.exists()


def test_chat_goes_on_after_a_question_that_fails(tmp_path: Path) -> None:
    done = invoke("chat", "--model", "none", stdin=f"{'a' * 20_001}\n{QUESTION}\n")
    assert done.exit_code == 0
    assert "the question is 20,001 characters long" in done.stderr
    assert "Huygens" in done.stdout
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no json\n")
    assert "no conversation" in str(invoke("chat", "--history", str(broken)).exception)
    os.mkfifo(tmp_path / "pipe")
    assert "no conversation" in str(invoke("chat", "--history", str(tmp_path / "pipe")).exception)


def test_the_first_words_reach_the_terminal_while_the_model_is_still_writing(tmp_path: Path) -> None:
    """A pseudo-terminal, because only there the answer is shown as it is written."""
    pty = pytest.importorskip("pty")
    slow = openai.said(*[piece for n in range(8) for piece in (f"Titan was discovered by Huygens {n} ", 0.25)])

    def answer(asked: dict[str, Any]) -> Any:
        text = str(asked["messages"])
        return slow if "from numbered material" in text else say(asked)

    with serving(openai.chat(answer)) as server:
        main, terminal = pty.openpty()
        command = [str(Path(sys.executable).parent / "wellread"), "ask", QUESTION, "-s", "iterative", "-p", "protocol=text"]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        process = subprocess.Popen(
            [*command, "--model", spec(server)], stdout=terminal, stderr=subprocess.DEVNULL, env=environment
        )
        os.close(terminal)
        seen, first = b"", 0.0
        try:
            while True:
                try:
                    piece = os.read(main, 4096)
                except OSError:
                    break
                if not piece:
                    break
                seen += piece
                if b"by Huygens 0" in seen and not first:
                    first = time.monotonic()
            process.wait(30)
        finally:
            process.kill()
            os.close(main)
    assert first
    assert time.monotonic() - first > 1.2, "the last words came long after the first"


def test_chat_without_a_model_understands_follow_ups_by_rules() -> None:
    talk = f"{QUESTION}\nWhen was he born?\nAnd where?\nDid she marry?\n"
    done = invoke("chat", "--model", "none", "--effort", "low", stdin=talk)
    assert done.exit_code == 0, done.output
    assert "Understood as: When was Christiaan Huygens born?" in done.stdout
    assert "14 April 1629" in done.stdout
    assert "Understood as: Where was Christiaan Huygens born?" in done.stdout
    assert "Who is meant by “she”?" in done.stdout


def test_a_refusal_shows_what_is_near_and_an_answer_how_sure_it_is() -> None:
    refused = invoke("ask", "What is the capital of Mongolia?", "--model", "none", "--effort", "low")
    assert refused.exit_code == 3
    assert "Nearest, may answer it:" in refused.stdout
    assert "To try: " in refused.stdout
    assert refused.stderr.startswith("Only the small encyclopaedia in the package was searched.")
    assert refused.stderr.count("\n") == 1  # a terminal breaks it where that is needed
    answered = invoke("ask", QUESTION, "--model", "none", "--effort", "low")
    assert " sure, 0." in answered.stdout
    body = json.loads(invoke("ask", "What is the capital of Mongolia?", "--model", "none", "--effort", "low", "--json").stdout)
    assert 1 <= len(body["nearest"]) <= 3
    assert all(near["text"] for near in body["nearest"])


STOPPED = """
import asyncio, os, signal, sys
from wellread.cli import chat, main

async def ask(talk, question, display):
    print("asked", question, flush=True)
    if question == "first":
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.2)
            print("left first", flush=True)
    asking.append(asyncio.create_task(later()))

async def later():
    await asyncio.sleep(0.2)
    print("went on", flush=True)
    os.kill(os.getpid(), signal.SIGINT)  # at the prompt, in the midst of this
    await asyncio.sleep(30)

asking = []

chat.Conversation.ask = ask
signal.signal(signal.SIGINT, signal.default_int_handler)  # which the tests may have been started without
sys.argv = ["wellread", "chat"]
main.main()
"""


def test_ctrl_c_ends_the_answer_and_not_the_conversation() -> None:
    """In a process of its own: what other tests load may have taken the signal."""
    command, typed = [sys.executable, "-c", STOPPED], "first\nsecond\n"
    done = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60, check=True)
    assert [line for line in done.stdout.splitlines() if line] == ["asked first", "left first", "asked second"]
    assert "stopped" in done.stderr


def test_what_an_answer_has_begun_goes_on_while_somebody_types() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STOPPED], stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write("second\n")
            process.stdin.flush()
            assert process.wait(20) == 130
        finally:
            process.kill()
        assert process.stdout.read().split("\n") == ["asked second", "", "went on", ""]


LISTENING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom wellread.cli.main import main\n"
ASKING = """
import asyncio
from wellread.cli import main, show

async def ask():
    with show.display() as display:
        print(await show.consent(display)("wikipedia", "Ada", "it is private"))

main.commands = lambda loaded: lambda words: asyncio.run(ask())
"""


@pytest.mark.parametrize(
    ("program", "prompt", "key", "status", "told"),
    [
        ("main()", b"? ", None, 130, b"\r\nwellread: stopped"),
        ("main()", b"? ", b"\x04", 0, b"\r\n"),
        (f"{ASKING}main.main()", b"[y/N]", None, 130, b"wellread: stopped"),
        (f"{ASKING}main.main()", b"[y/N]", b"yes\n", 0, b"True"),
        (f"{ASKING}main.main()", b"[y/N]", b"\n", 0, b"False"),
        (f"{ASKING}main.main()", b"[y/N]", b"\x04", 0, b"False"),
    ],
    ids=["ctrl-c", "ctrl-d", "ctrl-c where a query may leave", "yes", "no", "ctrl-d where a query may leave"],
)
def test_what_is_pressed_where_somebody_is_asked_is_heard_at_once(
    program: str, prompt: bytes, key: bytes | None, status: int, told: bytes
) -> None:
    """On a pseudo-terminal: only there somebody can press it."""
    main, terminal = pytest.importorskip("pty").openpty()
    command = [sys.executable, "-c", LISTENING + program, "chat", "--model", "none"]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, "COLUMNS": "200"})
    os.close(terminal)
    try:
        seen = b""
        while prompt not in seen:
            seen += os.read(main, 1024)
        time.sleep(1)  # what is pressed before the line is read, a moment after the prompt, is heard with it
        process.send_signal(signal.SIGINT) if key is None else os.write(main, key)
        assert process.wait(20) == status
        assert told in os.read(main, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(main)
