"""The source `shelf`: a few books. `wellread search whale --source shelf`, `--source 'shelf?language=en'`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.parameters import fill, param
from wellread.protocols import Parts, Source
from wellread.types import Hit, Query, Spec

BOOKS = (
    ("Moby-Dick", "en", "Moby-Dick is a novel of 1851 by Herman Melville about a white whale."),
    ("Middlemarch", "en", "Middlemarch is a novel by George Eliot, published in 1871 and 1872."),
    ("Effi Briest", "de", "Effi Briest ist ein Roman von Theodor Fontane aus dem Jahr 1895."),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What may follow the `?`; `wellread plugins shelf` shows it."""

    language: str | None = param(None, "only books in this language, en or de")


class Shelf(Source):
    name = "shelf"
    hint = "Books on a shelf, one sentence each. A few words of a title or of what it is about."

    def __init__(self, options: Options) -> None:
        self._options = options

    async def search(self, query: Query) -> Sequence[Hit]:
        wanted = set(query.text.lower().replace("?", "").split())
        found = [
            Hit(id=title, title=title, text=text, source=self.name, score=float(shared))
            for title, language, text in BOOKS
            if self._options.language in (None, language) and (shared := len(wanted & set(text.lower().rstrip(".").split())))
        ]
        return sorted(found, key=lambda hit: -hit.score)[: query.limit]


def from_spec(spec: Spec, kit: Parts) -> Shelf:
    """A few books, one sentence each."""
    return Shelf(fill(Options, spec.options, "source shelf"))
