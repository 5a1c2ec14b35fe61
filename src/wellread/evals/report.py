"""One page on what was measured, for a colleague: numbers, plots, and the questions that went wrong."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from wellread.errors import UsageError
from wellread.evals import plots
from wellread.evals.compare import COMPARED, paired
from wellread.evals.data import Question
from wellread.evals.results import Result
from wellread.version import __version__

SCORES = (
    ("recall@1", "recall@1"),
    ("recall@2", "recall@2"),
    ("recall@5", "recall@5"),
    ("recall@20", "recall@20"),
    ("mrr", "MRR"),
    ("ndcg@10", "nDCG@10"),
    ("em", "exact match"),
    ("f1", "F1"),
    ("answer_in_text", "answer in text"),
    ("right_when_answered", "right when it answers"),
    ("unsure", "unsure"),
    ("calibration_error", "calibration error"),
    ("sentences_supported", "sentences supported"),
    ("citation_precision", "citation precision"),
    ("citation_recall", "citation recall"),
    ("quotes_verified", "quotes verified"),
    ("judged", "judged*"),
)
COSTS = (
    ("tokens", "tokens"),
    ("cost", "dollars"),
    ("searches", "searches"),
    ("seconds_p50", "seconds, p50"),
    ("seconds_p95", "seconds, p95"),
)
_SHOWN = (
    "recall@1",
    "recall@5",
    "recall@20",
    "mrr",
    "f1",
    "answer_in_text",
    "unsure",
    "sentences_supported",
    "citation_precision",
)
_WRONG = 40  # questions listed
_STYLE = """
:root { color-scheme: light; --ink: #1f2430; --quiet: #667085; --line: #e4e7ec; --soft: #f7f8fa; --good: #2f7d4f; --bad: #b23a48 }
* { box-sizing: border-box } body { margin: 0; background: #fff; color: var(--ink); font: 15px/1.55 system-ui, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 40px 24px 80px } h1 { font-size: 28px; margin: 0 } h2 { font-size: 18px; margin: 44px 0 10px }
.sub { color: var(--quiet); margin: 4px 0 28px } .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px }
.card { background: var(--soft); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px } .card b { display: block; font-size: 26px; line-height: 1.2 }
.card span { color: var(--quiet); font-size: 13px } .scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: 14px }
th, td { text-align: left; padding: 7px 10px; border-bottom: 1px solid var(--line); vertical-align: top } th { color: var(--quiet); font-weight: 500 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } td small { color: var(--quiet); display: block }
svg { max-width: 100%; height: auto } .pair { display: flex; flex-wrap: wrap; gap: 24px } .pair figure { flex: 1 1 380px; margin: 0 }
figure { margin: 0 } figcaption, .note { color: var(--quiet); font-size: 13px } .up { color: var(--good) } .down { color: var(--bad) }
details { border-bottom: 1px solid var(--line); padding: 8px 0 } summary { cursor: pointer } summary span { color: var(--quiet) }
"""


def write(
    folder: Path, tables: Sequence[Mapping[str, Any]], results: Sequence[Sequence[Result]], questions: Sequence[Question]
) -> None:
    """`report.html` and `results.json`."""
    rows = [{**table, "results": [asdict(result) for result in found]} for table, found in zip(tables, results, strict=True)]
    page = _page(tables, results, questions)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
        (folder / "report.html").write_text(page, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{folder}: the report cannot be written: {problem.strerror}") from None


def _page(tables: Sequence[Mapping[str, Any]], results: Sequence[Sequence[Result]], questions: Sequence[Question]) -> str:
    names = [name(table) for table in tables]
    first = tables[0]
    asked = f"{first['questions']:,} questions · effort {first['effort']} · {first['model'] or 'no language model'}"
    calibration = plots.sureness(names, results)
    sections = [
        f"<h1>{_text(first['data'])}</h1><p class=sub>{_text(asked)} · wellread {__version__} · {date.today().isoformat()}</p>",
        _cards(first) if len(tables) == 1 else "",
        f"<h2>Scores</h2><figure>{plots.scores(names, tables, [pair for pair in SCORES if pair[0] in _SHOWN])}"
        "<figcaption>Lines are 95 % intervals (bootstrap over questions).</figcaption></figure>",
        _table(names, tables),
        _comparison(names, results),
        _kinds(names, tables),
        "<h2>Time and confidence</h2><div class=pair>"
        f"<figure>{plots.seconds(names, results)}<figcaption>Time for each question.</figcaption></figure>"
        + (
            f"<figure>{calibration}<figcaption>On the grey line, confidence can be believed.</figcaption></figure>"
            if calibration
            else ""
        )
        + "</div>",
        _wrong(results[0], questions, names[0]),
    ]
    title = f"wellread: {first['data']}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{_text(title)}</title><style>{_STYLE}</style><main>{''.join(sections)}</main></html>"
    )


def name(table: Mapping[str, Any]) -> str:
    """A run by its strategy and parameters."""
    return " ".join([table["strategy"], *(f"{key}={value}" for key, value in table["params"].items())])


def _cards(table: Mapping[str, Any]) -> str:
    chosen = [
        pair
        for pair in (*SCORES, *COSTS)
        if pair[0] in ("recall@5", "f1", "answer_in_text", "unsure", "sentences_supported", "seconds_p50")
    ]
    cards = [
        f"<div class=card><b>{_number(key, table[key])}</b><span>{title}</span></div>"
        for key, title in chosen
        if table.get(key) is not None
    ]
    return f"<div class=cards>{''.join(cards)}</div>"


def _table(names: Sequence[str], tables: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th class=n>{_text(one)}</th>" for one in names)
    rows: list[str] = []
    for key, title in (*SCORES, *COSTS):
        if all(table.get(key) is None for table in tables):
            continue
        cells = "".join(f"<td class=n>{_number(key, table.get(key))}{_interval(table, key)}</td>" for table in tables)
        rows.append(f"<tr><td>{title}</td>{cells}</tr>")
    judged = any(table.get("judged") is not None for table in tables)
    note = (
        f"<p class=note>* the opinion of a language model ({_text(tables[0]['judge'])}), not a measurement</p>" if judged else ""
    )
    return f"<h2>All numbers</h2><div class=scroll><table><tr><th></th>{head}</tr>{''.join(rows)}</table></div>{note}"


def _comparison(names: Sequence[str], results: Sequence[Sequence[Result]]) -> str:
    rows: list[str] = []
    for one, others in zip(names[1:], results[1:], strict=True):
        for score in COMPARED:
            found = paired(results[0], others, score)
            if found is not None:
                way = "" if found.p >= 0.05 else "up" if found.difference > 0 else "down"
                numbers = f"<td class='n {way}'>{found.difference:+.3f}</td><td class=n>{found.low:+.3f} to {found.high:+.3f}</td><td class=n>{found.p:.3f}</td>"
                rows.append(f"<tr><td>{_text(one)}</td><td>{score}</td>{numbers}</tr>")
    if not rows:
        return ""
    head = f"<tr><th>against {_text(names[0])}</th><th>score</th><th class=n>difference</th><th class=n>95 %</th><th class=n>p</th></tr>"
    note = (
        "<p class=note>Paired over questions: sign flips for p, bootstrap for the interval. Coloured where p is below 0.05.</p>"
    )
    return f"<h2>Is the difference real?</h2><div class=scroll><table>{head}{''.join(rows)}</table></div>{note}"


def _kinds(names: Sequence[str], tables: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f"<tr><td>{_text(one)}</td><td>{_text(kind)}</td>"
        + "".join(f"<td class=n>{_number(key, found.get(key))}</td>" for key in ("recall@5", "f1", "answer_in_text", "unsure"))
        for one, table in zip(names, tables, strict=True)
        for kind, found in table["kinds"].items()
    ]
    if len(rows) < 2:
        return ""
    head = "<tr><th></th><th>kind of question</th><th class=n>recall@5</th><th class=n>F1</th><th class=n>answer in text</th><th class=n>unsure</th></tr>"
    return f"<h2>By kind of question</h2><div class=scroll><table>{head}{''.join(rows)}</table></div>"


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
    return (
        f"{value:,.0f}"
        if key == "tokens"
        else f"{value:.4f}"
        if key == "cost"
        else f"{value:.2f}"
        if key.startswith("sec")
        else f"{value:.3f}"
    )


def _interval(table: Mapping[str, Any], key: str) -> str:
    found = table["intervals"].get(key)
    return f"<small>{found[0]:.3f} – {found[1]:.3f}</small>" if found else ""


def _text(value: object) -> str:
    return html.escape(str(value))
