"""`corrective`: corrective RAG. Retrieve, grade, correct, refine, generate.

Recipe: the graph of the document, with the scores, three outcomes and refinement of the paper it names.

    retrieve the best passages from the index, in two steps where the evaluator may read
    grade each of them, all at once, together with the passages that lead to it
    decide: correct (one is surely relevant), incorrect (none can be), ambiguous (between)
    if not correct: rewrite the question as a query, search the fallback;
        its results join (ambiguous) or replace (incorrect) the passages
    refine: split into strips, drop those that do not help
    generate the answer to the original question from what is left

Departures from the original. The graph is these lines; each node reports what it did. Scores decide where
the grader has them (`when=scores`), else one irrelevant passage is enough (`when=any`, the document's rule). Results of the
fallback are graded too. Nothing left means no answer, never an invention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Literal

from wellread.events import Decided, Graded, Rewritten
from wellread.parameters import Count, CountOrZero, Range, param
from wellread.prompts.render import render
from wellread.questions.kinds import to_be_told
from wellread.run import Run
from wellread.strategies import calls, context, trail
from wellread.strategies.compose import Brief, compose
from wellread.strategies.grading import Chain, CountedGrader, ModelGrader, grader
from wellread.strategies.recipe import JudgingRoles, Recipe, one_line, stand_alone
from wellread.strategies.refine import Refined, refine
from wellread.text.neighbours import by_place
from wellread.types import Answer, Grade, Passage

Verdict = Literal["correct", "incorrect", "ambiguous"]


@dataclass(frozen=True, slots=True)
class CorrectiveParams(JudgingRoles):
    top_k: Count = param(4, "passages retrieved from the index")
    grader: Literal["evaluator", "llm"] = param(
        "evaluator", "who grades: the small local model with scores, or yes/no of the model"
    )
    when: Literal["scores", "any"] = param(
        "scores", "what decides: scores, or any irrelevant passage (always with yes/no grades)"
    )
    upper: Annotated[float, Range(-1, 1)] = param(0.5, "a passage above it makes the retrieval correct")
    lower: Annotated[float, Range(-1, 1)] = param(0.05, "with all passages below it the retrieval is incorrect")
    refine: bool = param(True, "drop the strips of passages that do not help")
    fallback_results: CountOrZero = param(5, "results taken from the fallback search")

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError("lower must not be above upper")


@dataclass(slots=True)
class _State:
    """The state that travels along the graph. Mutable and private to one run: a budget may end it anywhere."""

    question: str
    verdict: Verdict = "ambiguous"
    leads: Mapping[str, Chain] = field(default_factory=dict[str, Chain])
    left: list[Passage] = field(default_factory=list[Passage])  # what there is to answer from
    material: list[Refined] | None = None  # the same, refined
    found: int = 0  # passages, of the index and the fallback
    tried: list[str] = field(default_factory=list[str])


class Corrective(Recipe[CorrectiveParams]):
    """Grade what the index gives, look elsewhere when it is not enough, keep only what helps, answer."""

    async def answer(self, run: Run) -> Answer:
        state = _State(run.question)
        with run.until_spent():
            state.question = await stand_alone(run, self.params)
            judge = grader(run, self.params.grader, self.params.judge(run), self.params.temperature)
            await self._retrieve(run, state)
            await self._grade(run, state, judge)
            if state.verdict != "correct" and self.params.fallback_results:
                await self._search_elsewhere(run, state, judge, await self._rewritten(run, state.question))
            if self.params.refine:
                await self._refine(run, state, judge)
        brief = self._brief(run, state)
        run.emit(Decided("generate", f"from {len(brief.material)} passages"))
        return await compose(run, brief)

    async def _retrieve(self, run: Run, state: _State) -> None:
        state.tried.append(state.question)
        found = await trail.search(run, state.question, self.params.top_k, lighter=True)
        state.left = [passage for passage, _ in found.passages[: self.params.top_k]]
        state.leads, state.found = found.leads, len(state.left)

    async def _grade(self, run: Run, state: _State, judge: ModelGrader | CountedGrader) -> None:
        grades, kept = await self._graded(run, state, judge, state.left)
        state.verdict, why = self.decide(grades, together=to_be_told(state.question))
        state.left = [] if state.verdict == "incorrect" else kept
        run.emit(Decided(state.verdict, why))

    async def _graded(
        self, run: Run, state: _State, judge: ModelGrader | CountedGrader, passages: Sequence[Passage]
    ) -> tuple[Sequence[Grade], list[Passage]]:
        """A grade for each passage, together with what leads to it, reported; and the passages that help."""
        leads = [state.leads.get(passage.id, ()) for passage in passages]
        grades = await judge.grade(state.question, passages, leads) if passages else ()
        graded = list(zip(passages, grades, strict=True))
        for passage, grade in graded:
            run.emit(Graded(passage.id, passage.title, self._helps(grade), grade.score))
        return grades, [passage for passage, grade in graded if self._helps(grade)]

    def decide(self, grades: Sequence[Grade], *, together: bool = False) -> tuple[Verdict, str]:
        """The fork of the graph, and why this way. An explanation is spread over passages: they count `together`."""
        if not grades:
            return "incorrect", "the index has nothing on it"
        scores = [grade.score for grade in grades if grade.score is not None]
        if self.params.when == "scores" and len(scores) == len(grades):
            return self._by_scores(max(scores), 1 - prod(1 - score for score in scores) if together else 0.0)
        relevant = sum(grade.relevant for grade in grades)
        if relevant == len(grades):
            return "correct", f"all {len(grades)} passages are relevant"
        if relevant == 0:
            return "incorrect", f"none of {len(grades)} passages is relevant"
        return "ambiguous", f"{len(grades) - relevant} of {len(grades)} passages are not relevant"

    def _by_scores(self, best: float, all_of_them: float) -> tuple[Verdict, str]:
        if best >= self.params.upper:
            return "correct", f"the best passage scores {best:.2f}, at or above {self.params.upper:g}"
        if all_of_them >= self.params.upper:
            return "correct", f"the passages together score {all_of_them:.2f}, at or above {self.params.upper:g}"
        if best < self.params.lower:
            return "incorrect", f"the best passage scores {best:.2f}, below {self.params.lower:g}"
        return "ambiguous", f"the best passage scores {best:.2f}, between {self.params.lower:g} and {self.params.upper:g}"

    def _helps(self, grade: Grade) -> bool:
        if grade.score is None or self.params.when == "any":
            return grade.relevant
        return grade.score >= self.params.lower

    async def _rewritten(self, run: Run, question: str) -> str:
        """The question as a query. A model that fails at it leaves the question."""
        text, failing = render("rewrite", today=run.today, question=question), "searching with the question as it is"
        model, heat = self.params.writer(run), self.params.temperature
        reply = await calls.words(run, text, role="rewrite", model=model, temperature=heat, max_tokens=100, failing=failing)
        query = one_line(reply) or question
        run.emit(Rewritten(question, query))
        return query

    async def _search_elsewhere(self, run: Run, state: _State, judge: ModelGrader | CountedGrader, query: str) -> None:
        source = run.fallback or run.part(lambda: run.kit.source("wikipedia"), "nowhere else to look")
        if source is None:
            return
        state.tried.append(query)
        hits = await run.search(query, limit=self.params.fallback_results, source=source)
        known = {passage.id for passage in state.left}
        found = [passage for passage in trail.readable(hits) if passage.id not in known][: self.params.fallback_results]
        state.found += len(found)
        _, added = await self._graded(run, state, judge, found)
        state.left += added
        done = "replace" if state.verdict == "incorrect" else "add"
        run.emit(Decided(done, f"{len(added)} of {len(found)} results of {source.name}"))

    async def _refine(self, run: Run, state: _State, judge: ModelGrader | CountedGrader) -> None:
        passages = by_place(state.left)
        leads = [state.leads.get(passage.id, ()) for passage in passages]
        state.material = refined = await refine(run, judge, state.question, passages, self.params.lower, leads)
        total, kept = sum(item.strips for item in refined), sum(item.kept for item in refined)
        run.emit(Decided("refine", f"kept {kept} of {total} strips in {len(refined)} of {len(passages)} passages"))

    def _brief(self, run: Run, state: _State) -> Brief:
        whole = [Refined(passage, passage.text, 0, 0) for passage in by_place(state.left)]
        shown = whole if state.material is None else state.material
        material = [context.numbered(run, run.number(item.passage), item.passage, item.text) for item in shown]
        missing = f"{state.found} passages were found and none of them is relevant" if state.found else "nothing was found"
        return self.params.brief(run, state.question, material, missing=missing, tried=state.tried)
