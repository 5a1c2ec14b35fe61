"""Runs over questions: parallel, resumed after a kill, replayed from recordings, reported."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from wellread.embedding.onnx import OnnxEmbedder
from wellread.errors import BadOutput
from wellread.evals import report, results, runs
from wellread.evals.data import Data, Question, load
from wellread.evals.results import Result, summary
from wellread.evals.runs import Cell, ModelJudge, Plan, run_cell
from wellread.models.scripted import ScriptedModel
from wellread.settings import Settings
from wellread.types import Answer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
QUIET = Settings(model="none", effort="low", sources=("library",))


def told(name: str, done: int, total: int) -> None:
    """No progress wanted."""


def without_times(results: list[Result]) -> list[tuple[Any, ...]]:
    return [(r.id, {k: v for k, v in r.scores.items() if k != "seconds"}, r.answer, r.outcome, r.found) for r in results]


async def test_results_come_in_the_order_of_the_questions_whatever_is_done_at_once(tmp_path: Path) -> None:
    data = load(None, 12)
    one = await run_cell(data, Cell("quote"), QUIET, Plan(tmp_path / "a", parallel=1), told)
    many = await run_cell(data, Cell("quote"), QUIET, Plan(tmp_path / "b", parallel=6), told)
    assert [result.id for result in one] == [question.id for question in data.questions]
    assert without_times(one) == without_times(many)
    table = summary(one)
    assert table["questions"] == 12
    assert table["recall@5"] > 0.8
    assert table["sentences_supported"] == table["quotes_verified"] == 1.0
    assert table["intervals"]["recall@5"][0] <= table["recall@5"] <= table["intervals"]["recall@5"][1]


async def test_what_is_known_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_program", lambda: "the same program")
    data, plan = load(None, 8), Plan(tmp_path)
    first = await run_cell(data, Cell("quote"), QUIET, plan, told)
    (path,) = tmp_path.glob("*.jsonl")  # noqa: ASYNC240
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]) + lines[5][:40], encoding="utf-8")  # killed while it wrote the sixth
    counted: list[int] = []
    again = await run_cell(data, Cell("quote"), QUIET, plan, lambda name, done, total: counted.append(done))
    assert counted == [5, 6, 7, 8]
    assert without_times(again) == without_times(first)
    counted.clear()
    kept = await run_cell(data, Cell("quote"), QUIET, Plan(tmp_path, resume=True), lambda n, done, t: counted.append(done))
    assert (counted, kept) == ([8], again)
    await run_cell(data, Cell("quote"), QUIET, plan, lambda name, done, total: counted.append(done))
    assert counted[1:] == list(range(9)), "a finished run starts anew"
    monkeypatch.setattr(runs, "_program", lambda: "another program")
    assert runs.digest(data, Cell("quote"), QUIET) != path.stem


@pytest.mark.slow
def test_killed_and_run_again_the_table_is_the_same(tmp_path: Path) -> None:
    def command(folder: str) -> list[str]:
        wellread = str(Path(sys.executable).parent / "wellread")
        return [wellread, "eval", "--effort", "low", "--limit", "40", "--json", "--runs", str(tmp_path / folder)]

    def table(text: str) -> dict[str, Any]:
        found = json.loads(text)
        return {key: value for key, value in found.items() if not key.startswith("seconds")}

    whole = subprocess.run(command("whole"), capture_output=True, text=True, check=True, timeout=280)
    killed = subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        files = list((tmp_path / "killed").glob("*.jsonl"))
        if files and files[0].read_text(encoding="utf-8").count("\n") >= 10:
            break
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    (path,) = (tmp_path / "killed").glob("*.jsonl")
    assert 10 <= path.read_text(encoding="utf-8").count('"id"') < 40
    resumed = subprocess.run(command("killed"), capture_output=True, text=True, check=True, timeout=280)
    assert table(resumed.stdout) == table(whole.stdout)


async def test_runs_on_tape_cost_nothing_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load(None, 3)
    plan = Plan(tmp_path, record=True)
    first = await run_cell(data, Cell("quote"), QUIET, plan, told)
    assert len(list((tmp_path / "recordings").glob("*.jsonl.gz"))) == 3

    async def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the embedder was asked")

    monkeypatch.setattr(OnnxEmbedder, "embed", refuse)
    assert await run_cell(data, Cell("quote"), QUIET, plan, told) == first, "times included"
    next(iter((tmp_path / "recordings").glob("*.gz"))).write_bytes(b"broken")
    monkeypatch.undo()
    assert without_times(await run_cell(data, Cell("quote"), QUIET, plan, told)) == without_times(first)


async def test_retrieval_alone(tmp_path: Path) -> None:
    results = await run_cell(load(None, 10), Cell("retrieval"), QUIET, Plan(tmp_path), told)
    table = summary(results)
    assert table["recall@20"] >= table["recall@5"] >= table["recall@1"] > 0
    assert table["em"] is None
    assert table["seconds_p50"] > 0


async def test_the_judge_is_asked_only_where_there_is_something_to_judge() -> None:
    model = ScriptedModel(["It says so. Yes.", "No", "perhaps"])
    judge = ModelJudge(model)
    question = Question("1", "Who?", ("She",))
    assert await judge(question, Answer("Who?", "She did. [1]", "answered", "quote")) == 1.0
    assert await judge(question, Answer("Who?", "He did. [1]", "answered", "quote")) == 0.0
    with pytest.raises(BadOutput, match="neither yes nor no"):
        await judge(question, Answer("Who?", "He did.", "answered", "quote"))
    assert await judge(question, Answer("Who?", "", "unsure", "quote")) == 0.0
    assert await judge(Question("2", "Why?"), Answer("Why?", "", "unsure", "quote")) == 1.0
    assert len(model.prompts) == 3
    assert "[1]" not in model.prompts[0].messages[0].text


def test_a_failed_run_is_never_right() -> None:
    from wellread.evals.results import answered

    failed = answered(Question("1", "Q?"), Answer("Q?", "", "failed", "quote"))
    assert (failed["em"], failed["f1"], failed["answer_in_text"], failed["failed"]) == (0, 0, 0, 1)


async def test_a_report_is_one_page_with_plots_and_what_went_wrong(tmp_path: Path) -> None:
    data = load(None, 16)
    cells = [Cell("quote"), Cell("quote", {"results": 1})]
    found = [await run_cell(data, cell, QUIET, Plan(tmp_path / "runs"), told) for cell in cells]
    head: dict[str, Any] = {"data": "<library>", "effort": "low", "model": None, "judge": None}
    tables = [{**head, "strategy": c.strategy, "params": dict(c.params), **summary(r)} for c, r in zip(cells, found, strict=True)]
    report.write(tmp_path, tables, found, data.questions)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 2
    assert "&lt;library&gt;" in page
    assert not re.findall(r"""(?:src|href)=["']?https?:""", page.replace("http://www.w3.org", "")), "it needs nothing else"
    assert "Is the difference real?" in page
    saved = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(saved) == 2
    assert len(saved[0]["results"]) == 16
    assert {name for name, _, _ in results.against_first(["a", "b"], found)} == {"b"}


def test_weights_count() -> None:
    rows = [Result("1", 3.0, {"f1": 1.0}), Result("2", 1.0, {"f1": 0.0})]
    assert summary(rows)["f1"] == 0.75
    assert Data("x", (Question("1", "a"),)).fingerprint != Data("x", (Question("1", "b"),)).fingerprint
    assert asyncio.iscoroutinefunction(run_cell)


def test_kept_results_are_read_whatever_signs_and_damage_are_in_them(tmp_path: Path) -> None:
    kept = Result("q", 1.0, {"em": 1.0}, answer="a\u2028b\x85c", found=("1",))
    damaged = [b"[1]", b"5", b'{"id": "p"}', b'{"id": "p", "found": [], "x": 1}', b"[" * 100_000, b'{"id": "\xe2\x80']
    path = tmp_path / "cell.jsonl"
    path.write_bytes(b"\n".join([json.dumps(asdict(kept), ensure_ascii=False).encode(), *damaged]))
    assert runs._known(path, resume=False) == {"q": kept}


def test_a_report_of_hostile_words_is_text(tmp_path: Path) -> None:
    words = "<script>alert(1)</script>'\"\u2028\ud800\0 $\\frac{$"
    scores = {"em": 0.0, "f1": 0.0, "answer_in_text": 0.0, "seconds": 1.0}
    rows = [Result(words, 1.0, scores, words, words, words, confidence=0.5), Result("2", 1.0, scores, "b")]
    table = {"data": words, "strategy": "quote", "params": {"a": words}, "effort": "low", "model": words, "judge": words}
    report.write(tmp_path, [{**table, **summary(rows)}] * 2, [rows] * 2, [Question(words, words, (words,), kind=words)])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert len(json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))) == 2
