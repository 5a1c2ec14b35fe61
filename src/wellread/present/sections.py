"""An answer taken apart into sections, once for every place that shows one: command line, page, /v1, MCP, exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from wellread.marks import MARK, checked, legend, marked_answer, verdicts_of

Json = dict[str, Any]
UNDERSTOOD = "Understood as: "


@dataclass(frozen=True, slots=True)
class Cited:
    """One cited passage: its number, the citation that carries most, all of them, and their quotes, best carried first."""

    number: int
    citations: tuple[Json, ...]
    quotes: tuple[str, ...]
    new: tuple[str, ...]  # quotes that the answer does not say itself

    @property
    def best(self) -> Json:
        return self.citations[0]


@dataclass(frozen=True, slots=True)
class Sections:
    """What there is to show of an answer, in the shape of `ask --json`; empty is what there is not."""

    outcome: str
    understood: str
    short: str
    text: str
    asks: str
    reason: str
    missing: str  # what a partial answer does not answer, in one line
    sure: str
    notes: tuple[str, ...]
    nearest: tuple[Json, ...]
    tries: tuple[str, ...]
    sources: tuple[Cited, ...]
    sentences: tuple[Json, ...]
    legend: str  # what the marks in the text mean; where it has none, empty
    checked: str  # how many sentences were checked and are carried

    @property
    def near(self) -> str:
        """What the passages are called that come near."""
        return "Also near" if self.text else "Nearest, may answer it"

    def marked(self, mark: str = MARK) -> str:
        """The text with a mark behind every sentence that no source carries."""
        return marked_answer({"answer": self.text, "sentences": self.sentences}, mark)


def sections(answer: Mapping[str, Any]) -> Sections:
    outcome, text = str(answer.get("outcome") or "failed"), str(answer.get("answer") or "")
    verdicts = verdicts_of(answer)
    short = str(answer.get("short") or "")
    if outcome == "unsure" and text and answer.get("confidence") is not None:
        outcome, short = "answered", f"Probably: {short}".rstrip()
    missing = "; ".join(str(row).rstrip(".") for row in answer.get("missing") or ())
    return Sections(
        outcome=outcome,
        understood=str(answer.get("understood") or ""),
        short=short,
        text=text,
        asks=str(answer.get("asks") or ""),
        reason=str(answer.get("reason") or ""),
        missing=missing if outcome == "partial" else "",
        sure=str(answer.get("sure") or "") if text else "",
        notes=tuple(map(str, answer.get("notes") or ())),
        nearest=tuple(_rows(answer, "nearest")),
        tries=tuple(map(str, answer.get("tries") or ())),
        sources=tuple(_cited(answer, " ".join(text.split()))),
        sentences=tuple(_rows(answer, "sentences")),
        legend=legend(verdicts),
        checked=checked(verdicts),
    )


def _cited(answer: Mapping[str, Any], said: str) -> Iterator[Cited]:
    found: dict[int, list[Json]] = {}
    for one in sorted(_rows(answer, "citations"), key=lambda one: -float(one.get("support") or 0)):
        found.setdefault(int(one["number"]), []).append(one)
    for number, some in sorted(found.items()):
        quotes = tuple(quote for quote in dict.fromkeys(" ".join(str(one["quote"]).split()) for one in some) if quote)
        yield Cited(number, tuple(some), quotes, tuple(quote for quote in quotes if quote not in said))


def _rows(answer: Mapping[str, Any], name: str) -> list[Json]:
    return cast("list[Json]", answer.get(name) or [])
