"""How an index is searched, alone or as shards: its options, and which embedder it may have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Literal

from wellread.errors import IndexFault
from wellread.parameters import Count, EmbedderSpec, Hops, Range, param
from wellread.protocols import Embedder, Parts

if TYPE_CHECKING:
    from wellread.index.search import SearchOptions

HINT = "a local collection of passages"


@dataclass(frozen=True, slots=True)
class Options:
    """How the index is searched; the long names are those of the published recipe."""

    mode: Literal["default", "exact", "thorough"] = param("default", "how candidates are found: default, exact or thorough")
    similarity_search_top_k_nodes: Annotated[int, Range(1, 100_000)] = param(100, "passages the similarity search returns")
    similarity_search_rescore_multiplier: Count = param(4, "candidates read again with int8 vectors, times the above")
    words: bool = param(True, "search by words")
    meaning: bool = param(True, "search by meaning")
    fusion: Literal["scores", "ranks"] = param("scores", "words and meaning are put together by scores or by ranks (RRF)")
    hops: Hops | None = param(None, "2: also follow what the first passages lead to; 1: don't; none: unless the effort is low")
    embedder: EmbedderSpec | None = param(None, "the embedder the index was built with, when it is not the default one")
    about: str = param("", "what is in it, as language models are told: the handbooks of a printing works")
    name: str = param("", "what it is called in answers and in the page; its spec if empty")

    def __post_init__(self) -> None:
        if not (self.words or self.meaning):
            raise ValueError("words and meaning cannot both be off")

    def searching(self) -> SearchOptions:
        """What of this concerns the index itself."""
        from wellread.index.search import SearchOptions

        return SearchOptions(**{one.name: getattr(self, one.name) for one in fields(SearchOptions)})


def embedder_spec(wanted: str, given: str | None, kit: Parts) -> str | None:
    """The embedder of an index that was built with `wanted`: the one that was given; else the usual one; else the one it was
    built with, where that is in the package or was downloaded before.

    A manifest may be a stranger's: it decides neither which server hears the questions nor which file is loaded.
    """
    if given or not wanted.startswith("onnx:") or kit.embedder(None).name == wanted:
        return given
    from wellread.embedding.hub import at_hand
    from wellread.embedding.onnx import DEFAULT

    model = wanted.removeprefix("onnx:").partition("?")[0]
    if model != DEFAULT and not at_hand(model, kit.environ):
        raise IndexFault(
            f"the index needs {wanted}, which it may not load by itself: allow it with ?embedder={wanted} (--embedder)"
        )
    return wanted


def embedder_for(wanted: str, given: str | None, kit: Parts) -> Embedder:
    """The same, made."""
    return kit.embedder(embedder_spec(wanted, given, kit))
