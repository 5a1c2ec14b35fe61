"""`react`: thought, action, pause, observation.

Recipe: the model thinks aloud, asks for one action at a time and is told what it returned.

    repeat at most max_turns times:
        the model writes a Thought and an Action and stops at PAUSE, or writes its Answer
        the action runs; what it returns is the next Observation
    without an Answer by then, one is composed from the observations

Departures from the original. Observations are numbered and can be cited, calculations too. Calculating
happens in a sandbox. An observation that the model writes itself is cut off, and what it answers in the same turn has no source.
An unknown action is an observation that lists those there are. Only addresses of results, and of the question, can be read. A
source that cannot be reached costs no turn; a name that two searches have not found ends the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from wellread.events import Decided, Notice, Thought
from wellread.parameters import Count, CountOrZero, Length, SourceSpec, param
from wellread.prompts.render import render
from wellread.questions.mentions import names
from wellread.run import Run
from wellread.strategies import context, lookup
from wellread.strategies.actions import Actions, Limits, available, told
from wellread.strategies.agent import Agent, Talk
from wellread.strategies.compose import Draft, compose, cut_short, finished, unsure
from wellread.strategies.recipe import AnsweringRoles, Recipe, stand_alone
from wellread.strategies.turns import Turn, read_turn
from wellread.text.markers import strip_markers
from wellread.types import Answer, Completion, Message, Prompt

_PAUSE = "PAUSE"
_TRIES = 2  # searches for a name that nothing found has


@dataclass(frozen=True, slots=True)
class ReactParams(AnsweringRoles):
    max_turns: CountOrZero = param(5, "turns of thought, action and observation")
    hits: Count = param(3, "hits that a search shows; what was shown before takes no place")
    wikipedia: SourceSpec | None = param("wikipedia", "source behind the wikipedia action; none leaves it out")
    blog: SourceSpec | None = param(None, "source behind the blog_search action, such as datasette:URL")
    observation_characters: Length = param(1000, "characters shown of each hit")
    page_tokens: Length = param(1000, "tokens shown of a page that is read")
    turn_tokens: Length = param(500, "tokens for each turn")


class React(Recipe[ReactParams]):
    """Think aloud, use one action at a time (search, read, calculate), answer from the observations."""

    async def answer(self, run: Run) -> Answer:
        question = run.question
        with run.until_spent():
            question = await stand_alone(run, self.params)
        return await self.go_on(run, question)

    async def go_on(self, run: Run, question: str) -> Answer:
        """The loop. What the run has found before stands in its beginning."""
        p = self.params
        actions = available(run, run.kit.model(), Limits(p.hits, p.observation_characters, p.page_tokens), p.wikipedia, p.blog)
        thinking = _Thinking(run, run.kit.model(), Talk(), question, p, actions, Draft(run), p.max_turns)
        with run.until_spent():
            thinking.open()
            await thinking.work()
            if not thinking.answered:
                await thinking.without_an_answer()
        return await thinking.conclude()


@dataclass(slots=True)
class _Thinking(Agent):
    """A model that thinks aloud and acts: the state of one run."""

    question: str
    params: ReactParams
    actions: Actions
    draft: Draft
    left: int  # turns
    shown: int = 0  # characters of the answer that were passed on
    answered: bool = False
    unfound: str = ""  # the name that was searched for in vain
    inputs: list[str] = field(default_factory=list[str])
    last: Completion = field(default_factory=lambda: Completion(""))
    role: ClassVar[str] = "turn"

    def open(self) -> None:
        run, first = self.run, next(iter(self.actions.known.values()))
        system = render(
            "react",
            today=run.today,
            actions=self.actions.describe(),
            example=first.name,
            input=first.example,
            inferring=render("inferring"),
            foreign=context.foreign(run),
        )
        found = context.material(run, run.passages.values())
        before = "\n\nObservation: found before\n" + "\n\n".join(found) if found else ""
        asked = f"Question: {self.question}{before}\n{_turns_left(self.left)}"
        self.talk.opening = Message("system", system), Message("user", asked)

    async def prompt(self) -> Prompt | None:
        if not self.left:
            return None
        self.left -= 1
        self.shown = 0
        await self.draft.warm()
        return Prompt((), (_PAUSE,), context.reserve(self.model, self.params.turn_tokens), self.params.temperature)

    async def hear(self, text: str) -> None:
        await self._show(read_turn(text, finished=False))

    async def take(self, completion: Completion) -> bool:
        self.last, turn = completion, read_turn(completion.text)
        await self._show(turn)
        if turn.invented and turn.answer and self.params.answer_model is None:  # nothing in it has a source
            self.draft.distrust()
            await self.draft.feed(strip_markers(turn.answer))
        self.talk.say(turn.said)
        _report(self.run, turn)
        self.answered = turn.answer is not None or completion.finish == "refusal"
        if self.answered:
            return False
        if turn.action is None:
            observation = told(render("react-reminder", why="There was no action and no answer."))
        else:
            self.inputs.append(turn.given)
            reached = len(self.run.withdrawn)
            observation = await self.actions.act(turn.action, turn.given)
            self.left += len(self.run.withdrawn) > reached  # what cannot be reached costs no turn
        self.run.emit(Thought("observation", observation.shown))
        if name := self._in_vain(turn):
            self.run.emit(Decided("stop searching", f"no search has found anything on “{name}”"))
            return False
        self.talk.show([f"Observation: {observation.text}\n{_turns_left(self.left)}"])
        return True

    def _in_vain(self, turn: Turn) -> str:
        """A name of the question that was searched for twice and that nothing found has; "" where there is none."""
        action = self.actions.known.get((turn.action or "").lower())
        if action is None or action.source is None or not self.run.found:
            return ""
        for name in lookup.nowhere(self.run, self.question):
            if (
                sum(name.casefold() in one.casefold() for one in self.inputs) >= _TRIES
                and name.casefold() in turn.given.casefold()
            ):
                self.unfound = name
                return name
        return ""

    async def _show(self, turn: Turn) -> None:
        """Pass on what is new of an answer. With an answer model of its own, this one is not shown."""
        if turn.invented or turn.answer is None:
            return
        if self.params.answer_model is None:
            await self.draft.feed(turn.answer[self.shown :])
            self.shown = max(self.shown, len(turn.answer))

    async def without_an_answer(self) -> None:
        """One is composed from the observations; a model that cannot keep to the format still gets something to answer from."""
        if self.unfound:
            return
        self.run.emit(Decided("answer from the observations", "no turns are left"))
        if not self.run.passages and not self.inputs:
            self.run.emit(Decided("search for the question itself", "the model used no action"))
            self.inputs.append(self.question)
            await self.actions.search(self.run.source, self.question, snippets=False)

    async def conclude(self) -> Answer:
        run, params = self.run, self.params
        if self.draft.text and run.spent:
            return await cut_short(run, self.draft)
        if self.answered and not run.spent and params.answer_model is None:
            if not run.passages:
                run.emit(Notice("the model answered without looking anything up"))
            return await finished(run, self.draft, self.last, params.answerer(run), self.inputs)
        if self.unfound and set(lookup.nowhere(run, self.question)) == set(names(self.question)):
            return await unsure(run, f"nothing that was found speaks of “{self.unfound}”", self.inputs)
        missing = "the actions found nothing" if self.inputs else "the model used no action and gave no answer"
        material = context.material(run, run.passages.values())
        return await compose(run, params.brief(run, self.question, material, missing=missing, tried=self.inputs))


def _turns_left(count: int) -> str:
    """The note on how many turns are left, after each observation."""
    return (
        f"({count} turns left, one for each action.)"
        if count > 1
        else "(One turn left: answer now.)"
        if count
        else "(No turns left.)"
    )


def _report(run: Run, turn: Turn) -> None:
    """The deliberation of a turn, as a person follows it."""
    if turn.thought:
        run.emit(Thought("thought", turn.thought))
    if turn.invented:
        run.emit(Notice("the model wrote an observation itself; it is cut off and does not count"))
    if turn.action is not None:
        run.emit(Thought("action", f"{turn.action}: {turn.given}"))
