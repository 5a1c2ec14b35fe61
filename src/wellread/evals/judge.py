"""An optional judge: a language model says whether an answer means the same as an accepted one.

It is an opinion, not a measurement, and tables and reports call it so.
"""

from __future__ import annotations

import re

from wellread.citations.check import strip_markers
from wellread.errors import BadOutput
from wellread.evals.data import Question
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.types import Answer, Completion, Message, Prompt

_VERDICT = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


class ModelJudge:
    """Yes is 1, no is 0. Silence is right where there is no answer, and is not shown to the model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def __call__(self, question: Question, answer: Answer) -> float:
        if answer.outcome in ("unsure", "failed") or not question.answers:
            return float(answer.outcome == "unsure" and not question.answers)
        text = render(
            "judge",
            question=question.text,
            accepted="\n".join(f"- {one}" for one in question.answers),
            answer=f"{answer.short or ''}\n{strip_markers(answer.text)}".strip(),
        )
        async for item in self._model.stream(Prompt((Message("user", text),), max_tokens=200)):
            if isinstance(item, Completion):
                return self._verdict(item.text)
        raise BadOutput(self._model.name, "the judge said nothing")

    def _verdict(self, text: str) -> float:
        found = _VERDICT.findall(text)
        if not found:
            raise BadOutput(self._model.name, f"the judge said neither yes nor no: {text[:80]!r}")
        return float(found[-1].lower() == "yes")
