"""A web server on loopback that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    at: float

    @property
    def json(self) -> dict[str, object]:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer; `body` may be text, bytes, or anything that JSON can hold."""

    body: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: float = 0.0


Answer = Callable[[Asked], Reply]


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A handler that dies closes its connection; that is all a client can see."""


class Loopback:
    """`answer` may be changed while the server runs."""

    def __init__(self, answer: Answer) -> None:
        self.answer: Answer = answer
        self.asked: list[Asked] = []
        self.arrived = threading.Event()
        self.running = 0
        self.most_at_once = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Generator[Loopback]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(5)

    def note(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            self.arrived.set()
            self.running += 1
            self.most_at_once = max(self.most_at_once, self.running)
        try:
            reply = self.answer(asked)
            if reply.delay:
                time.sleep(reply.delay)
            return reply
        finally:
            with self._lock:
                self.running -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("content-length") or 0)
                reply = server.note(
                    Asked(
                        self.command,
                        parts.path,
                        dict(parse_qsl(parts.query, keep_blank_values=True)),
                        {name.lower(): value for name, value in self.headers.items()},
                        self.rfile.read(length),
                        time.monotonic(),
                    )
                )
                self._send(reply)

            do_POST = do_GET

            def _send(self, reply: Reply) -> None:
                body = reply.body
                raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
                kind = "application/json" if not isinstance(body, bytes | str) else "text/html; charset=utf-8"
                try:
                    self.send_response(reply.status)
                    headers = {"Content-Type": kind, "Content-Length": str(len(raw)), **reply.headers}
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(raw)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
