"""A recording may come from anyone: replaying it reaches nothing, and damage of any kind is named as such."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.replay.test_departures import record, replay
from tests.wire.loopback import Loopback, Reply

from wellread.errors import DamagedFile, ReplayMismatch, WellreadError
from wellread.parts import Parts

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def lines_of(path: Path, strategy: str = "corrective") -> list[Line]:
    await record(path, strategy)
    return read(path)


def write(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize("strategy", ["corrective", "iterative", "fanout", "react"])
async def test_what_is_not_on_the_tape_is_a_departure_and_never_a_live_part(strategy: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = await lines_of(path, strategy)
    with Loopback(lambda request: Reply({"results": []})).serving() as server:
        spec = f"searxng:{server.url}"
        lines[0]["settings"].update(fallback=spec, sources=[spec], embedder=f"openai:x@{server.url}", hops=2)
        write(path, [line for line in lines if line.get("role") != "fallback"])
        with pytest.raises(ReplayMismatch, match="is not in the recording"):
            await replay(path, patience=0.5)
        assert not server.asked


async def test_no_dropped_line_makes_a_replay_build_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    lines = await lines_of(path)
    lines[0]["settings"]["fallback"] = "library"
    monkeypatch.setattr(Parts, "_kept", lambda self, kind, name, build: pytest.fail(f"{kind} {name} was asked of the live kit"))
    for left_out in range(1, len(lines)):
        write(path, lines[:left_out] + lines[left_out + 1 :])
        with suppress(WellreadError):  # without a price or a count the run may go the same way
            await replay(path, patience=0.05)


@pytest.mark.parametrize("name", ["question", "strategy", "params", "history", "settings", "today", "marker"])
@pytest.mark.parametrize("value", [..., None, 7, [[1]]])
async def test_a_damaged_first_line_says_so(name: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = await lines_of(path)
    del lines[0][name]
    if value is not ...:
        lines[0][name] = value
    write(path, lines)
    with pytest.raises(DamagedFile, match=f"damaged at line 1: .*{name}"):
        await replay(path)


async def test_every_damage_to_a_field_ends_in_a_typed_error_or_the_same_run(tmp_path: Path) -> None:
    """Seeded: fields dropped, replaced and emptied, at every depth."""
    path = tmp_path / "run.jsonl"
    whole = await lines_of(path)
    chance = random.Random(19)
    for _ in range(150):
        lines = json.loads(json.dumps(whole))
        place = chance.choice(lines)
        while isinstance(place, dict) and place:
            key = chance.choice(list(place))
            inner = place[key]
            if isinstance(inner, dict) and inner and chance.random() < 0.7:
                place = inner
                continue
            if chance.random() < 0.4:
                del place[key]
            else:
                place[key] = chance.choice([None, -1, 10**30, "\ud800", [], {}, [[]], True, 1e308, "x" * 50])
            break
        write(path, lines)
        with suppress(WellreadError):
            await asyncio.wait_for(replay(path, patience=0.02), 10)


@pytest.mark.parametrize("line", ["7", '"call"', "[]", "null", "[" * 100_000, "9" * 5000, '{"reply": 0, "at": 0, "value": 1}'])
async def test_lines_that_are_none_are_damage(line: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = await lines_of(path)
    path.write_text("\n".join([json.dumps(lines[0]), line, *map(json.dumps, lines[1:])]), encoding="utf-8")
    with pytest.raises(DamagedFile):
        await replay(path)


async def test_a_source_that_is_part_of_itself_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = await lines_of(path)
    for line in lines:
        if "facts" in line and line["kind"] == "source":
            line["members"] = [line["facts"]]
    write(path, lines)
    with pytest.raises(DamagedFile):
        await replay(path)


async def test_a_packed_recording_with_broken_bytes_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    await record(path, "corrective")
    data = bytearray(path.read_bytes())
    for at in range(40, len(data) - 8, max(1, len(data) // 40)):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        with suppress(OSError, EOFError, zlib.error):
            if gzip.decompress(damaged) == gzip.decompress(data):
                continue  # another way to say the same
        path.write_bytes(damaged)
        with pytest.raises(WellreadError):
            await replay(path, patience=0.05)
