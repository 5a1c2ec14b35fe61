"""The one cited answer step that all recipes share: material in, streamed answer out.

The model sees the question and numbered material and nothing else. Whatever happens to the budget, an
answer comes out: cut short, or put together from verbatim sentences.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import islice

from wellread.errors import BudgetExhausted, ContextTooLong
from wellread.events import AnswerDelta, Cut, Event
from wellread.models.call import LEAST_REPLY
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context
from wellread.strategies.attribution import Attribution
from wellread.strategies.proof import proofread
from wellread.strategies.relevance import best, by_words
from wellread.text.inert import Inert, leads_to
from wellread.text.markers import strip_markers
from wellread.text.quoting import one_after_another, quoted
from wellread.text.sentences import sentences
from wellread.types import Answer, Completion, Message, Passage, Prompt

_DECLINED = re.compile(r"[*_#>\s]*no answer\b[*_\s]*(?:[:.–—-]+|\n|\Z)[*_\s]*", re.IGNORECASE)
_LABEL = re.compile(r"\A[*_#\s]*(?:final )?answer[*_]*:[*_\s]*", re.IGNORECASE)
_MISSING = re.compile(r"(?i:\n[-*_#>\s]{0,12}missing[*_]*:[*_]*)|(?<!\S)[*_]*MISSING[*_]*:[*_]*")
_LABEL_BEGUN = re.compile(r"[-*_#>\s]*(?<!\w)(?:m|mi|mis|miss|missi|missin|missing)?[*_]*\Z", re.IGNORECASE)
_LABEL_REACH = 100  # characters at the end of what was written, in which such a label may begin
_SAYS_NOTHING = re.compile(r"(?:\W|_|\bmissing\b)*+", re.IGNORECASE)  # numbers alone, or a small model's label without a row
_STEP = 500  # characters that are looked at before others have their turn
_DECIDED_AT = 16  # characters after which it is clear whether a reply opens with NO ANSWER
_TRIES = 3
_QUOTED = 3  # sentences of an answer without a model
_READ = 1500  # sentences looked at for it: this runs when time is already up


@dataclass(frozen=True, slots=True)
class Brief:
    """The material of an answer, and how it is to be written."""

    question: str
    material: Sequence[str]  # best first; every block carries its [n]
    model: Model
    temperature: float = 0.0
    max_tokens: int = 1000
    detail: str = ""  # how much to say, in words
    links: bool = False
    missing: str = "nothing was found"  # the reason when there is no material
    tried: Sequence[str] = ()
    notes: bool = False  # the material is notes with numbers inside them
    tokens: int | None = None  # for prompt and reply, where others have their shares of what is left


class Draft:
    """An answer while it is written. The deltas it emits add up to `text`, always."""

    def __init__(self, run: Run, emit: Callable[[Event], object] | None = None) -> None:
        self._emit = emit or run.emit
        self._aside = run.aside
        self._attribution = Attribution(run.passages)
        self._inert = Inert(leads_to(run.passages))
        self._held = ""
        self._decided = False
        self._lacking: str | None = None  # behind MISSING:
        self.declined: str | None = None  # what the model says is missing, when it says NO ANSWER
        self.text = ""

    @property
    def missing(self) -> list[str]:
        """The gaps that a partial answer names, a row for each."""
        return [_MISSING.sub("", f"\n{row}").strip(" *_-\t\n") for row in (self._lacking or "").splitlines()]

    def distrust(self) -> None:
        """Give no numbers to sentences: their writer made up what they rest on."""
        self._attribution = Attribution({})

    async def warm(self) -> None:
        """Read the passages before an answer streams: checking it sentence by sentence then takes no time."""
        await self._aside(self._attribution.read_ahead)

    async def feed(self, piece: str) -> None:
        """Take in what has come. Numbering its sentences takes a while: others have their turn after each step."""
        for at in range(0, len(piece), _STEP):
            self._feed(piece[at : at + _STEP])
            await asyncio.sleep(0)

    def _feed(self, piece: str) -> None:
        if self._lacking is not None:
            self._lacking += piece
            return
        self._held += piece
        if not self._decided:
            self._held = _LABEL.sub("", self._held.lstrip(), count=1)
            if len(self._held) >= _DECIDED_AT:
                self._decide()
        if self._decided and self.declined is None:
            self._pass_on()

    async def close(self) -> None:
        """The end of the reply: what was held back is shown, or is the reason for no answer."""
        if not self._decided and self._held:
            self._decide()
        if self.declined is not None:
            self.declined = _DECLINED.sub("", self._held, count=1).strip(" *_\n")
        else:
            self._pass_on(final=True)
            rest = await self._aside(self._attribution.close)
            self.add((self._inert.feed(rest) + self._inert.close()).rstrip())

    def add(self, text: str) -> None:
        """Words of our own, which need no deciding."""
        if text:
            self.text += text
            self._emit(AnswerDelta(text))

    def _decide(self) -> None:
        self._decided = True
        if _DECLINED.match(self._held):
            self.declined = ""

    def _pass_on(self, *, final: bool = False) -> None:
        """Show what is sure to be the answer: not the blanks at its end, nor what may become the label of what is missing."""
        told = self._held if self.text else f"\n{self._held}"  # the whole answer may be that line
        label = _MISSING.search(told)
        if label and self._lacking is None:
            self._held, self._lacking = told[: label.start()].lstrip("\n"), told[label.end() :]
        begun = None if final or label else _LABEL_BEGUN.search(self._held, max(0, len(self._held) - _LABEL_REACH))
        ready = self._held[: begun.start()] if begun else self._held.rstrip()
        self._held = self._held[len(ready) :]
        self.add(self._inert.feed(self._attribution.feed(ready)))


async def compose(run: Run, brief: Brief) -> Answer:
    """The answer. Where a budget ends, before or while it is written, it is cut short."""
    draft, completion = Draft(run), Completion("")
    if not any(block.strip() for block in brief.material):
        return await (cut_short(run) if run.spent else unsure(run, brief.missing, brief.tried))
    with run.until_spent():
        await draft.warm()
        completion = await write(run, brief, draft)
    return await finished(run, draft, completion, brief.model, brief.tried)


async def finished(run: Run, draft: Draft, completion: Completion, model: Model, tried: Sequence[str] = ()) -> Answer:
    """The answer that a model's last words amount to; at high effort it reads them again."""
    await draft.close()
    if completion.finish == "refusal":
        return await run.answer(draft.text, outcome="unsure", reason=_reason("the model declined to answer", tried))
    if run.spent is not None:
        return await cut_short(run, draft)
    if draft.declined is not None:
        missing = draft.declined.rstrip(".") or "it says nothing on the question"
        return await unsure(run, f"what was found does not answer it: {missing}", tried, missing=draft.declined)
    if not draft.text:
        return await unsure(run, "the model gave no usable answer", tried)
    if says_nothing(draft.text):
        return await run.answer(draft.text, outcome="unsure", reason=_reason("the model gave no usable answer", tried))
    why = _reason("what was found does not answer it", tried)  # where all it says is what is missing
    return await run.answer(draft.text, missing=draft.missing, reason=why, proof=lambda read: proofread(run, read, model))


def says_nothing(text: str) -> bool:
    """Whether there are only numbers and labels in it."""
    return _SAYS_NOTHING.fullmatch(strip_markers(text)) is not None


async def unsure(run: Run, why: str, tried: Sequence[str] = (), missing: str = "") -> Answer:
    """No answer, with the reason, what was tried and what failed on the way."""
    failures = list(dict.fromkeys(run.failures))[:3]
    lacking = [missing] if missing else []
    return await run.answer("", outcome="unsure", reason="; ".join([_reason(why, tried), *failures]), missing=lacking)


def _reason(why: str, tried: Sequence[str]) -> str:
    queries = list(dict.fromkeys(tried))
    if not queries:
        return why
    shown = ", ".join(f"“{query}”" for query in queries[:5])
    more = f" and {len(queries) - 5} more" if len(queries) > 5 else ""
    return f"{why}; searched for {shown}{more}"


async def cut_short(run: Run, draft: Draft | None = None) -> Answer:
    """An answer cut short by a budget: the words that came, and quotations when those carry nothing."""
    draft = draft or Draft(run)
    await draft.close()
    if draft.text and draft.text[-1] not in ".!?…]。！？":
        draft.add(" …")
    answer = await run.answer(draft.text)
    if not any(sentence.supported for sentence in answer.sentences):
        passages = list(run.passages.values()) or [hit.passage() for hit in run.found.values()]
        quotes = await extracts(run, run.understood or run.question, passages)
        draft.add(f"\n\n{quotes}" if draft.text and quotes else quotes)
    if draft.text:
        return await run.answer(draft.text, missing=draft.missing)
    return await run.answer("", outcome="exhausted", reason=f"{run.spent} before anything was found")


async def write(run: Run, brief: Brief, draft: Draft) -> Completion:
    """Stream the reply. Where a provider's window turns out smaller than known, show it less."""
    for _ in range(_TRIES - 1):
        try:
            return await _stream(run, brief, draft)
        except ContextTooLong:
            brief = replace(brief, material=_halved(run, brief))
    return await _stream(run, brief, draft)


def _halved(run: Run, brief: Brief) -> list[str]:
    total = sum(brief.model.count_tokens(block) for block in brief.material)
    run.emit(Cut("material", total // 2, total))
    if len(brief.material) > 1:
        return list(brief.material[: (len(brief.material) + 1) // 2])
    return context.fitting(run, brief.model, brief.material, total // 2)


async def _stream(run: Run, brief: Brief, draft: Draft) -> Completion:
    prompt = _prompt(run, brief)
    await asyncio.sleep(0)  # counting and cutting may have taken a while
    last: str | Completion = Completion("")
    streamed = False
    async with aclosing(run.generate(prompt, role="answer", model=brief.model)) as words:
        async for last in words:
            if isinstance(last, str):
                streamed = True
                await draft.feed(last)
    assert isinstance(last, Completion)
    if not streamed:  # a model that cannot stream says everything at the end
        await draft.feed(last.text)
    if last.finish == "length" and draft.text and draft.text[-1] not in ".!?…]。！？":
        await draft.feed(" …")
    return last


def _prompt(run: Run, brief: Brief) -> Prompt:
    system = Message(
        "system",
        render(
            "answer",
            today=run.today,
            detail=brief.detail or render("detail-brief"),
            citing=render("cite-links" if brief.links else "cite-notes" if brief.notes else "cite-numbers"),
            inferring=render("inferring"),
            foreign=context.foreign(run),
        ),
    )
    bare = Message("user", render("answer-question", material="", question=brief.question))
    reply = context.reserve(brief.model, brief.max_tokens)
    space = _space(run, brief, (system, bare), reply)
    # Notes of a model are fenced as well: what they are made of came from outside.
    blocks = [block if run.marker in block else context.fence(run, block) for block in brief.material]
    material = context.fitting(run, brief.model, blocks, space)
    question = render("answer-question", material="\n\n".join(material), question=brief.question)
    return Prompt((system, Message("user", question)), max_tokens=reply, temperature=brief.temperature)


def _space(run: Run, brief: Brief, messages: tuple[Message, ...], reply: int) -> int | None:
    """Tokens for material: what the window and the budget leave beside the question and the reply."""
    window = context.room(brief.model, messages, reply)
    left = min((one for one in (brief.tokens, run.budget.tokens_left()) if one is not None), default=None)
    if left is None:
        return window
    frame = sum(brief.model.count_tokens(message.text) for message in messages)
    affordable = left - frame - min(reply, LEAST_REPLY)
    if affordable < LEAST_REPLY:
        raise BudgetExhausted("tokens")
    return affordable if window is None else min(window, affordable)


async def extracts(run: Run, question: str, passages: Sequence[Passage]) -> str:
    """Quotations in the place of an answer, with their numbers."""
    chosen = await run.aside(extractive, question, passages) if passages else []
    return one_after_another([quoted(sentence, f"[{run.number(passage)}]") for passage, sentence in chosen])


def extractive(question: str, passages: Sequence[Passage]) -> list[tuple[Passage, str]]:
    """An answer without a model: sentences, with the passages they stand in, that share most with the question, verbatim."""
    every = ((place, passage.text[start:end]) for place, passage in enumerate(passages) for start, end in sentences(passage.text))
    found = list(islice(every, _READ))
    scores = by_words(question, [f"{passages[place].title}. {sentence}" for place, sentence in found])
    chosen = [index for index in best(scores, _QUOTED) if scores[index] > max(scores) / 3]
    if not chosen:  # nothing shares a word with the question, perhaps for its language: how the best passages begin
        chosen = list({place: index for index, (place, _) in reversed([*enumerate(found)])}.values())[:-3:-1]
    return [(passages[found[index][0]], found[index][1]) for index in sorted(chosen)]
