"""Which model does what, and how freely: the parameters that every recipe shares."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.parameters import ModelSpec, param
from wellread.protocols import Model
from wellread.run import Run


@dataclass(frozen=True, slots=True)
class Roles:
    """Base of the recipes' parameters. A role that a recipe does not have is not used by it."""

    temperature: float = param(0.0, "how freely the model writes, 0 to 2")
    grader_model: ModelSpec | None = param(None, "model that judges and extracts; the run's model unless set")
    rewrite_model: ModelSpec | None = param(None, "model that writes queries; the run's model unless set")
    answer_model: ModelSpec | None = param(None, "model that writes the answer; the run's model unless set")

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise ValueError("temperature must be between 0 and 2")
        for name, value in ((name, getattr(self, name)) for name in self.__dataclass_fields__):
            if isinstance(value, int) and not isinstance(value, bool) and value < 0:
                raise ValueError(f"{name} must not be negative")

    def judge(self, run: Run) -> Model:
        return run.kit.model(self.grader_model)

    def writer(self, run: Run) -> Model:
        return run.kit.model(self.rewrite_model)

    def answerer(self, run: Run) -> Model:
        return run.kit.model(self.answer_model)
