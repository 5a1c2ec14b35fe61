"""What the strategies cost a strong model, and whether `guided` shows it what it needs.

    python benchmarks/strategies.py [--quick] [--data DIR] [--part report|tune] [--sure S]

No network and no model: a script says what a strong model would. It knows a question's gold passages. Shown all of
them it answers with the sentences of theirs that lead to the answer, word for word and cited; not shown them, it says
that there is no answer, and what is missing: the name that a passage it was shown leads to, else what was asked. Where
it may search it takes one search a step, as strong models were seen to do (two to five searches for questions of two and
three steps): the name of each gold passage that the question, or a gold passage it was shown, names, else the question
itself; it gives up when these are used up. `--eager`: it answers as soon as it was shown all gold passages, also those
that came up by the way. So a strategy is right where it brings the passages
together, and what it costs is what it shows.

Questions of two steps whose answer stands in a gold passage, half HotpotQA, half 2Wiki, of the part that nothing was
trained or fitted on (`--part tune`: the part to choose on), over the passages they were published with and others. For
every four of them one of these sets has one question more whose gold passages were left out: it cannot be answered, and is
right where nothing is. Half as many questions of three steps are MuSiQue's.

`guided_tokens_ratio`, `auto_tokens_ratio`: input and output tokens of all questions, against react's. `auto_right`,
`react_right` …: questions whose answer stands in the answer that was given. `digest_calls_ratio`: digest's calls
against one for each document kept and one for the answer. `gold_hotpotqa`, `gold_2wiki`, `gold_musique`: the share of
gold passages in the one prompt of `guided`, six passages, all kinds of questions.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from wellread import events
from wellread.engine import Engine
from wellread.index.build import BuildOptions, build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.models.scripted import ScriptedModel
from wellread.parts import Parts
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Verdict
from wellread.settings import Settings
from wellread.text.places import bare_title
from wellread.text.sentences import sentences
from wellread.types import Answer, Capabilities, Passage, Prompt

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
HELD_OUT = {
    "hotpotqa": (200, 400),
    "2wiki": (200, 400),
}  # to choose on, to report on: as in training/evaluator
STRATEGIES = ("guided", "auto", "react", "iterative", "corrective", "digest", "fanout")
NAMES = {"hotpotqa": "hotpotqa", "2wiki": "2wiki", "musique_train100": "musique"}
_NUMBER = re.compile(r'(?:\[|index=")(\d+)(?:\]|")')
_SEEN = 60  # characters of a passage by which it is known again


@dataclass(frozen=True, slots=True)
class Item:
    """A question, its answers, its gold passages and those it was published with."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[Passage, ...]
    context: tuple[Passage, ...]
    answerable: bool = True  # else its gold passages are not there

    def has_steps(self, count: int) -> bool:
        told = self.stands_in(" ".join(passage.text for passage in self.gold))
        return len(self.gold) == count and told and len(self.answers[0]) > 3

    def stands_in(self, text: str) -> bool:
        return any(_plain(answer) in _plain(text) for answer in self.answers)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def rows(data: Path, name: str, file: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data / name / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def passages_of(data: Path, name: str) -> dict[str, Passage]:
    return {row["id"]: Passage(row["id"], row["text"], row["title"]) for row in rows(data, name, "corpus")}


def items_of(data: Path, name: str, part: str, corpus: Mapping[str, Passage]) -> list[Item]:
    """The questions of a part, in the order of a hash; a set that nothing was trained on is reported on whole."""
    asked = sorted(rows(data, name, "questions"), key=lambda row: hashlib.sha256(str(row["id"]).encode()).hexdigest())
    if name in HELD_OUT:
        tune, report = HELD_OUT[name]
        asked = asked[:tune] if part == "tune" else asked[tune : tune + report]
    return [
        Item(
            row["question"],
            tuple(row["answers"]),
            tuple(corpus[key] for key in row["gold"]),
            tuple(corpus[key] for key in row.get("context", ())),
        )
        for row in asked
    ]


def around(items: Iterable[Item], corpora: Sequence[Mapping[str, Passage]], size: int) -> list[Passage]:
    """The passages that questions were published with, filled up to a size."""
    items = list(items)
    absent = {passage.id for item in items if not item.answerable for passage in item.gold}
    members = {passage.id: passage for item in items for passage in (*item.gold, *item.context) if passage.id not in absent}
    others = (passage for corpus in corpora for passage in corpus.values() if passage.id not in absent)
    for passage in sorted(others, key=lambda passage: hashlib.sha256(passage.id.encode()).hexdigest()):
        if len(members) >= size:
            break
        members.setdefault(passage.id, passage)
    return list(members.values())


@dataclass(slots=True)
class Strong:
    """The script of one question."""

    item: Item
    asked: list[str] = field(default_factory=list[str])
    eager: ClassVar[bool] = False

    def __call__(self, prompt: Prompt) -> str:
        text = "\n".join(message.text for message in prompt.messages)
        shown = self._shown(text)
        if "NOTHING" in text and not prompt.stop:
            return " ".join(self._sentence(passage, number) for passage, number in shown) or "NOTHING"
        if prompt.schema is not None or "JSON" in text:
            return self._data(text)
        if "PAUSE" in prompt.stop:
            return self._turn(shown)
        if "</search_query>" in prompt.stop:
            return self._step(shown)
        if prompt.max_tokens is not None and prompt.max_tokens <= 200:
            return self.item.text  # a query, or a guess at the answer
        return self._answer(shown)

    def _shown(self, text: str) -> list[tuple[Passage, int]]:
        """Gold passages in a prompt and their numbers; also as the sentence that a summary keeps of them."""
        found: list[tuple[Passage, int]] = []
        for passage in self.item.gold:
            for beginning in (passage.text[:_SEEN], self._kept(passage)[:_SEEN]):
                place = text.rfind(beginning)
                if place < 0:
                    continue
                before, after = _NUMBER.findall(text[:place]), _NUMBER.findall(text[place + len(beginning) :])
                noted = beginning != passage.text[:_SEEN] or not before
                number = (after if noted and after else before or after)[0 if noted and after else -1]
                found.append((passage, int(number)))
                break
        return found

    def _kept(self, passage: Passage) -> str:
        """The sentence of a passage that counts: with the answer, else with another gold passage's name, else the first."""
        every = [passage.text[start:end] for start, end in sentences(passage.text)] or [passage.text]
        others = [_plain(bare_title(one.title)) for one in self.item.gold if one != passage]
        holding = [one for one in every if self.item.stands_in(one)]
        naming = [one for one in every if any(name and name in _plain(one) for name in others)]
        return (holding or naming or every)[0]

    def _sentence(self, passage: Passage, number: int) -> str:
        return f"{self._kept(passage)} [{number}]"

    def _answer(self, shown: Sequence[tuple[Passage, int]]) -> str:
        if len(shown) < len(self.item.gold):
            return f"NO ANSWER: {self._lacking(shown)}"
        return " ".join(self._sentence(passage, number) for passage, number in shown)

    def _lacking(self, shown: Sequence[tuple[Passage, int]]) -> str:
        """What a model would say is missing: more on a name that it was led to, else what was asked."""
        known, said = {passage.id for passage, _ in shown}, _plain(" ".join([self.item.text, *(one.text for one, _ in shown)]))
        names = [bare_title(one.title) for one in self.item.gold if one.id not in known]
        return next((f"more on {name}" for name in names if _plain(name) in said), self.item.text)

    def _next(self, shown: Sequence[tuple[Passage, int]]) -> str | None:
        """What is searched next; None: nothing more."""
        known = {passage.id for passage, _ in shown} if self.eager else set[str]()
        if self.eager and len(known) == len(self.item.gold):
            return None
        said = _plain(" ".join([self.item.text, *(passage.text for passage, _ in shown)]))
        names = [bare_title(one.title) for one in self.item.gold if one.id not in known and _plain(bare_title(one.title)) in said]
        spare = [] if len(shown) == len(self.item.gold) else [self.item.text]
        query = next((one for one in [*names, *spare] if one not in self.asked), None)
        if query is not None:
            self.asked.append(query)
        return query

    def _turn(self, shown: Sequence[tuple[Passage, int]]) -> str:
        query = self._next(shown)
        if query is None:
            return f"Thought: That is all there is.\nAnswer: {self._answer(shown)}"
        return f"Thought: I should look up {query} to learn what is missing.\nAction: index: {query}\nPAUSE"

    def _step(self, shown: Sequence[tuple[Passage, int]]) -> str:
        query = self._next(shown)
        if query is None:
            notes = " ".join(self._sentence(passage, number) for passage, number in shown)
            return f"<assessment>That is all there is.</assessment>\n<information>{notes}</information>"
        return f"<plan>I have to look up {query}.</plan>\n<search_query>{query}</search_query>"

    def _data(self, text: str) -> str:
        if "not_carried" in text:
            passages, _, sheet = text.partition("Sentences of the answer:")
            lines = re.findall(r"^(\d+)\. (.*?) \[\d+\]", sheet, re.MULTILINE)
            return json.dumps({"not_carried": [int(number) for number, line in lines if _plain(line) not in _plain(passages)]})
        if "queries" in text:
            return json.dumps({"queries": [self.item.text, *(bare_title(passage.title) for passage in self.item.gold[:1])]})
        if "strips" in text:
            kept = [self._kept(passage)[:_SEEN] for passage in self.item.gold]
            lines = re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)
            return json.dumps({"keep": [int(number) for number, strip in lines if any(one in strip for one in kept)]})
        return json.dumps({"relevant": "yes" if self._shown("[1] " + text) else "no"})


@dataclass(slots=True)
class Tally:
    """What one strategy did over the questions."""

    questions: int = 0
    tokens: int = 0
    calls: int = 0
    right: int = 0
    wrong: int = 0
    kept: int = 0  # documents that digest kept
    seconds: float = 0.0

    def count(self, item: Item, answer: Answer, seen: Sequence[events.Event]) -> None:
        self.questions += 1
        self.tokens += answer.usage.input_tokens + answer.usage.output_tokens
        self.calls += answer.usage.model_calls
        given = answer.text if answer.outcome in ("answered", "partial") else ""
        right = item.stands_in(given) if item.answerable else not given
        self.right += right
        self.wrong += bool(given) and not right
        self.kept += next((len(one.kept) for one in seen if isinstance(one, events.Ranked)), 0)
        self.seconds += answer.seconds


async def indexed(folder: Path, passages: Sequence[Passage]) -> str:
    """An index of the passages; one that is there already is used again."""
    if not (folder / "manifest.json").exists():
        kit = Parts(Settings())
        await build(folder, EmbeddingFeed(lambda: streamed(passages), kit.embedder(), "strategies"), BuildOptions())
        await kit.aclose()
    return f"index:{folder}"


class Stage:
    """An engine over one index whose model says what the question at hand wants."""

    def __init__(self, source: str) -> None:
        self.model = ScriptedModel((), capabilities=Capabilities(32_000), piece=4_000)
        self.engine = Engine(Settings(sources=(source,)), model=self.model)

    async def ask(self, item: Item, strategy: str, params: Mapping[str, object]) -> tuple[Answer, list[events.Event]]:
        self.model.script = Strong(item)
        own = {**params, "wikipedia": None} if strategy == "react" else params
        seen = [event async for event in self.engine.stream(item.text, strategy=strategy, params=own)]
        last = seen[-1]
        assert isinstance(last, events.Answered), last
        return last.answer, seen


def remember_verdicts() -> None:
    """What is counted is tokens: strategies that read the same passages on the same question need not wait for that twice."""
    judge, known = Evaluator.judge, dict[tuple[str, Chain], Verdict]()

    async def remembering(self: Evaluator, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        new = [chain for chain in dict.fromkeys(chains) if (question, chain) not in known]
        known.update(((question, chain), verdict) for chain, verdict in zip(new, await judge(self, question, new), strict=True))
        return [known[question, chain] for chain in chains]

    Evaluator.judge = remembering  # type: ignore[method-assign]


async def costs(stage: Stage, items: Sequence[Item], totals: dict[str, Tally], options: argparse.Namespace) -> None:
    for number, item in enumerate(items):
        for strategy in options.strategy or STRATEGIES:
            params = {"sure": options.sure} if strategy == "auto" and options.sure is not None else {}
            totals.setdefault(strategy, Tally()).count(item, *await stage.ask(item, strategy, params))
        print(number + 1, "of", len(items), json.dumps(summary(totals)), file=sys.stderr)


async def gold_share(stage: Stage, items: Sequence[Item]) -> float:
    """The mean share of gold passages that the one prompt of `guided` holds."""
    shares: list[float] = []
    for item in items:
        answer, _ = await stage.ask(item, "guided", {"passages": 6})
        shown = {(passage.title, passage.text.strip()) for passage in answer.passages.values()}
        shares.append(sum((one.title, one.text.strip()) in shown for one in item.gold) / len(item.gold))
    return sum(shares) / len(shares)


async def measure(options: argparse.Namespace) -> dict[str, object]:
    questions, gold, size = (4, 2, 120) if options.quick else (options.questions, 60, options.passages)
    corpora = {name: passages_of(options.data, name) for name in NAMES}
    totals: dict[str, Tally] = {}
    result: dict[str, object] = {"questions": questions, "passages": size, "part": options.part}
    for name, short in NAMES.items():
        items = items_of(options.data, name, options.part, corpora[name])
        steps, most = (2, questions // 2) if name in HELD_OUT else (3, questions // 2)
        fitting = [item for item in items if item.has_steps(steps)][options.skip :]
        without = [replace(item, answerable=False) for item in fitting[most : most + questions // 8 + 1]]
        chosen = [*fitting[:most], *(without if name in HELD_OUT else [])]
        absent = {item.text for item in chosen if not item.answerable}
        shared = [item for item in items if item.text not in absent][:gold] if not options.no_gold else []
        if not chosen and not shared:
            continue
        around_them = around(
            [*chosen, *shared], [corpora[name], corpora["hotpotqa"]] if name not in HELD_OUT else [corpora[name]], size
        )
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            source = await indexed((options.keep or Path(folder)) / f"{name}-{len(around_them)}-{options.part}", around_them)
            print(f"{name}: {len(around_them)} passages in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
            stage = Stage(source)
            if not options.no_costs:
                await costs(stage, chosen, totals, options)
            if shared:
                result[f"gold_{short}"] = round(await gold_share(stage, shared), 3)
                print(result, file=sys.stderr)
            await stage.engine.aclose()
    return result | {"asked": max((one.questions for one in totals.values()), default=0)} | summary(totals)


def summary(totals: Mapping[str, Tally]) -> dict[str, object]:
    found: dict[str, object] = {}
    if (react := totals.get("react")) is not None:
        found |= {f"{name}_tokens_ratio": round(one.tokens / react.tokens, 3) for name, one in totals.items()}
    for name, one in totals.items():
        found |= {
            f"{name}_right": one.right,
            f"{name}_wrong": one.wrong,
            f"{name}_calls": one.calls,
            f"{name}_tokens": one.tokens,
        }
    if (digest := totals.get("digest")) is not None:
        found["digest_calls_ratio"] = round(digest.calls / (digest.kept + digest.questions), 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few questions, few passages")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", choices=("report", "tune"), default="report")
    parser.add_argument("--strategy", action="append", choices=STRATEGIES, help="only these")
    parser.add_argument("--sure", type=float, help="auto's parameter of that name")
    parser.add_argument("--questions", type=int, default=50, help="of two steps, half of each set")
    parser.add_argument("--skip", type=int, default=0, help="questions of each set that are left out, having been looked at")
    parser.add_argument("--passages", type=int, default=2_500, help="around each set's questions")
    parser.add_argument("--keep", type=Path, help="where the indexes are left for the next time")
    parser.add_argument("--eager", action="store_true", help="the model answers as soon as it has seen enough")
    parser.add_argument("--no-gold", action="store_true", help="costs alone")
    parser.add_argument("--no-costs", action="store_true", help="the share of gold passages alone")
    options = parser.parse_args()
    Strong.eager = options.eager
    remember_verdicts()
    print(json.dumps(asyncio.run(measure(options))))


if __name__ == "__main__":
    main()
