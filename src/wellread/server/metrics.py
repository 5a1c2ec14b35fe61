"""Counters in the text format of Prometheus, written by hand: a page of numbers needs no library."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from wellread.server.limits import Gate
from wellread.types import Usage

_CLUSTER = {
    "calls": "Calls to the shards of a cluster.",
    "hedged": "Calls that a second replica was asked for, too.",
    "lost": "Calls to replicas that were gone.",
    "gone": "Calls that no replica answered in time.",
}
_SPENT = ("searches", "pages", "model_calls", "input_tokens", "output_tokens")
_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


@dataclass(slots=True)
class Metrics:
    """Counters since the start."""

    runs: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])  # strategy, outcome
    responses: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])  # method, status
    durations: Counter[float] = field(default_factory=Counter[float])
    seconds: float = 0.0
    events: int = 0
    spent: Counter[str] = field(default_factory=Counter[str])  # by finished runs
    cost: float = 0.0

    def finished(self, strategy: str, outcome: str, seconds: float) -> None:
        self.runs[strategy, outcome] += 1
        self.seconds += seconds
        for bucket in _BUCKETS:
            if seconds <= bucket:
                self.durations[bucket] += 1

    def used(self, usage: Usage) -> None:
        self.spent.update({name: getattr(usage, name) for name in _SPENT})
        self.cost += usage.cost or 0.0


def text(metrics: Metrics, gate: Gate, failed_writes: int) -> str:
    """The whole page."""
    total = sum(metrics.runs.values())
    seconds: dict[str, float] = {f'_bucket{{le="{bucket:g}"}}': metrics.durations[bucket] for bucket in _BUCKETS}
    seconds |= {'_bucket{le="+Inf"}': total, "_sum": metrics.seconds, "_count": total}
    runs = {_labels(strategy=strategy, outcome=outcome): count for (strategy, outcome), count in metrics.runs.items()}
    responses = {_labels(method=method, status=status): count for (method, status), count in metrics.responses.items()}
    spent = {name: f"{name.replace('_', ' ').capitalize()} of finished runs." for name in _SPENT}
    parts = [
        _part("runs_total", "counter", "Runs that ended.", runs),
        _part("runs_running", "gauge", "Runs going on now.", {"": gate.running}),
        _part("runs_queued", "gauge", "Runs waiting for their turn.", {"": len(gate.queue)}),
        _part("runs_refused_total", "counter", "Runs sent away with 429.", {"": gate.refused}),
        _part("run_seconds", "histogram", "How long runs took.", seconds),
        _part("events_total", "counter", "Events of detached runs.", {"": metrics.events}),
        *(_part(f"{name}_total", "counter", help, {"": metrics.spent[name]}) for name, help in spent.items()),
        _part("cost_dollars_total", "counter", "Known cost of finished runs.", {"": metrics.cost}),
        _part("http_responses_total", "counter", "Responses by method and status.", responses),
        _part("history_failed_writes_total", "counter", "Writes that failed.", {"": failed_writes}),
        *(_part(f"cluster_{name}_total", "counter", help, _of_shards(name)) for name, help in _CLUSTER.items()),
    ]
    return "".join(parts)


def _of_shards(name: str) -> dict[str, float]:
    if "wellread.cluster.replicas" not in sys.modules:  # without a cluster nobody loads it
        return {}
    from wellread.cluster import replicas

    return {_labels(shard=shard): float(getattr(known, name)) for shard, known in replicas.counts().items()}


def _part(name: str, kind: str, help: str, rows: Mapping[str, float]) -> str:
    values = "".join(f"wellread_{name}{labels} {value:.10g}\n" for labels, value in rows.items())
    return f"# HELP wellread_{name} {help}\n# TYPE wellread_{name} {kind}\n{values}"


def _labels(**values: object) -> str:
    def quoted(value: object) -> str:
        return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{quoted(value)}"' for name, value in values.items()) + "}"
