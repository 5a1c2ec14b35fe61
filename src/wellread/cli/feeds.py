"""Progress display of long work (what, how many, how fast, how long still), and the inputs on a command line as the feed of an
index or data set. One line on a terminal, else a line now and then, on stderr."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.cli import options
from wellread.cli.terminal import note
from wellread.core.private_files import at_home
from wellread.errors import UsageError
from wellread.index.progress import Gauge, Standing

if TYPE_CHECKING:
    from wellread import parts
    from wellread.cluster.building import Order
    from wellread.index.feed import Feed
    from wellread.index.inputs import InputOptions
    from wellread.protocols import Embedder, Parts

_TERMINAL_EVERY, _PIPE_EVERY, _PIPE_FIRST = 0.2, 10.0, 5.0  # seconds
_ALWAYS = ("files", "passages", "vectors")  # these are told together, whichever moves
_WIDE = 79


@contextmanager
def ticking(
    silent: bool = False,
    unreadable: Sequence[str] | None = None,
    *,
    go_on: str = "",
    verbose: bool = False,
    report: Path | None = None,
) -> Generator[Ticker, None, None]:
    """Progress while something long is done; then what could not be read, also where the work came to nothing.

    In short, by kind and reason, unless all of it is asked for or goes to a file.
    """
    ticker = Ticker(silent)
    try:
        yield ticker
    except (asyncio.CancelledError, KeyboardInterrupt):
        ticker.end()
        if go_on:
            note(go_on)
        raise
    finally:
        ticker.end()
        unreadable = unreadable or ()
        for line in unreadable if verbose else by_reason(unreadable):
            note(f"not read: {line}")
        if report is not None:
            report.write_text("".join(f"{line}\n" for line in unreadable), encoding="utf-8")


def by_reason(unreadable: Sequence[str]) -> list[str]:
    """`209 .png files: no text we can read`, most first; what is alone in its reason is named."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for line in unreadable:
        name, _, reason = line.partition(": ")
        grouped.setdefault((PurePosixPath(name).suffix.lower(), reason), []).append(line)
    ordered = sorted(grouped.items(), key=lambda item: -len(item[1]))
    return [
        lines[0] if len(lines) == 1 else f"{len(lines):,} {suffix + ' ' if suffix else ''}files: {reason}"
        for (suffix, reason), lines in ordered
    ]


class Ticker:
    """Call it with (step, done, total); `total` may be unknown."""

    def __init__(self, silent: bool = False) -> None:
        self._silent = silent
        self._gauge = Gauge()
        self._shown = float("-inf")
        self._begun = time.monotonic()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        self._gauge(step, done, total)
        now, live = time.monotonic(), sys.stderr.isatty()
        if self._silent or now - self._shown < (_TERMINAL_EVERY if live else _PIPE_EVERY):
            return
        if not live and now - self._begun < _PIPE_FIRST:
            return  # what is done in a moment needs no lines in a log
        self._shown = now
        line = shown(self._gauge.standing())
        sys.stderr.write(f"\r{line}\x1b[K" if live else line + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if not self._silent and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def shown(standing: Standing) -> str:
    """One line of at most 79 characters: files, passages, vectors; how fast, how long still."""
    parts = [f"{name} {_count(*standing.counts[name])}" for name in (*_ALWAYS, standing.step) if name in standing.counts]
    if standing.rate:
        parts.append(f"{standing.rate:,.0f}/s" if standing.rate >= 10 else f"{standing.rate:.1f}/s")
    if standing.left is not None:
        parts.append(f"{_span(standing.left)} left")
    if standing.slowed:
        parts.append("slowed by other work")
    parts = list(dict.fromkeys(parts))
    while len(line := " · ".join(parts)) > _WIDE and len(parts) > 1:
        parts.pop(0)
    return line


def _count(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None or (total == done and total == 0) else f"{done:,} of {total:,}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


_FORMS = "Data set folder, .parquet, .jsonl[.gz], .zim, .urls, folder or file of text/Markdown/HTML/PDF, URL, hf:NAME."
_NAMES = "What a column is called: text=body, title=headline, id=key. May be repeated."
_RAY = "On the Ray cluster there (none or auto: RAY_ADDRESS, or this machine's); paths that all nodes see."
Inputs = Annotated[list[str], typer.Argument(metavar="INPUT", help=_FORMS)]
EMBEDDER = options.flag("--embedder", "SPEC", "onnx:PATH|HUB_ID or openai:MODEL@URL; MiniLM unless given.")
TOKENS = options.flag("--tokens", "N", "Longest passage in tokens; 0 keeps texts whole.", 250, min=0)
OVERLAP = options.flag("--overlap", "N", "Tokens repeated in the next passage.", 0, min=0)
COLUMNS = options.flag("--column", "NAME=COLUMN", _NAMES)
CONFIG = options.flag("--config", "NAME", "Part of a hub data set, as en.")
FOLLOW_LINKS = options.flag("--follow-links", "", "Also read what links in a folder lead to outside of it.", False)
VERBOSE = options.flag("--verbose -v", "", "Name every file that was not read.", False)
REPORT = options.flag("--report", "FILE", "Write what was not read to a file.")
ON_RAY = options.flag("--ray", "[ADDRESS]", _RAY)


def apart(inputs: list[str], output: Path) -> None:
    """Refuses an output folder within the inputs: it would find itself among the documents."""
    target = at_home(output).resolve()
    for text in inputs:
        folder = at_home(text)
        if folder.is_dir() and target.is_relative_to(folder.resolve()):
            raise UsageError(f"{output} is in {text} and would be read as a document: choose a folder outside")


def embedder_anywhere(spec: str | None) -> Embedder:
    """The embedder by the settings of whichever machine this runs on."""
    from wellread.parts import Parts

    return Parts(options.load()).embedder(spec)


def reading(
    tokens: int, overlap: int, names: list[str] | None, config: str | None, *, follow_links: bool = False
) -> InputOptions:
    """How inputs are read, as the command line says it; what cannot be is noted."""
    from wellread.index.inputs import Columns, InputOptions
    from wellread.parameters import fill
    from wellread.text.split import Splitting

    columns = fill(Columns, options.parameters(names, "--column"), "--column")
    try:
        splitting = Splitting(tokens, overlap)
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    return InputOptions(splitting, columns, config=config, unreadable=[], follow_links=follow_links)


def order(inputs: list[str], spec: str | None, shards: int, how: InputOptions, words: bool = True) -> Order:
    """A build order for a cluster."""
    from wellread.cluster.building import Order

    maker = embedder_anywhere(spec)
    resolved = tuple(str(at_home(text).resolve()) for text in inputs)
    gpus = 1.0 if spec and "device=cuda" in spec else 0.0
    return Order(resolved, how, shards, maker.name, maker.dimensions, partial(embedder_anywhere, spec), words, gpus)


def kit_of_settings() -> aclosing[parts.Parts]:
    """The parts that settings name, closed at the end."""
    from wellread.parts import Parts

    return aclosing(Parts(options.load()))


@contextmanager
def working(
    silent: bool, unreadable: Sequence[str] | None = None, go_on: str = "", verbose: bool = False, report: Path | None = None
) -> Generator[tuple[Parts, Ticker, asyncio.Runner]]:
    """The parts that settings name, progress (see `ticking`), and the loop that both are for."""
    from wellread.parts import Parts

    with asyncio.Runner() as loop, ticking(silent, unreadable, go_on=go_on, verbose=verbose, report=report) as ticker:
        kit = Parts(options.load())
        try:
            yield kit, ticker, loop
        finally:
            loop.run(kit.aclose())


def feed(inputs: list[str], kit: Parts, embedder: str | None, how: InputOptions, *, embed: bool = False) -> Feed:
    """An embedded data set as it is; anything else read, split and embedded.

    `embed`: the vectors of another embedder than the one named are left, and made anew from the texts.
    """
    from wellread.index.dataset import DatasetFeed, HubFeed, is_dataset, is_embedded_hub, made_with
    from wellread.index.feed import EmbeddingFeed
    from wellread.index.following import Following
    from wellread.index.inputs import is_list, origin

    named = kit.embedder(embedder).name if embedder else None  # whole: `onnx` alone says which one only today
    embedded = [text for text in inputs if is_dataset(Path(text))]
    if embedded and len(inputs) > 1:
        raise UsageError("an embedded data set must be the only input; add others afterwards with: wellread index add")
    if embedded and not (embed and embedder and made_with(Path(inputs[0])) != named):
        return DatasetFeed(Path(inputs[0]), named)
    if len(inputs) == 1 and inputs[0].startswith("hf:") and not embed and is_embedded_hub(inputs[0][3:], how.config):
        return HubFeed(inputs[0][3:], how.config, named)
    for text in inputs:
        if not text.startswith(("http://", "https://", "hf:")) and not at_home(text).exists():
            raise UsageError(f"{text} does not exist")
    if any(text.startswith(("http", "hf:")) or is_list(Path(text)) for text in inputs):
        how = replace(how, pages=kit.pages())
    maker: Embedder = kit.embedder(embedder)
    return EmbeddingFeed(Following(inputs, how), maker, origin(inputs, how))
