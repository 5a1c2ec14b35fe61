"""`wellread index`: build, change, search and check local indexes; `wellread dataset`: embedded data sets that they are built
from; `wellread cache`: what is kept of folders by itself, and making room."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from wellread.cli import feeds, options, show
from wellread.cli.cluster import build_on_ray, data_set_on_ray
from wellread.cli.feeds import ticking
from wellread.cli.options import Commands
from wellread.cli.terminal import note, say, say_json, tell
from wellread.core.private_files import at_home
from wellread.errors import UsageError
from wellread.events import counted, hit_json
from wellread.text.places import inside
from wellread.types import Query, Spec

if TYPE_CHECKING:
    from wellread.index.manifest import Manifest
    from wellread.types import Hit

app = Commands("Build, change, search and check local indexes.")
Folder = Annotated[Path, typer.Argument(help="Folder of the index.", metavar="INDEX")]
WORDS_ONLY = options.flag("--words-only", "", "No vectors now; make them later with: wellread index embed.", False)
OUTPUT = options.flag("--output -o", "DIR", "Folder for the index.", ...)
_ANYWHERE = options.flag("--output -o", "DIR", "Folder for the index; with --ray also an address: s3://bucket/path.", ...)
_TABLE = "Table with title, url, text in row order: .parquet, .arrow, .jsonl[.gz], hf:NAME; else those beside the index."
TEXTS = options.flag("--texts", "TABLE", _TABLE)
MADE_WITH = options.flag("--embedder", "SPEC", "The embedder it was made with.", "onnx:mixedbread-ai/mxbai-embed-large-v1")


@app.command()
def build(
    inputs: feeds.Inputs,
    output: str = _ANYWHERE,
    embedder: str | None = feeds.EMBEDDER,
    resume: bool = options.flag("--resume", "", "Go on with an interrupted build.", False),
    tokens: int = feeds.TOKENS,
    overlap: int = feeds.OVERLAP,
    column: list[str] | None = feeds.COLUMNS,
    config: str | None = feeds.CONFIG,
    words: bool = options.flag("--words/--no-words", "", "Also index the words.", True),
    words_only: bool = WORDS_ONLY,
    device: Literal["cpu", "cuda"] = options.flag("--device", None, "Where lists are trained; cuda needs torch.", "cpu"),
    follow_links: bool = feeds.FOLLOW_LINKS,
    verbose: bool = feeds.VERBOSE,
    report: Path | None = feeds.REPORT,
    ray: str | None = feeds.ON_RAY,
    shards: int = options.flag("--shards", "N", "With --ray: how many shards.", 4, min=1, max=10_000),
    as_json: options.AsJson = False,
) -> None:
    """Build an index: words first, so that it can be searched after seconds, then vectors.

    Interrupted, the same command goes on. A finished index that is there stays in use until the new one is complete.

    wellread index build notes/ --output notes-index
    wellread index build https://example.org/a https://example.org/b -o pages
    wellread index build corpus-embedded/ --output corpus-index --resume
    wellread index build /shared/texts -o /shared/index --ray --shards 8
    wellread index build /shared/texts -o s3://bucket/index --ray --shards 8
    """
    from wellread.cluster.sharded import is_address
    from wellread.index.build import BuildOptions
    from wellread.index.build import build as make

    folder = Path(output)
    if not is_address(output):
        feeds.apart(inputs, folder)
    elif ray is None:
        raise UsageError(f"{output}: only a cluster builds at an address (--ray); build in a folder")
    read = feeds.reading(tokens, overlap, column, config, follow_links=follow_links)
    if ray is not None:
        order = feeds.order(inputs, embedder, shards, read, words)
        build_on_ray(order, output, ray, verbose=verbose, report=report, as_json=as_json)
        return

    how = BuildOptions(words=words, resume=resume, device=device, vectors=not words_only)
    with feeds.working(as_json, read.unreadable, _go_on(folder), verbose, report) as (kit, ticker, loop):
        made = loop.run(make(folder, feeds.feed(inputs, kit, embedder, read), how, ticker))
    _done(made, folder, as_json, len(read.documents), len(read.unreadable or ()))


@app.command()
def add(
    folder: Folder,
    inputs: feeds.Inputs,
    embedder: str | None = feeds.EMBEDDER,
    tokens: int = feeds.TOKENS,
    overlap: int = feeds.OVERLAP,
    column: list[str] | None = feeds.COLUMNS,
    words_only: bool = WORDS_ONLY,
    follow_links: bool = feeds.FOLLOW_LINKS,
    verbose: bool = feeds.VERBOSE,
    report: Path | None = feeds.REPORT,
    as_json: options.AsJson = False,
) -> None:
    """Add documents; they can be found at once.

    wellread index add notes-index today.md
    """
    from wellread.index import manifest
    from wellread.index.build import BuildOptions
    from wellread.index.build import add as append
    from wellread.sources.index import embedder_spec

    read, known = feeds.reading(tokens, overlap, column, None, follow_links=follow_links), manifest.load(folder).embedder
    with feeds.working(as_json, read.unreadable, f"{folder} is as it was before", verbose, report) as (kit, ticker, loop):
        source = feeds.feed(inputs, kit, embedder_spec(known, embedder, kit), read)
        made = loop.run(append(folder, source, BuildOptions(vectors=not words_only), ticker))
    _done(made, folder, as_json)


@app.command()
def embed(folder: Folder, embedder: str | None = feeds.EMBEDDER, as_json: options.AsJson = False) -> None:
    """Make the vectors that are missing. Interrupted, the same command goes on.

    wellread index build notes/ --output notes-index --words-only
    wellread index embed notes-index
    """
    from wellread.index import manifest
    from wellread.index.folder import disk_errors, writing
    from wellread.index.vectors import embed as make
    from wellread.sources.index import embedder_for

    known = manifest.load(folder).embedder
    with feeds.working(as_json, go_on=_go_on(folder)) as (kit, ticker, loop), disk_errors(folder), writing(folder):
        made = loop.run(make(folder, folder, embedder_for(known, embedder, kit), progress=ticker))
    _done(made, folder, as_json)


@app.command()
def update(
    folder: Folder,
    embedder: str | None = feeds.EMBEDDER,
    words_only: bool = WORDS_ONLY,
    watch: bool = options.flag("--watch", "", "Stay, and do so whenever files change.", False),
    as_json: options.AsJson = False,
) -> None:
    """Read its inputs again: take in what is new or has changed, forget what is gone.

    wellread index update notes-index --watch
    """
    asyncio.run(_follow(folder, embedder, words_only, watch, as_json))


@app.command()
def remove(
    folder: Folder,
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Documents or passage ids.")],
    as_json: options.AsJson = False,
) -> None:
    """Forget documents or single passages."""
    from wellread.index.build import remove as forget

    count = forget(folder, names)
    tell(as_json, {"removed": count}, f"{counted(count, 'passage', 'passages')} removed from {folder}")


@app.command()
def search(
    folder: Folder,
    words: options.Words,
    limit: int = options.flag("--limit -n", "N", "How many passages.", 10, min=1, max=1000),
    mode: Literal["default", "exact", "thorough"] = options.flag("--mode", None, "How candidates are found.", "default"),
    param: list[str] | None = options.PARAMS,
    as_json: options.AsJson = False,
) -> None:
    """Search an index and show the passages. Exit status 3 when nothing is found.

    wellread index search notes-index "moons of Jupiter" --mode thorough
    """
    query = " ".join(words)
    if not query.strip():
        raise UsageError("the query is empty")

    async def work() -> Sequence[Hit]:
        from wellread.sources.index import from_spec

        given = {name: str(value) for name, value in options.parameters(param).items()}
        spec = Spec("index", str(folder), {"mode": mode, **given})
        async with feeds.kit_of_settings() as kit, aclosing(from_spec(spec, kit)) as source:
            return await source.search(Query(query, limit))

    hits = asyncio.run(work())
    if as_json:
        say_json({"query": query, "hits": [hit_json(hit) for hit in hits]})
    for number, hit in enumerate([] if as_json else hits, start=1):
        at = inside(hit.heading, hit.page, hit.anchor)
        show.found(number, hit.title, f"{hit.id}, {hit.score:.3f}", f"{at}: {hit.text}" if at else hit.text)
    if not hits:
        note("nothing found")
    raise typer.Exit(0 if hits else 3)


@app.command()
def info(folder: Folder, as_json: options.AsJson = False) -> None:
    """Show statistics of an index: what it holds and what it was made with."""
    from wellread.index.search import LocalIndex

    opened = LocalIndex.open(folder)
    content = opened.manifest
    size = sum(entry.bytes for segment in content.segments for entry in segment.files.values())
    facts = {
        "documents": opened.count_documents(),
        "passages": content.passages,
        "vectors": content.vectors,
        "complete": content.complete,
        "removed": content.rows - content.passages,
        "embedder": content.embedder,
        "dimensions": content.dimensions,
        "words": content.words,
        "segments": len(content.segments),
        "lists": sum(segment.lists for segment in content.segments),
        "bytes": size,
        "format": content.format,
        "generation": content.generation,
        "inputs": content.origin.get("inputs", ""),
        "arithmetic": content.origin.get("arithmetic", ""),
    }
    if as_json:
        say_json(facts)
        return
    for name, value in facts.items():
        if isinstance(value, bool):
            say(f"{name:11} {'yes' if value else 'no'}")
        elif value != "":
            say(f"{name:11} {value:,}" if isinstance(value, int) else f"{name:11} {value}")


@app.command()
def verify(folder: Folder, as_json: options.AsJson = False) -> None:
    """Compare every file with its checksum. Exit status 1 when something has changed."""
    from wellread.index.seal import problems

    found = list(problems(folder))
    tell(as_json, {"intact": not found, "problems": found}, "\n".join(found) or f"{folder} is intact")
    raise typer.Exit(1 if found else 0)


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with faiss-ubinary.index and usearch-int8.index.")],
    output: Path = OUTPUT,
    texts: str | None = TEXTS,
    embedder: str = MADE_WITH,
    resume: bool = options.flag("--resume", "", "Go on with an interrupted import.", False),
    as_json: options.AsJson = False,
) -> None:
    """Turn a published index (recipe 5) into one of ours."""
    from wellread.index.build import BuildOptions
    from wellread.index.build import build as make
    from wellread.index.published import PublishedFeed, texts_in

    table = texts or (str(found) if (found := texts_in(folder)) else None)
    if table is None:
        raise UsageError(f"there are no texts in {folder}: name them with --texts")

    go_on = f"{output} is unfinished; go on with the same command and --resume"
    with feeds.working(as_json, go_on=go_on) as (kit, ticker, loop):
        feed = PublishedFeed(folder, table, kit.embedder(embedder).name)
        made = loop.run(make(output, feed, BuildOptions(resume=resume), ticker))
    _done(made, output, as_json)
    if not as_json:
        say(f"it is searched with {made.embedder}: --source index:{output}?embedder={made.embedder}")


@app.command()
def pull(
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="Hugging Face data set with the published files.")],
    output: Path = OUTPUT,
    texts: str | None = TEXTS,
    embedder: str = MADE_WITH,
) -> None:
    """Bring a published index from the Hugging Face hub and import it, in one step. One that broke off goes on."""
    from wellread.index.published import pull as download

    if repository.count("/") != 1:
        raise UsageError(f"{repository!r} is not a hub name: write owner/name")
    files = output.with_name(f"{output.name}.pulled")
    download(repository, files)
    import_(files, output, texts, embedder, resume=True)
    shutil.rmtree(files)


def _done(made: Manifest, folder: Path, as_json: bool, documents: int = 0, unread: int = 0) -> None:
    facts = {"passages": made.passages, "embedder": made.embedder, "dimensions": made.dimensions, "output": str(folder)}
    of = f" of {counted(documents, 'document', 'documents')}" if documents else ""
    said = f"{counted(made.passages, 'passage', 'passages')}{of} in {folder}" + (f"; {unread:,} not read" if unread else "")
    tell(as_json, {**facts, "documents": documents, "unread": unread}, said)


def _go_on(folder: Path) -> str:
    return f"{folder} is unfinished, what is in it can be searched; go on with the same command"


async def _follow(folder: Path, embedder: str | None, words_only: bool, watch: bool, as_json: bool) -> None:
    from wellread.index import manifest
    from wellread.index.build import update
    from wellread.index.following import recalled
    from wellread.index.inputs import InputOptions
    from wellread.sources.index import embedder_for

    content = manifest.load(folder)
    names = recalled(content.origin, InputOptions()).names
    note(f"{folder} is made of {', '.join(names)}")  # who has it from others sees what of theirs it would read
    async with feeds.kit_of_settings() as kit:
        maker = None if words_only else embedder_for(content.embedder, embedder, kit)

        async def once() -> None:
            unreadable: list[str] = []
            with ticking(as_json, unreadable, go_on=f"{folder} is unfinished; go on with the same command") as ticker:
                inputs = recalled(manifest.load(folder).origin, InputOptions(pages=kit.pages(), unreadable=unreadable))
                made = await update(folder, inputs, maker, ticker)
            counts = {"added": len(made.added), "changed": len(made.changed), "removed": len(made.removed)}
            facts = {**counts, "passages": made.content.passages, "vectors": made.content.vectors, "output": str(folder)}
            words = ", ".join(f"{count} {what}" for what, count in counts.items())
            tell(as_json, facts, f"{words}; {made.content.passages:,} passages in {folder}")

        await once()
        if not watch:
            return
        import watchfiles

        paths = [Path(name) for name in names if not name.startswith(("http://", "https://", "hf:"))]
        async for _ in cast("Any", watchfiles).awatch(*paths, debounce=1000):
            await once()


cache = Commands("Show and clear the indexes of folders that were asked.")


@cache.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """The folders whose indexes are kept, the last used first."""
    from wellread.index import kept

    found = kept.everything(os.environ)
    rows = [{**asdict(one), "place": str(one.place)} for one in found]
    if as_json:
        say_json({"kept": rows, "bytes": sum(one.bytes for one in found)})
        return
    for one in found:
        day = time.strftime("%Y-%m-%d", time.localtime(one.used))
        say(f"{one.of}: {one.passages:,} passages, {one.vectors:,} vectors, {_megabytes(one.bytes)}, used {day}")
    say(f"{len(found)} kept, {_megabytes(sum(one.bytes for one in found))}")


@cache.command()
def clear(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="Of these folders alone; all unless given.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Delete the indexes; they are made again when they are asked for.

    wellread cache clear notes/
    """
    from wellread.index import kept

    wanted = {str(at_home(path).resolve()) for path in paths or []}
    found = [one for one in kept.everything(os.environ) if not wanted or one.of in wanted]
    freed = kept.clear(found)
    tell(as_json, {"bytes": freed}, f"{_megabytes(freed)} freed")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


dataset = Commands("Make embedded data sets: parquet files that indexes are built from.")


@dataset.callback()
def group() -> None:
    """Make embedded data sets: parquet files that indexes are built from."""


@dataset.command()
def create(
    inputs: feeds.Inputs,
    output: Path = options.flag("--output -o", "DIR", "Folder for the parquet files.", ...),
    embedder: str | None = feeds.EMBEDDER,
    tokens: int = feeds.TOKENS,
    overlap: int = feeds.OVERLAP,
    column: list[str] | None = feeds.COLUMNS,
    config: str | None = feeds.CONFIG,
    shard_rows: int = options.flag("--shard-rows", "N", "Passages in one file.", 50000, min=1),
    fresh: bool = options.flag("--fresh", "", "Begin again, even if a part is done.", False),
    ray: str | None = feeds.ON_RAY,
    as_json: options.AsJson = False,
) -> None:
    """Read, split and embed inputs into parquet shards. Run it again after an interruption: it goes on where it stopped.

    wellread dataset create articles/ --output articles-embedded
    wellread dataset create corpus.jsonl.gz --output corpus --column text=body
    """
    from wellread.index.dataset import create as write

    feeds.apart(inputs, output)
    how = feeds.reading(tokens, overlap, column, config)
    if ray is not None:
        rows, unreadable = data_set_on_ray(feeds.order(inputs, embedder, 1, how), output, ray, as_json)
    else:
        go_on = f"{output} is unfinished; the same command goes on after its last file"
        with feeds.working(as_json, unreadable := how.unreadable, go_on) as (kit, ticker, loop):
            source = feeds.feed(inputs, kit, embedder, how, embed=True)
            rows = loop.run(write(output, source, shard_rows=shard_rows, resume=not fresh, progress=ticker))
    facts = {"rows": rows, "output": str(output), "unreadable": unreadable}
    tell(as_json, facts, f"{counted(rows, 'passage', 'passages')} in {output}")
