"""`iterative`: search, reflect, extract, then answer.

Recipe: a researcher model that asks for searches in its own words, writes down what it found without
answering, and a second call that answers from those notes alone.

    plan what has to be found
    repeat until the model has its information, or searches or tokens run out:
        the model asks for a search and stops
        the engine searches, reads, numbers and shows the results
        the model judges whether that is enough
    answer the question from the information alone

Departures from the original. Items carry the run's numbers, so that notes and answer can be cited. A
model that stops without searching gets a search for the question itself, because an answer from memory
cannot be checked. Notes that name no item are numbered by the words they share with the passages; where
that fails the answer is written from the passages. Models with tool calls of their own use those.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from wellread.events import Decided, Notice, Thought
from wellread.parameters import Count, CountOrZero, Length, param
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context, lookup, relevance, turns
from wellread.strategies.agent import Agent, Talk
from wellread.strategies.attribution import with_numbers
from wellread.strategies.compose import Brief, compose
from wellread.strategies.recipe import AnsweringRoles, Recipe, stand_alone
from wellread.text.neighbours import by_place
from wellread.types import Answer, Completion, Hit, Message, Passage, Prompt, Tool, ToolCall

_TAG = "search_query"
_STOP = "</search_query>"
_NOTES = "<information>"
_REMINDERS = 2
_SPARE = 2  # hits beyond those shown, in case pages fail to load
_READ = 12  # results that the evaluator chooses among
_AROUND = 40  # tokens of tags and title around a page
_EMPTY = "That search was empty. Write a query between the tags."
_AGAIN = "You have searched for exactly that before; its results are above. Use other words."
_NO_QUERY = "There is only one tool, search, and it needs a query."
_USED_UP = "No searches are left."
_SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "a short query for one thing"}},
    "required": ["query"],
}


@dataclass(frozen=True, slots=True)
class IterativeParams(AnsweringRoles):
    protocol: Literal["auto", "text", "tools"] = param("auto", "how the model asks for searches; auto: tools where it has them")
    max_searches: CountOrZero = param(5, "searches the model may ask for")
    results_per_search: Count = param(3, "pages shown for each search")
    rerank: Literal["none", "evaluator"] = param("none", "evaluator: the small local model reads the results and orders them")
    max_page_tokens: Length | None = param(5000, "each page is cut to this; none keeps it whole")
    max_tokens: Length = param(1000, "tokens the model may generate while it searches, all steps together")
    examples: str = param("", "plans that worked well, shown to the model")
    stop: tuple[str, ...] = param((), "further sequences at which the model's research ends")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Results of the retrieval half: hits, transcript and notes. No answer."""

    hits: tuple[Hit, ...]
    passages: Mapping[int, Passage]
    queries: tuple[str, ...]
    information: str
    transcript: str


class Iterative(Recipe[IterativeParams]):
    """Search, judge, search again, write down what was found, then answer from that alone."""

    async def answer(self, run: Run) -> Answer:
        return await compose(run, (await self._research(run)).brief())

    async def retrieve(self, run: Run, watch: Callable[[str], object] | None = None) -> Retrieval:
        """The retrieval half by itself; `watch` hears the transcript while it is written. Where a limit leaves the model no
        search to ask for, the question itself is searched, as it is for an answer."""
        done = await self._research(run, watch)
        if run.spent and not done.queries:
            with run.until_spent():
                await done.search_all([done.question])
        return Retrieval(tuple(done.hits), dict(run.passages), tuple(done.queries), done.information or "", done.talk.text)

    async def _research(self, run: Run, watch: Callable[[str], object] | None = None) -> Research:
        """Look things up until the model has its information. A budget that runs out ends it with what there is."""
        model = self.params.writer(run)
        research = Research(run, model, Talk(watch=watch), run.question, self.params, self.params.max_tokens)
        with run.until_spent():
            research.question = await stand_alone(run, self.params)
            research.open()
            await research.work()
        return research


@dataclass(slots=True)
class Research(Agent):
    """A model that looks things up: what it has gathered so far, and its limits."""

    question: str
    params: IterativeParams
    tokens: int  # that it may still generate
    by_tools: bool = False
    reminders: int = _REMINDERS
    opened: str = ""  # the tag that was written for it
    information: str | None = None
    refused: bool = False
    hits: list[Hit] = field(default_factory=list[Hit])
    queries: list[str] = field(default_factory=list[str])
    role: ClassVar[str] = "search"

    def open(self) -> None:
        """Write the system prompt and the question, and choose how the model may ask."""
        able, source = self.model.capabilities, self.run.source
        if self.params.protocol == "tools" and not able.tools:
            self.run.emit(Notice(f"{self.model.name} has no tool calls; the text protocol is used"))
        self.by_tools = self.params.protocol != "text" and able.tools
        self.talk.continues = able.continues and not self.by_tools
        given = "\n\n".join(filter(None, (source.examples, self.params.examples)))
        system = render(
            "iterative-tools" if self.by_tools else "iterative",
            today=self.run.today,
            hint=source.hint,
            searches=str(self.params.max_searches),
            foreign=context.foreign(self.run),
            examples=render("iterative-examples", examples=given) if given else "",
        )
        question = render("iterative-question", question=self.question)
        self.talk.opening = Message("system", system.strip()), Message("user", question)

    async def prompt(self) -> Prompt | None:
        stop = self.params.stop if self.by_tools else (_STOP, *self.params.stop)
        tools = (Tool("search", f"Search for pages. {self.run.source.hint}".strip(), _SCHEMA),) if self.by_tools else ()
        return Prompt((), stop, self.tokens, self.params.temperature, tools=tools) if self.tokens > 0 else None

    async def take(self, completion: Completion) -> bool:
        self.tokens -= generated(self.model, completion)
        calls = completion.tool_calls
        said = turns.until_closed(completion.text + (_STOP if completion.stopped_at == _STOP else ""), _TAG)
        self.talk.say(said, calls)
        self._note(self.opened + said)
        self.refused = completion.finish == "refusal"
        query = None if calls else turns.query(said, _TAG)  # a model with tools may have been taught the tags
        if self.refused or completion.stopped_at in self.params.stop or (not calls and query is None and self._done):
            return False
        before = len(self.queries)
        asked = [_query_of(call) for call in calls] or [one for one in (self._own_query() if query is None else query,) if one]
        if calls or (asked and not self._used_up):
            shown = await self._look_up(asked)
        else:
            shown = [_EMPTY if query == "" else self._reminder()]
        if len(self.queries) == before:  # only so many turns without a search
            self.reminders -= 1
        if self.reminders < 0:
            return False
        self.talk.show(shown, calls)
        self.opened = _NOTES if self.talk.continues and self._used_up else ""
        if self.opened:  # a model that continues its own words finds the tag already written when it must write its notes
            self.talk.say(self.opened)
        return True

    @property
    def _left(self) -> int:
        """Searches that are left."""
        return max(0, self.params.max_searches - len(self.queries))

    @property
    def _used_up(self) -> bool:
        """Whether nothing more can be searched: no searches are left, or the source cannot be reached."""
        return not self._left or self.run.source.name in self.run.withdrawn

    @property
    def _done(self) -> bool:
        """Whether the model has ended its research, having done some."""
        return self.information is not None and bool(self.queries or not self.params.max_searches)

    def _note(self, said: str) -> None:
        """Take down what the model has said: its deliberation, and the information if there is some."""
        if thought := turns.without(said, _TAG, "information"):
            self.run.emit(Thought("reflection" if self.queries else "plan", thought))
        if (information := turns.last(said, "information")) is not None:
            self.information = information
            self.run.emit(Thought("information", information))

    def _own_query(self) -> str | None:
        """The question itself, for a model that ends without having searched."""
        if self.queries or self._used_up:
            return None
        self.run.emit(Decided("search for the question itself", "the model had not searched"))
        return self.question

    def _reminder(self) -> str:
        """The reminder for a model that has stopped without its notes, or that may not search any more."""
        gone = self.run.source.name in self.run.withdrawn
        why = (
            "The source cannot be reached, so no searches are left." if gone else "You have stopped." if self._left else _USED_UP
        )
        return render("iterative-information", why=why)

    async def _look_up(self, asked: Sequence[str | None]) -> list[str]:
        """Search, and say for each query what was found, or why nothing was. Searches run at the same time."""
        allowed = [query for query in asked if query][: self._left]
        space = self.space(self.tokens)
        loaded = await self.search_all(allowed)
        shown: list[str] = []
        for query in asked:
            if query and loaded:
                shown.append(self._shown(query, loaded.pop(0), space and space // len(allowed)))
            else:
                shown.append(_USED_UP if query else _NO_QUERY)
        return [*shown[:-1], f"{shown[-1]}\n{self._reminder()}"] if self._used_up else shown

    async def search_all(self, queries: Sequence[str]) -> list[list[Passage] | None]:
        """Passages for each query; None for one that was asked before."""
        jobs: list[Awaitable[list[Passage] | None]] = []
        for query in queries:
            again = query.casefold() in (earlier.casefold() for earlier in self.queries)
            self.queries.append(query)
            jobs.append(_nothing_new() if again else self._search(query))
        return await self.run.gather(jobs) if len(jobs) > 1 else [await job for job in jobs]

    async def _search(self, query: str) -> list[Passage]:
        """The best results that were not shown before; when all were, those."""
        run, results, reread = self.run, self.params.results_per_search, self.params.rerank == "evaluator"
        found = await run.search(query, limit=max(results + _SPARE, _READ if reread else 0) + lookup.beyond_shown(run))
        if reread and found:
            found = [
                found[place]
                for place in await relevance.ranked(run, query, [hit.passage() for hit in found], len(found), ordered=True)
            ]
        new = [hit for hit in found if lookup.shown_as(run, hit) is None]
        self.hits.extend(new[:results])
        return by_place(await lookup.passages(run, new, results)) or [hit.passage() for hit in found[:results]]

    def _shown(self, query: str, loaded: list[Passage] | None, space: int | None) -> str:
        """Numbered items with title and content, each page cut to what it may take."""
        run = self.run
        if loaded is None:
            return self._results(_AGAIN)
        share = None if space is None or not loaded else max(0, space // len(loaded) - _AROUND)
        tokens = min((limit for limit in (self.params.max_page_tokens, share) if limit is not None), default=None)
        items: list[str] = []
        before = {passage.id: number for passage in loaded if (number := lookup.shown_as(run, passage)) is not None}
        for passage in loaded:
            if passage.id in before:
                continue
            short = context.shortened(run, self.model, passage, tokens)
            inner = f"<page_title>{passage.title}</page_title>\n<page_content>\n{short.text}\n</page_content>"
            if short.text:
                items.append(f'<item index="{run.number(short)}">\n{context.fence(run, inner)}\n</item>')
        if not items and before:
            above = "".join(f"[{number}]" for number in dict.fromkeys(before.values()))
            items.append(f"Nothing new was found: {above} are shown above. Use other words.")
        if not items and (why := run.withdrawn.get(run.source.name)) is not None:
            return self._results(f"The source cannot be reached.\n{context.fence(run, why)}")
        if failed := run.complaints.get(query, ()):  # words from outside like any others
            items.append(f"Not everything was searched:\n{context.fence(run, '; '.join(failed))}")
        return self._results("\n".join(items or ["Nothing was found. Try other or fewer words."]))

    def _results(self, shown: str) -> str:
        """Results with what may still be searched; a model that cannot count its searches plans badly."""
        left = "" if self._used_up else f"Searches left: {self._left}.\n"
        return f"<search_results>\n{shown}\n{left}</search_results>"

    def brief(self) -> Brief:
        """The material for the answer: the information, or the passages where that cannot be cited."""
        material, notes = self._material()
        known = {"missing": self._missing(), "tried": self.queries, "notes": notes}
        return self.params.brief(self.run, self.question, material, **known)

    def _material(self) -> tuple[list[str], bool]:
        """The blocks, and whether they are the model's notes with numbers inside them."""
        run, information = self.run, self.information
        if information is not None:
            if not information.strip() or not run.passages:
                return [information], False
            if cited := with_numbers(information, run.passages):
                return [cited], True
            run.emit(Decided("answer from the passages", "the notes on them name none"))
        return context.material(run, run.passages.values()), False

    def _missing(self) -> str:
        """Why there is no answer, where there is no material."""
        if self.refused:
            return "the model declined to research it"
        if self.run.passages:
            return "the search results say nothing about it"
        if not self.queries:
            return "the model asked for no search that has a query"
        why = self.run.withdrawn.get(self.run.source.name)
        return f"{self.run.source.name} cannot be reached: {why}" if why else "the searches found nothing"


def generated(model: Model, completion: Completion) -> int:
    """Tokens of one step, at least one: a loop that generates nothing must end too."""
    return max(1, completion.output_tokens or model.count_tokens(completion.text))


def _query_of(call: ToolCall) -> str | None:
    """The query of a tool call; None when it asks for another tool or for nothing."""
    value = call.arguments.get("query", "") if call.name == "search" else ""
    return " ".join(value.split()) or None if isinstance(value, str) else None


async def _nothing_new() -> None:
    return None
