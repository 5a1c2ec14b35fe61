"""Plan, search, reflect, answer: every step is an event, told in the words that the page and the terminal use."""

import asyncio
import sys

from wellread import Engine, events, settings


async def main(question: str) -> None:
    async with Engine(settings.load({"strategy": "iterative"})) as engine:
        async for event in engine.stream(question, params={"max_searches": 4}):
            if isinstance(event, events.Answered):
                print(event.answer.text or event.answer.reason)
            elif not isinstance(event, events.AnswerDelta) and (words := event.said()):
                print(words.short(100), file=sys.stderr)


asyncio.run(main(" ".join(sys.argv[1:]) or "Which was invented first, the telescope or the microscope?"))
