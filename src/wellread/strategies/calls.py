"""One small request to a model, answered in words or as data, and the one that mends what an answer says without support."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from wellread.errors import ModelError
from wellread.events import Notice
from wellread.models.structured import Form, structured
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context
from wellread.strategies.attribution import attributed
from wellread.types import Message, Passage, Prompt

T = TypeVar("T")


async def words(
    run: Run, text: str, *, role: str, model: Model, temperature: float, max_tokens: int, failing: str | None = None
) -> str:
    """The reply; "" for a refusal, and for a model that fails where it is said what is done then."""
    prompt = Prompt((Message("user", text),), max_tokens=context.reserve(model, max_tokens), temperature=temperature)
    try:
        completion = await run.complete(prompt, role=role, model=model)
    except ModelError as problem:
        if failing is None:
            raise
        run.emit(Notice(f"{failing}: {problem}"))
        return ""
    return "" if completion.finish == "refusal" else completion.text.strip()


def is_nothing(reply: str) -> bool:
    """Whether a model says, as the prompts ask it to, that there is nothing to say."""
    return reply.strip(" .*\n").upper() == "NOTHING"


async def mended(
    run: Run, question: str, loose: str, passages: Iterable[Passage], model: Model, temperature: float, max_tokens: int
) -> str | None:
    """Sentences from passages, with their numbers, in the place of those that they do not carry; None where no words came."""
    frame = {"foreign": context.foreign(run), "question": question, "sentences": context.fence(run, loose)}
    text = context.filled(run, model, max_tokens, "mend", "passages", context.material(run, passages), **frame)
    reply = await words(run, text, role="mend", model=model, temperature=temperature, max_tokens=max_tokens)
    put = "" if is_nothing(reply) else await run.aside(attributed, reply, run.passages)
    return put if reply else None


async def data(run: Run, text: str, form: Form[T], *, role: str, model: Model, temperature: float, max_tokens: int) -> T:
    """Structured output: the reply's data in that form, after one repair if need be; raises `BadOutput`."""
    prompt = Prompt((Message("user", text),), max_tokens=context.reserve(model, max_tokens), temperature=temperature)
    return await structured(
        lambda asked: run.complete(asked, role=role, model=model),
        prompt,
        form,
        native=model.capabilities.schemas,
        model=model.name,
    )
