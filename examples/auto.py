"""The cheapest step that is sure enough; the events say which one it was."""

import asyncio
import sys

from wellread import Engine, Settings, events, settings


async def main(question: str) -> None:
    chosen: Settings = settings.load({"strategy": "auto"})
    async with Engine(chosen) as engine:
        async for event in engine.stream(question):
            if isinstance(event, events.Decided):
                print(f"{event.decision}: {event.why}")
            elif isinstance(event, events.Answered):
                print(event.answer.short or event.answer.text or event.answer.reason)


asyncio.run(main(" ".join(sys.argv[1:]) or "In which town was the author of Hamlet born?"))
