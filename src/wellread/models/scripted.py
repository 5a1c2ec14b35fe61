"""A fake model that says what it is told to say: for tests, demonstrations and plugins' own tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from wellread.models.reply import Reply
from wellread.models.tokens import estimate
from wellread.types import Capabilities, Completion, Prompt

Line = str | Completion | Exception
Script = Sequence[Line | Callable[[Prompt], Line]] | Callable[[Prompt], Line]

ABLE = Capabilities(context_tokens=100_000, continues=True, tools=True, schemas=True)


@dataclass
class ScriptedModel:
    """Each call takes the next line of `script`; a function as script answers every call.

    A line is a text, a whole `Completion`, an exception to raise, or a function of the prompt that
    gives one of these. Texts are streamed in pieces of `piece` characters with `delay` seconds before
    each, cut at the prompt's stop sequences and stripped of thinking as with any model. `prompts` keeps
    what was asked, `closed` counts the streams that were left before their end.
    """

    script: Script
    name: str = "scripted"
    capabilities: Capabilities = ABLE
    piece: int = 7
    delay: float = 0.0
    cost: float | None = 0.0
    prompts: list[Prompt] = field(default_factory=list[Prompt])
    closed: int = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        self.prompts.append(prompt)
        line = self._line(prompt)
        if isinstance(line, Exception):
            raise line
        given = line if isinstance(line, Completion) else Completion(line)
        reply = Reply(prompt.stop, max_tokens=prompt.max_tokens)
        finished = False
        try:
            for start in range(0, len(given.text), self.piece):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if shown := reply.feed(given.text[start : start + self.piece]):
                    yield shown
                if reply.over:
                    break
            if rest := reply.finish():
                yield rest
            finished = True
        finally:
            self.closed += not finished
        yield self._completion(prompt, given, reply)

    def count_tokens(self, text: str) -> int:
        return estimate(text)

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return self.cost

    def _line(self, prompt: Prompt) -> Line:
        if callable(self.script):
            return self.script(prompt)
        number = len(self.prompts)
        line = next(islice(self.script, number - 1, None), None)
        if line is None:
            raise AssertionError(f"the script has no line for call {number}: {prompt.messages[-1].text[:200]!r}")
        return line(prompt) if callable(line) else line

    def _completion(self, prompt: Prompt, given: Completion, reply: Reply) -> Completion:
        finish = "stop" if reply.stopped_at else "tools" if given.tool_calls else given.finish
        return replace(
            given,
            text=reply.text,
            finish=finish,
            stopped_at=reply.stopped_at or given.stopped_at,
            input_tokens=given.input_tokens or sum(estimate(message.text) for message in prompt.messages),
            output_tokens=given.output_tokens or estimate(reply.text),
            cost=self.cost if given.cost is None else given.cost,
        )
