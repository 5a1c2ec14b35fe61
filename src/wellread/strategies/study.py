"""What a run of `iterative` has gathered so far, and how it looks things up for the model."""

from __future__ import annotations

from dataclasses import dataclass, field

from wellread.citations import markers
from wellread.events import Decided, Thought
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context, lookup, tags
from wellread.strategies.attribution import attributed
from wellread.types import Hit, Passage

_SPARE = 2  # hits beyond those shown, in case pages fail to load
_NOTHING = "<search_results>\nNothing was found. Try other or fewer words.\n</search_results>"
_AGAIN = "<search_results>\nYou have searched for exactly that before; its results are above. Use other words.\n</search_results>"


@dataclass(slots=True)
class Study:
    """The notes of one retrieval. Mutable and private to one run."""

    question: str
    information: str | None = None
    refused: bool = False
    hits: list[Hit] = field(default_factory=list[Hit])
    queries: list[str] = field(default_factory=list[str])
    transcript: str = ""

    def note(self, run: Run, said: str) -> None:
        """Take down what the model has said: its deliberation, and the information if there is some."""
        thought = tags.without(said, "search_query", "information")
        if thought:
            run.emit(Thought("reflection" if self.queries else "plan", thought))
        if (information := tags.last(said, "information")) is not None:
            self.information = information
            run.emit(Thought("information", information))

    async def look_up(
        self, run: Run, model: Model, query: str, *, results: int, page_tokens: int | None, space: int | None
    ) -> str:
        """Search, and the results as the model is shown them."""
        if query.casefold() in (earlier.casefold() for earlier in self.queries):
            self.queries.append(query)
            return _AGAIN
        self.queries.append(query)
        found = await run.search(query, limit=results + _SPARE)
        self.hits.extend(found[:results])
        loaded = await lookup.passages(run, found, results)
        return self._results(run, model, loaded, _least(page_tokens, space and space // max(1, len(loaded)) - 40))

    def _results(self, run: Run, model: Model, loaded: list[Passage], tokens: int | None) -> str:
        if not loaded:
            return _NOTHING
        items: list[str] = []
        for passage in loaded:
            known = any(passage.id == earlier.id for earlier in run.passages.values())
            short = passage if known else context.shortened(run, model, passage, tokens)
            content = "(shown above)" if known else short.text
            inner = f"<page_title>{passage.title}</page_title>\n<page_content>\n{content}\n</page_content>"
            if short.text:
                items.append(f'<item index="{run.number(short)}">\n{context.fence(run, inner)}\n</item>')
        return "<search_results>\n" + "\n".join(items) + "\n</search_results>" if items else _NOTHING

    def material(self, run: Run) -> list[str]:
        """What the answer is written from: the information, or the passages where that cannot be cited."""
        if self.information is not None:
            if not self.information.strip() or not run.passages:
                return [self.information]
            if cited := _with_numbers(run, self.information):
                return [cited]
            run.emit(Decided("answer from the passages", "the notes on them name none"))
        return [context.numbered(run, number, passage) for number, passage in run.passages.items()]


def _with_numbers(run: Run, information: str) -> str:
    """Notes whose sentences carry numbers; missing ones are added where a passage has the words. Else ""."""
    if any(number in run.passages for marker in markers(information) for number in marker.numbers):
        return information
    marked = attributed(information, run.passages)
    return marked if marked != information else ""


def _least(*values: int | None) -> int | None:
    known = [max(0, value) for value in values if value is not None]
    return min(known) if known else None
