"""`hops=2`: what the first passages lead to, by the evaluator's paths or by ranks alone."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.sources.kit import TestKit

from wellread.budget import Budget, Limits
from wellread.core.codec import brief, decode
from wellread.core.effort import ALLOWED, Plan
from wellread.engine import Engine
from wellread.errors import SettingsError, UsageError
from wellread.events import Event
from wellread.index.build import build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.parts import Parts
from wellread.plugins import parse_spec
from wellread.protocols import Source
from wellread.ranking.evaluator import Candidates, Evaluator, Trail
from wellread.run import Run
from wellread.settings import Settings, load
from wellread.sources.files import from_spec as files
from wellread.sources.index import from_spec as index
from wellread.sources.multi_hop import AFTER, Several, TwoSteps, mentioned, second_query
from wellread.types import Hit, Hits, Passage, Query

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ASKED = Query("Where was the director of Arrow born?", 5)
FILM = Hit("film", title="Arrow", text="Arrow was directed by Jane Quill.", links=("Jane Quill", "Nowhere"))
JANE = Hit("jane", title="Jane Quill", text="Jane Quill comes from Lisbon.", source="shelf")
KILN = Hit("kiln", title="Kiln", text="A kiln burns clay.")
BLANK = Hit("blank", title="Blank", text="  ")


@dataclass
class Shelf(Source):
    """Finds the film by the question, and something else by longer queries."""

    first: Sequence[Hit] = (KILN, FILM, BLANK)
    later: Sequence[Hit] = (KILN,)
    name: str = "shelf"
    hint: str = "a few films"
    examples: str = "ask about films"
    asked: list[Query] = field(default_factory=list[Query])

    async def search(self, query: Query) -> Sequence[Hit]:
        self.asked.append(query)
        return self.first if query.text == ASKED.text else self.later


class Linked(Shelf):
    async def find_title(self, title: str) -> Sequence[Hit]:
        return [JANE] if title == "Jane Quill" else []


@dataclass
class Script(Evaluator):
    """Follows the film, and ranks what it was given backwards."""

    languages: frozenset[str] = frozenset({"en"})
    allowed: Plan = field(default_factory=lambda: ALLOWED["normal"].plan)
    pairs: int = 7
    lists: list[Any] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        return self.allowed

    async def read(self, question: str, passages: Sequence[Passage]) -> Sequence[Any]:
        return []

    async def trail(self, question: str, ranked: Sequence[Passage], candidates: Candidates) -> Trail:
        self.lists = list(await candidates([(passage,) for passage in ranked if passage.id == "film"]))
        met = [*ranked, *(one for lists in self.lists for entries in lists for one in entries)]
        once = list({passage.id: passage for passage in met}.values())[::-1]
        return Trail(tuple((passage, float(-rank)) for rank, passage in enumerate(once)), (), self.pairs)


@dataclass
class Tracking(TestKit):
    tracker: Script | None = None

    def answer_reader(self) -> Script | None:
        return self.tracker


async def test_the_tracker_decides_and_its_pairs_are_told() -> None:
    shelf, script = Linked(), Script()
    found = await TwoSteps(shelf, Tracking(tracker=script)).search(ASKED)
    assert isinstance(found, Hits)
    assert found.pairs == 7
    assert [hit.id for hit in found] == ["jane", "film", "kiln"], "a hit without words is no passage"
    assert [hit.score for hit in found] == [0.0, -1.0, -2.0]
    assert found[0] == replace(JANE, score=0.0), "hits stay what they were"
    assert [[passage.id for passage in entries] for entries in script.lists[0]] == [["jane"], ["kiln"]]
    assert [query.limit for query in shelf.asked] == [ALLOWED["normal"].plan.singles, AFTER]
    assert shelf.asked[1].text == second_query(ASKED.text, Hit.passage(FILM))


async def test_a_tracker_is_not_asked_in_a_language_that_it_was_not_trained_for() -> None:
    for language, pairs in ((None, 7), ("en", 7), ("de", 0)):
        found = await TwoSteps(Linked(), Tracking(tracker=Script())).search(replace(ASKED, language=language))
        assert isinstance(found, Hits)
        assert found.pairs == pairs, language


async def test_the_query_keeps_its_dates_and_its_limit() -> None:
    shelf = Linked()
    asked = replace(ASKED, limit=1, since="2020-01-01", until="2021-01-01", language="pt")
    found = await TwoSteps(shelf, Tracking(tracker=Script(languages=frozenset({"pt"})))).search(asked)
    assert [hit.id for hit in found] == ["jane"]
    assert {(query.since, query.until, query.language) for query in shelf.asked} == {("2020-01-01", "2021-01-01", "pt")}
    await TwoSteps(shelf, Tracking(tracker=Script())).search(replace(ASKED, limit=50))
    assert shelf.asked[-2].limit == 50, "never fewer than were asked for"


async def test_without_a_tracker_the_best_passages_are_followed_by_their_scores() -> None:
    shelf = Shelf(later=(JANE, FILM))
    found = await TwoSteps(shelf, Tracking()).search(ASKED)
    assert {hit.id for hit in found} == {"film", "kiln", "jane"}
    assert [hit.id for hit in found] == ["kiln", "jane", "film"], "the best of the first step stays, then what it leads to"
    assert isinstance(found, Hits)
    assert found.pairs == 0
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert len(shelf.asked) == 3, "one search for each passage that is followed"
    assert len(await TwoSteps(shelf, Tracking()).search(replace(ASKED, limit=2))) == 2


async def test_a_tracker_that_may_read_nothing_is_not_asked() -> None:
    script = Script(allowed=ALLOWED["low"].plan)
    found = await TwoSteps(Shelf(later=(JANE, FILM)), Tracking(tracker=script)).search(ASKED)
    assert script.lists == []
    assert {hit.id for hit in found} == {"film", "kiln", "jane"}, "a second step there is all the same"


async def test_nothing_found_leads_nowhere() -> None:
    for tracker in (None, Script()):
        assert list(await TwoSteps(Shelf(first=()), Tracking(tracker=tracker)).search(ASKED)) == []


async def test_what_went_wrong_on_the_way_is_told_once() -> None:
    first = Hits((FILM,), ("far: is down",))
    later = Hits(
        (KILN,),
        (
            "far: is down",
            "near: is slow",
        ),
    )
    for tracker in (None, Script()):
        found = await TwoSteps(Linked(first, later), Tracking(tracker=tracker)).search(ASKED)
        assert isinstance(found, Hits)
        assert found.failures == ("far: is down", "near: is slow")


async def test_the_pairs_of_the_source_itself_are_counted_too() -> None:
    first, later = Hits((FILM,), (), 3), Hits((KILN,), (), 2)
    found = await TwoSteps(Linked(first, later), Tracking(tracker=Script())).search(ASKED)
    assert isinstance(found, Hits)
    assert found.pairs == 7 + 3 + 2
    both = await Several([Shelf(first), Shelf(later, name="other")]).search(ASKED)
    assert isinstance(both, Hits)
    assert both.pairs == 5


async def test_what_the_source_can_do_remains() -> None:
    source = TwoSteps(Linked(), Tracking())
    assert (source.name, source.hint, source.examples) == ("shelf", "a few films", "ask about films")
    assert [hit.id for hit in await source.find_title("Jane Quill")] == ["jane"]
    assert not await TwoSteps(Shelf(), Tracking()).find_title("Jane Quill")
    assert copy.copy(source).name == "shelf"


def test_references_come_in_the_order_of_the_text() -> None:
    text = Passage("x", "First Bob, then the Ada of old; café last.")
    titles = ["Nobody", "Café", "Ada (queen)", "Bob"]
    names = [one.title for one in mentioned([Passage(title, "…", title) for title in titles], text)]
    assert names == ["Bob", "Ada (queen)", "Café", "Nobody"]


async def test_a_run_counts_the_pairs_of_its_searches() -> None:
    seen: list[Event] = []
    source = TwoSteps(Linked(), Tracking(tracker=Script(pairs=50)))
    run = Run("?", "test", source, Tracking(), Budget(Limits(), time.monotonic), seen.append, time.monotonic, "2026-11-15", "x")  # type: ignore[arg-type]
    await run.search(ASKED.text)
    assert run.budget.usage.pairs == 50
    assert run.pairs_left == 10
    await run.search(ASKED.text)
    assert (run.budget.usage.pairs, run.pairs_left) == (50, 10), "too few are left to follow paths: by ranks"


def test_recordings_keep_pairs_and_failures() -> None:
    kept = decode(Hits, brief(Hits((FILM, JANE), ("far: is down",), 46)))
    assert isinstance(kept, Hits)
    assert (tuple(kept), kept.failures, kept.pairs) == ((FILM, JANE), ("far: is down",), 46)
    assert brief(Hits((FILM,))).keys() == {"hits"}


QUESTION = "In which city was the director of the film Silver Arrow born?"
STORY = {
    "Silver Arrow": "Silver Arrow is a film of 1971. The director of the film was Jane Quill.",
    "Jane Quill": "Quill came into the world at Lisbon, where her parents sold cork and salt.",
    "Red Kite": "Red Kite is a film of 1980 about an archer in the city of Turin.",
    "Kiln": "A kiln is an oven in which clay is burnt hard.",
    "Wombat": "The wombat digs long burrows with its claws.",
}
FILLER = [f"The director of film number {n} was born in no city, says the film." for n in range(6)]


@pytest.fixture(scope="module")
def kit() -> Parts:
    return Parts(Settings(hops=2), environ={})


def library(folder: Path) -> str:
    for title, text in STORY.items():
        (folder / f"{title}.txt").write_text(f"{title}\n\n{text}\n", encoding="utf-8")
    for n, text in enumerate(FILLER):
        (folder / f"Film {n}.txt").write_text(text, encoding="utf-8")
    return str(folder)


def places(found: Sequence[Hit], word: str = "Lisbon") -> list[int]:
    return [place for place, hit in enumerate(found) if word in (hit.text or "")]


async def test_files_are_followed_to_a_passage_that_shares_no_word_with_the_question(tmp_path: Path, kit: Parts) -> None:
    path = library(tmp_path)
    once = await files(parse_spec(f"files:{path}?hops=1&meaning=no"), kit).search(Query(QUESTION, 3))
    twice = await files(parse_spec(f"files:{path}?hops=2&meaning=no"), kit).search(Query(QUESTION, 3))
    assert places(once) == []
    assert places(twice) in ([0], [1])
    assert isinstance(twice, Hits)
    assert 0 < twice.pairs <= ALLOWED["normal"].plan.pairs


async def test_an_index_is_followed_along_its_links(tmp_path: Path, kit: Parts) -> None:
    passages = [
        Passage(title, text, title, document=title, links=("Jane Quill",) if title == "Silver Arrow" else ())
        for title, text in STORY.items()
    ] + [Passage(f"f{n}", text, f"Film {n}", document=f"f{n}") for n, text in enumerate(FILLER)]
    await build(tmp_path, EmbeddingFeed(lambda: streamed(passages), kit.embedder(), "films"))
    source = index(parse_spec(f"index:{tmp_path}?hops=2"), kit)
    found = await source.search(Query(QUESTION, 3))
    assert places(found) in ([0], [1])
    assert isinstance(found, Hits)
    assert 0 < found.pairs <= ALLOWED["normal"].plan.pairs
    assert {hit.source for hit in found} == {f"index:{tmp_path}"}
    default = index(parse_spec(f"index:{tmp_path}"), kit)
    in_a_run = Hits.all_of(await default.search(Query(QUESTION, 3, pairs=60)))
    assert (places(in_a_run), in_a_run.pairs) == (places(found), found.pairs), "by default it is followed at normal effort"
    quick = Hits.all_of(await default.search(Query(QUESTION, 10)))
    assert (places(quick) != [], quick.pairs) == (True, 0), "a plain search follows too, without the evaluator"
    idle = index(parse_spec(f"index:{tmp_path}"), Parts(Settings(effort="low"), environ={}))
    once = index(parse_spec(f"index:{tmp_path}?hops=1"), kit)
    assert [hit.id for hit in await idle.search(Query(QUESTION, 10))] == [
        hit.id for hit in await once.search(Query(QUESTION, 10))
    ]
    low = index(parse_spec(f"index:{tmp_path}?hops=2"), Parts(Settings(effort="low"), environ={}))
    without = await low.search(Query(QUESTION, 10))
    assert places(without)
    assert getattr(without, "pairs", 0) == 0
    await source.aclose()
    await low.aclose()


async def test_settings_follow_in_all_sources_together(tmp_path: Path, kit: Parts) -> None:
    (tmp_path / "films").mkdir()
    (tmp_path / "people").mkdir()
    (tmp_path / "films" / "arrow.txt").write_text(STORY["Silver Arrow"], encoding="utf-8")
    (tmp_path / "people" / "quill.txt").write_text(STORY["Jane Quill"], encoding="utf-8")
    (tmp_path / "people" / "wombat.txt").write_text(STORY["Wombat"], encoding="utf-8")
    specs = (f"files:{tmp_path / 'films'}", f"files:{tmp_path / 'people'}")
    both = kit.several(specs)
    assert isinstance(both, TwoSteps)
    assert both.name == " + ".join(specs)
    found = await both.search(Query(QUESTION, 2))
    assert {hit.source for hit in found} == set(specs)
    assert isinstance(found, Hits)
    assert found.pairs > 0
    assert isinstance(Parts(Settings(), environ={}).several(specs), Several)
    assert isinstance(kit.several(specs[:1]), TwoSteps)


@pytest.mark.parametrize("hops", ["0", "3", "x"])
def test_two_steps_are_the_most(tmp_path: Path, hops: str, kit: Parts) -> None:
    for build_source, spec in ((files, f"files:{tmp_path}"), (index, f"index:{tmp_path}")):
        with pytest.raises(UsageError, match="hops"):
            build_source(parse_spec(f"{spec}?hops={hops}"), kit)
    with pytest.raises(UsageError, match="hops"):
        kit.source(f"library?hops={hops}")
    with pytest.raises(SettingsError, match="hops"):
        load(environ={"WELLREAD_HOPS": hops})


async def test_searches_at_once_share_the_pairs_of_the_run() -> None:
    source = TwoSteps(Linked(), Tracking(tracker=Script(pairs=50)))
    run = Run(
        "?", "test", source, Tracking(), Budget(Limits(), time.monotonic), lambda _: None, time.monotonic, "2026-11-15", "x"
    )  # type: ignore[arg-type]
    await run.gather([run.search(ASKED.text) for _ in range(5)])
    assert run.budget.usage.pairs == 50
    await run.search(ASKED.text, read=False)
    assert run.budget.usage.pairs == 50


@pytest.mark.slow
async def test_quote_over_a_source_with_two_steps_keeps_to_the_effort() -> None:
    async with Engine(Settings(strategy="quote", model="none", sources=("library?hops=2",))) as engine:
        answer = await engine.ask("Which planet has the shortest year?")
    assert answer.outcome == "answered"
    assert 0 < answer.usage.pairs <= 60
