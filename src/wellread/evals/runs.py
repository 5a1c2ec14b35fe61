"""Evaluation runs, a grid of strategies and parameters over questions: in parallel, resumable, on tape.

Each cell keeps its results in a file of JSON lines, one line a question, written as soon as it is known.
A run that was killed goes on where it was; the same command does that by itself. A finished cell is run
anew unless `resume` is asked for. Runs with a language model are recorded beside it and replayed
when nothing has changed, so that they cost nothing the second time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from wellread import events, plugins
from wellread.core import codec
from wellread.core.private_files import cache_folder
from wellread.engine import Engine
from wellread.errors import BadOutput, DamagedFile, IndexFault, ReplayMismatch, UsageError
from wellread.evals.data import Data, Question
from wellread.evals.results import Result, Watch, ranked
from wellread.index import manifest
from wellread.index.build import BuildOptions, build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.progress import Progress
from wellread.parts import Parts
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.replay.runs import recorded, replayed
from wellread.settings import Settings
from wellread.text.markers import strip_markers
from wellread.types import Answer, Completion, Message, Passage, Prompt

Told = Callable[[str, int, int], None]
Judge = Callable[[Question, Answer], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy with its parameters; `retrieval` searches and nothing more."""

    strategy: str
    params: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def name(self) -> str:
        given = " ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.strategy} {given}".strip()


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run."""

    folder: Path
    parallel: int = 4
    resume: bool = False
    record: bool | None = None  # None: only what uses a language model


async def run_cell(
    data: Data, cell: Cell, settings: Settings, plan: Plan, told: Told, judge: Judge | None = None
) -> list[Result]:
    """The results of one cell, in the order of the questions."""
    path = plan.folder / f"{digest(data, cell, settings)}.jsonl"
    known = _known(path, plan.resume)
    waiting = [question for question in data.questions if question.id not in known]
    plan.folder.mkdir(parents=True, exist_ok=True)
    done = len(known)
    told(cell.name, done, len(data.questions))
    slots = asyncio.Semaphore(plan.parallel)

    async def one(question: Question) -> Result:
        async with slots:
            return await _one(engine, cell, question, plan, judge)

    async with Engine(settings) as engine:
        running = [asyncio.create_task(one(question)) for question in waiting]
        try:
            with path.open("a", encoding="utf-8") as file:
                for task in asyncio.as_completed(running):
                    result = await task
                    known[result.id] = result
                    print(codec.dumps(result), file=file, flush=True)
                    done += 1
                    told(cell.name, done, len(data.questions))
                print(json.dumps({"done": len(data.questions)}), file=file)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    return [known[question.id] for question in data.questions]


async def _one(engine: Engine, cell: Cell, question: Question, plan: Plan, judge: Judge | None) -> Result:
    if cell.strategy == "retrieval":
        return await _retrieval(engine, question)
    watch = Watch()
    async with aclosing(_events(engine, cell, question, plan)) as stream:
        async for event in stream:
            watch.event(event)
    result = watch.result(question)
    if judge is None or watch.answer is None:
        return result
    return replace(result, scores={**result.scores, "judged": float(await judge(question, watch.answer))})


async def _retrieval(engine: Engine, question: Question) -> Result:
    begun = engine.outside.clock()
    hits = await engine.search(question.text, limit=20)
    ids = tuple(dict.fromkeys(hit.id for hit in hits))
    scores = {**ranked(question, ids), "seconds": round(engine.outside.clock() - begun, 4), "searches": 1.0}
    return Result(question.id, question.weight, scores, question.kind, found=ids)


async def _events(engine: Engine, cell: Cell, question: Question, plan: Plan) -> AsyncGenerator[events.Event, None]:
    """A replay where there is a recording that still holds, else a run."""
    if not (plan.record if plan.record is not None else needs_model(cell.strategy)):
        async for event in engine.stream(question.text, strategy=cell.strategy, params=cell.params):
            yield event
        return
    name = json.dumps([question.text, cell.strategy, dict(cell.params), _told(engine.settings)], default=str)
    path = plan.folder / "recordings" / f"{sha256(name.encode()).hexdigest()[:24]}.jsonl.gz"
    if path.exists():
        try:
            again = [event async for event in replayed(path)]
        except (ReplayMismatch, DamagedFile):
            again = []
        if again and isinstance(again[-1], events.Answered):
            for event in again:
                yield event
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"unfinished-{path.name}")
    async for event in recorded(engine, unfinished, question.text, strategy=cell.strategy, params=cell.params):
        yield event
    unfinished.replace(path)


def needs_model(strategy: str) -> bool:
    """Whether a strategy asks a language model."""
    return strategy != "retrieval" and bool(getattr(plugins.load("strategies", strategy), "needs_model", True))


def digest(data: Data, cell: Cell, settings: Settings) -> str:
    """A name for what is measured: the questions, the cell, the settings and the program itself."""
    parts = [data.fingerprint, cell.strategy, dict(cell.params), _told(settings), _program()]
    return sha256(json.dumps(parts, default=str).encode()).hexdigest()[:24]


def _told(settings: Settings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name not in ("server", "strategy", "keys")}


@cache
def _program() -> str:
    """Changes whenever a file of the program does: old results must not pass for new ones."""
    root = Path(__file__).parents[1]
    stats = [(str(p.relative_to(root)), p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(root.rglob("*.py"))]
    stats += [(p.name, p.stat().st_size, 0) for p in sorted((root / "prompts").glob("*.md"))]
    return sha256(json.dumps(stats).encode()).hexdigest()


def _known(path: Path, resume: bool) -> dict[str, Result]:
    """Results of an unfinished run, or with `resume` of any run."""
    if not path.exists():
        return {}
    found: dict[str, Result] = {}
    done = False
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):  # an answer may hold other ends of lines
        done = done or line.startswith('{"done"')
        with suppress(ValueError):  # killed while writing it: the question is asked again
            result = codec.loads(Result, line)
            found[result.id] = result
    if done and not resume:
        os.replace(path, path.with_suffix(".previous"))
        return {}
    path.write_text("".join(f"{codec.dumps(one)}\n" for one in found.values()), encoding="utf-8")  # without a broken line
    return found


_VERDICT = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


class ModelJudge:
    """Yes is 1, no is 0. Silence is right where there is no answer, and is not shown to the model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def __call__(self, question: Question, answer: Answer) -> float:
        if answer.outcome in ("unsure", "failed") or not question.answers:
            return float(answer.outcome == "unsure" and not question.answers)
        text = render(
            "judge",
            question=question.text,
            accepted="\n".join(f"- {one}" for one in question.answers),
            answer=f"{answer.short or ''}\n{strip_markers(answer.text)}".strip(),
        )
        async for item in self._model.stream(Prompt((Message("user", text),), max_tokens=200)):
            if isinstance(item, Completion):
                if found := _VERDICT.findall(item.text):
                    return float(found[-1].lower() == "yes")
                raise BadOutput(self._model.name, f"the judge said neither yes nor no: {item.text[:80]!r}")
        raise BadOutput(self._model.name, "the judge said nothing")


_MARK = "eval "


async def index_of(data: Data, folder: Path | None, settings: Settings, progress: Progress) -> str:
    """The source to search: the data's index, made now if it is not there, or the library."""
    if data.corpus is None:
        return "library"
    origin = f"{_MARK}{data.name} {_fingerprint(data.corpus())}"
    where = folder or cache_folder("evals") / origin.replace(" ", "-")
    try:
        found = manifest.load(where)
    except IndexFault:
        found = None
    if found is None or not found.finished:
        corpus = data.corpus
        async with aclosing(Parts(settings)) as kit:
            feed = EmbeddingFeed(lambda: streamed(corpus()), kit.embedder(), origin)
            await build(where, feed, BuildOptions(resume=True), progress)
    elif (made_from := str(found.origin.get("inputs", ""))).startswith(_MARK) and made_from != origin:
        raise UsageError(f"{where} is the index of another corpus ({made_from.removeprefix(_MARK)}); name another folder")
    return f"index:{where}"


def _fingerprint(corpus: Iterable[Passage]) -> str:
    total = sha256()
    for passage in corpus:
        total.update(f"{passage.id}\n{passage.title}\n{passage.text}\n".encode("utf-8", "surrogatepass"))
    return total.hexdigest()[:16]
