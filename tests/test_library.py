"""What the library in the wheel promises: enough articles, enough questions, and answers to them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import wellread
from wellread.engine import Engine
from wellread.settings import Settings
from wellread.types import Answer

pytestmark = pytest.mark.anyio
LIBRARY = Path(wellread.__file__).parent / "library"
LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")


@cache
def articles() -> dict[str, str]:
    """Title → body with the links resolved."""
    found: dict[str, str] = {}
    for path in sorted((LIBRARY / "articles").glob("*.md")):
        heading, _, body = path.read_text(encoding="utf-8").partition("\n")
        found[heading.removeprefix("# ").strip()] = body
    return found


@cache
def questions() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LIBRARY / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def of_type(kind: str) -> list[dict[str, Any]]:
    return [question for question in questions() if question["type"] == kind]


def test_there_are_enough_articles_of_the_right_length() -> None:
    lengths = {title: len(LINK.sub(lambda m: m[2] or m[1], body).split()) for title, body in articles().items()}
    assert len(lengths) >= 150
    assert not {title: n for title, n in lengths.items() if not 120 <= n <= 300}


def test_links_lead_to_articles() -> None:
    for title, body in articles().items():
        targets = {match[1] for match in LINK.finditer(body)}
        assert targets <= set(articles()), title
        assert title not in targets
        assert len(targets) >= 3, title


def test_there_are_enough_questions() -> None:
    assert len(of_type("one-step")) >= 60
    assert len(of_type("two-step")) >= 40
    assert len(of_type("unanswerable")) >= 40
    assert all(len(q["gold"]) == 1 for q in of_type("one-step"))
    assert all(len(set(q["gold"])) == 2 for q in of_type("two-step"))
    assert not any(q["gold"] or q["answers"] for q in of_type("unanswerable"))


@pytest.mark.slow
async def test_gold_passages_are_in_the_top_five() -> None:
    found: dict[str, list[bool]] = defaultdict(list)
    async with Engine(Settings(model="none")) as engine:
        for question in [*of_type("one-step"), *of_type("two-step")]:
            top = {hit.id for hit in await engine.search(question["question"], limit=5)}
            found[question["type"]].append(set(question["gold"]) <= top)
    assert share(found["one-step"]) >= 0.95
    assert share(found["two-step"]) >= 0.75


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_quote_answers_what_it_can_and_only_that() -> None:
    right: dict[str, list[bool]] = defaultdict(list)
    async with Engine(Settings(model="none", effort="low")) as engine:
        for question in questions():
            answer = await engine.ask(question["question"], strategy="quote")
            assert answer.outcome in ("answered", "unsure")
            assert all(sentence.supported for sentence in answer.sentences), answer.text
            good = holds(answer, question["answers"]) if question["answers"] else answer.outcome == "unsure"
            right[question["type"]].append(good)
    assert share(right["one-step"]) >= 0.80
    assert share(right["two-step"]) >= 0.50
    assert share(right["unanswerable"]) >= 0.80


def holds(answer: Answer, accepted: list[str]) -> bool:
    text = f"{answer.short or ''} {answer.text}".casefold()
    return answer.outcome == "answered" and any(one.casefold() in text for one in accepted)


def share(values: list[bool]) -> float:
    return sum(values) / len(values)
