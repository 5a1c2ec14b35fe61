"""`wellread chat`: questions and follow-up questions."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from wellread.cli import opening, options, show
from wellread.cli.terminal import note, say
from wellread.core import codec, safe_files
from wellread.errors import UsageError, WellreadError, os_errors
from wellread.text.places import place
from wellread.types import Answer

if TYPE_CHECKING:
    from wellread.engine import Engine
    from wellread.strategies.earlier import Earlier

_MOST = 64 * 1024 * 1024  # bytes of a conversation
_HELP = "Ask a question, or: /sources  what the last answer rests on · /clear  start anew · /quit"


@options.answering()
def chat(
    chosen: options.Chosen,
    history: Path | None = options.flag("--history", "FILE", "Keep the conversation in this file, and go on with it."),
) -> None:
    """Ask one question after another. A follow-up is made to stand alone before it is searched.

    Sources of earlier answers stay within reach. Limits hold for each question. Ctrl-C ends an answer,
    /quit or Ctrl-D the conversation.

    wellread chat
    wellread chat --model ollama:qwen3 --source wikipedia --history notes.jsonl
    """
    talk, prompt = Conversation(chosen.settings, chosen.params, history), "? " if sys.stdin.isatty() else ""
    with _beside() as loop:
        try:
            _run(talk.engine.check(params=chosen.params), loop)
            if prompt:
                with suppress(ImportError):
                    importlib.import_module("readline")  # line editing in input()
                note(_HELP)
            for line in filter(None, _lines(prompt)):
                _turn(talk, line, loop)
        finally:
            _run(talk.engine.aclose(), loop)


class Conversation:
    """Turns of a conversation so far, and the passages they rest on."""

    def __init__(self, settings: options.Settings, params: dict[str, object], file: Path | None = None) -> None:
        from wellread.engine import Engine
        from wellread.strategies.earlier import Earlier

        self.engine: Engine = Engine(settings)
        self.params = params
        self.file = file
        self.turns: list[tuple[str, str]] = _read(file)
        self.earlier: Earlier = Earlier()
        self.last: Answer | None = None

    async def ask(self, question: str, display: show.Display) -> Answer:
        """Answer a question in the light of the earlier ones."""
        from wellread.run import Environment

        settings, outside = self.engine.settings, Environment(consent=show.consent(display))
        engine = self.engine.changed(settings, also=[self.earlier]) if self.earlier.kept else self.engine
        stream = engine.stream(question, params=self.params, history=self.turns, outside=outside)
        answer = await show.followed(stream, display)
        assert answer is not None
        self.last = answer
        if settings.cache:
            opening.keep(opening.cited(answer), answer.text)
        self.earlier.remember(answer)
        if answer.told:
            self.turns.append((answer.question, answer.told))
        if answer.told and self.file is not None:
            _append(self.file, codec.dumps({"question": answer.question, "answer": answer.told}) + "\n")
        return answer

    def clear(self) -> None:
        self.turns.clear()
        self.earlier.kept.clear()
        self.last = None
        if self.file is not None:
            self.file.unlink(missing_ok=True)


def _lines(prompt: str) -> Iterator[str]:
    try:
        while (line := input(prompt).strip()) != "/quit":
            yield line
    except (EOFError, KeyboardInterrupt) as left:
        if prompt:
            note("")  # what comes next has a line of its own
        if isinstance(left, KeyboardInterrupt):
            raise


@contextmanager
def _beside() -> Generator[asyncio.AbstractEventLoop]:
    """An event loop in a thread of its own: what is done while nobody asks is done while somebody types."""
    with asyncio.Runner() as runner, ThreadPoolExecutor(1) as thread:  # tasks that are left end with the runner
        thread.submit((loop := runner.get_loop()).run_forever)
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(loop.stop)


def _run(job: Coroutine[object, object, object], loop: asyncio.AbstractEventLoop) -> None:
    """To its end; Ctrl-C ends it, and nothing else."""
    tasks: list[asyncio.Task[object]] = []
    ended = Event()

    def begin() -> None:
        tasks.append(loop.create_task(job))
        tasks[0].add_done_callback(lambda _: ended.set())

    try:
        loop.call_soon_threadsafe(begin)
        ended.wait()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(lambda: tasks[0].cancel())
        ended.wait()
        raise
    tasks[0].result()


def _turn(talk: Conversation, line: str, loop: asyncio.AbstractEventLoop) -> None:
    if line == "/clear":
        talk.clear()
    elif line == "/sources":
        for number, passage in talk.last.passages.items() if talk.last else ():
            say(f"[{number}] {place(passage)}")
    elif line.startswith("/"):
        note(_HELP)
    else:
        try:
            _run(talk.ask(line, show.display()), loop)
        except KeyboardInterrupt:
            note("stopped; /quit or Ctrl-D ends the conversation")
        except WellreadError as problem:  # one question that fails does not end the conversation
            note(f"wellread: {problem}")
        say("")


def _append(file: Path, text: str, error: type[WellreadError] = WellreadError) -> None:
    with os_errors(error, f"{file}: the conversation cannot be kept"), file.open("a", encoding="utf-8") as out:
        out.write(text)


def _read(file: Path | None) -> list[tuple[str, str]]:
    if file is None:
        return []
    if not file.exists():
        _append(file, "", UsageError)  # a wrong path is told before the first question, not after its answer
        return []
    try:
        kept = safe_files.content(file, _MOST).decode()
        rows = [codec.loads(dict[str, str], line) for line in kept.splitlines() if line.strip()]
        return [(row["question"], row["answer"]) for row in rows]
    except (OSError, ValueError, KeyError):
        raise UsageError(f"{file} is no conversation that wellread has written") from None
