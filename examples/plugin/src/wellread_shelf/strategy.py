"""The strategy `first`: one search, and how the best passages begin. `wellread ask … --strategy first --param passages=2`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from wellread.parameters import Range, param
from wellread.run import Run
from wellread.types import Answer


@dataclass(frozen=True, slots=True)
class Params:
    """`--param`, `[params.first]` in the settings file."""

    passages: Annotated[int, Range(1, 10)] = param(1, "passages that are quoted")


class First:
    name: ClassVar[str] = "first"
    summary: ClassVar[str] = "One search, and how the best passages begin."
    needs_model: ClassVar[bool] = False
    Params: ClassVar = Params

    def __init__(self, params: Params) -> None:
        self.params = params

    async def answer(self, run: Run) -> Answer:
        hits = await run.search(run.question, limit=self.params.passages)
        quoted = [f"{hit.text.split('. ')[0].rstrip('.')}. [{run.number(hit)}]" for hit in hits[: self.params.passages]]
        if not quoted:
            return await run.answer("", outcome="unsure", reason="nothing was found")
        return await run.answer(" ".join(quoted))
