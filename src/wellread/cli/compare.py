"""`wellread compare`: every recipe on one question, side by side."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from wellread.answer_json import AnswerJson
from wellread.cli import completion, options
from wellread.cli.ask import status
from wellread.cli.terminal import clean, note, say_json
from wellread.errors import UsageError
from wellread.events import answer_json
from wellread.present.sections import sections
from wellread.types import Answer

if TYPE_CHECKING:
    from rich.text import Text

FIGURES = ("cited", "supported", "searches", "tokens", "seconds")


@options.answering(without=["strategy"])
def compare(
    question: options.Question,
    strategy: list[str] | None = options.flag(
        "--strategy -s",
        "NAME",
        "A strategy to compare; may be repeated. All that can run unless given.",
        show_default=False,
        autocompletion=completion.strategies,
    ),
    *,
    chosen: options.Chosen,
    as_json: options.AsJson = False,
) -> None:
    """Answer one question with several strategies, one after the other, and show the results in one table.

    A --param goes to every strategy that has it. Limits hold for each run.

    wellread compare "Who discovered Titan?"
    wellread compare "Who discovered Titan?" -s quote -s iterative --json
    """
    answers = asyncio.run(_compare(options.asked(question), chosen.settings, strategy, chosen.params))
    if as_json:
        say_json({"question": answers[0].question, "runs": [answer_json(a) for a in answers]})
    else:
        _print(clean(answers))
    found = {status(answer) for answer in answers}
    raise typer.Exit(next(best for best in (0, 3, 1) if best in found))  # an answer, else no answer found, else a failure


async def _compare(
    question: str, settings: options.Settings, wanted: list[str] | None, params: Mapping[str, object]
) -> list[Answer]:
    from wellread import plugins
    from wellread.engine import Engine

    answers: list[Answer] = []
    settings = replace(settings, cache=False)  # nobody's time is told by what another has fetched or loaded before
    async with Engine(settings) as engine:
        chosen = list(dict.fromkeys(wanted)) if wanted else _able(engine.kit.model_spec() is not None)
        given = {name: {one: params[one] for one in plugins.known_to(name, params)} for name in chosen}
        for name in params:
            if not any(name in known for known in given.values()):
                raise UsageError(f"none of {', '.join(chosen)} has a parameter {name!r}")
        for name in chosen:
            await engine.check(name, given[name])
    for name in chosen:
        note(f"{name} …")
        async with Engine(settings) as engine:
            answers.append(await engine.ask(question, strategy=name, params=given[name]))
    return answers


def _able(model: bool) -> list[str]:
    """The strategies that can run here; without a model, those that need none."""
    from wellread import plugins

    names = [
        name
        for name in plugins.names("strategies")
        if model or not getattr(plugins.load("strategies", name), "needs_model", True)
    ]
    if not model:
        note("there is no language model: only strategies without one are compared")
    return names


def _print(answers: list[Answer]) -> None:
    """One table; on a narrow terminal the figures stand under the strategy's name, so that the answers have room."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=shutil.get_terminal_size((140, 24)).columns)
    narrow = console.width < 110
    table = Table(show_lines=True)
    table.add_column("strategy", no_wrap=True)
    table.add_column("answer", overflow="fold", ratio=1)
    for heading in () if narrow else FIGURES:
        table.add_column(heading, justify="right")
    for answer in answers:
        figures = _figures(answer)
        if narrow:
            under = "\n".join(f"{heading} {value}" for heading, value in zip(FIGURES, figures, strict=True))
            table.add_row(f"{answer.strategy}\n[dim]{under}[/]", _words(answer))
        else:
            table.add_row(answer.strategy, _words(answer), *figures)
    console.print(table)


def _words(answer: Answer) -> Text:
    """Words of others: no markup, and no names of pictures between colons, is looked for in them."""
    from rich.text import Text

    words = "\n".join(filter(None, (answer.short, sections(AnswerJson.of(answer)).marked())))
    if answer.outcome != "answered":
        words = "\n".join(filter(None, (words, f"{answer.outcome}: {answer.reason or 'missing: ' + '; '.join(answer.missing)}")))
    return Text(words)


def _figures(answer: Answer) -> list[str]:
    sentences = answer.sentences
    tokens = answer.usage.input_tokens + answer.usage.output_tokens
    return [
        str(len({citation.number for citation in answer.citations})),
        f"{sum(sentence.supported for sentence in sentences)}/{len(sentences)}",
        str(answer.usage.searches),
        f"{tokens:,}",
        f"{answer.seconds:.1f}",
    ]
