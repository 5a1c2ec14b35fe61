"""Lexical search (BM25): a tantivy index with an analyser of its own and no query language.

A query is a bag of terms, so that quotes, brackets, colons and stars in a question mean nothing special.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wellread.errors import DamagedFile, IndexFault, os_errors, panics_as
from wellread.index.rows import NOTHING, Ranked, in_order
from wellread.questions.languages import ENGLISH, analyser
from wellread.text.lexicon import UNSPACED_CLASS
from wellread.text.places import about
from wellread.types import Passage

if TYPE_CHECKING:
    import tantivy

_UNSPACED = re.compile(UNSPACED_CLASS + "{2,}")
# In small letters, or with a capital at the beginning: WHO, US and CAN are names.
_ASKING = re.compile(
    r"\b(?:[Ww](?:hat|hich|ho|hom|hose|hen|here|hy|ould|ill|e|as|ere)|[Hh](?:ow|ave|as|ad)|[Dd](?:o|oes|id|oing)|[Cc](?:an|ould)"
    r"|[Ss]hould|[Ii](?:s|t|ts|f)?|[Mm][ey]|[Yy]ours?|[Yy]ou|[Oo]ur|[Uu]s|[Aa](?:m|re)|[Tt]here)(?:['’][a-z]{1,2})?\b"
)
FOLDER = "words"
FIELDS = {"text": 1.0, "title": 0.6}  # and what a word in each counts: a title's few words score high by themselves
_MAX_TERMS = 256  # of one query; a pasted page is not a better question
_ANALYSER = "wellread"
_HEAP = 96_000_000


def spaced(text: str) -> str:
    """Scripts that are written without blanks, in pairs of characters: what a question shares with a text is rarely all of it."""
    if text.isascii():
        return text
    return _UNSPACED.sub(lambda run: " ".join(run[0][i : i + 2] for i in range(len(run[0]) - 1)), text)


def texts(passage: Passage) -> dict[str, str]:
    """Indexed fields of a passage."""
    return {"title": spaced(about(passage)), "text": spaced(passage.text)}


def query_terms(text: str, analyser: tantivy.TextAnalyzer) -> list[str]:
    """The terms of a query, each once, without words that only ask: "what" is rare in manuals, and would count much."""
    terms = analyser.analyze(spaced(_ASKING.sub(" ", text))) or analyser.analyze(spaced(text))
    return list(dict.fromkeys(terms))[:_MAX_TERMS]


class WordsWriter:
    """Adds passages in order; after a crash `rows` says how many are safely in. Without a folder they are kept in memory."""

    def __init__(self, folder: Path | None, language: str = ENGLISH) -> None:
        import tantivy

        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field("title", tokenizer_name=_ANALYSER, index_option="freq")
            .add_text_field("text", tokenizer_name=_ANALYSER, index_option="freq")
            .add_unsigned_field("row", fast=True)
            .build()
        )
        self._document = tantivy.Document
        with _disk_errors(folder):
            self.index = tantivy.Index(schema, folder and str(folder))
            self.index.register_tokenizer(_ANALYSER, analyser(language))
            self.rows = self.index.searcher().num_docs
            self._writer = self.index.writer(_HEAP, 1)  # more threads give other (equally good) files

    def add(self, passages: Iterable[Passage]) -> None:
        """Passages in the order of their numbers."""
        with _disk_errors(self._folder):
            for passage in passages:
                document = self._document()
                for field, words in texts(passage).items():
                    document.add_text(field, words)
                document.add_unsigned("row", self.rows)
                self._writer.add_document(document)
                self.rows += 1

    def commit(self) -> None:
        """Make what was added durable."""
        with _disk_errors(self._folder):
            self._writer.commit()

    def close(self) -> None:
        """Commit and wait for the merging of parts."""
        with _disk_errors(self._folder):
            self._writer.commit()
            self._writer.garbage_collect_files()
            self._writer.wait_merging_threads()


@contextmanager
def _disk_errors(folder: Path | None) -> Generator[None]:
    """tantivy says everything with a ValueError: a full disk too."""
    failing = os_errors(IndexFault, f"{folder}: the word index cannot be written", ValueError)
    with failing, panics_as(IndexFault, f"{folder}: writing the word index"):
        yield


class Words:
    """Searches the words of one segment, or of passages in memory. Safe to share between threads."""

    def __init__(self, index: tantivy.Index, searcher: tantivy.Searcher, name: str, language: str = ENGLISH) -> None:
        import tantivy

        self._tantivy, self._schema, self._searcher = tantivy, index.schema, searcher
        self._name, self._analyser = name, analyser(language)

    @classmethod
    def open(cls, folder: Path, language: str = ENGLISH) -> Words:
        damaged = os_errors(DamagedFile, f"{folder}: the word index cannot be opened", ValueError)
        with damaged, panics_as(DamagedFile, f"{folder}: opening the word index"):
            return cls(*_open(folder), str(folder), language)

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Words:
        """Of passages that no file holds."""
        writer = WordsWriter(None)
        writer.add(passages)
        writer.close()
        writer.index.reload()
        return cls(writer.index, writer.index.searcher(), "passages in memory")

    def terms(self, text: str) -> list[str]:
        """The terms of a query, each once."""
        return query_terms(text, self._analyser)

    def search(self, text: str, limit: int) -> Ranked:
        """Rows and scores of the passages that hold the words, best first (BM25)."""
        return self.weighed([(field, term, weight) for term in self.terms(text) for field, weight in FIELDS.items()], limit)

    def weighed(self, parts: Sequence[tuple[str, str, float]], limit: int) -> Ranked:
        """The same for terms (field, term, weight) of one's own."""
        # Ties in the order of the passages: the order inside tantivy depends on how parts were merged.
        return in_order(self.best(parts, limit), limit)

    def best(self, parts: Sequence[tuple[str, str, float]], limit: int) -> Ranked:
        """The same, with ties in no order."""
        limit = min(limit, self._searcher.num_docs)  # tantivy makes room for as many as it is asked for
        if limit < 1 or not parts:
            return NOTHING
        with panics_as(IndexFault, f"{self._name}: searching the words"):
            query = self._query(parts)
            hits = self._searcher.search(query, limit, count=False).hits
            rows = self._searcher.fast_field_values("row", [address for _, address in hits])
        return np.array([int(row or 0) for row in rows], np.int64), np.array([score for score, _ in hits], np.float32)

    def _query(self, parts: Sequence[tuple[str, str, float]]) -> tantivy.Query:
        make, should = self._tantivy.Query, self._tantivy.Occur.Should
        terms = ((make.term_query(self._schema, field, term, "freq"), weight) for field, term, weight in parts)
        return make.boolean_query([(should, term if weight == 1 else make.boost_query(term, weight)) for term, weight in terms])


def _open(folder: Path) -> tuple[tantivy.Index, tantivy.Searcher]:
    """Open for reading only. tantivy wants to write a lock file, which a read-only folder (an installed
    wheel, a shared disk) forbids: so it gets a throw-away folder with links to the files."""
    import tantivy

    links = Path(tempfile.mkdtemp(prefix="wellread-words-"))
    try:
        for name in os.listdir(folder):
            if not name.endswith(".lock"):
                (links / name).symlink_to((folder / name).resolve())
        index = tantivy.Index.open(str(links))
        index.config_reader("manual")
        searcher = index.searcher()
        (folder / "meta.json").stat()  # tantivy takes a file that was deleted meanwhile for an empty one
        return index, searcher
    finally:
        shutil.rmtree(links, ignore_errors=True)  # the files stay mapped
