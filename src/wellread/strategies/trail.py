"""quote with the evaluator: follow the question through passages, read the answer, quote what carries it.

Two readers look at every question: the evaluator, which follows paths and reads a short answer, and the ranking of
sentences by words and meaning, which tells what is asked of something else: so both say how sure they are, and the
confidence in the whole is fitted to the two (docs/log/evaluator.md).

The small model has a short answer to every question, so what a kind of question wants is looked at: "Does it support plugins?" is
answered by "yes", by "no", or by the sentence that says so; "What is a key file?" by the sentence that says what it is. "Yes" and
"no" are told only where they stand in the passage in so many words, or where documents that the question names were compared: the
model's own "yes" to a manual was too seldom right (docs/log/evaluator.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.core.effort import Plan
from wellread.events import Ranked
from wellread.protocols import Source
from wellread.questions.kinds import (
    Term,
    asks_choice,
    asks_default,
    asks_yes_no,
    begins_entry,
    default_alone,
    said_at_once,
    tells_default,
    term_asked,
    wanted,
)
from wellread.ranking import evaluator
from wellread.ranking.answers import Best
from wellread.ranking.evaluator import Evaluator, Trail
from wellread.ranking.judge import Chain
from wellread.run import Run
from wellread.sources.multi_hop import Following
from wellread.strategies import likely_sentences, lookup
from wellread.strategies.likely_sentences import Candidate
from wellread.text.places import bare_title, mentions
from wellread.text.quoting import with_what_it_names
from wellread.text.sentences import FENCE, sentences
from wellread.types import Hit, Passage

# How sure the whole is, from the log-odds of the two readers; fitted on questions set aside. The last is lower than the fit: a
# wrong answer is worse than none (docs/log/evaluator.md).
_READER, _WORDING, _BIAS = 0.756, 0.288, 0.064
# Of what is told in sentences the reader alone knows: on manuals every sentence has the question's words (chosen on the parts to
# choose with of `documents_qa.py` and `documents_asked.py`).
_TELLING = 0.3
_AGREED, _LITTLE = 0.95, 2.0  # from here on the sentence that fits best decides between answers that are so near in score
_TOLD, _LIKELIER = 0.3, 0.5  # how sure the evaluator must be for its short answer to be told; against a sentence that fits better
_SURE = 0.6  # how sure both readers must be together to leave it at the opening
IRRELEVANT = 0.05  # what is less likely to help is not shown
_OPENING = 6  # passages read before looking whether the answer is sure already
_DEFINED = 0.7  # how sure a sentence is at least that defines a term
_LISTED, _REACHED = 8, 4  # passages found first, and by the evaluator, whose sentences are ranked by words and meaning
_BARE = re.compile(r"\b(?:Yes|No)[.,;:!]\s{1,4}\Z")
_NUMBER = re.compile(
    r"(?P<beside>(?:[,;]|\b(?:and|or))\s+)?(?<![\w.,:/+-])(?P<value>\d{1,3})(?![\w%]|[.,:/-]\d)[\s`'\")]*(?P<next>\w*|=)"
)
_BELOW = 600  # characters of an entry that its default may stand behind


@dataclass(frozen=True, slots=True)
class Reached:
    """The answer to one question: in short (or not: the sentences tell it), the sentences that are quoted, the confidence."""

    text: str
    chain: Chain
    sentences: tuple[Candidate, ...]
    confidence: float
    trail: Trail
    asked: likely_sentences.Asked
    first: Passage  # of what was found

    @property
    def near(self) -> list[Passage]:
        """The passages that come closest, what was found first among them: the evaluator may be wrong about it."""
        best, *others = (passage for passage, _ in self.trail.passages)
        return list({one.id: one for one in (best, self.first, *others)}.values())

    @property
    def subject(self) -> str:
        """The antecedent of "it" in a second question: the answer, or the title of the sentence that tells it."""
        return self.text or bare_title(self.sentences[0].passage.title)

    @property
    def told(self) -> dict[str, tuple[int, int]]:
        """By passage, where the evaluator sees the sentences that would tell the answer, however likely."""
        worst_first = [one for one in reversed(self.trail.answers) if one.kind == "text"]
        return {one.chain[-1].id: (one.verdict.start, one.verdict.end) for one in worst_first}


def ranking(trail: Trail, most: int) -> Ranked:
    """The event that tells what the evaluator made of the passages."""
    kept = trail.passages[:most]
    scores = tuple(round(score, 4) for _, score in kept)
    return Ranked("evaluator", tuple(p.id for p, _ in kept), scores, len(trail.passages) - len(kept), trail.pairs)


async def reach(run: Run, tracker: Evaluator, question: str, found: Sequence[Passage], plan: Plan) -> Reached:
    """Follow, read, look at the sentences themselves, and quote what carries the answer; little is read where both readers are
    soon sure."""
    soon = await _reach(run, tracker, question, found, replace(plan, opening=_OPENING))
    if soon.confidence >= _SURE or not soon.trail.settled:
        return soon
    # one of the first is likely: it is followed, the rest left
    return await _reach(run, tracker, question, found, replace(plan, singles=min(plan.singles, _OPENING)))


async def _reach(run: Run, tracker: Evaluator, question: str, found: Sequence[Passage], plan: Plan) -> Reached:
    trail = await follow(run, tracker, question, found, plan)
    near = list({p.id: p for p in (*found[:_LISTED], *(passage for passage, _ in trail.passages[:_REACHED]))}.values())
    asked = likely_sentences.asked(question, near)
    fitting = (await likely_sentences.rank(run, asked, likely_sentences.candidates(near)))[0]
    best = _agreeing(possible(question, trail.answers), fitting)
    quoted, short, chain = (fitting.candidate,), "", (fitting.candidate.passage,)
    if best is not None and (best.kind == "text" or best.confidence >= (_LIKELIER if _contested(best, fitting) else _TOLD)):
        carried = [_told(best)] if best.kind == "text" else _joined(carrying(asked, best), best, fitting.candidate)
        quoted, chain = tuple(_with_yes(question, one) for one in carried), best.chain
        short = headline(question, best, quoted[0])
    sure = best.confidence if best else 0.0
    sure = _probability(_log_odds(sure) + _TELLING) if best and best.kind == "text" else joint(sure, fitting.confidence)
    return _by_kind(Reached(short, chain, quoted, sure, trail, asked, found[0]), found)


def _contested(best: Best[Passage], fitting: likely_sentences.Scored) -> bool:
    """Whether the sentence that fits the question by far best does not have the answer: then it is told, if that is unlikely."""
    return fitting.confidence >= _AGREED and best.text.casefold() not in fitting.candidate.text.casefold()


def _agreeing(answers: Sequence[Best[Passage]], fitting: likely_sentences.Scored) -> Best[Passage] | None:
    """The best answer, or one little behind it that stands in a sentence that fits by far best."""
    if not answers or answers[0].kind == "text" or fitting.confidence < _AGREED:
        return next(iter(answers), None)
    said = f"{fitting.candidate.passage.title} {fitting.candidate.text}".casefold()
    near = [one for one in answers if one.kind == "span" and one.score >= answers[0].score - _LITTLE]
    return next((one for one in near if one.text.casefold() in said), answers[0])


def _joined(carried: list[Candidate], best: Best[Passage], fitting: Candidate) -> list[Candidate]:
    """The sentences with the one that fits best, unless that is code: in the place of another of its passage if it holds the
    answer too."""
    if FENCE.match(fitting.text) or any((one.passage.id, one.start) == (fitting.passage.id, fitting.start) for one in carried):
        return carried
    holds = best.text.casefold() in fitting.text.casefold()
    same = [place for place, one in enumerate(carried) if one.passage.id == fitting.passage.id]
    if holds and same:
        return [*carried[: same[0]], fitting, *carried[same[0] + 1 :]]
    return [*carried, fitting]


def joint(reader: float, words: float) -> float:
    """How sure the two readers are together."""
    return _probability(_READER * _log_odds(reader) + _WORDING * _log_odds(words) + _BIAS)


def _probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def _log_odds(probability: float) -> float:
    bounded = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))


def _by_kind(reached: Reached, found: Sequence[Passage]) -> Reached:
    """Post-processing by the kind of question: a definition, a default."""
    question = reached.asked.text
    if term := term_asked(question):
        return _defined(term, reached, found)
    return _with_default(reached) if asks_default(question) and not asks_yes_no(question) else reached


def _defined(term: Term, reached: Reached, found: Sequence[Passage]) -> Reached:
    """The sentence that defines a term, or what was reached."""
    said = defined(term, found)
    if (said is None or term.letters) and (short := _spelt_out(term, found)):
        return replace(
            reached, text=short[0], chain=(short[1].passage,), sentences=(short[1],), confidence=max(reached.confidence, _DEFINED)
        )
    if said is None:
        return reached
    sentence, says = said
    at = sentence.text.find(reached.text, says) if reached.text else -1
    if at >= 0 and len(sentence.text[says:at].split()) <= 1:  # how the definition begins
        return reached
    sure = max(reached.confidence, _DEFINED)
    return replace(reached, text="", chain=(sentence.passage,), sentences=(sentence,), confidence=sure)


def _with_default(reached: Reached) -> Reached:
    """The default that the entry which fits best has in a line of its own, and that line quoted; else what was reached.

    Such lines look all alike, and the model often takes a neighbour's.
    """
    entry = _entry(reached)
    found = default_below(entry) if entry else None
    return replace(reached, text=found[0], sentences=(entry, found[1])) if entry and found else reached


def _entry(reached: Reached) -> Candidate | None:
    """The sentence that says what an entry is about: the one told, or the one that fits best above a bare "Default: 21"."""
    first, *rest = reached.sentences
    if not reached.text:
        return first
    return rest[-1] if rest and default_alone(first.text) else None


def _told(best: Best[Passage]) -> Candidate:
    """An instruction or explanation, whole, as what is quoted."""
    passage = best.chain[-1]
    start, end = with_what_it_names(passage.text, best.verdict.start, best.verdict.end)
    return Candidate(passage, start, end, likely_sentences.read(passage.text[start:end]), 0)


def shared(plan: Plan) -> Plan:
    """Half of a plan, for each part of a two-part question."""
    return replace(plan, singles=plan.singles * 2 // 3, firsts=max(1, plan.firsts // 2), again=plan.again // 2)


def plain(plan: Plan) -> Plan:
    """A plan for a question that one passage should answer: nothing is followed."""
    return Plan(singles=plan.singles // 2)


def follower(run: Run, *, lighter: bool = False) -> tuple[Evaluator, Plan] | None:
    """The evaluator and its plan, where it may read that much. `lighter`: about half of the pairs, for whoever judges what was
    found once more, passage by passage."""
    if (tracker := evaluator.follower(run.kit, run.language)) is None:
        return None
    plan = replace(shared(tracker.plan), reads=0) if lighter else tracker.plan
    return (tracker, plan) if run.pairs_left >= plan.pairs else None


async def search(run: Run, question: str, count: int, *, lighter: bool = False) -> Trail:
    """A search in two steps; a plain one where the evaluator is not there or may not read that much."""
    if (able := follower(run, lighter=lighter)) is None:
        found = readable(await run.search(question, limit=count))
        return Trail(tuple((passage, -float(rank)) for rank, passage in enumerate(found)), (), 0)
    tracker, plan = able
    first = readable(await run.search(question, limit=max(count, plan.singles), read=False))
    if not first:
        return Trail((), (), 0)
    followed = await follow(run, tracker, question, first, plan)
    run.emit(ranking(followed, count))
    return followed


def readable(hits: Sequence[Hit]) -> list[Passage]:
    """Hits as passages, each once, those without words left out."""
    return [passage for hit in lookup.unique(hits) if (passage := hit.passage()).text.strip()]


async def follow(
    run: Run, tracker: Evaluator, question: str, found: Sequence[Passage], plan: Plan, source: Source | None = None
) -> Trail:
    """Search along paths from what was found; the pairs that were read show in the usage."""

    async def ask(text: str, limit: int) -> Sequence[Hit]:
        with run.until_spent():  # what was found so far stays
            return await run.search(text, limit=limit, source=source, read=False)
        return ()

    following = Following(question, ask, source or run.source)
    trail = await run.timed(tracker.trail(question, found, following.candidates, plan))
    run.budget.pairs(trail.pairs)
    return trail


def carrying(question: likely_sentences.Asked, best: Best[Passage]) -> list[Candidate]:
    """The sentences that carry an answer: the one it stands in first, then one of each passage that led there."""
    chosen: list[Candidate] = []
    for place, passage in enumerate(best.chain):
        every = likely_sentences.candidates([passage])
        if not every:
            continue
        if place == best.verdict.passage and best.kind == "span" and best.verdict.end > best.verdict.start:
            chosen.insert(0, _holding(passage, best.verdict.start, every))
        else:
            others = {title.casefold() for one in best.chain if one != passage for title in [bare_title(one.title)]}
            chosen.append(max(every, key=lambda one: _leading(question, one, others)))
    return chosen


def _holding(passage: Passage, start: int, every: Sequence[Candidate]) -> Candidate:
    for one in every:
        if one.start <= start < one.end:
            return one
    a, b = next((span for span in sentences(passage.text) if span[1] > start), (0, len(passage.text)))
    return Candidate(passage, a, b, likely_sentences.read(passage.text[a:b]), 0)


def _leading(question: likely_sentences.Asked, one: Candidate, others: set[str]) -> float:
    """How well a sentence shows the way: it covers the question and names where the chain goes on."""
    named = any(title in one.text.casefold() for title in others)
    return question.coverage(likely_sentences.keys_of(one)) + 0.5 * named


def possible(question: str, answers: Sequence[Best[Passage]]) -> list[Best[Passage]]:
    """The answers that are of a kind that the question asks for."""
    if asks_yes_no(question):
        return [one for one in answers if one.kind != "span"]
    if not asks_default(question):
        return list(answers)
    return [one for one in answers if one.kind != "span" or _by_default(one)]


def _by_default(best: Best[Passage]) -> bool:
    """Whether a phrase is said to hold by default: beside the right entry of a list stand others with values of their own."""
    text, verdict = best.chain[best.verdict.passage].text, best.verdict
    return any(tells_default(text[a:b]) for a, b in sentences(text) if a < verdict.end and verdict.start < b)


def default_below(sentence: Candidate) -> tuple[str, Candidate] | None:
    """The value that an entry of a list ends with, and the line that says it: below a sentence of the entry, "Default: 21"."""
    text = sentence.passage.text
    for start, end in sentences(text[: sentence.end + _BELOW]):
        if start < sentence.end:
            continue
        if value := default_alone(text[start:end]):
            return value, Candidate(sentence.passage, start, end, likely_sentences.read(text[start:end]), 0)
        if begins_entry(text, start):
            return None
    return None


def _with_yes(question: str, one: Candidate) -> Candidate:
    """A sentence with the bare "Yes." or "No." before it, where that answers."""
    before = _BARE.search(one.passage.text, max(0, one.start - 9), one.start) if asks_yes_no(question) else None
    return replace(one, start=before.start()) if before else one


def headline(question: str, best: Best[Passage], sentence: Candidate) -> str:
    """The short answer that is told: none above sentences that tell it, no "yes", "no" or side where that would not be safe."""
    compared = best.text if best.kind != "text" and _of_several(question, best.chain) else ""
    if not asks_yes_no(question):
        if best.kind == "text" or (wanted(question) != "number" and _one_of_several(question, best.text, sentence.text)):
            return ""
        return compared if asks_choice(question) else best.text
    compared = compared if best.kind in ("yes", "no") else ""
    return (said_at_once(sentence.text) or compared).capitalize()


def _one_of_several(question: str, number: str, sentence: str) -> bool:
    """Whether others stand beside a number ("0 if …, 1 if …") and the question has no word of what is said of this one alone."""
    found = list(_NUMBER.finditer(sentence))
    mine = next((place for place, one in enumerate(found) if one["value"] == number), None)
    if mine is None or not any(
        one["value"] != number and (one["beside"] or one["next"] == found[mine]["next"] != "") for one in found
    ):
        return False
    ends = [*(one.start() for one in found[1:]), len(sentence)]
    asked = likely_sentences.read(question).content.keys()
    said = [
        asked & likely_sentences.read(sentence[one.start() : end]).content.keys() for one, end in zip(found, ends, strict=True)
    ]
    alone = said.pop(mine)
    return not alone or any(words - alone for words in said)


def _of_several(question: str, chain: Sequence[Passage]) -> bool:
    """Whether a chain is a way through several documents that begins or ends at one that the question names."""
    titles = {passage.title for passage in chain}
    return len(titles) > 1 and any(mentions(question, title) for title in titles)


def _spelt_out(term: Term, passages: Sequence[Passage]) -> tuple[str, Candidate] | None:
    """An abbreviation's long form, and the first sentence that spells it out."""
    every = ((term.spelt_out_in(one.text), one) for one in likely_sentences.candidates(passages))
    return next(((said, one) for said, one in every if said), None)


def defined(term: Term, passages: Sequence[Passage]) -> tuple[Candidate, int] | None:
    """The first sentence of the passages that says what something is, and from where on it does."""
    every = ((one, term.defined_in(one.text)) for one in likely_sentences.candidates(passages))
    return next(((one, begun.end()) for one, begun in every if begun), None)
