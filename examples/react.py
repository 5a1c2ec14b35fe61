"""Thought, action, observation; the calculator is one of the actions."""

import asyncio
import sys

from wellread import Engine, events, settings


async def main(question: str) -> None:
    async with Engine(settings.load({"strategy": "react"})) as engine:
        async for event in engine.stream(question):
            if isinstance(event, events.Thought):
                print(event.text.strip(), file=sys.stderr)
            elif isinstance(event, events.Answered):
                print(event.answer.text or event.answer.reason)


asyncio.run(main(" ".join(sys.argv[1:]) or "How many years after the telescope was the microscope patented, times twelve?"))
