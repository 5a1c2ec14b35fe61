"""`elasticsearch:URL/INDEX`: an index of Elasticsearch or OpenSearch, by words, by meaning, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from wellread.core.private_files import at_home
from wellread.errors import UsageError
from wellread.net.payload import Payload
from wellread.parameters import EmbedderSpec, param
from wellread.protocols import Parts
from wellread.sources.hits import cleaned, fused, hit
from wellread.sources.service import Key, RecordOptions, Service
from wellread.types import Hit, Query, Spec

_PLACEHOLDER = "{{query}}"
_HIGHLIGHT: Mapping[str, object] = {
    "fields": {"*": dict[str, object]()},
    "number_of_fragments": 2,
    "pre_tags": [""],
    "post_tags": [""],
    "require_field_match": False,
}
_CANDIDATES = 10  # vectors looked at for each one returned


@dataclass(frozen=True, slots=True)
class Options(RecordOptions):
    fields: tuple[str, ...] = param(("*",), "fields searched, with weights: title^2,text")
    date: str | None = param(None, "field with the date; needed for filtering by date")
    vector: str | None = param(None, "field with embeddings of the documents: also search by meaning")
    embedder: EmbedderSpec | None = param(None, "what made these embeddings; the configured embedder")
    query: str | None = param(None, 'JSON file with your own query, "{{query}}" where the words go')


class Elasticsearch(Service[Options]):
    """An index of Elasticsearch or OpenSearch."""

    # Words and vectors are asked separately and fused by rank: no licence or version decides that for us.
    public = False
    address = "http://127.0.0.1:9200/index"
    key = Key(("ELASTICSEARCH_API_KEY",), scheme="ApiKey ", needed=False)
    hint = "A full-text index of documents. A few telling words or a short phrase; exact names help most."

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        self._server, _, index = self.base.rpartition("/")
        if not index or self._server.endswith("/"):
            raise UsageError("elasticsearch needs the name of an index: elasticsearch:http://127.0.0.1:9200/index")
        self.name = self.http.owner = f"{self.name}/{index}"
        self._template = _load(self.options.query) if self.options.query else None
        self._opensearch: bool | None = None

    async def find(self, query: Query) -> Sequence[Hit]:
        by_words = await self._ask(query.limit, {"query": self._words(query), "highlight": _HIGHLIGHT})
        if not self.options.vector:
            return by_words[: query.limit]
        by_meaning = await self._ask(query.limit, await self._meaning(query))
        return fused([by_words, by_meaning], query.limit)

    async def _ask(self, limit: int, body: Mapping[str, object]) -> list[Hit]:
        excluded = {"_source": {"excludes": [self.options.vector]}} if self.options.vector else {}
        answer = await self.post("/_search", {"size": limit, **excluded, **body})
        return await cleaned(map(self._hit, answer.items("hits", "hits")), self.name)

    def _words(self, query: Query) -> object:
        if self._template is not None:
            # within a text of the user's query, which the words cannot leave: they are written as a part of one
            return json.loads(self._template.replace(_PLACEHOLDER, json.dumps(query.text)[1:-1]))
        asked = {"multi_match": {"query": query.text, "fields": list(self.options.fields), "lenient": True}}
        return {"bool": {"must": [asked], "filter": self._dates(query)}}

    def _dates(self, query: Query) -> list[object]:
        bounds = {name: value for name, value in (("gte", query.since), ("lte", query.until)) if value}
        return [{"range": {self.options.date: bounds}}] if bounds and self.options.date else []

    async def _meaning(self, query: Query) -> Mapping[str, object]:
        """The vector clause; the two servers spell it differently."""
        vectors = await self.http.kit.embedder(self.options.embedder).embed([query.text], kind="query")
        vector = [float(value) for value in vectors[0]]
        field = cast("str", self.options.vector)
        if self._opensearch is None:
            answer = await self.http.get(f"{self._server}/")
            self._opensearch = answer.text("version", "distribution") == "opensearch"
        dates: object = {"bool": {"filter": self._dates(query)}}
        if self._opensearch:
            return {"query": {"knn": {field: {"vector": vector, "k": query.limit, "filter": dates}}}}
        candidates = min(query.limit * _CANDIDATES, 10_000)
        return {"knn": {"field": field, "query_vector": vector, "k": query.limit, "num_candidates": candidates, "filter": dates}}

    def _hit(self, item: Payload) -> Hit | None:
        record = item.at("_source")
        text = self.options.text_of(record)
        marked = [piece.text() for pieces in item.items("highlight") for piece in pieces]
        return hit(
            title=self.options.said("title", record) or item.text("_id"),
            url=self.options.said("url", record),
            snippet=" … ".join(marked[:3]) or text[:500],
            text=text,
            published=self.options.said("date", record),
            score=item.number("_score"),
            id=f"{item.text('_index')}/{item.text('_id')}",
        )


def _load(path: str) -> str:
    try:
        loaded = cast("object", json.loads(at_home(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"source elasticsearch: query: {path} is not a JSON file with a query: {problem}") from None
    whole = Payload(loaded).at("query").value
    return json.dumps(loaded if whole is None else whole)
