"""What the engine itself costs, beside LangGraph running the same loop.

    python benchmarks/overhead.py [--quick]

cpu_ms                 CPU of a whole five-step `iterative` run (plan, five searches, notes, checked answer) with a
                       model and a source that answer at once
langgraph_ratio        five model calls and five searches, both sides with stubs: LangGraph's CPU over ours
langgraph_model_ratio  the same, each side with its own model seam and fake model: pydantic-ai's FunctionModel behind our
                       seam, langchain-core's fake chat model behind theirs
fanout_ratio           wall time of `fanout` with 21 queries to a source that takes 200 ms, over one such search
grading_ratio          wall time of grading 20 passages with a model that takes 200 ms, over one such call

In the two comparisons our side is the engine with a strategy that does nothing but call and search, as LangGraph's
side is a graph whose nodes do nothing but call and search; both are driven to their end in one event loop, and the
rounds of both are interleaved. CPU is the process's own time; of all rounds the fastest counts, because on a shared
machine everything else is somebody else's work.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import operator
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypedDict

from wellread import events, plugins
from wellread.engine import Engine
from wellread.models.tokens import estimate
from wellread.protocols import Source
from wellread.run import Run
from wellread.settings import Settings
from wellread.strategies.corrective import Corrective
from wellread.strategies.fanout import Fanout
from wellread.types import Answer, Capabilities, Completion, Hit, Message, Prompt, Query

STEPS = 5
FACT = "The telescope came to Middelburg in 1608."


class Stub:
    """A model that answers at once."""

    name = "stub"
    capabilities = Capabilities(context_tokens=100_000, continues=True)

    def __init__(self, reply: Callable[[Prompt], str], delay: float = 0.0) -> None:
        self.reply, self.delay = reply, delay

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        if self.delay:
            await asyncio.sleep(self.delay)
        text = self.reply(prompt)
        for stop in prompt.stop:
            if stop in text:
                yield Completion(text.split(stop)[0], "stop", stop, output_tokens=9)
                return
        yield Completion(text, output_tokens=9)

    def count_tokens(self, text: str) -> int:
        return estimate(text)


@dataclass
class Shelf(Source):
    """A source that answers at once, or after a while."""

    delay: float = 0.0
    name: str = "shelf"
    hint: str = "Ask with a few words."

    async def search(self, query: Query) -> Sequence[Hit]:
        if self.delay:
            await asyncio.sleep(self.delay)
        key = query.text.replace(" ", "-")
        return [Hit(f"{key}#{n}", f"{FACT} {query.text}.", f"Page {n}", f"https://x/{key}/{n}", snippet=FACT) for n in range(3)]


def researcher(prompt: Prompt) -> str:
    """Five searches, then the notes, then the answer."""
    last = prompt.messages[-1]
    if "from numbered material" in prompt.messages[0].text:
        return f"{FACT} [1]"
    done = last.text.count("<search_query>") if last.role == "assistant" else 0
    if done < STEPS:
        return f"<assessment>More.</assessment><search_query>telescope {done}</search_query>"
    return f"<information>{FACT} [1]</information>"


@dataclass(frozen=True, slots=True)
class NoParams:
    pass


class Loop:
    """Five model calls and five searches, nothing else: the counterpart of the graph below."""

    name: ClassVar[str] = "loop"
    summary: ClassVar[str] = ""
    needs_model: ClassVar[bool] = True
    Params: ClassVar = NoParams

    def __init__(self, params: NoParams) -> None:
        self.params = params

    async def answer(self, run: Run) -> Answer:
        messages = (Message("user", run.question),)
        for step in range(STEPS):
            reply = await run.complete(Prompt(messages), role="step")
            hits = await run.search(f"{reply.text} {step}", limit=3)
            messages = (*messages, Message("assistant", reply.text), Message("user", hits[0].text))
        return Answer(run.question, "done", "answered", self.name)


async def ours(engine: Engine, strategy: str, params: dict[str, object] | None = None) -> Answer:
    """A run to its end, every event taken: a stream that is left before would be ended by the garbage collector."""
    stream = engine.stream("When did the telescope come to Middelburg?", strategy=strategy, params=params)
    (answer,) = [event.answer async for event in stream if isinstance(event, events.Answered)]
    return answer


class State(TypedDict):
    messages: Annotated[list[Any], operator.add]
    step: int


def langgraph(call: Callable[[list[Any]], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """The same loop as a graph: a model node, a search node, an edge that decides."""
    from langgraph.graph import END, StateGraph

    shelf = Shelf()

    async def model(state: State) -> dict[str, Any]:
        return {"messages": [await call(state["messages"])]}

    async def search(state: State) -> dict[str, Any]:
        hits = await shelf.search(Query(f"step {state['step']}", 3))
        return {"messages": [hits[0].text], "step": state["step"] + 1}

    def further(state: State) -> str:
        return END if state["step"] >= STEPS else "model"

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("search", search)
    graph.set_entry_point("model")
    graph.add_edge("model", "search")
    graph.add_conditional_edges("search", further)
    app = graph.compile()
    return lambda: app.ainvoke({"messages": ["When did the telescope come to Middelburg?"], "step": 0}, {"recursion_limit": 50})


async def stubbed(messages: list[Any]) -> str:
    return "telescope"


def their_model() -> Callable[[list[Any]], Awaitable[Any]]:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    return FakeListChatModel(responses=["telescope"]).ainvoke


def our_model() -> Any:
    """pydantic-ai's FunctionModel behind our seam."""
    from pydantic_ai.models.function import FunctionModel

    from wellread.models.chat import ChatModel, Connection, Traits
    from wellread.models.failures import Where
    from wellread.models.prices import FREE

    async def words(messages: Any, info: Any) -> AsyncIterator[str]:
        yield "telescope"

    async def connect() -> Connection:
        return Connection(FunctionModel(stream_function=words))

    return ChatModel(Traits(Where("function"), Capabilities(100_000), FREE, says_end=False), connect)


async def cpu(job: Callable[[], Awaitable[Any]], times: int) -> float:
    """CPU milliseconds of one run."""
    gc.collect()
    begun = time.process_time()
    for _ in range(times):
        await job()
    return (time.process_time() - begun) / times * 1000


async def fastest(jobs: dict[str, Callable[[], Awaitable[Any]]], rounds: int, times: int) -> dict[str, float]:
    for job in jobs.values():  # what happens once in a process is not what a run costs
        await job()
        await job()
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            best[name] = min(best[name], await cpu(job, times))
    return best


async def wall(job: Callable[[], Awaitable[Any]], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        await job()
        best = min(best, time.perf_counter() - begun)
    return best


async def fanout_ratio(times: int) -> float:
    """Only the searches are slow; the answer's own time is there on both sides of no comparison."""
    queries = json.dumps({"queries": [f"telescope {n}" for n in range(20)]})
    model = Stub(lambda prompt: queries if "queries for a search service" in prompt.messages[0].text else f"{FACT} [1]")
    shelf = Shelf(0.2)

    async def run() -> None:
        async with Engine(Settings(embedder="none"), model=model, source=shelf) as engine:
            await searches(engine)

    async def searches(engine: Engine) -> None:
        async for event in engine.stream("When?", strategy=Fanout.name):
            if isinstance(event, events.Thought) and event.kind == "hypothesis":  # comes when all searches are in
                return

    return await wall(run, times) / await wall(lambda: shelf.search(Query("telescope")), times)


async def grading_ratio(times: int) -> float:
    model = Stub(lambda prompt: '{"relevant": "yes"}', delay=0.2)

    class Many(Shelf):
        async def search(self, query: Query) -> Sequence[Hit]:
            return [Hit(str(n), FACT, f"Passage {n}", document=str(n)) for n in range(20)]

    async def run() -> None:
        async with Engine(Settings(reranker="none"), model=model, source=Many()) as engine:  # no evaluator reads before it
            async for event in engine.stream("When?", strategy=Corrective.name, params={"grader": "llm", "top_k": 20}):
                if isinstance(event, events.Decided):  # comes when all grades are in
                    return

    async def one() -> None:
        async for _ in model.stream(Prompt((Message("user", "x"),))):
            pass

    return await wall(run, times) / await wall(one, times)


async def measure(rounds: int, times: int) -> dict[str, float]:
    known = plugins.load
    plugins.load = lambda kind, name: Loop if name == "loop" else known(kind, name)  # pyright: ignore[reportAttributeAccessIssue]
    settings = Settings()
    async with (
        Engine(settings, model=Stub(researcher), source=Shelf()) as whole,
        Engine(settings, model=Stub(lambda prompt: "telescope"), source=Shelf()) as plain,
        Engine(settings, model=our_model(), source=Shelf()) as seam,
    ):
        answer = await ours(whole, "iterative", {"protocol": "text"})
        assert answer.usage.searches == STEPS, answer
        assert answer.sentences[0].supported, answer
        jobs: dict[str, Callable[[], Awaitable[Any]]] = {
            "iterative": lambda: ours(whole, "iterative", {"protocol": "text"}),
            "loop": lambda: ours(plain, "loop"),
            "langgraph": langgraph(stubbed),
            "loop, own model": lambda: ours(seam, "loop"),
            "langgraph, own model": langgraph(their_model()),
        }
        took = await fastest(jobs, rounds, times)
    for name, milliseconds in took.items():
        print(f"{name:<22} {milliseconds:7.2f} ms of CPU")
    return {
        "cpu_ms": round(took["iterative"], 2),
        "langgraph_ratio": round(took["langgraph"] / took["loop"], 1),
        "langgraph_model_ratio": round(took["langgraph, own model"] / took["loop, own model"], 1),
        "fanout_ratio": round(await fanout_ratio(3), 2),
        "grading_ratio": round(await grading_ratio(3), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 20")
    quick = parser.parse_args().quick
    print(json.dumps(asyncio.run(measure(5 if quick else 20, 10))))


if __name__ == "__main__":
    main()
