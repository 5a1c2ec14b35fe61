"""quote: answers without a language model, in the sources' own words.

With the evaluator (effort normal and high):

    search the question; the small model judges what was found, follows what the best passages lead to, and reads the answer
    of a two-part question do this for the first part, then for the second with the first one's answer put in
    so too where it describes what it asks about ("the country where …"): what is described first, then the rest with its name
    say the short answer and quote the sentences that carry it, or say that nothing answers

By words and meaning alone (effort low):

    search the question (of a two-part question, its first part)
    take apart what was found into sentences; the one that covers the question best is the first
    if something of the question is still open, follow one cross-reference from there:
        the sentence of a linked or co-found document that covers most of the rest is the second
    quote them verbatim with their numbers, or say that nothing fits

It follows no published recipe: it is what makes the first minute work offline and without a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

from wellread.answer_json import SURE
from wellread.core.effort import ALLOWED
from wellread.events import AnswerDelta, Decided, Notice, Ranked
from wellread.parameters import Count, Share, param
from wellread.questions import comparisons
from wellread.questions.comparisons import Comparison, Value
from wellread.questions.followups import references, understand
from wellread.questions.kinds import asks_yes_no, to_be_told
from wellread.questions.languages import NAMES
from wellread.questions.two_parts import Described, described, halves, resolved, stand_alone
from wellread.run import Run
from wellread.sources.multi_hop import linked
from wellread.strategies import likely_sentences
from wellread.strategies.likely_sentences import Asked, Candidate, by_words
from wellread.strategies.recipe import Recipe, by_rules
from wellread.text.neighbours import places
from wellread.text.places import bare_title, name
from wellread.text.quoting import leans_back, one_after_another, quoted, surrounded, with_context, with_what_follows
from wellread.text.sentences import statements
from wellread.text.words import fold
from wellread.types import Answer, Hit, Near, Passage

if TYPE_CHECKING:
    from wellread.core.effort import Plan
    from wellread.ranking.evaluator import Evaluator
    from wellread.strategies.trail import Reached

# Of what is sure enough: a value of the right kind in a sentence that names its side speaks for itself, and is at most so sure.
_NEARLY, _LIFTED = 0.7, 0.6
_SURE_PART = 0.5  # how sure both halves of a described question must be; else it is read as a whole
_SHOWN = 1000, 600, 450, 300, 300  # characters of what comes near, the nearest first
_BESIDE, _LIKELY = 3, 0.05  # passages beside an answer, and where none is so likely to answer
_SAME = 0.8  # of the words: it says nothing new


@dataclass(frozen=True, slots=True)
class QuoteParams:
    """Parameters of `quote`."""

    results: Count = param(8, "passages looked at")
    max_sentences: Count = param(3, "sentences quoted at most")
    min_confidence: Share = param(0.5, "below this it does not say that it knows")
    probable: Share = param(0.4, "from here on it tells what is probable, and that it is no more; below nothing")
    follow: bool = param(True, "follow a cross-reference when the question needs a second step")


@dataclass(frozen=True, slots=True)
class Reading:
    """The answers that reading has reached, for each part of the question."""

    parts: tuple[Reached, ...]
    whole: bool  # whether every part was read
    led: tuple[Reached, ...] = ()  # what the question describes instead of naming it, found first
    missing: tuple[str, ...] = ()  # the parts that nothing sure was found for, as they were asked

    @property
    def way(self) -> tuple[Reached, ...]:
        """All that was reached, in the order in which it was."""
        return (*self.led, *self.parts)

    @property
    def confidence(self) -> float:
        return min((one.confidence for one in self.way), default=0.0)


class Quote(Recipe[QuoteParams]):
    """Quote the sentences that answer, with their sources; needs no language model."""

    needs_model: ClassVar[bool | Literal["optional"]] = False

    async def answer(self, run: Run) -> Answer:
        """With the evaluator where the effort allows it, else by words and meaning alone."""
        meant = by_rules(run)
        if meant.asks:
            why = "the question refers to something that was not named"
            return await run.answer("", outcome="unsure", reason=why, asks=meant.asks)
        tracker = _judging(run)
        if run.language is not None and tracker is None:
            return await self._by_words(run, meant.question, run.language)
        if (asked := comparisons.comparison(meant.question)) and (decided := await self._compared(run, tracker, asked)):
            return decided
        if tracker is not None:
            return await self.conclude(run, await self.reach(run, tracker, meant.question))
        return await self._by_words(run, meant.question)

    @property
    def _least(self) -> float:
        return min(self.params.probable, self.params.min_confidence)

    async def _tell(
        self, run: Run, text: str, sure: float, near: Sequence[Near], short: str | None = None, missing: Sequence[str] = ()
    ) -> Answer:
        """Tell the quotes as the answer; where it is not sure enough as a probable one, with what else to try."""
        run.emit(AnswerDelta(text))
        known = sure >= self.params.min_confidence
        return await run.answer(
            text,
            short=short,
            confidence=sure,
            missing=missing,
            outcome="answered" if known else "unsure",
            reason=None if known else f"probable, not sure ({sure:.0%})",
            nearest=others(run, near) if sure < SURE else (),
            tries=() if known else tries(run, found=True),
        )

    async def reach(self, run: Run, tracker: Evaluator, asked: str) -> Reading:
        """Search, follow paths, read the answer; of a two-part question first the one, then the other."""
        from wellread.strategies import trail

        if (inner := described(asked)) and (reading := await self._through(run, tracker, inner)):
            return reading
        parts = halves(asked)
        plan = tracker.plan if len(parts) == 1 else trail.shared(tracker.plan)
        reached: list[Reached] = []
        missing: list[str] = []
        for part in parts:
            sure = [one for one in reached if one.confidence >= self.params.min_confidence]
            # "it" behind "How do I …?" is what that speaks of, not what it is answered with
            question = understand(part, [(parts[0], "")]).question if reached and to_be_told(parts[0]) else part
            if missing and references(question):  # to what was not found
                missing.append(part)
                break
            if question == part and sure and not stand_alone(parts):
                question = resolved(part, sure[0].subject)
            one = await self._reached(run, tracker, question, plan)
            reached += [one] if one else []
            if one is None or one.confidence < self._least:
                missing.append(part)
        return Reading(tuple(reached), whole=len(reached) == len(parts), missing=tuple(missing))

    async def _through(self, run: Run, tracker: Evaluator, inner: Described) -> Reading | None:
        """Find what a question describes, then ask of it by its name; None unless both are sure."""
        from wellread.strategies import trail

        plan, question = trail.plain(tracker.plan), inner.first
        reached: list[Reached] = []
        for _ in range(2):
            one = await self._reached(run, tracker, question, plan)
            if one is None or not one.text or one.confidence < _SURE_PART:
                return None
            reached.append(one)
            question = inner.second(one.text)
        return Reading((reached[1],), whole=True, led=(reached[0],))

    async def _reached(self, run: Run, tracker: Evaluator, question: str, plan: Plan) -> Reached | None:
        """The answer to one question that stands alone, from a search of its own; None where nothing was found."""
        from wellread.strategies import trail

        found = await self._search(run, question, plan.singles)
        one = await trail.reach(run, tracker, question, found, plan) if found else None
        if one is not None:
            run.emit(trail.ranking(one.trail, self.params.results))
        return one

    async def _compared(self, run: Run, tracker: Evaluator | None, asked: Comparison) -> Answer | None:
        """Which side of "Which was released first, A or B?" wins: each value is read by itself, and a program compares them.

        None where one value is not found, is not sure enough, or stands in a sentence about something else: then the question is
        read as any other.
        """
        read: list[tuple[Value, Candidate, float]] = []
        for side in asked.sides:
            sentence, words, sure = await self._side(run, tracker, asked.question(side)) or (None, "", 0.0)
            value = asked.value(side, words)
            if sentence is None or value is None or not _is_about(side, sentence) or sure < _NEARLY * self.params.min_confidence:
                return None
            read.append((value, sentence, sure))
        values = (read[0][0], read[1][0])
        winner = comparisons.decide(asked, *values)
        if winner is None:
            return None
        told = comparisons.shown(asked, values, winner)
        run.emit(Decided(f"answer: {asked.sides[winner]}", told))
        text = _quoted(run, [read[winner][1], read[1 - winner][1]])
        run.emit(AnswerDelta(text))
        weakest = min(sure for *_, sure in read)
        run.notes.append(told)
        return await run.answer(text, short=asked.sides[winner], confidence=max(weakest, min(weakest / _NEARLY, _LIFTED)))

    async def _side(self, run: Run, tracker: Evaluator | None, question: str) -> tuple[Candidate, str, float] | None:
        """The sentence that answers a question after one side of a comparison, the words that do in it, and how sure that is."""
        if tracker is not None:
            from wellread.strategies import trail

            one = await self._reached(run, tracker, question, trail.shared(tracker.plan))
            return one and (one.sentences[0], one.text or one.sentences[0].text, one.confidence)
        found = await self._search(run, question)
        ranked = await likely_sentences.rank(run, likely_sentences.asked(question, found), likely_sentences.candidates(found))
        return (ranked[0].candidate, ranked[0].candidate.text, ranked[0].confidence) if ranked else None

    async def conclude(self, run: Run, reading: Reading) -> Answer:
        """The answer from what was read: its parts, quoted, or why there is none."""
        all_near = [nearest(one.asked, one.near, one.told) for one in reversed(reading.parts)]  # of the last half first
        if len(reading.missing) == 1 and (known := [one for one in reading.parts if one.confidence >= self._least]):
            reading = replace(reading, parts=tuple(known), whole=True)  # one half of two
        else:
            reading = replace(reading, missing=())
        reached, sure = reading.parts, reading.confidence
        if not reached:
            return await unsure(run, _nothing(run))
        near = list({one.passage.id: one for row in zip_longest(*all_near) for one in row if one}.values())
        if sure < self._least or not (reading.whole or run.spent):
            return await unsure(run, _too_unsure(reached[-1].trail.passages[0][0], sure), sure, near)
        parts = [(part, part.sentences[: self.params.max_sentences]) for part in (*reached, *reading.led)]
        sentences = [
            _in_context(one) if not part.text and (_in_sentences(part.asked.text) or leans_back(one.text)) else one
            for part, some in parts
            for one in some
        ]
        text = _quoted(run, list({(one.passage.id, one.start): one for one in sentences}.values()))
        way = dict.fromkeys(passage.title for one in reading.way for passage in one.chain)
        run.emit(Decided(f"answer: {'; '.join(one.text or 'see the quotes' for one in reached)}", " → ".join(way)))
        short = "; ".join(one.text for one in reached) if all(one.text for one in reached) else None
        return await self._tell(run, text, sure, near, short, reading.missing)

    async def _by_words(self, run: Run, asked: str, language: str | None = None) -> Answer:
        """Search, choose, follow a cross-reference, quote; in a language that the small models do not know by its words alone."""
        parts = halves(asked) if language is None else [asked]
        if language is not None:
            note = f"the question is in {NAMES[language]}, which the evaluator was not trained for: quoted by words alone"
            run.emit(Notice(note, "info"))
            run.notes.append(note)
        found = await self._search(run, parts[0])
        question = likely_sentences.asked(parts[0], found)
        if language is not None:
            ranked = likely_sentences.rank_foreign(asked, language, found)
        else:
            ranked = await likely_sentences.rank(run, question, likely_sentences.candidates(found))
        if not ranked:
            return await unsure(run, _nothing(run))
        ids = tuple(f"{one.candidate.passage.id}@{one.candidate.start}" for one in ranked)
        run.emit(Ranked("words and meaning", ids, tuple(round(one.score, 4) for one in ranked)))
        best = ranked[0]
        near = nearest(question, list({one.candidate.passage.id: one.candidate.passage for one in ranked}.values()))
        if best.confidence < self._least:
            return await unsure(run, _too_unsure(best.candidate.passage, best.confidence), best.confidence, near)
        if language is not None:
            chosen = [one.candidate for one in ranked if one.score >= likely_sentences.NEAR * best.score]
        else:
            chosen = [best.candidate]
            if self.params.follow and self.params.max_sentences > 1:
                chosen += await self._follow(run, best.candidate, found, parts, asked)
                run.emit(Decided("two steps" if len(chosen) > 1 else "one step"))
        return await self._tell(run, _quoted(run, chosen[: self.params.max_sentences]), best.confidence, near)

    async def _search(self, run: Run, text: str, limit: int = 0) -> list[Passage]:
        hits: Sequence[Hit] = ()
        with run.until_spent():  # what was found so far stays
            hits = await run.search(text, limit=max(limit, self.params.results), read=not limit)  # it follows by itself
        return [hit.passage() for hit in hits if hit.words.strip()]

    async def _follow(
        self, run: Run, first: Candidate, found: Sequence[Passage], parts: Sequence[str], asked: str
    ) -> list[Candidate]:
        """The sentence that answers what the first leaves open; none when nothing is open."""
        more = await self._search(run, asked) if len(parts) > 1 else []
        pool = {passage.id: passage for passage in (*found, *more)}
        for hit in await linked(run.source, first.passage):
            pool.setdefault(hit.id, hit.passage())
        question = likely_sentences.asked(parts[-1], list(pool.values()))
        open_before = 0.0 if len(parts) > 1 else question.coverage(likely_sentences.keys_of(first))
        ranked = sorted(
            (
                (*_second_step(question, first, one, open_before), one)
                for one in likely_sentences.candidates(list(pool.values()))
                if (one.passage.id, one.start) != (first.passage.id, first.start)
            ),
            key=lambda row: -row[0],
        )
        # a second step is needed where the question has two parts, or much of it is still open and can be covered
        return [best for _, gain, best in ranked[:1] if len(parts) > 1 or (open_before < 0.8 and gain >= 0.05)]


def _judging(run: Run) -> Evaluator | None:
    if not ALLOWED[run.kit.effort].pairs:
        return None
    from wellread.ranking.evaluator import follower

    return follower(run.kit, run.language)


def _is_about(side: str, sentence: Candidate) -> bool:
    """Whether the sentence, or the title it stands under, names the side."""
    said = {fold(word) for word in f"{sentence.passage.title} {sentence.text}".replace(",", " ").split()}
    wanted = [fold(word.strip("().,“”\"'")) for word in side.split() if word.lower() not in ("the", "a", "an")]
    return sum(word in said for word in wanted) >= 0.6 * len(wanted)


def _second_step(question: Asked, first: Candidate, one: Candidate, open_before: float) -> tuple[float, float]:
    """How well a sentence continues the first: what it adds, and whether one leads to the other."""
    title, came_from = bare_title(one.passage.title).casefold(), bare_title(first.passage.title).casefold()
    gain = question.coverage(likely_sentences.keys_of(first) | likely_sentences.keys_of(one)) - open_before
    score = gain + 0.2 * likely_sentences.holds_wanted(question, one) + 0.1 * (came_from in one.text.casefold())
    if one.passage.title == first.passage.title:
        return score - 0.1, gain
    if title in f"{first.text}\n{question.text}".casefold():  # the first names it, or it is the other side of a comparison
        return score + 0.4, gain
    return score - (0.0 if title in first.passage.text.casefold() else 0.2), gain


def _nothing(run: Run) -> str:
    """Why there is no answer when nothing was found: also because a source could not be asked."""
    return "; ".join(["nothing was found", *list(dict.fromkeys(run.failures))[:3]])


def _too_unsure(best: Passage, sure: float) -> str:
    return f"nothing found answers the question (best match: {name(best)}, {sure:.0%} sure)"


def _quoted(run: Run, chosen: Sequence[Candidate]) -> str:
    """The sentences with their numbers; one that ends with a colon together with the list or code that it leads to."""
    whole, told = places(one.passage for one in chosen), list[str]()
    for one in chosen:
        text = one.passage.text
        told.append(
            quoted(text[one.start : with_what_follows(text, one.start, one.end)], f"[{run.number(whole[one.passage.id])}]")
        )
    return one_after_another(told)


def _in_sentences(question: str) -> bool:
    """Whether a question is answered by sentences where nothing else is: instructions, reasons, and what is so or not."""
    return to_be_told(question) or asks_yes_no(question)


def _in_context(one: Candidate) -> Candidate:
    """A sentence that tells an answer, with what stands beside it and belongs to it."""
    start, end = with_context(one.passage.text, one.start, one.end)
    return replace(one, start=start, end=end)


def nearest(
    question: Asked, passages: Sequence[Passage], told: Mapping[str, tuple[int, int]] = MappingProxyType({})
) -> tuple[Near, ...]:
    """The first passages that tell something, and not the same again: of each what is `told` in it, else the sentence that covers
    the question best, with what that leads to and what stands around."""
    found: list[tuple[Near, frozenset[str]]] = []
    telling = (  # more than headings and the title again
        one for one in passages if any(not _is_title(one, one.text[start:end]) for start, end in statements(one.text))
    )
    for place, passage in enumerate(islice(telling, 2 * len(_SHOWN))):
        if passage.id in told:
            start, end = told[passage.id]
        else:
            sentences = [one for one in likely_sentences.candidates([passage]) if not _is_title(passage, one.text)]
            best = max(sentences, key=lambda one: by_words(question, one))
            start, end = best.start, best.end
        start, end = with_context(passage.text, start, end)
        most = _SHOWN[min(place, len(_SHOWN) - 1)]
        near = Near(passage, *surrounded(passage.text, start, with_what_follows(passage.text, start, end), most))
        words = frozenset(likely_sentences.read(near.words).content)
        if all(len(words & said) < _SAME * min(len(words), len(said)) for _, said in found):
            found.append((near, words))
    return tuple(near for near, _ in found)


def _is_title(passage: Passage, words: str) -> bool:
    return words.strip().casefold() == passage.title.strip().casefold()


def others(run: Run, found: Sequence[Near]) -> tuple[Near, ...]:
    """Those that are not already cited."""
    cited = {passage.id for passage in run.passages.values()}
    return tuple(one for one in found if one.passage.id not in cited)[:_BESIDE]


async def unsure(run: Run, why: str, sure: float | None = None, near: Sequence[Near] = ()) -> Answer:
    """No answer, with the passages that come nearest and what may find one."""
    shown = tuple(near[: len(_SHOWN) if (sure or 0.0) >= _LIKELY else _BESIDE])
    return await run.answer("", outcome="unsure", reason=why, confidence=sure, nearest=shown, tries=tries(run, found=bool(near)))


def tries(run: Run, *, found: bool) -> tuple[str, ...]:
    """Suggestions of what else may find an answer, each in a few words."""
    if not found and run.failures and len(run.failures) >= run.budget.usage.searches:
        return ("another source",)  # other words would not help: none of the searches came to anything
    words = "other words for what you mean" if found else "fewer or more common words"
    source = ("another source (--source wikipedia, or your own documents)",) if run.source.name == "library" else ()
    return (words, *source, "a language model (--model), which can put together what no passage says in one place")
