"""Runs as OpenTelemetry traces, for those who collect them: one span for the run, one for each step that took time.

Exported when `OTEL_EXPORTER_OTLP_ENDPOINT` (or its variant for traces) is set; the exporter reads this and
the other usual variables itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.errors import optional
from wellread.trace.timeline import Step, Timeline, timeline

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_TIMED = ("search", "read", "model")


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether somebody collects traces."""
    return any(environ.get(name, "").strip() for name in _ENDPOINTS) and environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def export(seen: Sequence[events.Event], ended: float | None = None) -> None:
    """Send one finished run. Blocks until it is sent; a collector that is down costs no answer."""
    with optional("exporting traces", "otel"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(
        resource=Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "wellread")}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    answer = next((AnswerJson.of(event.answer) for event in seen if isinstance(event, events.Answered)), None)
    _spans(provider.get_tracer("wellread"), timeline(seen, answer), ended or time.time())
    provider.shutdown()


def _spans(tracer: Any, story: Timeline, ended: float) -> None:
    from opentelemetry.trace import set_span_in_context

    begun = ended - story.seconds

    def moment(at: float) -> int:
        return int((begun + at) * 1e9)

    facts = {
        "wellread.strategy": story.strategy,
        "wellread.outcome": story.outcome,
        "gen_ai.request.model": story.model or "",
        "gen_ai.usage.input_tokens": story.usage.input_tokens,
        "gen_ai.usage.output_tokens": story.usage.output_tokens,
        "wellread.searches": story.usage.searches,
    }
    run = tracer.start_span("wellread.ask", start_time=moment(0.0), attributes=facts)
    inside = set_span_in_context(run)
    for step in story.steps:
        if step.kind in _TIMED:
            span = tracer.start_span(f"wellread.{step.kind}", inside, start_time=moment(step.start), attributes=_facts(step))
            span.end(moment(step.end))
        else:
            run.add_event(step.kind, {"text": step.label[:500]}, moment(step.start))
    run.end(moment(story.seconds))


def _facts(step: Step) -> dict[str, str | int]:
    found: dict[str, str | int] = {"wellread.label": step.label[:500], "wellread.detail": step.detail}
    return {**found, "wellread.tokens": step.tokens} if step.tokens else found
