"""Embeddings from a server that speaks OpenAI's protocol: OpenAI, TEI, vLLM, Ollama, llama.cpp …"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from wellread.core.unicode_safety import encodable
from wellread.embedding.batches import by_length
from wellread.embedding.layout import Habits, Kind, habits
from wellread.errors import EmbedderError, SourceBusy, SourceError, UsageError
from wellread.net.address import address, name_and_address
from wellread.parameters import Count, Length, Range, Seconds, fill, param

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellread.net.payload import Payload
    from wellread.net.service import Http
    from wellread.protocols import Parts
    from wellread.types import Spec

OFFICIAL = "https://api.openai.com/v1"
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_PASSING = frozenset({408, 409, 429, 500, 502, 503, 504, 529})  # another attempt may do better
_MOST_BYTES = 1024 * 1024 * 1024
_AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Options:
    """`openai:MODEL@URL?key=value`."""

    dimensions: Annotated[int, Range(1, 100_000)] | None = param(
        None, "ask for vectors of this length, where the model can shorten them"
    )
    query_prompt: str = param(_AUTO, "words put before a query; auto: what the model is known to want")
    passage_prompt: str = param(_AUTO, "words put before a passage; auto: what the model is known to want")
    encoding: Literal["float", "base64"] = param("float", "how vectors travel; base64 is smaller, not all servers know it")
    batch: Annotated[int, Range(1, 10_000)] = param(32, "texts in one request")
    requests: Count = param(4, "requests at once")
    max_characters: Length = param(20_000, "characters of a text that are sent")
    timeout: Seconds = param(60.0, "seconds for one attempt")
    attempts: Annotated[int, Range(1, 100)] = param(4, "how often a request that fails in passing is sent")
    patience: Annotated[float, Range(0, 3600)] = param(60.0, "the longest wait, in seconds, that a server may ask for")
    key_env: str | None = param(None, "environment variable with the server's key")


def from_spec(spec: Spec, kit: Parts) -> OpenAIEmbedder:
    """Any OpenAI-compatible embeddings server: `openai:MODEL`, or `openai:MODEL@http://127.0.0.1:8080/v1`."""
    options = fill(Options, spec.options, "embedder openai")
    model, named = name_and_address(spec.argument)
    if not model or "@" in model:
        raise UsageError("embedder openai needs a model: openai:MODEL, or openai:MODEL@http://127.0.0.1:8080/v1")
    variable = options.key_env or ("" if named else "OPENAI_API_KEY")
    # OPENAI_API_KEY never goes to another server: only a key that was named for it does.
    key = kit.environ.get(variable, "").strip() if variable else None
    if key == "":
        raise EmbedderError(f"openai:{model}: set {variable} to your key")
    named = named or kit.environ.get("OPENAI_BASE_URL", "").strip()
    return OpenAIEmbedder(model, base_address(named) if named else OFFICIAL, key, options, kit)


def base_address(given: str) -> str:
    """The part of a server's address before `/embeddings`; a bare host gets the usual `/v1`."""
    try:
        parts = urlsplit(given.strip())
    except ValueError:
        raise UsageError(f"embedder openai: {given.strip()!r} is not an address") from None
    path = parts.path.rstrip("/").removesuffix("/embeddings")
    return urlunsplit(parts._replace(path=path or "/v1"))


class OpenAIEmbedder:
    """A model on a server. Connects when first used."""

    def __init__(self, model: str, base: str, key: str | None, options: Options, kit: Parts) -> None:
        self._model = model
        self._address = address(base, "embedder openai", "MODEL@http://127.0.0.1:8080/v1")
        self._keys = {"Authorization": f"Bearer {key}"} if key else self._address.keys
        self._options = options
        self._kit = kit
        self._habits = habits(model) or Habits()
        self._dimensions = options.dimensions or _DIMENSIONS.get(model)
        self._http: Http | None = None

    @property
    def name(self) -> str:
        """A spec that makes the same vectors again."""
        own = {"query_prompt": self._options.query_prompt, "passage_prompt": self._options.passage_prompt}
        changed = [f"{name}={quote(value)}" for name, value in own.items() if value != _AUTO]
        if self._options.dimensions:
            changed.insert(0, f"dimensions={self._options.dimensions}")
        at = "" if self._address.url == OFFICIAL else f"@{self._address.url}"
        return f"openai:{self._model}{at}" + ("?" + "&".join(changed) if changed else "")

    @property
    def dimensions(self) -> int:
        """Length of the vectors. Of a model not known by name, the server is asked once, which blocks."""
        if self._dimensions is None:
            with ThreadPoolExecutor(1) as elsewhere:  # an event loop may be running here
                elsewhere.submit(asyncio.run, self._ask_once()).result()
        assert self._dimensions is not None
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """Unit vectors, one row a text. A cancelled call closes its connections."""
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        ready = [self._prompted(text, kind) for text in texts]
        found: dict[int, NDArray[np.float32]] = {}
        http = self._http = self._http or self._service()

        async def fetch(batch: list[int]) -> None:
            found.update(zip(batch, await self._ask(http, [ready[place] for place in batch]), strict=True))

        lengths = [len(text) for text in ready]
        try:
            async with asyncio.TaskGroup() as group:
                for batch in by_length(lengths, budget=200_000, most=self._options.batch):
                    group.create_task(fetch(batch))
        except ExceptionGroup as problems:  # the others were stopped; the first says what happened
            raise problems.exceptions[0] from None
        if not found:
            return np.zeros((0, self._dimensions or 0), np.float32)
        return np.stack([found[place] for place in range(len(ready))])

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    def _prompted(self, text: str, kind: Kind) -> str:
        given = self._options.query_prompt if kind == "query" else self._options.passage_prompt
        usual = self._habits.query_prompt if kind == "query" else self._habits.passage_prompt
        prompted = encodable(((usual if given == _AUTO else given) + text)[: self._options.max_characters])
        return prompted or " "  # OpenAI refuses the empty string

    def _service(self) -> Http:
        from wellread.net.service import Http, Manners

        o = self._options
        manners = Manners(
            timeout=o.timeout,
            attempts=o.attempts,
            patience=o.patience,
            concurrency=o.requests,
            max_bytes=_MOST_BYTES,
            max_values=_MOST_BYTES,
            passing=_PASSING,
            slow_again=True,
        )
        return Http(f"embedder {self._model} at {self._address.url}", self._kit, manners, self._keys, o.key_env or "")

    async def _ask_once(self) -> None:
        http = self._service()
        http.manners = replace(http.manners, attempts=1)
        try:
            await self._ask(http, ["length"])
        finally:
            await http.aclose()

    async def _ask(self, http: Http, texts: list[str]) -> NDArray[np.float32]:
        body: dict[str, object] = {"model": self._model, "input": texts}
        if self._options.dimensions:
            body["dimensions"] = self._options.dimensions
        if self._options.encoding != "float":  # the default; some servers refuse to hear it named
            body["encoding_format"] = self._options.encoding
        try:
            reply = await http.post(f"{self._address.url}/embeddings", body)
            vectors = read_vectors(reply, len(texts), self._dimensions)
        except SourceError as problem:
            wait = problem.retry_after if isinstance(problem, SourceBusy) else None
            raise EmbedderError(f"{problem} (come back in {wait:.0f} s)" if wait else str(problem)) from None
        except ValueError as problem:
            raise EmbedderError(f"{http.owner}: {problem}") from None
        self._dimensions = vectors.shape[1]
        return vectors


def read_vectors(reply: Payload, count: int, dimensions: int | None) -> NDArray[np.float32]:
    """Unit vectors in the order of the request; raises `ValueError` with what is wrong with the reply."""
    import numpy as np

    items = reply.items("data")
    placed = {int(item.number("index") or 0) if item.text("index") else place: item for place, item in enumerate(items)}
    embeddings = {place: item.at("embedding").value for place, item in placed.items()}
    if not items or None in embeddings.values():
        raise ValueError("the reply is not a list of embeddings")
    if len(items) != count or set(placed) != set(range(count)):
        raise ValueError(f"{count} texts were sent and {len(items)} vectors came back")
    rows = [_row(embeddings[place]) for place in range(count)]
    expected = dimensions or len(rows[0])
    if wrong := {len(row) for row in rows} - {expected}:
        raise ValueError(f"vectors of {expected} dimensions were expected, not of {', '.join(map(str, sorted(wrong)))}")
    vectors = np.stack(rows)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise ValueError("a vector is zero or not finite")
    return vectors / norms


def _row(value: object) -> NDArray[np.float32]:
    """One vector: a list of numbers, or the bytes of little-endian floats in base64."""
    import numpy as np

    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        row = np.asarray(value, dtype=np.float32)
    except (ValueError, TypeError):
        raise ValueError("a vector is not made of numbers") from None
    if row.ndim != 1 or not row.size:
        raise ValueError("a vector is not a list of numbers")
    return row
