"""A trace as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from wellread.trace.timeline import Fate, Step, Timeline

_ROW = 26  # pixels
_KINDS = {"search": "#2457a6", "read": "#3f8f5b", "model": "#d9772b"}


def page(story: Timeline) -> str:
    """The page."""
    style = (files("wellread") / "trace" / "page.css").read_text(encoding="utf-8")
    answer = story.answer
    usage = story.usage
    facts = [
        (f"{story.seconds:.2f} s", "in all"),
        *((f"{seconds:.2f} s", _NAMES.get(kind, kind)) for kind, seconds in sorted(story.by_kind.items(), key=lambda kv: -kv[1])),
        (f"{usage.input_tokens:,} + {usage.output_tokens:,}", "tokens in + out"),
        (str(usage.searches), "searches"),
        ("unknown" if usage.cost is None else f"${usage.cost:.4f}", "cost"),
    ]
    cards = "".join(f"<div class=card><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in facts)
    text = (answer.answer or answer.reason if answer else None) or "no answer"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(story.question)}</title><style>{style}</style><main>"
        f"<p class=sub>{escape(story.strategy)} · {escape(story.model or 'no language model')}"
        f" · {story.outcome}</p>"
        f"<h1>{escape(story.question)}</h1><p class=answer>{escape(text)}</p><div class=cards>{cards}</div>"
        f"<h2>Where the time went</h2>{_chart(story)}{_moments(story)}{_passages(story)}</main></html>"
    )


_NAMES = {"search": "searching", "read": "reading pages", "model": "in the model"}


def _chart(story: Timeline) -> str:
    """Bars on one scale of time; parallel work lies side by side."""
    bars = [step for step in story.steps if step.kind in _KINDS]
    if not bars:
        return "<p class=note>Nothing in this run took time outside.</p>"
    total = max(story.seconds, 0.001)
    rows: list[str] = []
    for number, step in enumerate(bars):
        left, width = 100 * step.start / total, max(0.3, 100 * step.seconds / total)
        rows.append(
            f"<div class=row style='top:{number * _ROW}px'><span class=name title='{escape(step.label, quote=True)}'>"
            f"<i style='background:{_KINDS[step.kind]}'></i>{escape(step.kind)}: {escape(step.label)}</span>"
            f"<span class=track><span class=bar style='left:{left:.2f}%;width:{min(width, 100 - left):.2f}%;"
            f"background:{_KINDS[step.kind]}'></span></span><span class=took>{step.seconds:.2f} s"
            f"<small>{escape(step.detail)}</small></span></div>"
        )
    return f"<div class=chart style='height:{len(bars) * _ROW}px'>{''.join(rows)}</div>"


def _moments(story: Timeline) -> str:
    moments = [step for step in story.steps if step.kind not in _KINDS]
    if not moments:
        return ""
    return f"<h2>What it decided and thought</h2><ol class=moments>{''.join(map(_moment, moments))}</ol>"


def _moment(step: Step) -> str:
    text = escape(step.label)
    shown = text if len(text) < 300 else f"<details><summary>{text[:200]} …</summary>{text}</details>"
    return f"<li><time>{step.start:.2f} s</time><b>{escape(step.kind)}</b><div>{shown}</div></li>"


def _passages(story: Timeline) -> str:
    if not story.fates:
        return ""
    numbers = {verdict: sum(fate.verdict == verdict for fate in story.fates) for verdict in ("cited", "shown", "dropped")}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in numbers.items() if count)
    head = "<tr><th></th><th>passage</th><th>found by</th><th>why</th></tr>"
    table = f"<table>{head}{''.join(map(_fate, story.fates))}</table>"
    return f"<h2>What it found</h2><p class=note>{counts}</p><div class=scroll>{table}</div>"


def _fate(fate: Fate) -> str:
    return (
        f"<tr class={fate.verdict}><td>{fate.verdict}</td><td>{escape(fate.name or fate.id)}</td>"
        f"<td>{escape(fate.query)} <small>#{fate.place}</small></td><td>{escape(fate.why)}</td></tr>"
    )
