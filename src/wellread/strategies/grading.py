"""Relevance grading of passages: by a language model's yes or no, or by the evaluator's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from wellread.errors import BadOutput
from wellread.events import Notice
from wellread.models.structured import Form, choice, numbers
from wellread.prompts.render import render
from wellread.protocols import Grader, Model, trained
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.types import Grade, Passage

T = TypeVar("T")
_RELEVANT = choice("relevant", "yes", "no")
_KEEP = numbers("keep")
_LEAD = 600  # characters shown of a passage that leads to the one that is graded
Chain = tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class ModelGrader:
    """Grades with a language model: yes or no for each passage, all at once."""

    run: Run
    model: Model
    temperature: float = 0.0

    async def grade(self, question: str, passages: Sequence[Passage], leads: Sequence[Chain] = ()) -> Sequence[Grade]:
        pairs = zip(passages, leads or [()] * len(passages), strict=True)
        return await self.run.gather([self._one(question, passage, lead) for passage, lead in pairs])

    async def strips(self, question: str, strips: Sequence[str], lead: Chain = ()) -> set[int]:
        """Which of a passage's strips help, by index. A reply that cannot be read keeps them all."""
        shown = context.fence(self.run, "\n".join(f"{number}. {strip}" for number, strip in enumerate(strips, 1)))
        text = self._prompt("strips", question, lead, strips=shown)
        try:
            kept = await self._ask(text, _KEEP, 20 + 8 * len(strips))
        except BadOutput:
            return set(range(len(strips)))
        return {number - 1 for number in kept if 0 < number <= len(strips)}

    async def _one(self, question: str, passage: Passage, lead: Chain) -> Grade:
        """A grader that cannot be understood lets the passage through: losing evidence is worse."""
        shown = context.fence(self.run, f"{passage.title}\n{passage.text}")
        try:
            reply = await self._ask(self._prompt("grade", question, lead, passage=shown), _RELEVANT, 40)
        except BadOutput as problem:
            self.run.emit(Notice(f"the grade of “{passage.title}” could not be read; it is kept: {problem}"))
            return Grade(True)
        return Grade(reply == "yes")

    def _prompt(self, name: str, question: str, lead: Chain, **shown: str) -> str:
        before = "\n\n".join(f"{one.title}\n{one.text[:_LEAD]}" for one in lead)
        frame = {
            "today": self.run.today,
            "foreign": context.foreign(self.run),
            "question": question,
            "before": render("grade-before", passages=context.fence(self.run, before)) if before else "",
        }
        ((hole, text),) = shown.items()
        return context.filled(self.run, self.model, 300, name, hole, [text], **frame)

    async def _ask(self, text: str, form: Form[T], tokens: int) -> T:
        return await calls.data(
            self.run, text, form, role="grade", model=self.model, temperature=self.temperature, max_tokens=tokens
        )


@dataclass(frozen=True, slots=True)
class CountedGrader:
    """The evaluator, with its pairs counted and its time bounded."""

    run: Run
    inner: Grader

    async def grade(self, question: str, passages: Sequence[Passage], leads: Sequence[Chain] = ()) -> Sequence[Grade]:
        read = passages[: self.run.pairs_left]
        self.run.budget.pairs(len(read))
        if any(leads):
            chains = [(*lead, passage) for passage, lead in zip(read, leads, strict=False)]
            grades = await self.run.timed(self.inner.grade_chains(question, chains))
        else:
            grades = await self.run.timed(self.inner.grade(question, read))
        return [*grades, *(Grade(False, 0.0) for _ in passages[len(read) :])]


def grader(run: Run, kind: Literal["evaluator", "llm"], model: Model, temperature: float) -> ModelGrader | CountedGrader:
    """The grader that was asked for; the language model where the evaluator is not there."""
    if kind == "evaluator" and run.pairs_left:
        there = run.part(run.kit.grader, "grading with the language model, because the evaluator is not there")
        found = trained(there, run.language)
        if there is not None and found is None:
            why = "the evaluator was not trained for the question's language"
            run.emit(Notice(f"grading with the language model: {why}", "info"))
        if found is not None:
            return CountedGrader(run, found)
    return ModelGrader(run, model, temperature)
