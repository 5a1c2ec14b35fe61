"""Embeddings from a server that speaks OpenAI's protocol: OpenAI, TEI, vLLM, Ollama, llama.cpp …"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from wellread.embedding.batches import by_length
from wellread.embedding.known import Habits, Kind, habits
from wellread.encodable import encodable
from wellread.errors import EmbedderError, UsageError
from wellread.parameters import Count, Length, Range, Seconds, fill, param

if TYPE_CHECKING:
    import httpx2
    import numpy as np
    from numpy.typing import NDArray

    from wellread.protocols import Kit
    from wellread.types import Spec

OFFICIAL = "https://api.openai.com/v1"
_ADDRESSED = re.compile(r"(?P<name>.+?)@(?P<address>https?://.+)", re.IGNORECASE)
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_PASSING = frozenset({408, 409, 429, 500, 502, 503, 504, 529})  # another attempt may do better
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


@dataclass(frozen=True, slots=True)
class Server:
    """Where the model is, and the key to it if it needs one."""

    model: str
    address: str = OFFICIAL
    key: str | None = None

    @property
    def shown(self) -> str:
        """The address without a name and password in it."""
        parts = urlsplit(self.address)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def from_spec(spec: Spec, kit: Kit) -> OpenAIEmbedder:
    """Any OpenAI-compatible embeddings server: `openai:MODEL`, or `openai:MODEL@http://127.0.0.1:8080/v1`."""
    options = fill(Options, spec.options, "embedder openai")
    found = _ADDRESSED.fullmatch(spec.argument)
    model = found["name"] if found else spec.argument
    if not model or "@" in model:
        raise UsageError("embedder openai needs a model: openai:MODEL, or openai:MODEL@http://127.0.0.1:8080/v1")
    variable = options.key_env or ("" if found else "OPENAI_API_KEY")
    # OPENAI_API_KEY never goes to another server: only a key that was named for it does.
    key = kit.environ.get(variable, "").strip() if variable else None
    if key == "":
        raise EmbedderError(f"openai:{model}: set {variable} to your key")
    named = found["address"] if found else kit.environ.get("OPENAI_BASE_URL", "").strip()
    return OpenAIEmbedder(Server(model, base_address(named) if named else OFFICIAL, key), options)


def base_address(address: str) -> str:
    """The part of a server's address before `/embeddings`; a bare host gets the usual `/v1`."""
    parts = urlsplit(address.strip())
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise UsageError(f"embedder openai: {address} is not an address")
    path = parts.path.rstrip("/").removesuffix("/embeddings")
    return urlunsplit(parts._replace(path=path or "/v1"))


class _InPassing(EmbedderError):
    """A failure that may pass; `wait` is what the server asks for."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class OpenAIEmbedder:
    """A model on a server. Connects when first used."""

    def __init__(self, server: Server, options: Options | None = None) -> None:
        self._server = server
        self._options = options or Options()
        self._habits = habits(server.model) or Habits()
        self._dimensions = self._options.dimensions or _DIMENSIONS.get(server.model)
        self._client: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient] | None = None

    @property
    def name(self) -> str:
        """A spec that makes the same vectors again."""
        own = {"query_prompt": self._options.query_prompt, "passage_prompt": self._options.passage_prompt}
        changed = [f"{name}={quote(value)}" for name, value in own.items() if value != _AUTO]
        if self._options.dimensions:
            changed.insert(0, f"dimensions={self._options.dimensions}")
        at = "" if self._server.address == OFFICIAL else f"@{self._server.shown}"
        return f"openai:{self._server.model}{at}" + ("?" + "&".join(changed) if changed else "")

    @property
    def dimensions(self) -> int:
        """Length of the vectors. Of a model not known by name, the server is asked once, which blocks."""
        if self._dimensions is None:
            import httpx2

            with httpx2.Client(timeout=self._options.timeout, headers=self._headers()) as client:
                try:
                    reply = client.post(self._url, json=self._body(["length"]))
                except httpx2.HTTPError as problem:
                    raise self._unreachable(problem) from problem
            self._vectors(reply, 1)
        assert self._dimensions is not None
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """Unit vectors, one row a text. A cancelled call closes its connections."""
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        ready = [self._prompted(text, kind) for text in texts]
        found: dict[int, NDArray[np.float32]] = {}
        turns = asyncio.Semaphore(self._options.requests)

        async def fetch(batch: list[int]) -> None:
            async with turns:
                found.update(zip(batch, await self._patiently([ready[place] for place in batch]), strict=True))

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
        held, self._client = self._client, None
        if held is not None and held[0] is asyncio.get_running_loop():
            await held[1].aclose()

    def _prompted(self, text: str, kind: Kind) -> str:
        given = self._options.query_prompt if kind == "query" else self._options.passage_prompt
        usual = self._habits.query_prompt if kind == "query" else self._habits.passage_prompt
        prompted = encodable(((usual if given == _AUTO else given) + text)[: self._options.max_characters])
        return prompted or " "  # OpenAI refuses the empty string

    async def _patiently(self, texts: list[str]) -> NDArray[np.float32]:
        import stamina

        attempts, patience = self._options.attempts, self._options.patience
        longest = attempts * (self._options.timeout + patience)
        async for attempt in stamina.retry_context(
            on=self._try_again, attempts=attempts, timeout=longest, wait_initial=0.25, wait_jitter=0.25
        ):
            with attempt:
                return await self._once(texts)
        raise AssertionError("the last attempt returns or raises")

    def _try_again(self, problem: Exception) -> bool | float:
        if not isinstance(problem, _InPassing):
            return False
        if problem.wait is None:
            return True
        return problem.wait if problem.wait <= self._options.patience else False

    async def _once(self, texts: list[str]) -> NDArray[np.float32]:
        import httpx2

        try:
            reply = await self._ready().post(self._url, json=self._body(texts))
        except httpx2.HTTPError as problem:
            raise self._unreachable(problem) from problem
        return self._vectors(reply, len(texts))

    def _ready(self) -> httpx2.AsyncClient:
        """A client of the running loop: connections cannot move from one loop to another."""
        import httpx2

        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            self._client = (loop, httpx2.AsyncClient(timeout=self._options.timeout, headers=self._headers()))
        return self._client[1]

    @property
    def _url(self) -> str:
        return f"{self._server.address}/embeddings"

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._server.key}"} if self._server.key else {}

    def _body(self, texts: list[str]) -> dict[str, object]:
        body: dict[str, object] = {"model": self._server.model, "input": texts}
        if self._options.dimensions:
            body["dimensions"] = self._options.dimensions
        if self._options.encoding != "float":  # the default; some servers refuse to hear it named
            body["encoding_format"] = self._options.encoding
        return body

    def _vectors(self, reply: httpx2.Response, count: int) -> NDArray[np.float32]:
        from wellread.embedding.replies import complaint, read_vectors, retry_after

        if reply.status_code != 200:
            wait = retry_after(reply.headers)
            later = f" (come back in {wait:.0f} s)" if wait else ""
            message = self._told(f"{reply.status_code} {reply.reason_phrase}: {complaint(reply.content)}{later}")
            if reply.status_code in _PASSING and "insufficient_quota" not in reply.text:
                raise _InPassing(message, wait)
            raise EmbedderError(message)
        try:
            vectors = read_vectors(reply.content, count, self._dimensions)
        except ValueError as problem:
            raise EmbedderError(self._told(str(problem))) from None
        self._dimensions = vectors.shape[1]
        return vectors

    def _unreachable(self, problem: httpx2.HTTPError) -> _InPassing:
        return _InPassing(self._told(f"no answer ({str(problem) or type(problem).__name__})"))

    def _told(self, what: str) -> str:
        if self._server.key:
            what = what.replace(self._server.key, "…")
        return f"embedder {self._server.model} at {self._server.shown}: {what}"
