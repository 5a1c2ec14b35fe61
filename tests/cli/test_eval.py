"""`wellread eval`, `replay` and `trace` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_ask import invoke, wellread

pytestmark = pytest.mark.slow

KEYS = {
    *("data", "strategy", "questions", "recall@1", "recall@2", "recall@5", "recall@20", "mrr", "em", "f1"),
    *("answer_in_text", "unsure", "sentences_supported", "seconds_p50", "seconds_p95"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny data set."""
    towns = {"Arlon": "Belgium", "Tartu": "Estonia", "Porto": "Portugal", "Malmo": "Sweden"}
    corpus = [{"id": f"p-{t}", "title": t, "text": f"{t} is a town in {c}. It has a market."} for t, c in towns.items()]
    asked = [
        {"id": t, "question": f"In which country is {t}?", "answers": [c], "gold": [f"p-{t}"], "repeat": 2}
        for t, c in towns.items()
    ]
    for name, rows in (("corpus", corpus), ("questions", asked)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_json_has_the_promised_keys_and_the_index_is_reused(folder: Path) -> None:
    arguments = ("eval", str(folder), "--effort", "low", "--index", str(folder / "index"), "--json")
    done = wellread(*arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() >= KEYS
    assert (found["data"], found["strategy"], found["questions"]) == (folder.name, "quote", 4)
    assert found["recall@1"] == found["answer_in_text"] == 1.0
    made = (folder / "index" / "manifest.json").stat().st_mtime_ns
    several = wellread(*arguments, "--param", "results=1", "--param", "results=4")
    assert [row["params"] for row in json.loads(several.stdout)] == [{"results": "1"}, {"results": "4"}]
    retrieval = json.loads(wellread(*arguments, "--retrieval", "--limit", "2").stdout)
    assert (retrieval["strategy"], retrieval["questions"], retrieval["em"]) == ("retrieval", 2, None)
    assert (folder / "index" / "manifest.json").stat().st_mtime_ns == made


def test_the_shipped_questions_make_a_table(tmp_path: Path) -> None:
    done = invoke("eval", "--effort", "low", "--limit", "6", "--report", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "library: 6 questions, effort low" in done.stdout
    assert "recall@5" in done.stdout
    assert (tmp_path / "out" / "report.html").is_file()
    assert (tmp_path / "out" / "results.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "no such file or folder"),
        (("--strategy", "quot"), "did you mean quote"),
        (("--param", "nothing=1"), "none of quote has a parameter 'nothing'"),
        (("--param", "results=many"), "whole number"),
        (("--strategy", "iterative", "--limit", "1"), "needs a language model"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    done = wellread("eval", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("nobody:x", "unknown model 'nobody:x'"),
        ("openai:x@http://127.0.0.1:9/v1", "the model failed, so this is quoted: openai:x@"),
    ],
)
def test_when_every_run_fails_the_evaluation_has_failed(model: str, why: str, tmp_path: Path) -> None:
    asked = ("--limit", "2", "--strategy", "iterative", "--effort", "low", "--model", model)
    done = wellread("eval", *asked, "--runs", str(tmp_path))
    assert done.returncode == 1
    assert f"wellread: 2 of 2 runs failed; the first one: {why}" in done.stderr


def test_an_index_of_another_corpus_is_not_used(folder: Path) -> None:
    arguments = ("eval", str(folder), "--retrieval", "--index", str(folder / "index"))
    assert wellread(*arguments).returncode == 0
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "x", "title": "X", "text": "Another."}\n')
    done = wellread(*arguments)
    assert done.returncode == 2
    assert "index of another corpus" in done.stderr


def test_record_replay_and_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded = wellread("ask", "Who wrote Hamlet?", "--effort", "low", "--record", str(path), "--events")
    assert recorded.returncode == 0
    again = wellread("replay", str(path), "--events")
    assert again.returncode == 0
    assert again.stdout == recorded.stdout
    assert "the same" in again.stderr
    answer = json.loads(wellread("ask", "Who wrote Hamlet?", "--replay", str(path), "--json").stdout)
    assert answer == json.loads(recorded.stdout.splitlines()[-1])["answer"]
    departs = wellread("replay", str(path), "--param", "results=3", "--diff")
    assert departs.returncode == 1
    assert "-params.results: 8\n+params.results: 3" in departs.stdout
    assert "departs from the recording at params.results" in departs.stderr
    both = wellread("ask", "q", "--record", "a", "--replay", "b")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)


def test_a_trace_is_a_timeline_and_a_page(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert invoke("ask", "Who wrote Hamlet?", "--effort", "low", "--trace", str(path)).exit_code == 0
    shown = wellread("trace", str(path))
    assert shown.returncode == 0
    assert "search: Who wrote Hamlet?" in shown.stdout
    assert "cited    Hamlet" in shown.stdout
    assert "dropped" in shown.stdout
    page = tmp_path / "trace.html"
    assert wellread("trace", str(path), "--html", str(page)).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "Where the time went" in text
    assert "http" not in text.replace("https://", "http").split("<main>")[0]
    path.write_text("nothing", encoding="utf-8")
    assert wellread("trace", str(path)).returncode == 1
    assert wellread("trace", str(tmp_path / "nowhere")).returncode == 2
