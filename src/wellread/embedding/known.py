"""What is known of embedding models by their names, where their own files don't say.

Some models expect words in front of a query or a passage and are noticeably worse without them; many
publish this only in their description.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Pooling = Literal["mean", "cls", "last"]
Kind = Literal["query", "passage"]

_REPRESENT = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Habits:
    """How a family of models wants to be used."""

    pooling: Pooling = "mean"
    query_prompt: str = ""
    passage_prompt: str = ""


# The first pattern found anywhere in the lower-cased name counts.
_FAMILIES: tuple[tuple[str, Habits], ...] = (
    (r"mxbai-embed-(large|xsmall|2d)", Habits("cls", _REPRESENT)),
    (r"bge-m3", Habits("cls")),
    (r"bge-(small|base|large)-zh", Habits("cls", "为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(small|base|large|micro)", Habits("cls", _REPRESENT)),
    (r"e5-(small|base|large)", Habits("mean", "query: ", "passage: ")),
    (r"gte-(base|large)-en-v1\.5|gte-multilingual|gte-modernbert", Habits("cls")),
    (r"gte-(tiny|small|base|large)", Habits("mean")),
    (r"snowflake-arctic-embed", Habits("cls", _REPRESENT)),
    (r"nomic-embed-text", Habits("mean", "search_query: ", "search_document: ")),
    (r"minilm", Habits("mean")),
)


def habits(name: str) -> Habits | None:
    """The habits of the model called `name` (an identifier, a folder's name), if its family is known."""
    lowered = name.lower()
    if "instruct" in lowered:  # those take a task description, which is the user's to write
        return None
    return next((found for pattern, found in _FAMILIES if re.search(pattern, lowered)), None)
