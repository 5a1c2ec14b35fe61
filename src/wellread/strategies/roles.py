"""Which model does what, and how freely: the parameters that every recipe shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from wellread.parameters import ModelSpec, Range, param
from wellread.protocols import Model
from wellread.run import Run


@dataclass(frozen=True, slots=True)
class Roles:
    """Base of the recipes' parameters."""

    temperature: Annotated[float, Range(0, 2)] = param(0.0, "how freely the model writes")
    rewrite_model: ModelSpec | None = param(None, "model that writes queries; the run's model unless set")
    answer_model: ModelSpec | None = param(None, "model that writes the answer; the run's model unless set")

    def writer(self, run: Run) -> Model:
        return run.kit.model(self.rewrite_model)

    def answerer(self, run: Run) -> Model:
        return run.kit.model(self.answer_model)


@dataclass(frozen=True, slots=True)
class JudgingRoles(Roles):
    """Of recipes in which a model also judges or extracts."""

    grader_model: ModelSpec | None = param(None, "model that judges and extracts; the run's model unless set")

    def judge(self, run: Run) -> Model:
        return run.kit.model(self.grader_model)
