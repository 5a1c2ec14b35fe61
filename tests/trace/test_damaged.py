"""Traces of others: any value in any place, told or shown as text."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wellread import events
from wellread.cli import trace as terminal
from wellread.cli.terminal import clean
from wellread.errors import DamagedFile
from wellread.trace.timeline import load, page
from wellread.types import Answer, Citation, Hit, Passage, Sentence

HOSTILE = "<script>x</script>'\"\x1b[2J\x9b\u202e[/][bold]\\"
PASSAGE = Passage("1", "Titan is a moon.", HOSTILE, HOSTILE, HOSTILE)
SENTENCE = Sentence(HOSTILE, 0, len(HOSTILE), "carried", (Citation(1, PASSAGE, 0, 5, 1.0),))
TRACE: list[dict[str, Any]] = [
    events.to_json(event)
    for event in (
        events.Started(HOSTILE, "quote", HOSTILE, ()),
        events.Thought(HOSTILE, HOSTILE),
        events.Searched(HOSTILE, (Hit("1", HOSTILE, HOSTILE, HOSTILE),), failures=(HOSTILE,)),
        events.ModelCalled(HOSTILE, HOSTILE, 1, 2, 0.5, 0.5),
        events.Numbered(1, PASSAGE),
        events.Answered(Answer(HOSTILE, HOSTILE, "answered", "quote", sentences=(SENTENCE,))),
    )
]
ODD: list[Any] = [None, -1, 1e308, float("nan"), float("inf"), 10**400, HOSTILE, [], {}, [None], "\ud800"]


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*before, key))
    if before:
        yield before


def damaged(place: tuple[Any, ...], odd: Any) -> str:
    lines: Any = copy.deepcopy(TRACE)
    inner = lines
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = odd
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_any_value_in_any_place(tmp_path: Path, odd: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file, shown = tmp_path / "run.jsonl", 0
    for place in places(TRACE):
        file.write_text(damaged(place, odd), encoding="utf-8")
        try:
            story = load(file)
        except DamagedFile:
            continue
        shown += 1
        assert "<script" not in page(story).encode().decode()
        terminal._print(clean(story))
        assert not {"\x1b", "\x9b", "\u202e"} & set(capsys.readouterr().out)
    assert shown
