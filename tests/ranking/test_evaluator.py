"""The evaluator's roles, with the weights of the package."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.ranking.test_judge import GANYMEDE, POTTERY, QUESTION, TITAN, WOMBAT

from wellread.core.effort import ALLOWED
from wellread.errors import DamagedFile, UsageError
from wellread.parts import Parts
from wellread.plugins import parse_spec
from wellread.protocols import AnswerReader, Grader, Reranker
from wellread.ranking.evaluator import MODEL, SHIPPED, Evaluator, available, from_spec, verify
from wellread.ranking.judge import Chain, Judge
from wellread.ranking.paths import Verdict
from wellread.settings import Settings
from wellread.types import Passage

pytestmark = pytest.mark.anyio
PASSAGES = [WOMBAT, TITAN, GANYMEDE, POTTERY]
BROKEN = ("{", "[]", "{}", '{"weights": 3, "answers": []}', '{"weights": {"heat": 1.0}, "answers": {"luck": 2.0}}')


class Level(Evaluator):
    """Knows nothing: says the same of everything."""

    async def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        return [Verdict(0.7, (1.0, 0.0, 0.0, 0.0))] * len(chains)


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


def test_it_has_all_its_roles(evaluator: Evaluator) -> None:
    assert all(isinstance(evaluator, role) for role in (Reranker, Grader, AnswerReader))
    assert evaluator.plan == ALLOWED["normal"].plan


async def test_grades_are_probabilities_far_apart_where_it_is_clear(evaluator: Evaluator) -> None:
    grades = await evaluator.grade(QUESTION, PASSAGES)
    assert [grade.relevant for grade in grades] == [False, False, True, False]
    assert all(grade.score is not None and 0 <= grade.score <= 1 for grade in grades)
    assert (grades[2].score or 0) > 0.6
    assert max(grade.score or 0 for grade in (grades[0], grades[3])) < 0.05


async def test_what_was_judged_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.ranking.evaluator._KEPT", 4)
    read: list[int] = []

    async def counted(self: Judge, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        read.append(len(chains))
        return [Verdict(float(len(chain[-1].text))) for chain in chains]

    monkeypatch.setattr(Judge, "judged", counted)
    evaluator = Evaluator()
    first: list[Chain] = [(WOMBAT,), (TITAN,)]
    more: list[Chain] = [(TITAN,), (GANYMEDE,), (WOMBAT,), (TITAN, GANYMEDE)]
    await evaluator.judge(QUESTION, first)
    verdicts = await evaluator.judge(QUESTION, more)
    assert [verdict.relevance for verdict in verdicts] == [len(chain[-1].text) for chain in more]
    assert read == [2, 2]
    await evaluator.judge("Another question?", first)
    assert read == [2, 2, 2]
    await evaluator.judge(QUESTION, more)
    assert read == [2, 2, 2, 2]  # only so many are kept: the first two are gone


async def test_who_asks_the_same_at_the_same_time_waits_for_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    async def slow(self: Judge, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        begun.append(question)
        await asyncio.sleep(0.01)
        return [Verdict(1.0)] * len(chains)

    monkeypatch.setattr(Judge, "judged", slow)
    evaluator, chains = Evaluator(), [(WOMBAT,), (TITAN,)]
    asked = [asyncio.create_task(evaluator.judge(question, chains)) for question in (QUESTION, QUESTION, "Another?", QUESTION)]
    await asyncio.sleep(0)
    asked[0].cancel()  # who waited for it reads by himself, and the third waits for that
    with pytest.raises(asyncio.CancelledError):
        await asked[0]
    assert [len(verdicts) for verdicts in await asyncio.gather(*asked[1:])] == [2, 2, 2]
    assert begun == [QUESTION, "Another?", QUESTION]


async def test_reranking_brings_the_right_passage_up(evaluator: Evaluator) -> None:
    scores = await evaluator.rerank(QUESTION, PASSAGES)
    assert max(range(4), key=lambda place: scores[place]) == 2


async def test_reranking_keeps_the_list_where_it_knows_nothing() -> None:
    scores = await Level().rerank(QUESTION, [Passage(str(n), "x") for n in range(60)])
    assert list(scores) == sorted(scores, reverse=True)
    assert len(set(scores)) == 60


async def test_an_answer_is_read_with_its_exact_place(evaluator: Evaluator) -> None:
    best, *others = (await evaluator.trail(QUESTION, PASSAGES, _nowhere)).answers
    assert (best.kind, best.text, best.chain[best.verdict.passage]) == ("span", "Galileo Galilei", GANYMEDE)
    assert GANYMEDE.text[best.verdict.start : best.verdict.end] == best.text
    assert best.confidence > 0.5
    assert all(other.confidence < best.confidence / 2 for other in others)
    assert len({other.text.casefold() for other in others}) == len(others)


async def test_where_no_answer_is_none_is_believed(evaluator: Evaluator) -> None:
    answers = (await evaluator.trail("How many people live in Paris?", [POTTERY, WOMBAT], _nowhere)).answers
    assert max(one.confidence for one in answers) < 0.1


async def test_yes_and_no_are_answers(evaluator: Evaluator) -> None:
    best = (await evaluator.trail("Is pottery made of clay?", [WOMBAT, POTTERY], _nowhere)).answers[0]
    assert (best.kind, best.text, best.chain[best.verdict.passage]) == ("yes", "yes", POTTERY)


async def test_nothing_to_judge_is_no_work(evaluator: Evaluator) -> None:
    assert await evaluator.rerank(QUESTION, []) == []
    assert await evaluator.grade(QUESTION, []) == []
    trail = await evaluator.trail(QUESTION, [], _nowhere)
    assert (trail.passages, trail.answers, trail.pairs) == ((), (), 0)


async def _nowhere(chains: Sequence[Chain]) -> list[list[list[Passage]]]:
    return [[[], []] for _ in chains]


async def test_a_trail_leads_to_what_the_first_list_does_not_hold(evaluator: Evaluator) -> None:
    film = Passage("film", "Arrow is a film that was directed by Jane Quill.", "Arrow (film)")
    jane = Passage("jane", "Jane Quill (1950 to 2001) was a Portuguese artist, born in Lisbon.", "Jane Quill")

    async def after(chains: Sequence[Chain]) -> list[list[list[Passage]]]:
        return [[[jane], []] if chain == (film,) else [[], []] for chain in chains]

    trail = await evaluator.trail("In which city was the director of the film Arrow born?", [POTTERY, film], after)
    assert [passage.id for passage, _ in trail.passages[:2]] in (["film", "jane"], ["jane", "film"])
    assert trail.answers[0].text == "Lisbon"
    assert trail.answers[0].chain[trail.answers[0].verdict.passage] == jane
    assert trail.pairs <= 2 + 2 * 2 + 2
    assert {passage.id for passage, _ in trail.passages} == {"film", "jane", "pottery"}


async def test_a_low_effort_reads_nothing() -> None:
    trail = await Evaluator(effort="low").trail(QUESTION, PASSAGES, _nowhere)
    assert [passage for passage, _ in trail.passages] == PASSAGES
    assert (trail.answers, trail.pairs) == ((), 0)


async def test_cancelling_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()
    loop, batches = asyncio.get_running_loop(), 0
    real = Judge._run  # pyright: ignore[reportPrivateUsage]

    def slow(*args: object) -> list[Verdict]:
        nonlocal batches
        batches += 1
        loop.call_soon_threadsafe(begun.set)
        return real(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Judge, "_run", slow)
    many = [Passage(str(n), f"{n} potters burn pots. " * 60) for n in range(60)]
    task = asyncio.create_task(Evaluator(threads=1).grade(QUESTION, many))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.5)
    assert batches < 5, "of twenty"


@pytest.mark.parametrize("text", BROKEN)
async def test_a_damaged_calibration_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "calibration.json").write_text(text, encoding="utf-8")
    broken = Evaluator(tmp_path)
    for part in ("weights", "scoring"):
        with pytest.raises(DamagedFile, match=r"calibration\.json"):
            getattr(broken, part)


async def test_missing_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=r"calibration\.json"):
        _ = Evaluator(tmp_path).weights
    shutil.copy(SHIPPED / "calibration.json", tmp_path)
    with pytest.raises(DamagedFile, match=r"evaluator\.onnx"):
        await Evaluator(tmp_path).grade(QUESTION, PASSAGES)
    assert not available(tmp_path)


def test_the_weights_are_verified(tmp_path: Path) -> None:
    verify()
    assert available()
    with pytest.raises(DamagedFile, match=r"calibration\.json"):
        verify(tmp_path)
    shutil.copy(SHIPPED / "calibration.json", tmp_path)
    with pytest.raises(DamagedFile, match=r"evaluator\.onnx"):
        verify(tmp_path)
    weights = bytearray((SHIPPED / MODEL).read_bytes())
    weights[len(weights) // 2] ^= 1
    (tmp_path / MODEL).write_bytes(weights)
    with pytest.raises(DamagedFile, match=r"evaluator\.onnx is damaged"):
        verify(tmp_path)
    (tmp_path / "calibration.json").write_text(json.dumps({"weights": {}}), encoding="utf-8")
    with pytest.raises(DamagedFile, match=r"evaluator\.onnx is damaged"):
        verify(tmp_path)


def test_the_kit_hands_it_out_unless_the_effort_is_low() -> None:
    normal = Parts(Settings(), environ={})
    assert isinstance(normal.reranker(), Evaluator)
    assert isinstance(normal.answer_reader(), Evaluator)
    low = Parts(Settings(effort="low"), environ={})
    assert low.reranker() is low.grader() is low.answer_reader() is None
    none = Parts(Settings(reranker="none"), environ={})
    assert none.answer_reader() is None
    assert Parts(Settings(effort="high", reranker="evaluator"), environ={}).answer_reader().plan == ALLOWED["high"].plan  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="there is no evaluator"):
        from_spec(parse_spec("evaluator:x"), normal)
