"""From the inputs on a command line to what an index or a data set is filled from."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.cli import options
from wellread.cli.progress import Ticker, ticking
from wellread.core.private_files import at_home
from wellread.errors import UsageError

if TYPE_CHECKING:
    from wellread import parts
    from wellread.cluster.building import Order
    from wellread.index.feed import Feed
    from wellread.index.inputs import InputOptions
    from wellread.protocols import Embedder, Parts

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
    """What is written must not lie in what is read: it would find itself among the documents."""
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
    """What a cluster is to build."""
    from wellread.cluster.building import Order

    maker = embedder_anywhere(spec)
    resolved = tuple(str(at_home(text).resolve()) for text in inputs)
    gpus = 1.0 if spec and "device=cuda" in spec else 0.0
    return Order(resolved, how, shards, maker.name, maker.dimensions, partial(embedder_anywhere, spec), words, gpus)


def kit_of_settings() -> aclosing[parts.Parts]:
    """The parts that settings name, closed at the end."""
    from wellread.parts import Parts

    return aclosing(Parts(options.load()))


@asynccontextmanager
async def working(
    silent: bool, unreadable: Sequence[str] | None = None, go_on: str = "", verbose: bool = False, report: Path | None = None
) -> AsyncGenerator[tuple[Parts, Ticker]]:
    """The parts that settings name, and progress: see `ticking`."""
    with ticking(silent, unreadable, go_on=go_on, verbose=verbose, report=report) as ticker:
        async with kit_of_settings() as kit:
            yield kit, ticker


def feed(inputs: list[str], kit: Parts, embedder: str | None, how: InputOptions, *, embed: bool = False) -> Feed:
    """An embedded data set as it is; anything else read, split and embedded.

    `embed`: the vectors of another embedder than the one named are left, and made anew from the texts.
    """
    from wellread.index.dataset import DatasetFeed, HubFeed, is_dataset, is_embedded_hub, made_with
    from wellread.index.feed import EmbeddingFeed
    from wellread.index.following import Following
    from wellread.index.inputs import is_list, origin, passages

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
    return EmbeddingFeed(lambda: passages(inputs, how), maker, origin(inputs, how), Following(inputs, how))
