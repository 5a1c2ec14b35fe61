"""`research`: a report in checked sections, its budget shared out, gone on with after a stop; without a model a bibliography."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.bench import Bench, Pages, Shelf, entry

from wellread import events
from wellread.budget import Limits
from wellread.engine import Engine
from wellread.errors import ModelBusy
from wellread.events import Section, from_json, to_json
from wellread.models.scripted import ScriptedModel
from wellread.replay.runs import recorded, replayed
from wellread.run import Environment
from wellread.settings import Settings
from wellread.strategies.research import Research
from wellread.types import Prompt

pytestmark = pytest.mark.anyio
QUESTION = "What is known about Titan?"
HUYGENS = "Titan was discovered by Christiaan Huygens in 1655."
LATER = "Titan was discovered by Christiaan Huygens in 1656."
AIR = "The air of Titan is mostly nitrogen, with some methane."
PROBE = "The probe Huygens landed on Titan in January 2005."
HITS = [
    entry("Huygens", HUYGENS),
    entry("A later book", LATER),
    entry("Air of Titan", AIR),
    entry("Landing", PROBE),
]
PLAN = [
    "Discovery | Who discovered Titan? | Titan discovered Huygens",
    "## Air | What is the air of Titan? | air of Titan nitrogen |",
]


def model(sections: Callable[[str, dict[str, int]], str], frame: str = "", mended: str = "NOTHING") -> Callable[[Prompt], str]:
    """Says what each role is asked for; a section's words are made of its prompt and of the numbers of the facts in it."""

    def say(prompt: Prompt) -> str:
        text = "\n".join(message.text for message in prompt.messages)
        if "You lay out a report" in text:
            return json.dumps({"sections": PLAN})
        if "Below are the sections" in text:
            return frame
        blocks = re.findall(r"\[(\d+)\]\n<data-\w+>\n(.+?)\n</data", text, re.DOTALL)
        numbers = {fact: int(number) for number, words in blocks for fact in words.splitlines()}
        if "Sentences of an answer" in text:
            return mended
        return sections(re.search(r"the section “(.+?)”", text)[1], numbers)  # type: ignore[index]

    return say


def written(title: str, numbers: dict[str, int]) -> str:
    fact = HUYGENS if title == "Discovery" else AIR
    return f"{fact} [{numbers[fact]}]"


async def test_sections_are_written_from_their_own_passages_and_framed_from_the_sections() -> None:
    frame = f"<introduction>{HUYGENS} [1] It is green. [1]</introduction>\n<conclusion>{AIR} [2] Saturn is old.</conclusion>"
    bench = Bench(model(written, frame.replace("[2]", "[3]")), source=Shelf(HITS))
    answer = await bench.ask(Research, QUESTION)
    headings = ["## Introduction", "## Discovery", "## Air", "## Conclusion"]
    assert [line for line in answer.text.splitlines() if line.startswith("#")] == headings
    assert "green" not in answer.text
    assert "Saturn" not in answer.text, "what the passages of the sections do not carry is left out"
    assert all(one.supported and answer.text[one.start : one.end] == one.text for one in answer.sentences)
    assert len(answer.sentences) == 4
    outlined = bench.of(events.Outlined)[0]
    assert [one.title for one in outlined.sections] == ["Discovery", "Air"]
    assert {(one.number, one.state) for one in bench.of(Section)} == {(n, s) for n in (1, 2) for s in ("searched", "written")}
    searched = [one.query for one in bench.of(events.Searching)]
    assert searched[1:3] == ["Who discovered Titan?", "What is the air of Titan?"], "the first query of each, then the second"


async def test_what_is_not_carried_is_searched_for_once_and_mended_or_left_out() -> None:
    def sections(title: str, numbers: dict[str, int]) -> str:
        false = "The probe Huygens landed on Titan in March 1999." if title == "Air" else "Titan was named by Zorblax of Ulm."
        return f"{written(title, numbers)} {false} [{min(numbers.values())}]"

    hits = [*HITS[:3], entry("Landing", f"{PROBE} Landed, landed, probe.")]
    bench = Bench(model(sections, mended="The probe Huygens landed on Titan in January 2005."), source=Shelf(hits))
    answer = await bench.ask(Research, QUESTION, queries=1, passages=1)
    assert "Zorblax" not in answer.text
    assert "1999" not in answer.text
    assert f"{PROBE[:-1]}. [" in answer.text, "the search for it has found what is so"
    assert [one.query for one in bench.of(events.Searching)][-2:] == [
        "Titan was named by Zorblax of Ulm.",
        "The probe Huygens landed on Titan in March 1999.",
    ]
    assert all(one.supported for one in answer.sentences)


async def test_contradictions_and_what_is_missing_have_places_of_their_own() -> None:
    def sections(title: str, numbers: dict[str, int]) -> str:
        if title == "Air":
            return "NO ANSWER: what the air is made of"
        first, other = numbers[HUYGENS], numbers[LATER]
        said = f"Contradiction: one source says that Huygens discovered Titan in 1655 [{first}], another in 1656 [{other}]."
        return f"{HUYGENS} [{first}] {said}\nMISSING: the day of the discovery"

    bench = Bench(model(sections), source=Shelf(HITS))
    answer = await bench.ask(Research, QUESTION)
    assert (answer.outcome, answer.missing) == ("partial", ("the day of the discovery", "what the air is made of"))
    body, _, disputed = answer.text.partition("\n\n## Contradictions between sources\n\n")
    assert "Contradiction" not in body
    assert disputed.startswith("Contradiction: one source says")
    assert {one.number for one in answer.sentences[-1].citations} == {1, 2}


async def test_fixed_headings_are_in_the_language_of_the_question() -> None:
    def sections(title: str, numbers: dict[str, int]) -> str:
        first, other = numbers[HUYGENS], numbers[LATER]
        said = f"Widerspruch: one source says that Huygens discovered Titan in 1655 [{first}], another in 1656 [{other}]."
        return f"{HUYGENS} [{first}] {said}" if title == "Discovery" else written(title, numbers)

    frame = f"<introduction>{HUYGENS} [1]</introduction>\n<conclusion>{AIR} [3]</conclusion>"
    answer = await Bench(model(sections, frame), source=Shelf(HITS)).ask(Research, "Was ist über den Mond Titan bekannt?")
    found = [line for line in answer.text.splitlines() if line.startswith("#")]
    assert found == ["## Einleitung", "## Discovery", "## Air", "## Widersprüche zwischen Quellen", "## Fazit"]


async def test_no_section_is_called_as_those_that_come_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        globals(), "PLAN", ["Introduction | Who discovered Titan? | Titan", "Einleitung", "Section 2: Air | What is the air?"]
    )
    bench = Bench(model(lambda title, numbers: f"{AIR} [{min(numbers.values())}]"), source=Shelf(HITS))
    await bench.ask(Research, QUESTION)
    assert [one.title for one in bench.of(events.Outlined)[0].sections] == ["Who discovered Titan?", "Air"]


async def test_tokens_are_shared_out_and_what_was_found_is_kept() -> None:
    for tokens in range(600, 6_000, 600):
        bench = Bench(model(written), source=Shelf(HITS), limits=Limits(tokens=tokens))
        answer = await bench.ask(Research, QUESTION)
        assert answer.usage.input_tokens + answer.usage.output_tokens <= tokens
        assert answer.citations
        if bench.of(events.Outlined):
            assert "## Discovery" in answer.text
            assert "## Air" in answer.text, "quoted where there was nothing left to write it with"
    bench = Bench(model(written), source=Shelf(HITS), limits=Limits(searches=3))
    answer = await bench.ask(Research, QUESTION)
    assert (answer.usage.searches, answer.outcome) == (3, "exhausted")
    assert len([one for one in bench.of(Section) if one.passages]) >= 2, "one search for each section"


async def test_pages_are_read_where_there_are_only_snippets() -> None:
    hits = [entry("Titan", None, url="https://x/titan", snippet="Titan, who discovered it, its air …")]
    pages = Pages({"https://x/titan": [HUYGENS, AIR]})
    bench = Bench(model(written), source=Shelf(hits), page_reader=pages)
    answer = await bench.ask(Research, QUESTION)
    assert pages.read_urls == ["https://x/titan"] * 2
    assert HUYGENS in answer.text
    unread = Bench(model(lambda title, numbers: "NO ANSWER: all of it"), source=Shelf(hits), page_reader=Pages())
    assert (await unread.ask(Research, QUESTION, pages=0)).usage.pages == 0


async def test_a_finished_section_is_not_paid_for_twice(tmp_path: Path) -> None:
    """A run is stopped after its first section; another takes over what it reported, and can be recorded and replayed."""
    asked: list[str] = []

    def sections(title: str, numbers: dict[str, int]) -> str:
        asked.append(title)
        return written(title, numbers)

    def failing(title: str, numbers: dict[str, int]) -> Any:
        return ModelBusy("scripted", "later") if title == "Air" else written(title, numbers)

    kept: list[events.Event] = []
    async with Engine(Settings(effort="low"), model=ScriptedModel(model(failing)), source=Shelf(HITS)) as engine:
        async with aclosing(engine.stream(QUESTION, strategy="research")) as stream:
            async for event in stream:
                kept.append(event)
        assert "the section “Air” is quoted" in kept[-1].answer.notes[0]  # type: ignore[attr-defined]
    earlier = [one for event in kept if (one := from_json(json.loads(json.dumps(to_json(event)))))]
    scripted = ScriptedModel(model(sections))
    outside = Environment(earlier=earlier)
    async with Engine(Settings(effort="low"), model=scripted, source=Shelf(HITS), outside=outside) as engine:
        seen = [event async for event in recorded(engine, tmp_path / "run", QUESTION, strategy="research")]
    assert asked == ["Air"]
    assert not any("You lay out a report" in prompt.messages[0].text for prompt in scripted.prompts)
    answer = seen[-1].answer  # type: ignore[attr-defined]
    assert HUYGENS in answer.text
    assert AIR in answer.text
    assert len([one for one in seen if isinstance(one, Section) and one.state == "written"]) == 2
    assert [to_json(event) async for event in replayed(tmp_path / "run")] == [to_json(event) for event in seen]


async def test_without_a_model_it_is_an_annotated_bibliography() -> None:
    async with Engine(Settings(model="none", effort="low"), source=Shelf(HITS)) as engine:
        answer = await engine.ask(QUESTION, strategy="research", params={"sections": 2})
    assert (answer.outcome, answer.short, answer.model) == ("answered", "Annotated bibliography", None)
    assert answer.text.count("## ") == 2
    for hit in HITS:
        assert hit.text in answer.text
    assert all(one.supported for one in answer.sentences)
    assert answer.usage.model_calls == 0
    async with Engine(Settings(model="none", effort="low"), source=Shelf()) as engine:
        assert (await engine.ask(QUESTION, strategy="research")).outcome == "unsure"
