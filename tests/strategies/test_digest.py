"""`digest`: pages or index passages, summarised each, answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.strategies.bench import Bench, Pages, Shelf, entry, passage, supported

from wellread import events
from wellread.budget import Limits
from wellread.core.effort import ALLOWED, Plan
from wellread.errors import DamagedFile, EmbedderError
from wellread.protocols import Grader, Reranker
from wellread.ranking.evaluator import Evaluator, Trail
from wellread.sources.multi_hop import Several
from wellread.strategies.digest import Digest, Document, relevant
from wellread.strategies.relevance import content
from wellread.types import Capabilities, Completion, Grade, Hit, Passage, Prompt

pytestmark = pytest.mark.anyio

QUESTION = "When did the telescope come to Middelburg?"
FACT = "The telescope came to Middelburg in 1608."


def page(number: int, *, facts: Sequence[str] = (FACT,)) -> list[str]:
    """A page with a lot that does not matter."""
    return [*(f"Filler {n} of page {number} is about soup." for n in range(8)), *facts, "The end of the page."]


WEB = [
    entry(f"Page {n}", None, url=f"https://web.example/{n}", snippet=f"Snippet {n} on the telescope in Middelburg")
    for n in range(8)
]


@dataclass
class Archive(Shelf):
    """A local index in memory: it can give all passages of a document, and be tuned."""

    has_documents: bool = True
    tunings: list[dict[str, int]] = field(default_factory=list)

    def tuned(self, **options: int) -> Archive:
        self.tunings.append(options)
        return self

    async def passages(self, document: str) -> Sequence[Hit]:
        return [hit for hit in self.hits if hit.document == document]


def chunk(document: str, place: int, text: str) -> Hit:
    return Hit(
        f"{document}#{place}", text, document.title(), f"https://wiki.example/{document}", source="index", document=document
    )


TELESCOPE = [
    chunk("telescope", 0, "A telescope is an instrument for looking far."),
    chunk("telescope", 1, "The telescope came to Middelburg in 1608, made by a maker of lenses."),
    chunk("telescope", 2, "Its lenses were ground by hand at first."),
    chunk("telescope", 3, "Soup is not made with it."),
    chunk("middelburg", 0, "Middelburg is a town in Zeeland, where the telescope is remembered."),
    chunk("soup", 0, "Soup is a dish."),
]


class Overlap(Reranker):
    """A re-ranker that counts shared words and remembers what it read."""

    def __init__(self) -> None:
        self.read: list[list[str]] = []

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        self.read.append([passage.id for passage in passages])
        return [float(len(content(question) & content(passage.text))) for passage in passages]


def replies(summary: object = "", answer: object = f"{FACT} [1]") -> object:
    def say(prompt: Prompt) -> object:
        text = prompt.messages[-1].text
        if "numbered passages of" in text:
            return summary(text) if callable(summary) else summary
        return answer

    return say


def numbers(text: str) -> list[str]:
    return [line.strip("[]") for line in text.splitlines() if line.startswith("[") and line.endswith("]")]


def cited(text: str) -> str:
    """A summary that names the passage with the fact."""
    before = text.partition(FACT)[0]
    return f"{FACT} [{numbers(before)[-1]}]" if FACT in text else "NOTHING"


def internet(summary: object = cited, *, pages: dict[str, Sequence[str]] | None = None, **options: object) -> Bench:
    given = pages if pages is not None else {hit.url or "": page(n) for n, hit in enumerate(WEB)}
    options = {"ranks": Overlap(), "source": Shelf(WEB, name="web"), **options}
    return Bench(replies(summary, options.pop("answer", f"{FACT} [1]")), page_reader=Pages(given), **options)  # pyright: ignore[reportArgumentType]


async def test_the_internet_way() -> None:
    bench = internet(answer="The telescope came to Middelburg in 1608. [5]")
    answer = await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert [url.rsplit("/", 1)[-1] for url in bench.page_reader.read_urls] == ["0", "1", "2"]
    assert [len(batch) for batch in bench.ranks.read] == [10, 10, 10]
    roles = [called.role for called in bench.of(events.ModelCalled)]
    assert roles == ["summary", "summary", "summary", "answer"]
    first = bench.prompt(0).partition("\n[1]\n")[2]
    assert FACT in first
    assert "Snippet 0 on the telescope" in first, "the snippet goes with the passages"
    assert first.count("Filler") == 4, "five passages of ten are kept"
    shown = bench.prompt(-1)
    assert shown.count(FACT) == 3, "one summary for each document"
    assert "Filler" not in shown
    assert "Snippet" not in shown
    assert [thought.kind for thought in bench.of(events.Thought)] == ["summary"] * 3
    assert answer.usage.pages == 3
    assert supported(answer) == [True]
    assert answer.citations[0].passage.text == FACT


async def test_parameters_of_the_internet_way() -> None:
    bench = internet()
    await bench.ask(
        Digest,
        QUESTION,
        top_k_documents=2,
        num_nodes_rerank_per_document=4,
        top_k_nodes_per_document=1,
        top_k_snippets_per_document=2,
    )
    assert len(bench.page_reader.read_urls) == 2
    assert [len(batch) for batch in bench.ranks.read] == [4, 4]
    assert "Snippet 2 on the telescope" in bench.prompt(-1), "further results join, unsummarised"
    assert "Snippet 3 on the telescope" in bench.prompt(-1)
    assert "Snippet 4" not in bench.prompt(-1)


async def test_pages_that_fail_are_replaced_by_the_next() -> None:
    pages = {f"https://web.example/{n}": page(n) for n in (1, 3, 4)}
    bench = internet(pages=pages)
    answer = await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert len(bench.of(events.PageFailed)) == 2
    assert answer.outcome == "answered"
    assert len(bench.of(events.Thought)) == 3


async def test_no_page_at_all() -> None:
    bench = internet(pages={})
    answer = await bench.ask(Digest, QUESTION)
    assert answer.outcome == "unsure"
    assert answer.reason is not None
    assert answer.reason.startswith("6 results were found and none of their pages could be read")
    bench = internet(source=Shelf())
    answer = await bench.ask(Digest, QUESTION)
    assert answer.reason == f"nothing was found; searched for “{QUESTION}”"


async def test_hits_that_bring_their_text_are_not_read_again() -> None:
    hits = [
        entry(f"Wiki {n}", "\n\n".join(page(n)), url=f"https://wiki.example/{n}", snippet="telescope Middelburg")
        for n in range(3)
    ]
    bench = internet(source=Shelf(hits))
    await bench.ask(Digest, QUESTION)
    assert not bench.page_reader.read_urls
    assert [len(batch) for batch in bench.ranks.read] == [10, 10, 10]


async def test_documents_that_say_nothing_are_left_out() -> None:
    pages = {hit.url or "": page(n, facts=(FACT,) if n == 1 else ()) for n, hit in enumerate(WEB)}
    bench = internet(pages=pages)
    await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert bench.prompt(-1).count(FACT) == 1
    bench = internet("Nothing.")
    answer = await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert answer.outcome == "unsure"
    assert answer.reason is not None
    assert answer.reason.startswith("3 documents were read and say nothing about it")


async def test_summaries_without_numbers_get_them_or_give_way_to_the_passages() -> None:
    bench = internet(FACT)
    await bench.ask(Digest, QUESTION, top_k_documents=1)
    assert f"{FACT} [" in bench.prompt(-1)
    bench = internet("It is all very interesting.")
    await bench.ask(Digest, QUESTION, top_k_documents=1)
    assert "interesting" not in bench.prompt(-1)
    assert FACT in bench.prompt(-1)
    bench = internet(Completion("", finish="refusal"))
    assert (await bench.ask(Digest, QUESTION)).outcome == "answered"


async def test_the_local_index_way() -> None:
    archive = Archive(TELESCOPE, name="index", everything=True)
    bench = Bench(
        replies(lambda text: "The telescope came to Middelburg in 1608. [1]" if "1608" in text else "NOTHING"),  # pyright: ignore[reportArgumentType]
        source=archive,
        ranks=Overlap(),
    )
    answer = await bench.ask(Digest, QUESTION, shared_tokens=1, top_k_nodes=2, top_k_related_nodes=1)
    assert archive.asked[0].limit == 100
    assert archive.tunings == [{"similarity_search_top_k_nodes": 100, "similarity_search_rescore_multiplier": 4}]
    assert bench.ranks.read[0] == [hit.id for hit in await archive.search(archive.asked[0])]
    assert set(bench.ranks.read[1]) == {"telescope#0", "telescope#2", "telescope#3"}, "the other passages of the best document"
    shown = [event.passage for event in bench.of(events.Numbered)]
    assert [one.id for one in shown] == ["telescope#0", "middelburg#0"], "a document once"
    assert shown[0].text == f"{TELESCOPE[0].text}\n\n{TELESCOPE[1].text}", "its neighbouring passages as one, in its order"
    assert [called.role for called in bench.of(events.ModelCalled)] == ["summary", "summary", "answer"]
    assert answer.outcome == "answered"
    assert not bench.page_reader.read_urls


async def test_parameters_of_the_local_way() -> None:
    archive = Archive(TELESCOPE, everything=True)
    bench = Bench(replies("NOTHING"), source=archive, ranks=Overlap())  # pyright: ignore[reportArgumentType]
    await bench.ask(
        Digest,
        QUESTION,
        similarity_search_top_k_nodes=5,
        similarity_search_rescore_multiplier=2,
        top_k_nodes=3,
        top_k_related_documents=0,
    )
    assert archive.asked[0].limit == 5
    assert archive.tunings[0]["similarity_search_rescore_multiplier"] == 2
    assert len(bench.ranks.read) == 1
    assert len(bench.of(events.Numbered)) == 2, "three passages, two of them neighbours"


async def test_both_kinds_of_source_together() -> None:
    archive = Archive(TELESCOPE, name="index", everything=True)
    bench = internet(source=Several([archive, Shelf(WEB, name="web")]))
    await bench.ask(Digest, QUESTION, top_k_documents=1)
    assert archive.asked[0].limit == 100
    assert len(bench.page_reader.read_urls) == 1


@pytest.mark.parametrize(("embeds", "by"), [(None, "meaning"), (EmbedderError("none"), "words")])
async def test_without_a_re_ranker_meaning_or_words_rank(embeds: Exception | None, by: str) -> None:
    bench = internet(ranks=None, **({"embeds": embeds} if embeds else {}))
    answer = await bench.ask(Digest, QUESTION)
    assert {ranked.by for ranked in bench.of(events.Ranked)} == {by}
    assert answer.outcome == "answered"


async def test_a_broken_re_ranker_is_reported() -> None:
    bench = internet()
    bench.reranker = lambda spec=None: (_ for _ in ()).throw(DamagedFile("weights"))  # pyright: ignore[reportAttributeAccessIssue]
    await bench.ask(Digest, QUESTION, top_k_documents=1)
    assert "re-ranker is not there" in bench.of(events.Notice)[0].message


async def test_the_re_ranker_reads_as_much_as_the_parameters_say() -> None:
    many = {"https://web.example/0": [f"Paragraph {n} on soup." for n in range(90)] + [FACT, "More soup.", "And more."]}
    for effort, nodes, read in (("low", 100, []), ("normal", 100, [93]), ("high", 100, [93]), ("normal", 91, [91])):
        bench = internet(pages=many, effort=effort)
        answer = await bench.ask(Digest, QUESTION, top_k_documents=1, num_nodes_rerank_per_document=nodes)
        assert [len(batch) for batch in bench.ranks.read] == read
        assert answer.usage.pairs == sum(read)
        assert FACT in bench.prompt(0)


async def test_documents_are_summarised_at_the_same_time() -> None:
    bench = internet()
    bench.scripted.delay, bench.scripted.piece = 0.4, 10_000  # long beside what a busy machine adds
    answer = await asyncio.wait_for(bench.ask(Digest, QUESTION, shared_tokens=1), 10)
    called = [event for event in bench.seen if isinstance(event, events.ModelCalled)]
    assert sum(event.seconds for event in called[:3]) > 1.19
    assert answer.seconds < 1.4


async def test_a_budget_that_ends_between_keeps_what_was_read() -> None:
    bench = internet(limits=Limits(tokens=700), answer=f"{FACT} [1]")
    answer = await bench.ask(Digest, QUESTION)
    assert answer.outcome == "exhausted"
    assert "1608" in answer.text
    bench = internet(limits=Limits(searches=0))
    answer = await bench.ask(Digest, QUESTION)
    assert (answer.outcome, answer.text) == ("exhausted", "")
    assert answer.reason == "the limit on searches is reached before anything was found"


async def test_a_small_window_never_overflows() -> None:
    window = 900

    def say(prompt: Prompt) -> str:
        used = sum(bench.scripted.count_tokens(message.text) for message in prompt.messages)
        assert used + (prompt.max_tokens or 0) <= window
        return f"{FACT} [1]"

    pages = {hit.url or "": [f"{FACT} " + "word " * 300 for _ in range(6)] for hit in WEB}
    bench = internet(pages=pages, model_options={"capabilities": Capabilities(window)})
    bench.scripted.script = say
    await bench.ask(Digest, QUESTION)
    assert bench.of(events.Cut)


async def test_small_documents_share_a_call_and_large_ones_do_not() -> None:
    bench = internet()
    await bench.ask(Digest, QUESTION)
    assert [called.role for called in bench.of(events.ModelCalled)] == ["summary", "answer"]
    assert "numbered passages of 3 documents" in bench.prompt(0)
    stories = [f"Long story {n} about soup and the telescope in Middelburg. " * 40 for n in range(3)]
    long = {hit.url or "": [FACT, *stories] for hit in WEB}
    apart = internet("So it was. [1]", pages=long)
    await apart.ask(Digest, QUESTION, top_k_documents=2)
    assert [called.role for called in apart.of(events.ModelCalled)] == ["summary", "summary", "answer"]


async def test_a_summary_is_told_what_the_other_documents_are_about() -> None:
    bench = Bench(replies(cited), source=Archive(TELESCOPE), ranks=Overlap())
    await bench.ask(Digest, QUESTION, shared_tokens=1)
    first = bench.prompt(0)
    assert "Middelburg: Middelburg is a town in Zeeland" in first
    assert "<data-" in first.partition("Middelburg: Middelburg is a town")[0][-40:], "foreign words stay inside the fence"
    assert "may be a link" in first


async def test_passages_of_one_title_are_read_together() -> None:
    parts = [entry("Telescope", f"{FACT} Part {n}.", document=f"file-{n}") for n in range(3)]
    bench = Bench(replies(cited), source=Archive(parts), ranks=Overlap())
    await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert [called.role for called in bench.of(events.ModelCalled)] == ["summary", "answer"]
    assert "numbered passages of one document" in bench.prompt(0)


class Likely(Grader):
    """A grader that finds pages on soup irrelevant."""

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        return [Grade(score > 0.5, score) for score in (0.01 if "soup" in passage.text else 0.9 for passage in passages)]


async def test_irrelevant_pages_get_no_call() -> None:
    pages = {hit.url or "": [FACT] if n == 1 else [f"Middelburg telescope soup {n}."] for n, hit in enumerate(WEB)}
    bench = internet(pages=pages, grades=Likely(), source=Shelf([replace(hit, snippet="") for hit in WEB], everything=True))
    await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert [called.role for called in bench.of(events.ModelCalled)] == ["summary", "answer"]
    assert FACT in bench.prompt(0)
    assert bench.of(events.Decided)[0].why.startswith("2 of 3 documents are irrelevant")


async def test_passages_of_an_index_are_followed_and_the_unlikely_get_no_call() -> None:
    class Pathfinder(Evaluator):
        plan = Plan(singles=4, firsts=1, seconds=2)
        languages = frozenset({"en"})

        async def carries(self, *_: object) -> tuple[()]:
            return ()

        async def trail(self, question: str, ranked: Sequence[Passage], candidates: object, plan: object = None) -> Trail:
            scores = {"Telescope": -0.2, "Middelburg": -1.0, "Soup": -9.0}
            return Trail(tuple(sorted(((one, scores[one.title]) for one in ranked), key=lambda pair: -pair[1])), (), 5)

    bench = Bench(replies(f"{FACT} [1]"), source=Archive(TELESCOPE, everything=True))
    bench.answer_reader = lambda: Pathfinder()  # pyright: ignore[reportAttributeAccessIssue]
    await bench.ask(Digest, QUESTION, shared_tokens=1)
    assert [called.role for called in bench.of(events.ModelCalled)] == ["summary", "summary", "answer"]
    assert "Soup is a dish." not in "".join(bench.prompt(index) for index in range(3))
    assert bench.source.asked[0].follow is False, "what digest follows itself is not followed twice"


def test_the_reference_says_what_the_re_ranker_reads() -> None:
    text = " ".join(Path("docs/reference/strategies.md").read_text().split())
    assert f"it reads the {ALLOWED['normal'].passages} (at high effort {ALLOWED['high'].passages}) that are nearest" in text


def test_the_likeliest_document_stays_where_all_are_unlikely() -> None:
    documents = [Document(str(n), (passage(n, "x"),), likelihood=n / 1000) for n in (3, 9, 6)]
    assert [one.title for one in relevant(Bench().run("?"), documents)] == ["9"]
    unread = Document("unread", (passage(1, "x"),))
    assert [one.title for one in relevant(Bench().run("?"), [*documents, unread])] == ["9", "unread"]
