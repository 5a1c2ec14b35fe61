"""The evaluator's model at work, with the weights of the package."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from wellread.errors import DamagedFile, EmbedderError
from wellread.ranking.evaluator import MODEL, SHIPPED, TOKENIZER
from wellread.ranking.judge import LONGEST_ANSWER, Chain, Judge, begun, best_spans, whole
from wellread.ranking.paths import Verdict
from wellread.types import Passage

GANYMEDE = Passage(
    "ganymede",
    "Ganymede is the largest moon of Jupiter and of the whole Solar System. Galileo Galilei discovered it in January 1610.",
    "Ganymede (moon)",
)
TITAN = Passage("titan", "Titan is the largest moon of Saturn. Christiaan Huygens found it in 1655.", "Titan (moon)")
POTTERY = Passage("pottery", "Pottery is made of clay and fired in a kiln at a high temperature.", "Pottery")
WOMBAT = Passage("wombat", "The wombat is a short-legged animal of Australia that digs long burrows.", "Wombat")
QUESTION = "Who discovered Ganymede?"
CHAINS: list[Chain] = [
    (GANYMEDE,),
    (TITAN,),
    (POTTERY,),
    (GANYMEDE, TITAN),
    (TITAN, GANYMEDE),
    (POTTERY, TITAN, GANYMEDE, WOMBAT),
]


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(SHIPPED / MODEL, TOKENIZER, threads=1)


def alike(one: Verdict, other: Verdict) -> bool:
    close = np.allclose([one.relevance, one.span, *one.kinds], [other.relevance, other.span, *other.kinds], atol=1e-3)
    return bool(close) and (one.passage, one.start, one.end, one.text) == (other.passage, other.start, other.end, other.text)


@pytest.mark.slow
def test_a_row_is_padded_to_where_its_rounding_is_that_of_any_batch(judge: Judge) -> None:
    for words in range(20, 28):  # every length modulo the rows that are computed at once
        chain = (Passage("x", "kiln " * words, "Kiln"),)
        alone, among = judge.judge(QUESTION, [chain])[0], judge.judge(QUESTION, [chain, *CHAINS[3:5]])[0]
        assert alike(alone, among), words


@pytest.mark.slow
def test_a_verdict_does_not_depend_on_company_or_threads(judge: Judge) -> None:
    together = judge.judge(QUESTION, CHAINS)
    alone = [judge.judge(QUESTION, [chain])[0] for chain in CHAINS]
    two = Judge(SHIPPED / MODEL, TOKENIZER, threads=2).judge(QUESTION, CHAINS[::-1])[::-1]
    assert all(alike(one, other) for one, other in zip(together, alone, strict=True))
    assert all(alike(one, other) for one, other in zip(together, two, strict=True))


def test_the_answer_is_found_where_it_stands_in_any_chain(judge: Judge) -> None:
    for chain, verdict in zip(CHAINS, judge.judge(QUESTION, CHAINS), strict=True):
        held = chain[verdict.passage]
        assert verdict.text in (held.title, held.text[verdict.start : verdict.end])
        if GANYMEDE in chain[-2:]:
            assert verdict.text == "Galileo Galilei"
            assert held is GANYMEDE


def test_a_passage_on_the_matter_is_far_above_one_that_is_not(judge: Judge) -> None:
    right, other, wrong = (verdict.relevance for verdict in judge.judge(QUESTION, CHAINS[:3]))
    assert right > other + 3
    assert right > wrong + 5


def test_an_answer_may_be_a_title(judge: Judge) -> None:
    untold = Passage("x", "The largest moon of Jupiter, found in January 1610.", "Ganymede")
    (verdict,) = judge.judge("Which is the largest moon of Jupiter?", [(untold,)])
    assert verdict.text == "Ganymede"
    assert (verdict.start, verdict.end) == (0, 0), "it stands nowhere in the text"


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        (
            "Who founded the Café Übermüt?",
            Passage("1", "🎉 The Café Übermüt was founded in 1897 by Žofie Dvořáková in Zürich.", "Café Übermüt"),
            "Žofie Dvořáková",
        ),
        (
            "When was 東京タワー completed?",
            Passage("2", "東京タワー was completed in 1958年, and is 333メートル high.", "東京タワー"),
            "1958年",
        ),
        (
            "Who opened the emoji café?",
            Passage("3", "🎉🎉 The 👩‍👩‍👧 emoji café was opened by Zoë Åström in 2019.", "Emoji"),
            "Zoë Åström",
        ),
    ],
)
def test_any_writing_system_keeps_its_characters(judge: Judge, question: str, passage: Passage, answer: str) -> None:
    (verdict,) = judge.judge(question, [(passage,)])
    assert verdict.text == passage.text[verdict.start : verdict.end]
    assert answer in verdict.text


def test_half_a_character_does_no_harm(judge: Judge) -> None:
    broken = Passage("x", "\ud83c " + GANYMEDE.text, "Ganymede \udf89")
    (verdict,) = judge.judge(QUESTION + " \ud83c", [(broken,)])
    assert verdict.text == "Galileo Galilei" == broken.text[verdict.start : verdict.end]


def test_long_passages_are_read_where_the_question_points(judge: Judge) -> None:
    filler = "The potters of the valley burnt their pots in the old kilns every autumn. "
    long = Passage("long", filler * 40 + GANYMEDE.text + filler * 600, "Valley")
    assert len(long.text) > 40_000
    short, cut = judge.judge(QUESTION, [(GANYMEDE,), (long,)])
    assert cut.text == "Galileo Galilei" == long.text[cut.start : cut.end]
    assert cut.relevance > short.relevance - 6
    endless = Passage("endless", "kiln" * 12_500, "")  # one word of 50,000 characters
    assert len(judge.judge(QUESTION, [(endless,), (endless, endless)])) == 2


def test_empty_things_are_judged_too(judge: Judge) -> None:
    assert judge.judge(QUESTION, []) == []
    nothing = Passage("empty", "")
    blank = judge.judge(QUESTION, [(nothing,), (nothing, nothing)])
    assert [verdict.text for verdict in blank] == ["", ""]
    assert len(judge.judge("", [(GANYMEDE,)])) == 1


@pytest.mark.anyio
async def test_who_is_cancelled_leaves_the_queue_that_all_share(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(SHIPPED / MODEL, TOKENIZER, threads=1)
    running, let = threading.Event(), threading.Event()
    seen: list[str] = []

    def slowly(self: Judge, rows: object, chains: Sequence[Chain], places: Sequence[int]) -> list[Verdict]:
        seen.append(chains[places[0]][0].title)
        running.set()
        let.wait(10)
        return [Verdict(0.0)] * len(places)

    monkeypatch.setattr(Judge, "_run", slowly)
    monkeypatch.setattr("wellread.ranking.judge._MOST_ROWS", 1)

    def chains(name: str) -> list[Chain]:
        return [(Passage(f"{name}{n}", "word " * 40, name),) for n in range(5)]

    first = asyncio.create_task(judge.judged(QUESTION, chains("first")))
    await asyncio.to_thread(running.wait, 10)
    second = asyncio.create_task(judge.judged(QUESTION, chains("second")))
    await asyncio.sleep(0.05)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    let.set()
    assert len(await second) == 5
    assert (seen.count("first"), seen.count("second")) == (1, 5)


def test_damaged_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=r"evaluator\.onnx"):
        Judge(tmp_path / "evaluator.onnx", TOKENIZER).judge(QUESTION, [(GANYMEDE,)])
    cut = tmp_path / MODEL
    cut.write_bytes((SHIPPED / MODEL).read_bytes()[:100_000])
    with pytest.raises(DamagedFile, match="not a model"):
        Judge(cut, TOKENIZER).judge(QUESTION, [(GANYMEDE,)])
    shutil.copy(TOKENIZER, tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(DamagedFile, match=r"tokenizer\.json"):
        Judge(SHIPPED / MODEL, tmp_path / "tokenizer.json").judge(QUESTION, [(GANYMEDE,)])


def test_another_kind_of_model_is_said() -> None:
    embedder = TOKENIZER.parent / "model.onnx"
    assert embedder.is_file()
    with pytest.raises(EmbedderError, match="failed"):
        Judge(embedder, TOKENIZER).judge(QUESTION, [(GANYMEDE,)])


def test_spans_run_forwards_and_are_not_too_long() -> None:
    chance = np.random.default_rng(5)
    starts, ends = (chance.normal(0, 3, (20, 90)).astype(np.float32) for _ in range(2))
    first, last, worth = best_spans(starts, ends)
    assert np.all((first <= last) & (last < first + LONGEST_ANSWER))
    logs = [x - np.log(np.exp(x).sum(1, keepdims=True)) for x in (starts, ends)]
    for row in range(20):
        allowed = [(logs[0][row, a] + logs[1][row, b]) for a in range(90) for b in range(a, min(90, a + LONGEST_ANSWER))]
        assert worth[row] == pytest.approx(max(allowed), abs=1e-4)
        assert worth[row] == pytest.approx(logs[0][row, first[row]] + logs[1][row, last[row]], abs=1e-4)


MANUAL = Passage(
    "manual",
    "## How do I reset the radio?\n\nCan it be reset?\n\n"
    "Hold the red key for ten seconds until the light goes out. The stations are lost.\n\n"
    "## Batteries\n\nTwo batteries last a year.",
    "Radio",
)


def test_an_instruction_is_told_by_the_sentences_that_carry_it(judge: Judge) -> None:
    (verdict,) = judge.judge("How do I reset the radio?", [(MANUAL,)])
    best = max(verdict.evidence, key=lambda mark: mark.score)
    assert MANUAL.text[best.start : best.end] == "Hold the red key for ten seconds until the light goes out."
    assert verdict.told > verdict.kinds[1], "sentences, not a phrase"


def test_headings_and_questions_are_no_evidence(judge: Judge) -> None:
    (verdict,) = judge.judge("How do I reset the radio?", [(MANUAL,)])
    marked = [MANUAL.text[mark.start : mark.end] for mark in verdict.evidence]
    assert marked == [
        "Hold the red key for ten seconds until the light goes out.",
        "The stations are lost.",
        "Two batteries last a year.",
    ]


@pytest.mark.parametrize(
    ("text", "cut", "wanted"),
    [
        ("Default value: 127.0.0.1:8118", "127", "127.0.0.1:8118"),
        ("It came with 3.5 inch disks.", "3", "3.5"),
        ("At 12:30, they say.", "12", "12:30"),
        ("It was found in 1655. It is large.", "1655", "1655"),
        ("It was found in 1655.", "1655", "1655"),
        ("The word and/or is odd.", "and", "and"),
    ],
)
def test_a_span_does_not_end_inside_a_number(text: str, cut: str, wanted: str) -> None:
    start = text.index(cut)
    assert text[start : whole(text, start + len(cut))] == wanted


@pytest.mark.parametrize(
    ("text", "span", "kept"),
    [
        ("## Introduction\n\nMusic Player Daemon", "Introduction\n\nMusic Player Daemon", "Music Player Daemon"),
        ("It has\n- 32 devices", "- 32", "32"),
        ("a wrapped\nline of text", "wrapped\nline", "wrapped\nline"),
        ("from -5 to 5", "-5", "-5"),
    ],
)
def test_a_span_begins_neither_in_a_heading_nor_with_the_mark_of_an_item(text: str, span: str, kept: str) -> None:
    start = text.index(span)
    end = start + len(span)
    assert text[begun(text, start, end) : end] == kept
