"""What a run of `iterative` has gathered so far, and how it looks things up for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from wellread.citations.check import markers
from wellread.events import Decided, Ranked, Thought
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context, lookup, relevance, tags
from wellread.strategies.attribution import attributed
from wellread.text.neighbours import by_place
from wellread.types import Hit, Passage

_SPARE = 2  # hits beyond those shown, in case pages fail to load
_READ = 12  # results that the evaluator chooses among
_AROUND = 40  # tokens of tags and title around a page
_AGAIN = "<search_results>\nYou have searched for exactly that before; its results are above. Use other words.\n</search_results>"
_NO_QUERY = "There is only one tool, search, and it needs a query."


@dataclass(slots=True)
class Research:
    """The notes of one retrieval, and its limits. Mutable and private to one run."""

    question: str
    max_searches: int
    results: int
    page_tokens: int | None
    reread: bool = False  # the evaluator chooses among more results than are shown
    information: str | None = None
    refused: bool = False
    hits: list[Hit] = field(default_factory=list[Hit])
    queries: list[str] = field(default_factory=list[str])
    transcript: str = ""
    watch: Callable[[str], object] | None = None  # hears the transcript while it is written
    has_notes: bool = False  # the material is the model's notes, with numbers inside them

    @property
    def left(self) -> int:
        """Searches that are left."""
        return max(0, self.max_searches - len(self.queries))

    def used_up(self, run: Run) -> bool:
        """Whether nothing more can be searched: no searches are left, or the source cannot be reached."""
        return not self.left or run.source.name in run.withdrawn

    def write_down(self, transcript: str) -> None:
        """Keep the transcript as it is now."""
        if self.watch is not None and (new := transcript.removeprefix(self.transcript)):
            self.watch(new)
        self.transcript = transcript

    @property
    def done(self) -> bool:
        """Whether the model has ended its research, having done some."""
        return self.information is not None and bool(self.queries or not self.max_searches)

    def note(self, run: Run, said: str) -> None:
        """Take down what the model has said: its deliberation, and the information if there is some."""
        thought = tags.without(said, "search_query", "information")
        if thought:
            run.emit(Thought("reflection" if self.queries else "plan", thought))
        if (information := tags.last(said, "information")) is not None:
            self.information = information
            run.emit(Thought("information", information))

    def reminder(self, run: Run) -> str:
        """What a model is told that has stopped without its notes, or that may not search any more."""
        if run.source.name in run.withdrawn:
            return render("iterative-information", why="The source cannot be reached, so no searches are left.")
        return render("iterative-information", why="You have stopped." if self.left else "No searches are left.")

    async def look_up(self, run: Run, model: Model, asked: Sequence[str | None], space: int | None) -> list[str]:
        """What is shown for each query: results, or why there are none. Searches run at the same time."""
        allowed = [query for query in asked if query][: self.left]
        loaded = await self._search_all(run, allowed)
        shown: list[str] = []
        for query in asked:
            if not query:
                shown.append(_NO_QUERY)
            elif loaded:
                shown.append(self._shown(run, model, query, loaded.pop(0), space and space // len(allowed)))
            else:
                shown.append(self.reminder(run))
        return shown

    async def _search_all(self, run: Run, queries: Sequence[str]) -> list[list[Passage] | None]:
        """Passages for each query; None for one that was asked before."""
        jobs: list[Awaitable[list[Passage] | None]] = []
        for query in queries:
            again = query.casefold() in (earlier.casefold() for earlier in self.queries)
            self.queries.append(query)
            jobs.append(_nothing_new() if again else self._search(run, query))
        return await run.gather(jobs) if len(jobs) > 1 else [await job for job in jobs]

    async def _search(self, run: Run, query: str) -> list[Passage]:
        """The best results that were not shown before; when all were, those."""
        limit = max(self.results + _SPARE, _READ if self.reread else 0) + lookup.beyond_shown(run)
        found = await run.search(query, limit=limit)
        if self.reread and found:
            found = await _reread(run, query, found)
        new = [hit for hit in found if lookup.shown_as(run, hit) is None]
        self.hits.extend(new[: self.results])
        return by_place(await lookup.passages(run, new, self.results)) or [hit.passage() for hit in found[: self.results]]

    def _shown(self, run: Run, model: Model, query: str, loaded: list[Passage] | None, space: int | None) -> str:
        """Numbered items with title and content, each page cut to what it may take."""
        if not loaded:
            return _AGAIN if loaded is None else self._nothing(run, query)
        share = None if space is None else max(0, space // len(loaded) - _AROUND)
        tokens = min((limit for limit in (self.page_tokens, share) if limit is not None), default=None)
        items: list[str] = []
        before = {passage.id: number for passage in loaded if (number := lookup.shown_as(run, passage)) is not None}
        for passage in loaded:
            if passage.id in before:
                continue
            short = context.shortened(run, model, passage, tokens)
            inner = f"<page_title>{passage.title}</page_title>\n<page_content>\n{short.text}\n</page_content>"
            if short.text:
                items.append(f'<item index="{run.number(short)}">\n{context.fence(run, inner)}\n</item>')
        above = "".join(f"[{number}]" for number in dict.fromkeys(before.values()))
        if not items and above:
            items.append(f"Nothing new was found: {above} are shown above. Use other words.")
        return self._results("\n".join([*items, *_complaints(run, query)])) if items else self._nothing(run, query)

    def _nothing(self, run: Run, query: str) -> str:
        if (why := run.withdrawn.get(run.source.name)) is not None:
            return f"<search_results>\nThe source cannot be reached.\n{context.fence(run, why)}\n</search_results>"
        return self._results("\n".join(["Nothing was found. Try other or fewer words.", *_complaints(run, query)]))

    def _results(self, shown: str) -> str:
        """Results with what may still be searched; a model that cannot count its searches plans badly."""
        left = f"Searches left: {self.left}.\n" if self.left else ""
        return f"<search_results>\n{shown}\n{left}</search_results>"

    def material(self, run: Run) -> list[str]:
        """What the answer is written from: the information, or the passages where that cannot be cited."""
        if self.information is not None:
            if not self.information.strip() or not run.passages:
                return [self.information]
            if cited := _with_numbers(run, self.information):
                self.has_notes = True
                return [cited]
            run.emit(Decided("answer from the passages", "the notes on them name none"))
        return [context.numbered(run, number, passage) for number, passage in run.passages.items()]


async def _reread(run: Run, query: str, found: Sequence[Hit]) -> list[Hit]:
    """The results in the order the evaluator gives them."""
    ranking = await relevance.rerank(run, query, [hit.passage() for hit in found], ordered=True)
    places = relevance.best(ranking.scores, len(found))
    scores = tuple(round(ranking.scores[place], 4) for place in places)
    run.emit(Ranked(ranking.by, tuple(found[place].id for place in places), scores, 0, ranking.pairs))
    return [found[place] for place in places]


def _complaints(run: Run, query: str) -> list[str]:
    """Which sources could not be asked, and why: words from outside like any others."""
    failed = run.complaints.get(query, ())
    return [f"Not everything was searched:\n{context.fence(run, '; '.join(failed))}"] if failed else []


async def _nothing_new() -> None:
    return None


def _with_numbers(run: Run, information: str) -> str:
    """Notes whose sentences carry numbers; missing ones are added where a passage has the words. Else ""."""
    if any(number in run.passages for marker in markers(information) for number in marker.numbers):
        return information
    marked = attributed(information, run.passages)
    return marked if marked != information else ""
