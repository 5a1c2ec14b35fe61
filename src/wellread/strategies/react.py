"""`react`: thought, action, pause, observation.

Recipe: the model thinks aloud, asks for one action at a time and is told what it returned.

    repeat at most max_turns times:
        the model writes a Thought and an Action and stops at PAUSE, or writes its Answer
        the action runs; what it returns is the next Observation
    without an Answer by then, one is composed from the observations

Departures from the original. Observations are numbered and can be cited, calculations too. Calculating
happens in a sandbox. An observation that the model writes itself is cut off. An unknown action is an
observation that lists those there are. Only addresses of results, and of the question, can be read.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import ClassVar

from wellread.events import Decided, Notice, Thought
from wellread.parameters import Count, CountOrZero, Length, SourceSpec, param
from wellread.prompts.render import render
from wellread.run import Run
from wellread.strategies import context
from wellread.strategies.actions import Actions, Limits, Observation, available
from wellread.strategies.compose import Brief, Draft, compose, cut_short, finished
from wellread.strategies.followup import stand_alone
from wellread.strategies.recipe import Recipe
from wellread.strategies.roles import Roles
from wellread.strategies.transcript import Transcript, make_room
from wellread.strategies.turns import Turn, read_turn
from wellread.types import Answer, Completion, Message, Prompt

_PAUSE = "PAUSE"


@dataclass(frozen=True, slots=True)
class ReactParams(Roles):
    max_turns: CountOrZero = param(5, "turns of thought, action and observation")
    hits: Count = param(3, "hits that a search shows; what was shown before takes no place")
    wikipedia: SourceSpec | None = param("wikipedia", "source behind the wikipedia action; none leaves it out")
    blog: SourceSpec | None = param(None, "source behind the blog_search action, such as datasette:URL")
    observation_characters: Length = param(1000, "characters shown of each hit")
    page_tokens: Length = param(1000, "tokens shown of a page that is read")
    turn_tokens: Length = param(500, "tokens for each turn")
    answer_tokens: Length = param(1000, "tokens for an answer composed from the observations")


@dataclass(slots=True)
class _Loop:
    """The state of one run."""

    question: str
    transcript: Transcript
    actions: Actions
    draft: Draft
    inputs: list[str] = field(default_factory=list[str])
    last: Completion = field(default_factory=lambda: Completion(""))


class React(Recipe[ReactParams]):
    """Think, act, observe, and answer when enough is known."""

    name: ClassVar[str] = "react"
    summary: ClassVar[str] = "Think aloud, use one action at a time (search, read, calculate), answer from the observations."
    Params: ClassVar = ReactParams

    async def answer(self, run: Run) -> Answer:
        question = run.question
        with run.until_spent():
            question = await stand_alone(run, self.params)
        return await self.go_on(run, question)

    async def go_on(self, run: Run, question: str) -> Answer:
        """The loop. What the run has found before stands in its beginning."""
        loop = _Loop(question, Transcript(()), self._actions(run), Draft(run))
        with run.until_spent():
            loop.transcript.opening = self._opening(run, loop)
            for left in reversed(range(self.params.max_turns)):
                turn = await self._turn(run, loop)
                _report(run, turn)
                if turn.answer is not None or loop.last.finish == "refusal":
                    break
                observation = await self._observe(loop, turn)
                run.emit(Thought("observation", observation.shown))
                loop.transcript.show(f"Observation: {observation.text}\n{_turns_left(left)}")
            else:
                run.emit(Decided("answer from the observations", "no turns are left"))
                await self._at_least_one_search(run, loop)
        return await self._conclude(run, loop)

    def _actions(self, run: Run) -> Actions:
        p = self.params
        limits = Limits(p.hits, p.observation_characters, p.page_tokens)
        return available(run, run.kit.model(), limits, p.wikipedia, p.blog)

    def _opening(self, run: Run, loop: _Loop) -> tuple[Message, ...]:
        first = next(iter(loop.actions.known.values()))
        system = render(
            "react",
            today=run.today,
            actions=loop.actions.describe(),
            example=first.name,
            input=first.example,
            inferring=render("inferring"),
            foreign=context.foreign(run),
        )
        found = [context.numbered(run, number, passage) for number, passage in run.passages.items()]
        loop.actions.addresses.update(passage.url for passage in run.passages.values() if passage.url)
        before = "\n\nObservation: found before\n" + "\n\n".join(found) if found else ""
        return Message("system", system), Message("user", f"Question: {loop.question}{before}")

    async def _turn(self, run: Run, loop: _Loop) -> Turn:
        """The model's next words. An answer among them is shown while it is written."""
        model = run.kit.model()
        make_room(run, model, loop.transcript, self.params.turn_tokens)
        reply = context.reserve(model, self.params.turn_tokens)
        await loop.draft.warm()
        prompt = Prompt(loop.transcript.messages(), (_PAUSE,), reply, self.params.temperature)
        text, shown = "", 0
        async with aclosing(run.generate(prompt, role="turn", model=model)) as words:
            async for item in words:
                if isinstance(item, Completion):
                    loop.last = item
                    break
                text += item
                shown = await self._show(loop, read_turn(text, finished=False), shown)
        turn = read_turn(loop.last.text)
        await self._show(loop, turn, shown)
        loop.transcript.say(turn.said)
        return turn

    async def _show(self, loop: _Loop, turn: Turn, shown: int) -> int:
        """Pass on what is new of the answer. With an answer model of its own, this one is not shown."""
        if turn.answer is None or self.params.answer_model is not None:
            return shown
        await loop.draft.feed(turn.answer[shown:])
        return max(shown, len(turn.answer))

    async def _observe(self, loop: _Loop, turn: Turn) -> Observation:
        if turn.action is None:
            text = render("react-reminder", why="There was no action and no answer.")
            return Observation(text, text)
        loop.inputs.append(turn.given)
        return await loop.actions.act(turn.action, turn.given)

    async def _at_least_one_search(self, run: Run, loop: _Loop) -> None:
        """A model that cannot keep to the format still gets something to answer from."""
        if not run.passages and not loop.inputs:
            run.emit(Decided("search for the question itself", "the model used no action"))
            loop.inputs.append(loop.question)
            await loop.actions.search(run.source, loop.question, snippets=False)

    async def _conclude(self, run: Run, loop: _Loop) -> Answer:
        if loop.draft.text and run.spent:
            return await cut_short(run, loop.draft)
        answered = loop.last.finish == "refusal" or read_turn(loop.last.text).answer is not None
        if answered and not run.spent and self.params.answer_model is None:
            if not run.passages:
                run.emit(Notice("the model answered without looking anything up"))
            return await finished(run, loop.draft, loop.last, self.params.answerer(run), loop.inputs)
        return await compose(run, self._brief(run, loop))

    def _brief(self, run: Run, loop: _Loop) -> Brief:
        return Brief(
            loop.question,
            [context.numbered(run, number, passage) for number, passage in run.passages.items()],
            self.params.answerer(run),
            temperature=self.params.temperature,
            max_tokens=self.params.answer_tokens,
            missing="the actions found nothing" if loop.inputs else "the model used no action and gave no answer",
            tried=loop.inputs,
        )


def _turns_left(count: int) -> str:
    """What a model is told of its turns, after each observation."""
    return f"({count} turns left.)" if count > 1 else "(One turn left: answer now.)" if count else "(No turns left.)"


def _report(run: Run, turn: Turn) -> None:
    """The deliberation of a turn, as a person follows it."""
    if turn.thought:
        run.emit(Thought("thought", turn.thought))
    if turn.invented:
        run.emit(Notice("the model wrote an observation itself; it is cut off and does not count"))
    if turn.action is not None:
        run.emit(Thought("action", f"{turn.action}: {turn.given}"))
