"""Traces reach a collector over OTLP/HTTP, and a collector that is down costs no answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.cli.test_ask import wellread

from wellread.trace import timeline as otel

COMMAND = ("ask", "Who wrote Hamlet?", "--effort", "low")


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A loopback collector and the bodies it was sent."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", bodies
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_run_is_exported_as_spans(collector: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    address, bodies = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    assert wellread(*COMMAND).returncode == 0
    request = ExportTraceServiceRequest.FromString(b"".join(bodies))
    spans = [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
    (run,) = [span for span in spans if span.name == "wellread.ask"]
    searches = [span for span in spans if span.name == "wellread.search"]
    assert searches
    for span in searches:
        assert span.parent_span_id == run.span_id
        assert run.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= run.end_time_unix_nano
    facts = {one.key: one.value.string_value for one in run.attributes}
    assert (facts["wellread.strategy"], facts["wellread.outcome"]) == ("quote", "answered")


@pytest.mark.slow
def test_a_collector_that_is_down_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    done = wellread(*COMMAND)
    assert done.returncode == 0
    assert "Shakespeare" in done.stdout
    assert "Traceback" not in done.stderr


def test_nothing_is_exported_unless_asked_for() -> None:
    assert not otel.wanted({})
    assert otel.wanted({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318"})
    assert not otel.wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"})
