from __future__ import annotations

import json

from wellread import events
from wellread.types import Answer, Citation, Passage, Sentence, Usage


def test_events_become_json_with_their_name() -> None:
    passage = Passage("p#0", "Words.", title="P", links=("Q",))
    found = json.loads(json.dumps(events.to_json(events.Numbered(1, passage, at=0.5))))
    assert found["event"] == "numbered"
    assert found["at"] == 0.5
    assert found["passage"]["links"] == ["Q"]
    assert events.event_name(events.PageRead("u", "t", 1)) == "page_read"


def test_an_answer_has_the_public_shape() -> None:
    passage = Passage("p#0", "Titan is a moon of Saturn.", title="Titan", source="library")
    citation = Citation(1, passage, 0, 5, 1.0)
    sentence = Sentence("Titan. [1]", 0, 10, True, (citation,))
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
    assert shape["sentences"] == [{"text": "Titan. [1]", "supported": True, "citations": [1]}] * 2
    assert shape["citations"] == [
        {"number": 1, "title": "Titan", "url": None, "source": "library", "quote": "Titan", "start": 0, "end": 5, "support": 1.0}
    ]
    wire = events.to_json(events.Answered(answer, at=1.0))
    assert isinstance(wire, dict)
    assert wire["event"] == "answered"
    assert wire["answer"] == shape
