"""Plots for the report, as SVG that stands in the page itself."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from wellread.errors import optional
from wellread.evals.results import Result

INK, QUIET, GRID = "#1f2430", "#667085", "#e4e7ec"
COLOURS = ("#2457a6", "#d9772b", "#3f8f5b", "#8a4fa3", "#b23a48", "#5b6b7d")


def _figure(width: float, height: float) -> tuple[Any, Any]:
    with optional("a report", "report"):
        import matplotlib as mpl
    mpl.use("svg")
    mpl.rcParams.update(
        {
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10,
            "svg.hashsalt": "wellread",
            "text.parse_math": False,
        }
    )
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GRID)
    axes.tick_params(colors=QUIET, length=0)
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def scores(names: Sequence[str], tables: Sequence[Mapping[str, Any]], keys: Sequence[tuple[str, str]]) -> str:
    """Bars for each score, a colour for each run, whiskers for the intervals."""
    shown = [(key, title) for key, title in keys if any(table.get(key) is not None for table in tables)]
    figure, axes = _figure(8.6, 0.9 + max(0.42, 0.24 * len(tables)) * len(shown))
    step = 0.8 / len(tables)
    for number, (name, table) in enumerate(zip(names, tables, strict=True)):
        for place, (key, _) in enumerate(shown):
            if table.get(key) is None:
                continue
            y = place + (number - (len(tables) - 1) / 2) * step
            low, high = table["intervals"].get(key, (table[key], table[key]))
            colour = COLOURS[number % len(COLOURS)]
            axes.barh(y, table[key], step * 0.86, color=colour, alpha=0.9, label=name if place == 0 else None)
            axes.plot([low, high], [y, y], color=INK, linewidth=1.1, solid_capstyle="butt")
            axes.text(min(high, 1.0) + 0.012, y, f"{table[key]:.2f}", va="center", color=INK, fontsize=9)
    axes.set_yticks(range(len(shown)), [title for _, title in shown], color=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    if len(tables) > 1:
        figure.legend(loc="outside upper left", ncols=min(3, len(tables)), frameon=False, labelcolor=INK)
    return _svg(figure)


def seconds(names: Sequence[str], results: Sequence[Sequence[Result]]) -> str:
    """The share of questions that were done after so many seconds."""
    figure, axes = _figure(4.2, 2.9)
    for number, (name, rows) in enumerate(zip(names, results, strict=True)):
        times = sorted(row.scores["seconds"] for row in rows if "seconds" in row.scores)
        if times:
            shares = [(place + 1) / len(times) for place in range(len(times))]
            colour = COLOURS[number % len(COLOURS)]
            axes.step([times[0], *times], [0, *shares], where="post", color=colour, linewidth=1.8, label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_xlabel("seconds", color=QUIET)
    axes.set_ylabel("share of questions done", color=QUIET)
    axes.set_ylim(0, 1.02)
    axes.grid(color=GRID, linewidth=0.8)
    return _svg(figure)


def sureness(names: Sequence[str], results: Sequence[Sequence[Result]], bins: int = 6) -> str:
    """How often answers are right, by how sure the run was; on the line it can be believed. Empty without confidences."""
    figure, axes = _figure(4.2, 2.9)
    axes.plot([0, 1], [0, 1], color=GRID, linewidth=1.4)
    drawn = False
    for number, rows in enumerate(results):
        sure = sorted((row.confidence, row.scores["answer_in_text"]) for row in rows if row.confidence is not None and row.answer)
        if len(sure) < bins:
            continue
        size = len(sure) / bins
        groups = [sure[round(place * size) : round((place + 1) * size)] for place in range(bins)]
        x = [sum(c for c, _ in group) / len(group) for group in groups]
        y = [sum(right for _, right in group) / len(group) for group in groups]
        axes.plot(x, y, "o-", color=COLOURS[number % len(COLOURS)], markersize=5, linewidth=1.6, label=names[number])
        drawn = True
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("how sure it was", color=QUIET)
    axes.set_ylabel("how often it was right", color=QUIET)
    axes.grid(color=GRID, linewidth=0.8)
    return _svg(figure) if drawn else ""
