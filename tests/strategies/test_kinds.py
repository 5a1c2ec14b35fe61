"""Answers by the kind of their question, with the evaluator of the package."""

from __future__ import annotations

import pytest
from tests.strategies.bench import Shelf

from wellread.engine import Engine
from wellread.ranking.answers import Best
from wellread.ranking.paths import Verdict
from wellread.settings import Settings
from wellread.strategies import likely_sentences, trail
from wellread.types import Answer, Hit, Passage

pytestmark = pytest.mark.anyio

MANUAL = (
    Hit(
        "plugins",
        "The vault has plugins. You can write the logic of a plugin in unmanaged C++. Put it into the folder.",
        "Plugins",
    ),
    Hit("company", "Yes. The vault is free software. You may use it in a company without any fees.", "Use in a company"),
    Hit("keys", "You need a stick. A key file is a file that holds a second key. Keep the key file safe and on a stick.", "Keys"),
    Hit(
        "tabs", "The poller tab controls how often values are read. Print a list of decoder plugins with the last button.", "Tabs"
    ),
)


async def asked(question: str) -> Answer:
    async with Engine(Settings(model="none"), source=Shelf(MANUAL, everything=True)) as engine:
        return await engine.ask(question, strategy="quote", params={"min_confidence": "0"})


@pytest.mark.slow
@pytest.mark.parametrize("question", ["Can plugins be written in unmanaged C++?", "Does the poller tab print a list?"])
async def test_a_phrase_never_answers_a_question_after_yes_or_no(question: str) -> None:
    assert (await asked(question)).short in (None, "Yes", "No")


@pytest.mark.slow
async def test_yes_is_told_where_the_passage_says_so_at_once() -> None:
    answer = await asked("May the vault be used in a company?")
    assert answer.short == "Yes"
    assert answer.text.startswith("Yes. The vault is free software.")


@pytest.mark.slow
async def test_a_sentence_that_tells_whether_it_is_so_has_what_stands_around_it() -> None:
    answer = await asked("Can plugins be written in unmanaged C++?")
    assert answer.text == f"{MANUAL[0].text} [1]"


@pytest.mark.slow
async def test_a_definition_is_the_sentence_that_gives_it() -> None:
    answer = await asked("What is a key file?")
    assert answer.citations[0].quote.startswith("A key file is a file that holds a second key.")
    assert answer.short is None or answer.short.startswith(("a file", "file"))
    assert (answer.confidence or 0) >= 0.7


@pytest.mark.slow
async def test_a_phrase_out_of_a_sentence_that_defines_nothing_is_no_headline() -> None:
    answer = await asked("What is a decoder plugin?")
    assert answer.short is None
    assert (answer.confidence or 0) < 0.5


def best(kind: str, text: str, *titles: str) -> Best[Passage]:
    chain = tuple(Passage(title, "Both were born in Ohio.", title) for title in titles)
    return Best(text, kind, chain, Verdict(0.0, (0.0, 0.0, 0.0, 0.0)), 0.0, 0.0, 0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("titles", "headline"),
    [(("Ann Reed",), ""), (("Ann Reed", "Bob Hill"), "Yes"), (("Manual", "Manual"), ""), (("Manual", "Options"), "")],
)
def test_the_models_own_yes_is_told_where_documents_were_compared(titles: tuple[str, ...], headline: str) -> None:
    (sentence,) = likely_sentences.candidates([Passage("1", "Both were born in Ohio.", "Directors")])
    assert trail.headline("Were Ann Reed and Bob Hill born in Ohio?", best("yes", "yes", *titles), sentence) == headline


def test_other_questions_keep_their_phrases() -> None:
    (sentence,) = likely_sentences.candidates([Passage("1", "Both were born in Ohio.", "Directors")])
    span, yes = best("span", "Ohio", "Ohio"), best("yes", "yes", "Ohio")
    assert trail.headline("Where were they born?", span, sentence) == "Ohio"
    assert trail.possible("Where were they born?", [span, yes]) == [span, yes]
    assert trail.possible("Were they born in Ohio?", [span, yes]) == [yes]


def test_a_phrase_is_no_default_where_nothing_says_so() -> None:
    text = "Data comes from port 20.\n\nlisten_port: the port.\n\nDefault: 21\n\nidle: 300 seconds where it is not set."
    passage = Passage("p", text, "ftpd")

    def read(words: str) -> Best[Passage]:
        start = text.index(words)
        return Best(words, "span", (passage,), Verdict(0.0, start=start, end=start + len(words), text=words), 0.0, 0.0, 0)

    answers = [read("20"), read("21"), read("300 seconds")]
    assert [one.text for one in trail.possible("Which port does ftpd use by default?", answers)] == ["21", "300 seconds"]
    assert len(trail.possible("Which port does data come from?", answers)) == len(answers)


@pytest.mark.parametrize(
    ("entry", "value"), [("listen_port", "21"), ("banner", None), ("idle", "300 seconds"), ("most", "0 (unlimited)")]
)
def test_the_default_of_an_entry_stands_below_it(entry: str, value: str | None) -> None:
    text = (
        "listen_port: The port it listens on. Only for standalone servers.\n\nDefault: 21\n\n"
        "banner: What is said first.\n\nidle: How long it waits.\n\n(default: 300 seconds)\n\n"
        "most: How many may come.\n\nDefault: 0 (unlimited)\n"
    )
    passage = Passage("p", text, "ftpd")
    (said,) = [one for one in likely_sentences.candidates([passage]) if one.text.startswith(entry)]
    found = trail.default_below(said)
    assert (found[0] if found else None) == value
    assert found is None or found[1].text.lower().strip("(").startswith("default")


DIFFERS = "The exit status is 0 when the files are the same, 1 when they differ, and 2 when there was trouble."
SHORTER = "An exit status of 0 means no differences, 1 some, 2 trouble."
ROOMS = "It has 12 rooms, 3 baths and 2 kitchens."


@pytest.mark.parametrize(
    ("question", "number", "text", "headline"),
    [
        ("What is the exit status when the files differ?", "0", DIFFERS, ""),
        ("What is the exit status when the files are the same?", "0", DIFFERS, "0"),
        ("What does exit status 1 mean?", "0", SHORTER, ""),
        ("What are the exit codes?", "0", SHORTER, ""),
        ("What is the exit status on trouble?", "2", SHORTER, "2"),
        ("How many baths does it have?", "3", ROOMS, "3"),
        ("What is the default?", "10", "The default is 10, see section 3.", "10"),
    ],
)
def test_a_number_beside_others_is_a_headline_where_the_question_picks_it(
    question: str, number: str, text: str, headline: str
) -> None:
    (sentence,) = likely_sentences.candidates([Passage("1", text)])
    assert trail.headline(question, best("span", number, "1"), sentence) == headline
