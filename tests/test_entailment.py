"""A closer reader of sentences: which it is asked about, what its verdict does, and what the shipped one says."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from wellread.budget import Budget, Limits
from wellread.citations import verdicts
from wellread.citations.check import weighed
from wellread.core.effort import Effort
from wellread.models.scripted import ScriptedModel
from wellread.parts import Parts
from wellread.protocols import AnswerReader
from wellread.ranking import verifier
from wellread.ranking.evaluator import Evaluator
from wellread.run import Run
from wellread.settings import Settings
from wellread.strategies.proof import proofread
from wellread.types import Capabilities, Claim, Judgement, Passage

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BOXER = Passage(
    "b",
    "Olaf Reed (born 17 April 1982) is a boxer who was born in Swindon and lives in Bath. After he had reached the final against "
    "Gary Groves as an amateur, Reed beat Tim Cooper on points.",
    title="Olaf Reed",
)


class Says(AnswerReader):
    """A reader that thinks the same of every sentence."""

    def __init__(self, carried: bool | None, sure: bool = True) -> None:
        self.judgement = None if carried is None else Judgement(carried, sure)
        self.asked: list[str] = []

    async def carries(self, claims: Sequence[Claim]) -> Sequence[Judgement]:
        self.asked += [one.text for one in claims]
        return [self.judgement] * len(claims) if self.judgement else ()


@pytest.mark.parametrize(
    ("text", "says", "verdict"),
    [
        ("Gary Groves was born in Swindon. [1]", False, "not carried"),
        ("Gary Groves was born in Swindon. [1]", True, "carried"),
        ("Gary Groves was born in Swindon. [1]", None, "carried"),  # cannot tell: as the rules have it
        ("Reed never lived in Bath. [1]", True, "carried"),  # the rules doubt it
        ("Reed never lived in Bath. [1]", None, "not carried"),
    ],
)
async def test_the_reader_decides_where_the_rules_went_by_signs(text: str, says: bool | None, verdict: str) -> None:
    judged, used = await verdicts.reread(weighed(text, {1: BOXER}), lambda: Says(says), 10)
    assert ([one.sentence.verdict for one in judged], used) == ([verdict], 1)
    assert [one.number for one in judged[0].sentence.citations] == [1]
    assert judged[0].otherwise is None


@pytest.mark.parametrize("says", [True, False])
async def test_a_reader_that_is_not_sure_leaves_the_other_verdict_too(says: bool) -> None:
    (read,), _ = await verdicts.reread(weighed("Reed never lived in Bath. [1]", {1: BOXER}), lambda: Says(says, sure=False), 10)
    assert read.otherwise is not None
    carried, doubted = (read.sentence, read.otherwise) if says else (read.otherwise, read.sentence)
    assert (carried.verdict, doubted.verdict) == ("carried", "not carried")
    assert [one.number for one in carried.citations] == [1]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Reed fought 31 times. [1]", "not carried"),  # a number that is not there
        ("Olaf Reed was born in 1983. [1]", "not carried"),
        ("Reed never beat Tim Cooper on points. [1]", "not carried"),  # the passage's words, and a "not"
        ("Olaf Reed was born on 18 April 1982. [1]", "not carried"),
        ("Olaf Reed was born in Swindon and lives in Leeds. [1]", "not carried"),
        ("Reed beat Tim Cooper on points. [1]", "carried"),  # the passage's own words
        ("Olaf Reed beat Tim Cooper, so he won (inference). [1]", "carried"),
        ("The material does not say how old he is. [1]", "says what is missing"),
        ("Olaf Reed was born in Swindon.", "not carried"),  # cites nothing
    ],
)
async def test_no_reader_is_asked_where_form_or_a_veto_decides(text: str, verdict: str) -> None:
    reader = Says(False)
    judged, used = await verdicts.reread(weighed(text, {1: BOXER}), lambda: reader, 10)
    assert ([one.sentence.verdict for one in judged], used, reader.asked) == ([verdict], 0, [])


async def test_a_reader_that_weighs_nothing_leaves_the_verdicts_as_they_are() -> None:
    found = weighed("Gary Groves was born in Swindon. [1]", {1: BOXER})
    judged, _ = await verdicts.reread(found, AnswerReader, 10)
    assert judged == [verdicts.Read(one.sentence) for one in found]


async def test_no_more_sentences_are_read_than_allowed() -> None:
    found = weighed("Gary Groves was born in Swindon. [1] Tim Cooper was born in Swindon. [1]", {1: BOXER})
    reader = Says(False)
    judged, used = await verdicts.reread(found, lambda: reader, 1)
    assert ([one.sentence.verdict for one in judged], used) == (["not carried", "carried"], 1)
    assert (await verdicts.reread(found, lambda: reader, 0))[1] == 0


@pytest.mark.parametrize(
    ("said", "judgement"), [(-4, (False, True)), (-2, (False, False)), (1, (True, False)), (3, (True, True))]
)
def test_between_two_scores_the_verdict_is_not_sure(said: float, judgement: tuple[bool, bool]) -> None:
    belief = verifier.Belief(1.0, 2.0, -1.0, 0.0, (-3.0, 2.0))
    assert belief.judge(said, 0.5) == judgement
    assert belief.judge(said, 9.0) == (True, True), "the share counts, too"


def test_words_that_stand_there_do_not_make_up_for_a_plain_no() -> None:
    belief = verifier.Belief(1.0, 2.0, -1.0, 0.0, (-3.0, 2.0), floor=-1.5)
    assert belief.judge(-1.6, 1.0) == (False, False)
    assert belief.judge(-1.4, 1.0) == (False, False)
    assert belief.judge(-1.4, 1.5) == (True, False)


needs_weights = pytest.mark.skipif(not verifier.available(), reason="the verifier's file is not here")


@needs_weights
def test_the_shipped_verifier_reads_who_it_was() -> None:
    reader = verifier.Verifier()
    wrong = reader.weigh("Gary Groves was born in Swindon and lives in Bath.", [BOXER])
    right = reader.weigh("Olaf Reed was born in Swindon and lives in Bath.", [BOXER])
    assert right > wrong + 1


@needs_weights
async def test_sentences_are_read_together_as_they_are_alone() -> None:
    """One call for all of an answer, of any length, and the verdicts in their order."""
    texts = ["Reed lives in Bath.", "Gary Groves was born in Swindon.", "Reed, a boxer, won against Tim Cooper on points.", "No."]
    claims = [Claim(text, [BOXER] * (1 + place), 0.5) for place, text in enumerate(texts)]
    reader = Evaluator()
    alone = [one for claim in claims for one in await reader.carries([claim])]
    assert [*await reader.carries(claims)] == alone
    assert [one.carried for one in alone[:2]] == [True, False]
    assert [*await reader.carries([])] == []


@needs_weights
@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Google was acquired by YouTube [1].", "not carried"),  # none of its words is missing
        ("YouTube was acquired by Google [1].", "carried"),
    ],
)
async def test_who_did_it_to_whom(said: str, verdict: str) -> None:
    told = Passage(
        "y",
        "YouTube was founded by Chad Hurley, Steve Chen and Jawed Karim, who had worked for PayPal. In 2006 Google bought it.",
    )
    (read,), _ = await verdicts.reread(weighed(said, {1: told}), Evaluator, 1)
    assert read.sentence.verdict == verdict


@needs_weights
def test_the_shipped_file_is_the_one_of_the_model_card() -> None:
    verifier.verify()


TITAN = "Titan is the largest moon of Saturn. It was discovered by the Dutch astronomer Christiaan Huygens on 25 March 1655."


@needs_weights
@pytest.mark.parametrize("effort", ["low", "normal", "high"])
@pytest.mark.parametrize(
    ("told", "said", "carried"),
    [
        (TITAN, "Titan was discovered by Christiaan Huygens in 1655 [1].", True),
        (TITAN, "Titan was discovered by Christiaan Huygens in 1656 [1].", False),
        (TITAN, "Titan was discovered by Christiaan Huygens in 1654 [1].", False),
        (TITAN, "Titan was discovered by Giovanni Huygens in 1655 [1].", False),
        (TITAN, "Titan is not the largest moon of Saturn [1].", False),
        ("Titan was not visited in 1655.", "Titan was visited in 1655 [1].", False),
        ("The new bridge in Bergen cost 45 million dollars.", "The bridge in Bergen cost 45 billion dollars [1].", False),
        ("The new bridge in Bergen cost 45 million dollars.", "The bridge in Bergen cost 45 million euros [1].", False),
        ("The new bridge in Bergen cost 45 million dollars.", "The bridge in Bergen cost $45 million [1].", True),
        ("Its lamps burn for 20 minutes.", "Its lamps burn for 20 seconds [1].", False),
        ("The bridge was opened in 1901.", "It is false that the bridge was opened in 1901 [1].", False),
    ],
)
async def test_what_is_plainly_something_else_is_for_no_reader_to_decide(
    told: str, said: str, carried: bool, effort: Effort
) -> None:
    """Neither the shipped verifier overrules it nor a language model, which agrees to everything."""
    kit = Parts(Settings(model="none", effort=effort))
    model = ScriptedModel(lambda prompt: '{"not_carried": []}', capabilities=Capabilities(32_000, schemas=True))
    run = Run(
        "", "guided", kit.source("library"), kit, Budget(Limits(), time.monotonic), lambda event: None, time.monotonic, "", "a"
    )
    run.passages = {1: Passage("p", told)}
    answer = await run.answer(said, proof=lambda read: proofread(run, read, model))
    await kit.aclose()
    assert [one.supported for one in answer.sentences] == [carried]
