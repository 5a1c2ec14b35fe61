"""`research`: a cited report in sections.

    look at what a first search finds; lay out sections: what each must answer, and queries for it
    search for all of them in turn, as guided does; read pages where there are only snippets
    write the sections from their passages, all at once, and check each;
        what is not carried is searched for once and mended, or left out
    write introduction and conclusion from the sections alone
    name contradictions between sources, and what could not be found

It follows no published recipe. Tokens are shared out: a section that gets none is quoted from what was found for it. Searching
takes no more than a part of the time. A section that an earlier run of the report has finished (`run.earlier`) is taken over and
not paid for again. Without a language model the report is an annotated bibliography, and called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Annotated, ClassVar, Literal

from wellread.errors import BadOutput, ModelError
from wellread.events import AnswerDelta, Decided, Notice, Numbered, Outlined, Planned, Section
from wellread.models.structured import texts
from wellread.parameters import Range, param
from wellread.prompts.render import render
from wellread.questions.headings import CONTRADICTION, TAKEN, headings
from wellread.run import Run
from wellread.strategies import bibliography, calls, context, trail, turns
from wellread.strategies.attribution import attributed
from wellread.strategies.compose import Brief, Draft, cut_short, extracts, says_nothing, unsure, write
from wellread.strategies.digest import from_internet
from wellread.strategies.guided import chained
from wellread.strategies.proof import proofread
from wellread.strategies.recipe import Recipe, Roles, stand_alone
from wellread.text.inert import inert
from wellread.text.markers import strip_markers
from wellread.text.neighbours import by_place
from wellread.types import Answer, Completion, Passage, Sentence

_LEAST = 0.05  # as in guided: less likely passages are left out
_SEARCHING = 0.4  # part of the time for searches and pages
_NODES, _KEPT = 40, 3  # passages of a page that are looked at, and kept
_SHOWN = 150  # characters of what a first search finds
_NEW = 3  # passages of the search for what is not carried
_PER_WORD = 3  # tokens, numbers and a language's longer words included
_FEWEST = 900  # tokens that a section cannot be written with less of
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_OUTLINE = texts("sections", "title | question | query | another query")
_NUMBERED = re.compile(r"^(?:section )?\d{1,2}[.:)]\s+", re.IGNORECASE)
_CONTRADICTION = re.compile(rf"[\s*_-]*(?:{CONTRADICTION})\b", re.IGNORECASE)


def _planned(row: str) -> Planned | None:
    """A line of an outline, as far as the model has kept to its form."""
    title, *more = [" ".join(part.split()) for part in row.split("|")]
    title, question = inert(_NUMBERED.sub("", title.strip("#* ")))[:120], next(filter(None, more[:1]), "")
    title = inert(question)[:120] if title.casefold() in TAKEN else title  # small models plan an introduction all the same
    return Planned(title, question or title, tuple(filter(None, more[1:]))) if title else None


@dataclass(frozen=True, slots=True)
class ResearchParams(Roles):
    sections: Annotated[int, Range(1, 20)] = param(4, "sections of the report, at most")
    queries: Annotated[int, Range(1, 20)] = param(3, "searches for each section, at most")
    pages: Annotated[int, Range(0, 20)] = param(2, "pages that are read for a section where there are only snippets")
    words: Annotated[int, Range(20, 1000)] = param(200, "words of each section, about")
    passages: Annotated[int, Range(1, 100)] = param(8, "passages that a section is written from, at most")


@dataclass(frozen=True, slots=True)
class Checked:
    """Words of which every sentence is carried, with these sentences; where they stand is told in the end."""

    text: str = ""
    sentences: tuple[Sentence, ...] = ()

    @classmethod
    def of(cls, answer: Answer, sentences: Sequence[Sentence]) -> Checked:
        """Some sentences of a text, as far apart as they were."""
        made, at = "", 0
        for one in sentences:
            gap = answer.text[at : one.start]
            if gap.strip():  # something between them is left out
                gap = "\n\n" if "\n\n" in gap else "\n" if "\n" in gap else " "
            made, at = made + (gap if made else "") + one.text, one.end
        return cls(made, tuple(sentences))

    def placed(self) -> Iterator[Sentence]:
        """The sentences at their places in the text."""
        at = 0
        for one in self.sentences:
            at = self.text.index(one.text, at)
            yield replace(one, start=at, end=at + len(one.text))
            at += len(one.text)


@dataclass(slots=True)
class _Part:
    """A section while it is worked on. Mutable and private to one run."""

    plan: Planned
    number: int
    found: list[list[Passage]] = field(default_factory=list[list[Passage]])  # of each query, best first
    passages: list[Passage] = field(default_factory=list[Passage])
    written: Checked | None = None
    contradictions: tuple[Sentence, ...] = ()
    missing: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Report:
    question: str
    parts: list[_Part] = field(default_factory=list[_Part])
    broken: ModelError | None = None
    refused: bool = False

    @property
    def open(self) -> list[_Part]:
        return [part for part in self.parts if part.written is None]

    @property
    def told(self) -> list[_Part]:
        return [part for part in self.parts if part.written and part.written.text]


class Research(Recipe[ResearchParams]):
    """A cited report: an outline, searches for each section, checked drafts, and what could not be found."""

    needs_model: ClassVar[bool | Literal["optional"]] = "optional"

    async def answer(self, run: Run) -> Answer:
        p = self.params
        if run.model_name is None or run.broken:
            return await bibliography.listed(run, p.sections, p.passages)
        report, frame = _Report(run.question), (Checked(), Checked())
        with run.until_spent():
            report.question = await stand_alone(run, p)
            await self._plan(run, report)
        if not report.parts:
            return await cut_short(run)
        with run.until_spent():
            await self._search(run, report)
        for part in report.open:
            self._choose(run, report, part)
        with run.until_spent():
            await self._write(run, report)
        for part in report.open:
            await self._quote(run, part)
        if len(report.told) > 1:
            with run.until_spent():
                frame = await self._frame(run, report)
        return await self._conclude(run, report, frame)

    async def _plan(self, run: Run, report: _Report) -> None:
        """The outline: that of the run before, or the model's; where it gives none, the question is the only section."""
        outlined = [event for event in run.earlier if isinstance(event, Outlined)]
        planned = list(outlined[-1].sections if outlined else await self._outline(run, report.question))
        run.shares = len(planned) + 1
        run.emit(Outlined(tuple(planned)))
        report.parts = [_Part(plan, number) for number, plan in enumerate(planned, 1)]
        for event in run.earlier:
            if isinstance(event, Numbered):
                run.number(event.passage)
            elif isinstance(event, Section) and event.state == "written" and event.number <= len(report.parts):
                part = report.parts[event.number - 1]
                part.missing = list(event.missing)
                self._take(part, await run.answer(event.text))
        for part in report.parts:
            if part.written:
                self._done(run, report, part)

    async def _outline(self, run: Run, question: str) -> list[Planned]:
        p = self.params
        first = await trail.search(run, question, p.passages)
        found = "\n".join(f"- {one.title}: {one.text[:_SHOWN]} …" for one, _ in first.passages[: p.passages])
        frame = {"today": run.today, "foreign": context.foreign(run), "hint": run.source.hint, "found": context.fence(run, found)}
        text = render("outline", **frame, most=str(p.sections), queries=str(p.queries - 1), question=question)
        tokens = 100 + p.sections * (80 + 30 * p.queries)
        try:
            model, heat = p.writer(run), p.temperature
            rows = await calls.data(run, text, _OUTLINE, role="outline", model=model, temperature=heat, max_tokens=tokens)
        except BadOutput as problem:
            run.emit(Notice(f"the report has one section: {problem}"))
            rows = []
        planned = [one for row in rows if (one := _planned(row))][: p.sections] or [Planned(inert(question), question)]
        return list({one.title.casefold(): one for one in reversed(planned)}.values())[::-1]

    async def _search(self, run: Run, report: _Report) -> None:
        """The first query of each section, then the second …: where searches end, all sections have had the same."""
        p, seconds = self.params, run.budget.limits.seconds
        asked = [(part, [part.plan.question, *part.plan.queries][: p.queries]) for part in report.open]
        try:
            async with run.timeout(seconds and _SEARCHING * seconds, "searching"):
                for place in range(p.queries):
                    await run.gather([self._find(run, part, rows[place]) for part, rows in asked if place < len(rows)])
                await run.gather([self._read(run, part) for part in report.open])
        except TimeoutError:
            run.emit(Decided("write", "the time for searching is used up"))

    async def _find(self, run: Run, part: _Part, query: str) -> None:
        followed = await trail.search(run, query, self.params.passages)
        part.found.append(chained(followed, self.params.passages, _LEAST))

    async def _read(self, run: Run, part: _Part) -> None:
        """The pages behind snippets: their passages come before these."""
        thin = [run.found[one.id] for one in chain(*part.found) if one.id in run.found and not run.found[one.id].text]
        if thin and self.params.pages:
            documents = await from_internet(run, part.plan.question, thin, self.params.pages, _NODES, _KEPT)
            part.found.insert(0, [passage for document in documents for passage in document.passages])

    def _choose(self, run: Run, report: _Report, part: _Part) -> None:
        """The best of each query in turn. Numbers come in the order of sections, whatever was found first."""
        turn = (one for row in zip_longest(*part.found) for one in row if one)
        unique = list({one.id: one for one in turn}.values())[: self.params.passages]
        part.passages = by_place(unique)
        for passage in part.passages:
            run.number(passage)
        run.emit(Section(part.number, len(report.parts), part.plan.title, "searched", len(part.passages)))

    async def _write(self, run: Run, report: _Report) -> None:
        """All drafts at once. Of the tokens that are left each has its share, and the frame one."""
        wanted, left = [part for part in report.open if part.passages], run.budget.tokens_left()
        each = None if left is None else left // min(len(wanted) + 1, max(1, left // _FEWEST))
        able = len(wanted) if left is None or each is None else min(len(wanted), left // each)
        await run.gather([self._section(run, report, part, each) for part in wanted[:able]])
        if report.broken and not report.told:
            raise report.broken

    async def _section(self, run: Run, report: _Report, part: _Part, tokens: int | None) -> None:
        try:
            answer = await self._draft(run, report, part, tokens)
            spare = tokens is None or (run.budget.tokens_left() or 0) > tokens  # one share is the frame's
            if answer and spare and not all(one.supported for one in answer.sentences):
                with run.until_spent():
                    answer = await self._mended(run, part, answer)
        except ModelError as problem:
            report.broken = problem
            run.emit(Notice(f"“{part.plan.title}” is quoted: {problem}"))
            return
        if answer:
            self._take(part, answer)
            self._done(run, report, part)

    async def _draft(self, run: Run, report: _Report, part: _Part, tokens: int | None) -> Answer | None:
        """The model's words on one section, checked; empty where it declines, None where a limit comes before them."""
        others = "; ".join(one.plan.title for one in report.parts if one is not part)
        frame = {"title": part.plan.title, "report": report.question, "others": others or "none", "words": str(self.params.words)}
        reply, model = 100 + _PER_WORD * self.params.words, self.params.answerer(run)
        most = None if tokens is None else tokens - min(reply, tokens // 3)
        detail, material = render("detail-section", **frame), context.material(run, part.passages)
        brief = Brief(part.plan.question, material, model, self.params.temperature, reply, detail, tokens=most)
        draft, done = Draft(run, lambda event: None), Completion("")
        with run.until_spent():
            done = await write(run, brief, draft)
        await draft.close()
        if run.spent and not draft.text and draft.declined is None:
            return None
        part.missing += [row for row in (draft.declined, *draft.missing) if row]
        report.refused = report.refused or done.finish == "refusal"
        if done.finish == "refusal" or draft.declined is not None or says_nothing(draft.text):
            part.missing = part.missing or [part.plan.question]
            return await run.answer("")
        text = _HEADING.sub(r"**\1**", draft.text)
        return await run.answer(text, missing=part.missing, proof=lambda read: proofread(run, read, model))

    async def _mended(self, run: Run, part: _Part, answer: Answer) -> Answer:
        """One search for what is not carried, and one call that puts what the passages say in its place."""
        loose = [one for one in answer.sentences if not one.supported]
        run.emit(Decided("mend", f"{part.plan.title}: {len(loose)} of {len(answer.sentences)} sentences are not carried"))
        said = " ".join(strip_markers(one.text) for one in loose)
        known = {one.id for one in part.passages}
        hits = await run.search(" ".join(said.split()), limit=self.params.passages)
        part.passages += [one for one in trail.readable(hits) if one.id not in known][:_NEW]
        model, tokens = self.params.answerer(run), 60 + _PER_WORD * len(said.split())
        put = await calls.mended(run, part.plan.question, said, part.passages, model, self.params.temperature, tokens)
        if not put:
            return answer
        text, at = "", 0
        for place, one in enumerate(loose):
            text += answer.text[at : one.start] + ("" if place else put)
            at = one.end
        return await run.answer(inert(text + answer.text[at:], run.passages), missing=answer.missing)

    def _take(self, part: _Part, answer: Answer) -> None:
        """Of a checked text what is carried; what it says of contradictions and of what is missing has places of its own."""
        carried = [one for one in answer.sentences if one.verdict == "carried"]
        part.contradictions = tuple(one for one in carried if _CONTRADICTION.match(one.text))
        part.written = Checked.of(answer, [one for one in carried if one not in part.contradictions])
        part.missing = list(dict.fromkeys([*part.missing, *answer.missing]))

    def _done(self, run: Run, report: _Report, part: _Part) -> None:
        told = "\n\n".join(filter(None, (part.written and part.written.text, *(one.text for one in part.contradictions))))
        place = part.number, len(report.parts), part.plan.title
        run.emit(Section(*place, "written", len(part.passages), told, tuple(part.missing)))

    async def _quote(self, run: Run, part: _Part) -> None:
        """In the place of a section that was not written: what its passages say."""
        text = await extracts(run, part.plan.question, part.passages)
        self._take(part, await run.answer(text))
        part.missing += [] if text else [part.plan.question]
        if text:
            run.notes.append(f"the section “{part.plan.title}” is quoted and not written: {run.spent or 'the model failed'}")

    async def _frame(self, run: Run, report: _Report) -> tuple[Checked, Checked]:
        """Introduction and conclusion, of which only what the sections' passages carry stays."""
        model, tokens = self.params.answerer(run), 2 * (100 + self.params.words)
        blocks = [context.fence(run, f"{part.plan.title}\n{part.written.text}") for part in report.told if part.written]
        frame = {"today": run.today, "foreign": context.foreign(run), "question": report.question}
        text = context.filled(run, model, tokens, "frame", "sections", blocks, **frame)
        heat, failing = self.params.temperature, "the report has no introduction"
        reply = await calls.words(run, text, role="frame", model=model, temperature=heat, max_tokens=tokens, failing=failing)
        opening, closing = turns.last(reply, "introduction"), turns.last(reply, "conclusion")
        words = (reply, "") if opening is None and closing is None else (opening or "", closing or "")
        made: list[Checked] = []
        for one in words:
            numbered = await run.aside(attributed, _HEADING.sub("", one).strip(), run.passages)
            answer = await run.answer(inert(numbered, run.passages), proof=lambda read: proofread(run, read, model))
            carried = [sentence for sentence in answer.sentences if sentence.verdict == "carried" and sentence.citations]
            made.append(Checked.of(answer, carried))
        return made[0], made[1]

    async def _conclude(self, run: Run, report: _Report, frame: tuple[Checked, Checked]) -> Answer:
        """The parts one behind the other, told a section at a time."""
        disputed = {one.text: one for part in report.parts for one in part.contradictions}
        called = headings(run.language)
        parts = [(called.introduction, frame[0]), *((part.plan.title, part.written) for part in report.parts)]
        parts += [(called.contradictions, Checked("\n\n".join(disputed), tuple(disputed.values())))]
        whole = Checked()
        for title, part in (*parts, (called.conclusion, frame[1])):
            if part and part.text:
                words = f"{whole.text and chr(10) * 2}## {title}\n\n{part.text}"
                run.emit(AnswerDelta(words))
                whole = Checked(whole.text + words, whole.sentences + part.sentences)
        if not whole.text:
            why = "the model declined to answer" if report.refused else "what was found does not answer it"
            return await (cut_short(run) if run.spent else unsure(run, why, [part.plan.question for part in report.parts]))
        missing = list(dict.fromkeys(row for part in report.parts for row in part.missing))
        return await run.answer(whole.text, missing=missing, checked=list(whole.placed()))
