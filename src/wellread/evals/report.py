"""One page on what was measured, for a colleague: numbers, plots, and the questions that went wrong."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from wellread.core.unicode_safety import encodable
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
    ("partial", "partial"),
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
_SHOWN = {"recall@1", "recall@5", "recall@20", "mrr", "f1", "answer_in_text", "unsure", "sentences_supported"}
_CARDS = {"recall@5", "f1", "answer_in_text", "unsure", "sentences_supported", "seconds_p50"}
_WRONG = 40  # questions listed


def write(
    folder: Path, tables: Sequence[Mapping[str, Any]], results: Sequence[Sequence[Result]], questions: Sequence[Question]
) -> None:
    """`report.html` and `results.json`."""
    tables = encodable(list(tables))  # what was given on a command line may be of another encoding
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
    shown = plots.scores(names, tables, [pair for pair in SCORES if pair[0] in _SHOWN])
    sections = [
        f"<h1>{_text(first['data'])}</h1><p class=sub>{_text(asked)} · wellread {__version__} · {date.today().isoformat()}</p>",
        _cards(first) if len(tables) == 1 else "",
        "<h2>Scores</h2>" + _figure(shown, "Lines are 95 % intervals (bootstrap over questions)."),
        _table(names, tables),
        _comparison(names, results),
        _kinds(names, tables),
        "<h2>Time and confidence</h2><div class=pair>",
        _figure(plots.seconds(names, results), "Time for each question."),
        _figure(plots.sureness(names, results), "On the grey line, confidence can be believed."),
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


def name(table: Mapping[str, Any]) -> str:
    """A run by its strategy and parameters."""
    return " ".join([table["strategy"], *(f"{key}={value}" for key, value in table["params"].items())])


def _cards(table: Mapping[str, Any]) -> str:
    chosen = [pair for pair in (*SCORES, *COSTS) if pair[0] in _CARDS]
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
    opinion = f"* the opinion of a language model ({_text(tables[0]['judge'])}), not a measurement"
    judged = any(table.get("judged") is not None for table in tables)
    note = f"<p class=note>{opinion}</p>" if judged else ""
    return f"<h2>All numbers</h2><div class=scroll><table><tr><th></th>{head}</tr>{''.join(rows)}</table></div>{note}"


def _comparison(names: Sequence[str], results: Sequence[Sequence[Result]]) -> str:
    rows: list[str] = []
    for one, others in zip(names[1:], results[1:], strict=True):
        for score in COMPARED:
            found = paired(results[0], others, score)
            if found is not None:
                way = "" if found.p >= 0.05 else "up" if found.difference > 0 else "down"
                cells = (f"{found.low:+.3f} to {found.high:+.3f}", f"{found.p:.3f}")
                numbers = "".join(f"<td class=n>{cell}</td>" for cell in cells)
                change = f"<td class='n {way}'>{found.difference:+.3f}</td>"
                rows.append(f"<tr><td>{_text(one)}</td><td>{score}</td>{change}{numbers}</tr>")
    if not rows:
        return ""
    titles = "".join(f"<th class=n>{title}</th>" for title in ("difference", "95 %", "p"))
    head = f"<tr><th>against {_text(names[0])}</th><th>score</th>{titles}</tr>"
    how = "Paired over questions: sign flips for p, bootstrap for the interval. Coloured where p is below 0.05."
    note = f"<p class=note>{how}</p>"
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
    titles = "".join(f"<th class=n>{title}</th>" for title in ("recall@5", "F1", "answer in text", "unsure"))
    head = f"<tr><th></th><th>kind of question</th>{titles}</tr>"
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
    if key == "tokens":
        return f"{value:,.0f}"
    return f"{value:.{4 if key == 'cost' else 2 if key.startswith('seconds') else 3}f}"


def _interval(table: Mapping[str, Any], key: str) -> str:
    found = table["intervals"].get(key)
    return f"<small>{found[0]:.3f} – {found[1]:.3f}</small>" if found else ""


def _text(value: object) -> str:
    return html.escape(str(value))
