"""Base class and shared parameters of our recipes. One of a plugin needs no base: it only has to be a `run.Strategy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar, get_args

from wellread.core.values import frozen
from wellread.events import Understood
from wellread.parameters import Length, ModelSpec, Range, param
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.questions import followups
from wellread.run import Run
from wellread.strategies import context
from wellread.strategies.turns import unquoted
from wellread.types import Message, Prompt

if TYPE_CHECKING:
    from wellread.strategies.compose import Brief

P = TypeVar("P")


class Recipe(Generic[P]):
    """Base of a recipe: called as its class, told of by its docstring, with the parameters of its `Recipe[Params]`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Params: ClassVar[type[Any]]
    needs_model: ClassVar[bool | Literal["optional"]] = True

    def __init_subclass__(cls) -> None:
        cls.name, cls.summary = cls.__name__.lower(), cls.__doc__ or ""
        cls.Params = get_args(vars(cls)["__orig_bases__"][0])[0]

    def __init__(self, params: P) -> None:
        self.params = params


@frozen
class Roles:
    """Base of the recipes' parameters: which model does what."""

    temperature: Annotated[float, Range(0, 2)] = param(0.0, "how freely the model writes")
    rewrite_model: ModelSpec | None = param(None, "model that writes queries; the run's model unless set")
    answer_model: ModelSpec | None = param(None, "model that writes the answer; the run's model unless set")

    def writer(self, run: Run) -> Model:
        return run.kit.model(self.rewrite_model)

    def answerer(self, run: Run) -> Model:
        return run.kit.model(self.answer_model)


@frozen
class AnsweringRoles(Roles):
    """Of recipes that end with one answer, composed from what was found."""

    answer_tokens: Length = param(1000, "tokens for the answer")
    detail: Literal["brief", "full"] = param("brief", "how much the answer says")

    def brief(self, run: Run, question: str, material: Sequence[str], **more: Any) -> Brief:
        """The brief for an answer, written as these parameters want it."""
        from wellread.strategies.compose import Brief

        model = self.answerer(run)
        detail = render(f"detail-{self.detail}")
        return Brief(question, material, model, self.temperature, self.answer_tokens, detail, **more)


@frozen
class JudgingRoles(AnsweringRoles):
    """Of recipes in which a model also judges or extracts."""

    grader_model: ModelSpec | None = param(None, "model that judges and extracts; the run's model unless set")

    def judge(self, run: Run) -> Model:
        return run.kit.model(self.grader_model)


_TURNS = 6  # earlier turns that are shown
_CHARACTERS = 600  # of each earlier answer
_LONGEST = 1_000


async def stand_alone(run: Run, roles: Roles) -> str:
    """The run's question; in a conversation, with everything in it that it only hints at."""
    if not run.history:
        return run.question
    # Answers are made of what was found: words from outside like any others.
    turns = [(asked, context.fence(run, told[:_CHARACTERS])) for asked, told in run.history[-_TURNS:]]
    history = "\n\n".join(f"Question: {asked}\nAnswer:\n{told}" for asked, told in turns)
    prompt = render("followup", today=run.today, foreign=context.foreign(run), history=history, question=run.question)
    completion = await run.complete(
        Prompt((Message("user", prompt),), max_tokens=200, temperature=0.0), role="rewrite", model=roles.writer(run)
    )
    rewritten = one_line(completion.text)
    if not rewritten or len(rewritten) > _LONGEST or completion.finish == "refusal":
        return run.question
    return _noted(run, rewritten)


def by_rules(run: Run) -> followups.Understood:
    """The same without a model; where it is not clear what is meant, with the question to ask back."""
    meant = followups.understand(run.question, run.history)
    _noted(run, meant.question)
    return meant


def _noted(run: Run, meant: str) -> str:
    """Everyone who is shown the answer is shown how the question was understood."""
    if meant != run.question:
        run.understood = meant
        run.emit(Understood(run.question, meant))
    return meant


def one_line(text: str) -> str:
    """The first line of a reply that was to be one line: labels and quotation marks off."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    for label in ("Follow-up:", "Question:", "Query:", "Rewritten question:", "Search query:"):
        if line.lower().startswith(label.lower()):
            line = line[len(label) :].strip()
    return unquoted(line)
