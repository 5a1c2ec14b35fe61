"""HTML report of an evaluation, for a colleague: numbers, plots, and the questions that went wrong."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from wellread.core.unicode_safety import encodable
from wellread.errors import UsageError, optional, os_errors
from wellread.evals.data import Question
from wellread.evals.results import Result, against_first
from wellread.evals.runs import Cell
from wellread.version import __version__

# What is measured: its name, its title here, its heading on a terminal, and whether it is plotted or stands on a card.
MEASURES = (
    ("recall@1", "recall@1", "", "plot"),
    ("recall@2", "recall@2", "", ""),
    ("recall@5", "recall@5", "recall@5", "plot card"),
    ("recall@20", "recall@20", "", "plot"),
    ("mrr", "MRR", "mrr", "plot"),
    ("ndcg@10", "nDCG@10", "", ""),
    ("em", "exact match", "em", ""),
    ("f1", "F1", "f1", "plot card"),
    ("answer_in_text", "answer in text", "in text", "plot card"),
    ("right_when_answered", "right when it answers", "", ""),
    ("unsure", "unsure", "unsure", "plot card"),
    ("partial", "partial", "partial", ""),
    ("calibration_error", "calibration error", "", ""),
    ("sentences_supported", "sentences supported", "supported", "plot card"),
    ("citation_precision", "citation precision", "cit. prec.", ""),
    ("citation_recall", "citation recall", "", ""),
    ("quotes_verified", "quotes verified", "", ""),
    ("judged", "judged*", "judged*", ""),
    ("tokens", "tokens", "", ""),
    ("cost", "dollars", "", ""),
    ("searches", "searches", "", ""),
    ("seconds_p50", "seconds, p50", "s p50", "card"),
    ("seconds_p95", "seconds, p95", "s p95", ""),
)
_WRONG = 40  # questions listed


INK, QUIET, GRID = "#1f2430", "#667085", "#e4e7ec"
COLOURS = ("#2457a6", "#d9772b", "#3f8f5b", "#8a4fa3", "#b23a48", "#5b6b7d")


def _axes(width: float, height: float) -> tuple[Any, Any]:
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


def _scores_plot(names: Sequence[str], tables: Sequence[Mapping[str, Any]], keys: Sequence[tuple[str, str]]) -> str:
    """Bars for each score, a colour for each run, whiskers for the intervals."""
    shown = [(key, title) for key, title in keys if any(table.get(key) is not None for table in tables)]
    figure, axes = _axes(8.6, 0.9 + max(0.42, 0.24 * len(tables)) * len(shown))
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


def _seconds_plot(names: Sequence[str], results: Sequence[Sequence[Result]]) -> str:
    """The share of questions that were done after so many seconds."""
    figure, axes = _axes(4.2, 2.9)
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


def _sureness_plot(names: Sequence[str], results: Sequence[Sequence[Result]], bins: int = 6) -> str:
    """How often answers are right, by how sure the run was; on the line it can be believed. Empty without confidences."""
    figure, axes = _axes(4.2, 2.9)
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


def write(
    folder: Path, tables: Sequence[Mapping[str, Any]], results: Sequence[Sequence[Result]], questions: Sequence[Question]
) -> None:
    """`report.html` and `results.json`."""
    tables = encodable(list(tables))  # what was given on a command line may be of another encoding
    rows = [{**table, "results": [asdict(result) for result in found]} for table, found in zip(tables, results, strict=True)]
    page = _page(tables, results, questions)
    with os_errors(UsageError, f"{folder}: the report cannot be written"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
        (folder / "report.html").write_text(page, encoding="utf-8")


def _page(tables: Sequence[Mapping[str, Any]], results: Sequence[Sequence[Result]], questions: Sequence[Question]) -> str:
    names = [Cell(table["strategy"], table["params"]).name for table in tables]
    first = tables[0]
    asked = f"{first['questions']:,} questions · effort {first['effort']} · {first['model'] or 'no language model'}"
    shown = _scores_plot(names, tables, [(key, title) for key, title, _, where in MEASURES if "plot" in where])
    sections = [
        f"<h1>{_text(first['data'])}</h1><p class=sub>{_text(asked)} · wellread {__version__} · {date.today().isoformat()}</p>",
        _cards(first) if len(tables) == 1 else "",
        "<h2>Scores</h2>" + _figure(shown, "Lines are 95 % intervals (bootstrap over questions)."),
        _table(names, tables),
        _comparison(names, results),
        _kinds(names, tables),
        "<h2>Time and confidence</h2><div class=pair>",
        _figure(_seconds_plot(names, results), "Time for each question."),
        _figure(_sureness_plot(names, results), "On the grey line, confidence can be believed."),
        "</div>",
        _wrong(results[0], questions, names[0]),
    ]
    title = f"wellread: {first['data']}"
    style = (files("wellread") / "evals" / "report.css").read_text(encoding="utf-8")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{_text(title)}</title><style>{style}</style><main>{''.join(sections)}</main></html>"
    )


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>" if svg else ""


def _cards(table: Mapping[str, Any]) -> str:
    cards = [
        f"<div class=card><b>{_number(key, table[key])}</b><span>{title}</span></div>"
        for key, title, _, where in MEASURES
        if "card" in where and table.get(key) is not None
    ]
    return f"<div class=cards>{''.join(cards)}</div>"


def _table(names: Sequence[str], tables: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th class=n>{_text(one)}</th>" for one in names)
    rows: list[str] = []
    for key, title, _, _ in MEASURES:
        if all(table.get(key) is None for table in tables):
            continue
        cells = "".join(f"<td class=n>{_number(key, table.get(key))}{_interval(table, key)}</td>" for table in tables)
        rows.append(f"<tr><td>{title}</td>{cells}</tr>")
    opinion = f"* the opinion of a language model ({_text(tables[0]['judge'])}), not a measurement"
    judged = any(table.get("judged") is not None for table in tables)
    note = f"<p class=note>{opinion}</p>" if judged else ""
    return _section("All numbers", f"<th></th>{head}", rows) + note


def _comparison(names: Sequence[str], results: Sequence[Sequence[Result]]) -> str:
    rows: list[str] = []
    for one, score, found in against_first(names, results):
        way = "" if found.p >= 0.05 else "up" if found.difference > 0 else "down"
        cells = (f"{found.low:+.3f} to {found.high:+.3f}", f"{found.p:.3f}")
        numbers = "".join(f"<td class=n>{cell}</td>" for cell in cells)
        rows.append(f"<tr><td>{_text(one)}</td><td>{score}</td><td class='n {way}'>{found.difference:+.3f}</td>{numbers}</tr>")
    if not rows:
        return ""
    titles = "".join(f"<th class=n>{title}</th>" for title in ("difference", "95 %", "p"))
    how = "Paired over questions: sign flips for p, bootstrap for the interval. Coloured where p is below 0.05."
    head = f"<th>against {_text(names[0])}</th><th>score</th>{titles}"
    return _section("Is the difference real?", head, rows) + f"<p class=note>{how}</p>"


def _kinds(names: Sequence[str], tables: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f"<tr><td>{_text(one)}</td><td>{_text(kind)}</td>"
        + "".join(f"<td class=n>{_number(key, found.get(key))}</td>" for key in ("recall@5", "f1", "answer_in_text", "unsure"))
        for one, table in zip(names, tables, strict=True)
        for kind, found in table["kinds"].items()
    ]
    if len(rows) < 2:
        return ""
    titles = "".join(f"<th class=n>{title}</th>" for title in ("recall@5", "F1", "answer in text", "unsure"))
    return _section("By kind of question", f"<th></th><th>kind of question</th>{titles}", rows)


def _section(title: str, head: str, rows: Sequence[str]) -> str:
    return f"<h2>{title}</h2><div class=scroll><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _wrong(results: Sequence[Result], questions: Sequence[Question], run: str) -> str:
    asked = {question.id: question for question in questions}
    wrong = [result for result in results if result.scores.get("answer_in_text", 1.0) < 1 and result.id in asked]
    if not wrong:
        return ""
    items = "".join(_item(result, asked[result.id]) for result in wrong[:_WRONG])
    more = f"<p class=note>and {len(wrong) - _WRONG} more, in results.json</p>" if len(wrong) > _WRONG else ""
    return f"<h2>What {_text(run)} got wrong ({len(wrong)})</h2>{items}{more}"


def _item(result: Result, question: Question) -> str:
    accepted = " / ".join(question.answers) or "cannot be answered"
    given = result.answer or f"({result.outcome})"
    found = f"gold passages found: {result.scores['recall@20']:.0%}" if "recall@20" in result.scores else ""
    return (
        f"<details><summary>{_text(question.text)} <span>{_text(result.outcome)}</span></summary>"
        f"<p>{_text(given)}</p><p class=note>right: {_text(accepted)}{' · ' + found if found else ''}</p></details>"
    )


def _number(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    if key == "tokens":
        return f"{value:,.0f}"
    return f"{value:.{4 if key == 'cost' else 2 if key.startswith('seconds') else 3}f}"


def _interval(table: Mapping[str, Any], key: str) -> str:
    found = table["intervals"].get(key)
    return f"<small>{found[0]:.3f} – {found[1]:.3f}</small>" if found else ""


def _text(value: object) -> str:
    return html.escape(str(value))
