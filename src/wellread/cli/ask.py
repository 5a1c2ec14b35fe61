"""`wellread ask`: one question, one cited answer."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

import typer

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.cli import opening, options, show
from wellread.cli.terminal import json_line, note
from wellread.core.codec import Json, loads
from wellread.errors import MissingExtra, ReplayMismatch, UsageError, WellreadError, os_errors
from wellread.present.sections import sections
from wellread.types import Answer, Outcome

if TYPE_CHECKING:
    from wellread.engine import Engine
    from wellread.parts import Parts

EXIT: dict[Outcome, int] = {"answered": 0, "partial": 0, "exhausted": 0, "unsure": 3, "failed": 1}
WIDER = (
    "Only the small encyclopaedia in the package was searched. Search more with --source wikipedia, "
    "--source files:FOLDER or --source index:FOLDER; all kinds: wellread plugins sources"
)
_REPORT_SECONDS = 1800.0
_READY = 10.0  # seconds after an answer on the terminal that go into the next one


@options.answering()
def ask(
    question: options.Question,
    chosen: options.Chosen,
    as_json: options.AsJson = False,
    as_events: options.AsEvents = False,
    shown: Literal["steps", "answer"] | None = options.flag(
        "--show", "steps|answer", "Leave each step on stderr, or the answer alone."
    ),
    verbose: bool = options.flag("--verbose", "", "The same as --show steps.", False),
    strict: bool = options.flag("--strict", "", "Exit status 3 for what is only probable, too.", False),
    output: Path | None = options.flag("--output -o", "FILE", "Write the answer to this file: .md, .html, .docx or .pdf."),
    trace: Path | None = options.flag("--trace", "FILE", "Write the run's events to this file, as JSON lines."),
    record: Path | None = options.flag("--record", "FILE", "Write everything the run gets from outside to this file."),
    replay: Path | None = options.flag("--replay", "FILE", "Answer from such a file, without network or model."),
) -> None:
    """Answer a question, with numbered sources that a program has checked.

    Works offline and without a key: with no language model it quotes from the library in the package.

    wellread ask "Who invented the telescope?"
    wellread ask "Who leads Peru?" --source wikipedia --model ollama:qwen3
    wellread ask "What did we decide on caching?" --source files:notes --json
    """
    steps = True if verbose else None if shown is None else shown == "steps"
    answer = _answered(options.asked(question), _How(chosen, record, replay, output, trace), as_json, as_events, steps)
    if answer.outcome == "unsure" and not answer.text and not (chosen.settings.sources or replay or as_json or as_events):
        note(WIDER)
    raise typer.Exit(status(answer, strict=strict))


@options.answering(without=("strategy", "fallback"), seconds=_REPORT_SECONDS, like=ask)
def research(chosen: options.Chosen, **flags: Any) -> None:
    """Write a cited report in sections, each sentence checked, and what could not be found.

    The same as ask --strategy research, with more time. One that was stopped goes on where it was when it is asked for again
    with the same file. Without a language model it is an annotated bibliography.

    wellread research "What is known about Titan?" -o report.html
    wellread research "How do heat pumps work?" -o report.pdf -p sections=6
    """
    report = replace(chosen, settings=replace(chosen.settings, strategy="research"), strategy="research")
    cast("Any", ask).__wrapped__(chosen=report, **flags)


def _answered(text: str, how: _How, as_json: bool, as_events: bool, steps: bool | None = None) -> Answer:
    """The answer, shown, or written to its file where it has words. What is kept of a report goes when that is whole."""
    made: Callable[[AnswerJson], bytes] | None = None
    if how.output is not None:
        from wellread.present.files import maker

        made = maker(how.output)
    quiet = made and not (as_json or as_events)
    display = show.Display(steps=steps) if quiet else show.display(as_json=as_json, as_events=as_events, steps=steps)

    def write(answer: Answer) -> None:
        if made and how.output and answer.text:
            how.output.write_bytes(made(AnswerJson.of(answer)))

    answer = asyncio.run(_ask(text, how, display, write))
    if how.chosen.settings.cache:
        opening.keep(opening.cited(answer), answer.text)
    if made:
        parts = sections(AnswerJson.of(answer))
        note(f"{how.output}: {parts.legend or parts.checked}" if answer.text else f"nothing was written: {answer.reason}")
        for one in parts.notes:
            note(f"Note: {one}")
    if how.part and (left := unwritten(how.kept())):
        note(f"{events.counted(left, 'section is', 'sections are')} not written; the same command goes on with {how.part}")
    elif how.part:
        how.part.unlink(missing_ok=True)
    return answer


def status(answer: Answer, *, strict: bool = False) -> int:
    """The exit status that an answer deserves; a limit that left no words has given none."""
    if answer.probable and not strict:
        return 0
    return EXIT["unsure"] if answer.outcome == "exhausted" and not answer.text else EXIT[answer.outcome]


def unwritten(seen: Sequence[events.Event]) -> int:
    """How many sections of a report are not."""
    planned = [len(one.sections) for one in seen if isinstance(one, events.Outlined)]
    done = {one.number for one in seen if isinstance(one, events.Section) and one.state == "written"}
    return planned[-1] - len(done) if planned else 0


@dataclass(frozen=True, slots=True)
class _How:
    chosen: options.Chosen
    record: Path | None
    replay: Path | None
    output: Path | None = None
    trace: Path | None = None

    @property
    def part(self) -> Path | None:
        """Path of the partial report that is kept until it is finished."""
        wanted = self.output and not self.replay and self.chosen.settings.strategy == "research"
        return Path(f"{self.output}.part") if wanted else None

    def kept(self) -> list[events.Event]:
        """The events of an unfinished report, without lines of which a crash has left a part."""
        found: list[events.Event] = []
        for line in self.part.read_text(encoding="utf-8").splitlines() if self.part and self.part.is_file() else ():
            with suppress(ValueError, WellreadError):
                found += [one for one in (events.from_json(loads(Json, line)),) if one]
        return found

    def earlier(self, text: str) -> list[events.Event]:
        """The events of the same report, where it was stopped before; what is kept of another one goes."""
        found = self.kept()
        if any(isinstance(one, events.Started) and one.question == " ".join(text.split()) for one in found[:1]):
            note(f"going on with {self.part}: {events.counted(unwritten(found), 'section is', 'sections are')} not written")
            return found
        if self.part:
            self.part.unlink(missing_ok=True)
        return []

    def __post_init__(self) -> None:
        if self.record is not None and self.replay is not None:
            raise UsageError("--record and --replay exclude each other")

    def stream(self, engine: Engine, text: str) -> AsyncGenerator[events.Event, None]:
        if self.replay is not None:
            from wellread.replay.runs import replayed

            return replayed(self.replay, question=text, strategy=self.chosen.strategy, params=self.chosen.params)
        if self.record is not None:
            from wellread.replay.runs import recorded

            return recorded(engine, self.record, text, params=self.chosen.params)
        return engine.stream(text, params=self.chosen.params)


async def _ask(text: str, how: _How, display: show.Display, write: Callable[[Answer], None]) -> Answer:
    from wellread.engine import Engine
    from wellread.run import Environment

    outside = Environment(consent=show.consent(display), earlier=how.earlier(text))
    seen: list[events.Event] = []
    with closing(_Trace(how.trace)) as trace, closing(_Trace(how.part, "a")) as kept:
        async with Engine(how.chosen.settings, outside=outside) as engine:
            answer = await show.followed(how.stream(engine, text), display, seen.append, trace.write, kept.write)
            if answer is not None:  # before a local model is let go, which may take minutes on a busy machine
                await asyncio.to_thread(write, answer)
            settings = how.chosen.settings
            if sys.stdout.isatty() and sys.stderr.isatty() and settings.cache and settings.effort != "low":
                await _caught_up(engine.kit)
    if any(name.startswith("OTEL_EXPORTER") for name in os.environ):
        from wellread.trace import timeline

        try:
            timeline.export(seen)
        except MissingExtra as problem:  # a collector that is set for all programs must not cost an answer
            note(str(problem))
    if trace.problem is not None:
        raise WellreadError(f"{how.trace}: the trace cannot be written: {trace.problem.strerror}")
    if answer is None:
        raise ReplayMismatch("the recording ends before its answer: the run was left")
    return answer


async def _caught_up(kit: Parts) -> None:
    """Make ready for the next question while the answer is read. Whoever stops that has lost nothing."""
    from wellread.cli.feeds import Ticker

    ticker = Ticker()

    def progress(step: str, done: int, total: int | None) -> None:
        nonlocal told
        if not told and done != total:
            told = True
            note(f"Up to {_READY:.0f} s more to search by meaning the next time; Ctrl-C ends that, and what was made stays.")
        ticker(step, done, total)

    told = False
    try:
        await kit.catch_up(_READY, progress)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
    finally:
        ticker.end()


class _Trace:
    """Events as JSON lines, where there is a path. A disk that is full must not cost the answer: what went wrong is kept until
    the run is over."""

    def __init__(self, path: Path | None, mode: Literal["w", "a"] = "w") -> None:
        self.problem: OSError | None = None
        self._file: TextIO | None = None
        if path is not None:
            with os_errors(UsageError, f"{path}: the trace cannot be written"):
                self._file = path.open(mode, encoding="utf-8")

    def write(self, event: events.Event) -> None:
        if self._file is not None and self.problem is None:
            try:
                print(json_line(events.to_json(event)), file=self._file, flush=True)
            except OSError as problem:
                self.problem = problem

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # it has been said before
                self._file.close()
