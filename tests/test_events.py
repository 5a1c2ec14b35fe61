from __future__ import annotations

import json

import pytest

from wellread import events
from wellread.errors import DamagedFile
from wellread.types import Answer, Citation, Hit, Passage, Sentence, Usage

HIT = Hit("h", "Words.", "Titan", "https://example.org/titan", published="2024", score=1.5, links=("Saturn",))
UNREAD = Hit("u", title="Rhea", snippet="A moon.")
PLAN = events.Planned("Moons", "What moons has it?", ("moons", "satellites"))
ALL: dict[str, events.Event] = {
    "getting started": events.Started("q", "quote", None, ("library",), {"results": 3}),
    "plan: look for moons": events.Thought("plan", "look for moons"),
    "searching: moons": events.Searching("moons", ("library",)),
    "searched: moons (2 found; failed: wiki: gone)": events.Searched("moons", (HIT, UNREAD), 0.5, ("wiki: gone",)),
    "reading: https://example.org": events.Reading("https://example.org"),
    "read: Titan (2 passages)": events.PageRead("https://example.org", "Titan", 2, 0.5),
    "could not read: https://example.org (gone)": events.PageFailed("https://example.org", "gone"),
    "ranked: 2 passages by evaluator (3 set aside, 5 pairs read)": events.Ranked("evaluator", ("a", "b"), (2.0, 1.0), 3, 5),
    "relevant: Titan (80%)": events.Graded("h", "Titan", True, 0.8),
    "not relevant: Titan": events.Graded("h", "Titan", False),
    "decided: search again (too little)": events.Decided("search again", "too little"),
    "asking instead: moons of Saturn": events.Rewritten("q", "moons of Saturn"),
    "understood as: When was Huygens born?": events.Understood("When was he born?", "When was Huygens born?"),
    "outline: Moons; Rings (2 sections)": events.Outlined((PLAN, events.Planned("Rings", "What rings has it?"))),
    "section 1 of 2 searched: Moons (3 passages)": events.Section(1, 2, "Moons", "searched", 3),
    "section 1 of 2 written: Moons (2 words)": events.Section(1, 2, "Moons", "written", 3, "It has.", ("their age",)),
    "shortened: a page (10 of 1,200 tokens kept)": events.Cut("a page", 10, 1200),
    "asked the model: answer (m, 12 tokens in, 3 out, cut off)": events.ModelCalled("answer", "m", 12, 3, None, 0.5, True),
    "writing the answer": events.AnswerDelta("Titan"),
    "note: the cache is off": events.Notice("the cache is off"),
    "limit reached: tokens": events.Exhausted("tokens"),
}


@pytest.mark.parametrize("words", ALL)
def test_every_event_says_itself_and_comes_back_from_json(words: str) -> None:
    event = ALL[words]
    assert str(event.said()) == words
    assert events.from_json(json.loads(json.dumps(events.to_json(event)))) == event


def test_every_kind_of_event_is_tried_here() -> None:
    silent = {events.Numbered, events.Answered}
    assert {type(event) for event in ALL.values()} | silent == set(events.EVENTS)


def test_what_is_no_event_of_ours_is_none_and_a_damaged_one_is_told() -> None:
    numbered = events.Numbered(1, Passage("p", "Words.", links=("Q",)), at=0.5)
    assert events.from_json(json.loads(json.dumps(events.to_json(numbered)))) == numbered
    assert events.from_json({"event": "ended", "state": "done"}) is None
    assert events.from_json({"event": "answered", "answer": {}}) is None
    for damage in ({"hits": 3}, {"query": "x"}, {"query": "x", "hits": [{"nonsense": 1}]}, {"query": "x", "hits": ["y"]}):
        with pytest.raises(DamagedFile, match="searched"):
            events.from_json({"event": "searched", **damage})


def test_events_become_json_with_their_name() -> None:
    passage = Passage("p#0", "Words.", title="P", links=("Q",))
    found = json.loads(json.dumps(events.to_json(events.Numbered(1, passage, at=0.5))))
    assert found["event"] == "numbered"
    assert found["at"] == 0.5
    assert found["passage"]["links"] == ["Q"]
    assert events.event_name(events.PageRead) == "page_read"


def test_an_answer_has_the_public_shape() -> None:
    passage = Passage("p#0", "Titan is a moon of Saturn.", title="Titan", source="library")
    citation = Citation(1, passage, 0, 5, 1.0)
    sentence = Sentence("Titan. [1]", 0, 10, "carried", (citation,))
    answer = Answer("q", "Titan. [1]", "answered", "quote", sentences=(sentence, sentence), usage=Usage(searches=1))
    shape = events.answer_json(answer)
    assert set(shape) >= {
        "question",
        "answer",
        "outcome",
        "reason",
        "strategy",
        "model",
        "sentences",
        "citations",
        "usage",
        "seconds",
    }
    judged = {"verdict": "carried", "supported": True, "inferred": False}
    assert shape["sentences"] == [{"text": "Titan. [1]", **judged, "citations": [1]}] * 2
    assert shape["citations"] == [
        {
            "number": 1,
            "title": "Titan",
            "url": None,
            "source": "library",
            "quote": "Titan",
            "start": 0,
            "end": 5,
            "support": 1.0,
            "document": None,
            "heading": "",
            "page": None,
            "anchor": "",
            "place": "Titan (library)",
        }
    ]
    wire = events.to_json(events.Answered(answer, at=1.0))
    assert isinstance(wire, dict)
    assert wire["event"] == "answered"
    assert wire["answer"] == shape
