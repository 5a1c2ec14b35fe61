"""`wellread eval`: how good the answers are, measured."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wellread.cli import completion, options
from wellread.cli.feeds import ticking
from wellread.cli.terminal import note, say, say_json
from wellread.core.private_files import cache_folder
from wellread.errors import UsageError
from wellread.parameters import public

if TYPE_CHECKING:
    from wellread.evals.data import Question
    from wellread.evals.results import Result
    from wellread.evals.runs import Cell, Plan


def evaluate(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="Folder with corpus and questions, or a HotpotQA or SQuAD file; else the library's."),
    ] = None,
    strategy: list[str] | None = options.flag(
        "--strategy -s", "NAME", "A strategy. May be repeated.", autocompletion=completion.strategies
    ),
    param: list[str] | None = options.flag("--param -p", "NAME=VALUE", "name=value; the same name twice tries both values."),
    retrieval: bool = options.flag("--retrieval", "", "Measure the search alone.", False),
    index: Path | None = options.flag("--index", "DIR", "Where the corpus is indexed: built once, then reused."),
    source: list[str] | None = options.SOURCES,
    model: str | None = options.MODEL,
    effort: str | None = options.EFFORT,
    hops: int | None = options.HOPS,
    limit: int | None = options.flag("--limit", "N", "Only the first questions.", min=1),
    parallel: int = options.flag("--parallel", "N", "Questions at once.", 4, min=1, max=64),
    judge: str | None = options.flag("--judge", "SPEC", "A language model that judges answers; an opinion."),
    runs: Path | None = options.flag("--runs", "DIR", "Where results and recordings are kept."),
    resume: bool = options.flag("--resume", "", "Keep the results of an earlier, finished run.", False),
    report: Path | None = options.flag("--report", "DIR", "Write report.html and results.json there."),
    as_json: options.AsJson = False,
) -> None:
    """Measure retrieval, answers, citations and cost over questions with known answers.

    With no data it runs the questions that come with the library. An interrupted run goes on with the same command.

    wellread eval --effort low
    wellread eval squad/ --retrieval --index squad-index
    wellread eval hotpot.json -s quote -s iterative --limit 100 --report out
    """
    from wellread.evals.runs import Plan

    settings = options.load(sources=source, model=model, effort=effort, hops=hops)
    plan = Plan(runs or (report / "runs" if report else cache_folder("evals") / "runs"), parallel, resume)
    chosen = ["retrieval"] if retrieval else list(dict.fromkeys(strategy or []))
    tables, results, questions = asyncio.run(_measure(data, limit, chosen, param or [], settings, index, plan, judge))
    if report is not None:
        from wellread.evals.report import write

        write(report, tables, results, questions)
        note(f"{report / 'report.html'}")
    every = [result for found in results for result in found]
    failed = [result for result in every if result.outcome == "failed"]
    if failed:  # it must not pass for a wrong answer unseen
        note(f"wellread: {len(failed)} of {len(every)} runs failed; the first one: {failed[0].reason}")
    if as_json:
        say_json(tables[0] if len(tables) == 1 else tables)
    else:
        _print(tables, results)
    raise typer.Exit(1 if len(failed) == len(every) else 0)


async def _measure(
    path: Path | None,
    limit: int | None,
    strategies: list[str],
    params: list[str],
    settings: options.Settings,
    index: Path | None,
    plan: Plan,
    judge: str | None,
) -> tuple[list[dict[str, Any]], list[list[Result]], Sequence[Question]]:

    from wellread.engine import Engine
    from wellread.evals.data import load
    from wellread.evals.results import summary
    from wellread.evals.runs import ModelJudge, index_of, run_cell
    from wellread.parts import Parts

    data = load(path, limit)
    if not settings.sources:
        with ticking() as ticker:
            settings = replace(settings, sources=(await index_of(data, index, settings, ticker),))
    kit = Parts(settings)
    opinion = ModelJudge(kit.model(judge)) if judge else None
    tables: list[dict[str, Any]] = []
    results: list[list[Result]] = []
    for cell in _grid(strategies or [Engine(settings, kit=kit).strategy()], params):
        with ticking() as ticker:
            results.append(await run_cell(data, cell, settings, plan, ticker, opinion))
        head = {"data": data.name, "strategy": cell.strategy, "params": dict(cell.params), "effort": settings.effort}
        asked = {"model": public(kit.model_spec() or "") or None, "judge": public(judge or "") or None}
        tables.append({**head, **asked, **summary(results[-1])})
    await kit.aclose()
    return tables, results, data.questions


def _grid(strategies: list[str], params: list[str]) -> list[Cell]:
    """Every strategy with every combination of the values of the parameters it has."""
    from wellread import plugins
    from wellread.evals.runs import Cell

    values: dict[str, list[object]] = {}
    for pair in params:
        for name, value in options.parameters([pair]).items():
            values.setdefault(name, []).append(value)
    known = {one: [] if one == "retrieval" else plugins.known_to(one, values) for one in strategies}
    if unknown := [name for name in values if not any(name in names for names in known.values())]:
        raise UsageError(f"none of {', '.join(strategies)} has a parameter {unknown[0]!r}")
    cells: list[Cell] = []
    for strategy, names in known.items():
        for combination in itertools.product(*(values[name] for name in names)):
            cells.append(Cell(strategy, dict(zip(names, combination, strict=True))))
    for cell in cells:
        if cell.strategy != "retrieval":  # wrong values are found before the first run
            plugins.recipe(cell.strategy, cell.params)
    return cells


def _print(tables: list[dict[str, Any]], results: list[list[Result]]) -> None:
    from wellread.evals.report import MEASURES
    from wellread.evals.results import against_first
    from wellread.evals.runs import Cell

    columns = [(key, title) for key, _, title, _ in MEASURES if title and any(table.get(key) is not None for table in tables)]
    names = [Cell(table["strategy"], table["params"]).name for table in tables]
    width = max(map(len, [*names, "strategy"]))
    say(f"{tables[0]['data']}: {tables[0]['questions']} questions, effort {tables[0]['effort']}\n")
    for number, part in enumerate(_parts(columns, width)):
        if number:
            say("")
        say("  ".join([f"{'strategy':{width}}", *(f"{title:>{_width(title)}}" for _, title in part)]))
        for row, table in zip(names, tables, strict=True):
            cells = [f"{'' if table.get(key) is None else f'{table[key]:.3f}':>{_width(title)}}" for key, title in part]
            say("  ".join([f"{row:{width}}", *cells]))
    if len(kinds := tables[0]["kinds"]) > 1:
        say("")
        for kind, scores in kinds.items():
            say(f"  {kind}: " + ", ".join(f"{name} {value:.3f}" for name, value in scores.items()))
    for number, (name, score, found) in enumerate(one for one in against_first(names, results) if one[2].difference):
        sure = "more than chance" if found.p < 0.05 else "may be chance"
        span = f"{found.low:+.3f} to {found.high:+.3f}"
        before = "" if number else "\n"
        say(f"{before}{name} against {names[0]}: {score} {found.difference:+.3f} ({span}, p = {found.p:.3f}: {sure})")
    if any(table.get("judged") is not None for table in tables):
        say(f"\n* the opinion of a language model ({tables[0]['judge']}), not a measurement")


def _parts(columns: list[tuple[str, str]], first: int) -> list[list[tuple[str, str]]]:
    """The columns in as many tables as the terminal's width asks for; one where there is no terminal."""
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    parts: list[list[tuple[str, str]]] = []
    used = room
    for column in columns:
        needed = 2 + _width(column[1])
        if used + needed > room:
            parts.append([])
            used = first
        parts[-1].append(column)
        used += needed
    return parts


def _width(title: str) -> int:
    return max(6, len(title))
