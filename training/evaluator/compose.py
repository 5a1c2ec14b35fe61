"""Two questions into one: where the answer of the first stands in the second, the first takes its place.

"Which association published X?" → APA;  "Who was the APA's first president?"
→  "Who was the association which published X 's first president?"
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from training.evaluator.data import Question

MIN_ANSWER = 5  # letters: shorter answers stand in questions by chance
PER_QUESTION = 2  # a second question is used at most this often

_FORMS = (
    (re.compile(r"^who (?:is|was|were|are) (.+)$", re.I), r"\1"),
    (re.compile(r"^who (.+)$", re.I), r"the person who \1"),
    (re.compile(r"^where (?:is|was|were|are|did|does|do) (.+)$", re.I), r"the place of \1"),
    (re.compile(r"^(?:in |on |at |from |to )?(?:what|which) (?:is|was|were|are) (?:the )?(.+)$", re.I), r"the \1"),
    (re.compile(r"^(?:in |on |at |from |to )(?:what|which) (\w+) (.+)$", re.I), r"the \1 where \2"),
    (re.compile(r"^(?:what|which) (\w+) (.+)$", re.I), r"the \1 that \2"),
)


def as_noun(question: str) -> str | None:
    """A question as the thing it asks for; None when no form fits."""
    text = question.strip().rstrip("?").strip()
    for pattern, form in _FORMS:
        if pattern.match(text):
            return pattern.sub(form, text)
    return None


def _names(question: Question) -> list[str]:
    return [answer for answer in question.answers if len(answer) >= MIN_ANSWER and answer[0].isupper()]


def compose(questions: Sequence[Question], seed: int, limit: int) -> list[Question]:
    """Chains of two single-hop questions, at most `limit`."""
    rng = random.Random(seed)
    firsts: dict[str, list[Question]] = {}
    for question in questions:
        for name in _names(question):
            firsts.setdefault(name.lower(), []).append(question)
    made: list[Question] = []
    for second in questions:
        lower = second.text.lower()
        words = re.findall(r"\w+", lower)
        spans = {lower[a:b] for a, b in _word_spans(second.text)}
        options = [(name, first) for name in spans & firsts.keys() for first in firsts[name] if first.gold != second.gold]
        rng.shuffle(options)
        for name, first in options[:PER_QUESTION]:
            noun = as_noun(first.text)
            if noun is None or len(words) < 4 or second.answers[0].lower() in noun.lower():
                continue
            text = re.sub(re.escape(name), lambda _, noun=noun: noun, second.text, count=1, flags=re.I)
            gold = (first.gold[0], second.gold[0])
            made.append(Question(f"composed:{first.id}:{second.id}", "composed", text, second.answers, gold))
    rng.shuffle(made)
    return made[:limit]


def _word_spans(text: str, longest: int = 6) -> list[tuple[int, int]]:
    places = [match.span() for match in re.finditer(r"[\w'-]+", text)]
    return [(places[a][0], places[b][1]) for a in range(len(places)) for b in range(a, min(a + longest, len(places)))]
