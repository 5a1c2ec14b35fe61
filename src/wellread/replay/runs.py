"""Runs on tape: `recorded` runs an engine and writes the file, `replayed` runs the file again.

async for event in recorded(engine, path, "Who invented the telescope?"): …
async for event in replayed(path): …        the same events, bit for bit, or ReplayMismatch
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from wellread import events
from wellread.codec import brief
from wellread.engine import Engine, clean_question
from wellread.errors import DamagedFile, ReplayMismatch, UsageError
from wellread.parameters import fill
from wellread.parts import Parts
from wellread.replay.play import Player
from wellread.replay.record import Recorder
from wellread.replay.recording import Recording, check_header, load
from wellread.settings import Settings

T = TypeVar("T")
_NOT_RECORDED = ("server", "cache", "allow_hosts", "ignore_robots")  # of no use to a replay, or not for others to read


async def recorded(
    engine: Engine,
    path: Path,
    question: str,
    *,
    strategy: str | None = None,
    params: Mapping[str, object] | None = None,
    history: Sequence[tuple[str, str]] = (),
    environ: Mapping[str, str] = os.environ,
) -> AsyncGenerator[events.Event, None]:
    """The events of one run, while it is written to `path`."""
    header: dict[str, Any] = {
        "question": clean_question(question),
        "strategy": engine.strategy(strategy),
        "model": engine.kit.model_spec(),
        "params": brief(params or {}),
        "history": [list(turn) for turn in history],
        "settings": {f.name: brief(getattr(engine.settings, f.name)) for f in fields(Settings) if f.name not in _NOT_RECORDED},
    }
    with Recorder(path, header, engine.outside, environ) as tape:
        run = engine.stream(question, strategy=strategy, params=params, history=history, outside=tape.outside())
        async with aclosing(run) as stream:
            async for event in stream:
                tape.event(event)
                yield event


async def replayed(
    path: Path | Recording,
    *,
    question: str | None = None,
    strategy: str | None = None,
    params: Mapping[str, object] | None = None,
    patience: float = 10.0,
) -> AsyncGenerator[events.Event, None]:
    """The events of a recorded run again, without network or model.

    What is given here takes the place of what was recorded, to see where that leads elsewhere. Where the
    run leaves its recording, `ReplayMismatch` is raised after the events until there.
    """
    recording = path if isinstance(path, Recording) else load(path)
    player = Player(recording, patience=patience)
    source = player.source("main")
    if source is None:
        raise DamagedFile("the recording ends before its run began")
    check_header(recording)
    header = recording.header
    kit = _KitOfTape(_settings(recording), environ={})
    engine = Engine(kit.settings, kit=kit, source=source, fallback=player.source("fallback"), outside=player.outside())
    stream = engine.stream(
        question or recording.question,
        strategy=strategy or header["strategy"],
        params={**(header["params"] if strategy in (None, header["strategy"]) else {}), **(params or {})},
        history=[(asked, answered) for asked, answered in header["history"]],
    )
    async with engine, aclosing(stream):
        count = 0
        async for event in stream:
            player.event(event)
            if player.departed is not None:
                break
            yield event
            count += 1
            if not recording.complete and count == len(recording.events):
                return  # the recorded run was left here too
        player.finish()


class _KitOfTape(Parts):
    """Builds nothing: a recording may come from anyone, and the parts that its settings name are not to be reached."""

    def _kept(self, kind: str, name: str, build: Callable[[], T]) -> T:
        raise ReplayMismatch(f"the run asks for {name or 'a part'} ({kind}), which is not in the recording")


def _settings(recording: Recording) -> Settings:
    values = {**recording.header["settings"], "model": recording.header["model"] or "none"}
    try:
        return fill(Settings, values, "recording")
    except UsageError as problem:
        raise DamagedFile(f"the recording's settings cannot be used: {problem}") from problem
