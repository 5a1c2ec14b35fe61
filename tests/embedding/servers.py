"""A loopback server that speaks OpenAI's embeddings protocol, and misbehaves when told to."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np

DIMENSIONS = 8


def vector(text: str) -> np.ndarray:
    """Some vector that depends on the text alone, not of length one."""
    seed = int.from_bytes(text.encode()[:64].ljust(4, b"."), "little") % 2**32
    return np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32) * 3


def unit(text: str) -> np.ndarray:
    return vector(text) / np.linalg.norm(vector(text))


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send instead of embeddings."""

    status: int = 200
    body: object = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Request:
    path: str
    key: str | None
    body: dict[str, Any]
    at: float


def embeddings(request: dict[str, Any]) -> dict[str, Any]:
    """The documented answer, last text first, since the order is the index's to say."""
    rows: list[dict[str, Any]] = []
    for index, text in enumerate(request["input"]):
        value: Any = vector(text).tolist()
        if request.get("encoding_format") == "base64":
            value = base64.b64encode(vector(text).astype("<f4").tobytes()).decode()
        rows.append({"object": "embedding", "index": index, "embedding": value})
    return {"object": "list", "data": rows[::-1], "model": request["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


class EmbeddingServer:
    """`script` holds replies to be sent first; `answer` makes the others; `delay` slows all of them."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: list[Reply] = []
        self.answer: Callable[[dict[str, Any]], object] = embeddings
        self.delay = 0.0
        self.closed_early = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.requests.append(Request(self.path, self.headers.get("authorization"), body, time.monotonic()))
                if server.delay and self._gone_within(server.delay):
                    server.closed_early.set()
                    return
                reply = server.script.pop(0) if server.script else Reply(body=server.answer(body))
                content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in {"content-length": str(len(content)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def _gone_within(self, seconds: float) -> bool:
                """Wait that long; true as soon as the client hangs up."""
                self.connection.settimeout(seconds)
                try:
                    return self.connection.recv(1) == b""
                except TimeoutError:
                    self.connection.settimeout(None)
                    return False

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
