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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from wellread.errors import ContextTooLong
from wellread.events import Decided, Notice
from wellread.parameters import Count, CountOrZero, Length, param
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context, tags
from wellread.strategies.compose import Brief, compose
from wellread.strategies.followup import stand_alone
from wellread.strategies.recipe import Recipe
from wellread.strategies.research import Research
from wellread.strategies.roles import Roles
from wellread.strategies.toolcalls import Conversation
from wellread.strategies.transcript import Talk, Transcript, make_room
from wellread.types import Answer, Completion, Hit, Message, Passage, Prompt

_TAG = "search_query"
_STOP = "</search_query>"
_NOTES = "<information>"
_REMINDERS = 2
_EMPTY = "That search was empty. Write a query between the tags."


@dataclass(frozen=True, slots=True)
class IterativeParams(Roles):
    protocol: Literal["auto", "text", "tools"] = param("auto", "how the model asks for searches; auto: tools where it has them")
    max_searches: CountOrZero = param(5, "searches the model may ask for")
    results_per_search: Count = param(3, "pages shown for each search")
    rerank: Literal["none", "evaluator"] = param("none", "evaluator: the small local model reads the results and orders them")
    max_page_tokens: Length | None = param(5000, "each page is cut to this; none keeps it whole")
    max_tokens: Length = param(1000, "tokens the model may generate while it searches, all steps together")
    answer_tokens: Length = param(1000, "tokens for the answer")
    detail: Literal["brief", "full"] = param("brief", "how much the answer says")
    examples: str = param("", "plans that worked well, shown to the model")
    stop: tuple[str, ...] = param((), "further sequences at which the model's research ends")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What the retrieval half found: raw results, transcript and notes. No answer."""

    hits: tuple[Hit, ...]
    passages: Mapping[int, Passage]
    queries: tuple[str, ...]
    information: str
    transcript: str


class Iterative(Recipe[IterativeParams]):
    """Search, judge, search again; write down what was found; answer from that."""

    name: ClassVar[str] = "iterative"
    summary: ClassVar[str] = "Search, judge, search again, write down what was found, then answer from that alone."
    Params: ClassVar = IterativeParams

    async def answer(self, run: Run) -> Answer:
        research = await self._research(run)
        return await compose(run, self._brief(run, research))

    async def retrieve(self, run: Run, watch: Callable[[str], object] | None = None) -> Retrieval:
        """The retrieval half by itself; `watch` hears the transcript while it is written."""
        done = await self._research(run, watch)
        return Retrieval(tuple(done.hits), dict(run.passages), tuple(done.queries), done.information or "", done.transcript)

    async def _research(self, run: Run, watch: Callable[[str], object] | None = None) -> Research:
        """Look things up until the model has its information. A budget that runs out ends it with what there is."""
        params = self.params
        reread = params.rerank == "evaluator"
        research = Research(run.question, params.max_searches, params.results_per_search, params.max_page_tokens, reread)
        research.watch = watch
        with run.until_spent():
            research.question = await stand_alone(run, params)
            model = params.writer(run)
            if params.protocol == "tools" and not model.capabilities.tools:
                run.emit(Notice(f"{model.name} has no tool calls; the text protocol is used"))
            if params.protocol != "text" and model.capabilities.tools:
                await self._with_tools(run, research, model)
            else:
                await self._with_text(run, research, model)
        return research

    def _brief(self, run: Run, research: Research) -> Brief:
        params = self.params
        if research.refused:
            missing = "the model declined to research it"
        elif run.passages:
            missing = "the search results say nothing about it"
        elif not research.queries:
            missing = "the model asked for no search that has a query"
        elif why := run.withdrawn.get(run.source.name):
            missing = f"{run.source.name} cannot be reached: {why}"
        else:
            missing = "the searches found nothing"
        material = research.material(run)
        return Brief(
            research.question,
            material,
            params.answerer(run),
            temperature=params.temperature,
            max_tokens=params.answer_tokens,
            detail=params.detail,
            missing=missing,
            tried=research.queries,
            notes=research.has_notes,
        )

    async def _with_text(self, run: Run, research: Research, model: Model) -> None:
        talk = Transcript(self._opening(run, research, "iterative"), model.capabilities.continues)
        left, reminders, opened = self.params.max_tokens, _REMINDERS, ""
        while left > 0 and make_room(run, model, talk, left):
            completion = await self._step(run, model, talk, Prompt((), (_STOP, *self.params.stop), left))
            left -= generated(model, completion)
            said = tags.until_closed(completion.text + (_STOP if completion.stopped_at == _STOP else ""), _TAG)
            talk.say(said)
            research.note(run, opened + said)
            research.write_down(talk.text)
            research.refused = completion.finish == "refusal"
            query = tags.query(said, _TAG)
            if research.refused or (query is None and research.done) or completion.stopped_at in self.params.stop:
                return
            if query is None:
                query = self._own_query(run, research)
            if query and not research.used_up(run):
                shown = await self._look_up(run, research, model, talk, [query], left)
            elif reminders:
                reminders -= 1
                shown = _EMPTY if query == "" else research.reminder(run)
            else:
                return
            talk.show(shown)
            opened = self._open_notes(run, research, talk)
            research.write_down(talk.text)

    def _open_notes(self, run: Run, research: Research, talk: Transcript) -> str:
        """A model that continues its own words finds the tag for its notes already written when it must write them."""
        if not talk.continues or not research.used_up(run):
            return ""
        talk.say(_NOTES)
        return _NOTES

    def _own_query(self, run: Run, research: Research) -> str | None:
        """The question itself, for a model that ends without having searched."""
        if research.queries or research.used_up(run):
            return None
        run.emit(Decided("search for the question itself", "the model had not searched"))
        return research.question

    async def _with_tools(self, run: Run, research: Research, model: Model) -> None:
        talk = Conversation(self._opening(run, research, "iterative-tools"), research.question, run.source.hint)
        left, reminders = self.params.max_tokens, _REMINDERS
        while left > 0 and make_room(run, model, talk, left):
            completion = await self._step(run, model, talk, Prompt((), self.params.stop, left, tools=talk.tools))
            left -= generated(model, completion)
            talk.say(completion)
            research.note(run, completion.text)
            research.write_down(talk.text)
            research.refused = completion.finish == "refusal"
            calls = completion.tool_calls
            if research.refused or (not calls and research.done) or completion.stopped_at in self.params.stop:
                return
            # A model that was taught the text protocol may use that instead.
            query = None if calls else tags.query(completion.text, _TAG) or self._own_query(run, research)
            before = len(research.queries)
            if calls:
                space = context.room(model, talk.messages(), context.reserve(model, left))
                talk.show(calls, await research.look_up(run, model, [talk.query(call) for call in calls], space))
            elif query and not research.used_up(run):
                talk.add(await self._look_up(run, research, model, talk, [query], left))
            elif reminders:
                talk.add(research.reminder(run))
            research.write_down(talk.text)
            if len(research.queries) == before:  # a step without a search: only so many of these
                reminders -= 1
                if reminders < 0:
                    return

    async def _step(self, run: Run, model: Model, talk: Talk, prompt: Prompt) -> Completion:
        """The model's next words. Where its window turns out smaller than known, the oldest results go."""
        while True:
            asked = replace(prompt, messages=talk.messages(), temperature=self.params.temperature)
            try:
                return await run.complete(asked, role="search", model=model)
            except ContextTooLong:
                if not talk.forget():
                    raise
                run.emit(Notice("the oldest results are left out: the model's window is full", "info"))

    async def _look_up(self, run: Run, research: Research, model: Model, talk: Talk, asked: Sequence[str], left: int) -> str:
        space = context.room(model, talk.messages(), context.reserve(model, left))
        shown = await research.look_up(run, model, asked, space)
        return "\n".join([*shown, research.reminder(run)] if research.used_up(run) else shown)

    def _opening(self, run: Run, research: Research, name: str) -> tuple[Message, ...]:
        own = run.source.examples
        given = "\n\n".join(filter(None, (own, self.params.examples)))
        system = render(
            name,
            today=run.today,
            hint=run.source.hint,
            searches=str(self.params.max_searches),
            foreign=context.foreign(run),
            examples=render("iterative-examples", examples=given) if given else "",
        )
        return Message("system", system.strip()), Message("user", render("iterative-question", question=research.question))


def generated(model: Model, completion: Completion) -> int:
    """Tokens of one step, at least one: a loop that generates nothing must end too."""
    return max(1, completion.output_tokens or model.count_tokens(completion.text))
