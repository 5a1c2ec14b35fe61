"""`wellread index update`: once, or whenever files change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from wellread.cli import feeds
from wellread.cli.progress import ticking
from wellread.cli.terminal import note, say, say_json

if TYPE_CHECKING:
    from wellread.index.change import Changes


async def follow(folder: Path, embedder: str | None, *, words_only: bool, watch: bool, as_json: bool) -> None:
    """Update an index; with `watch` stay and do it again after each change."""
    from wellread.index import manifest
    from wellread.index.change import update
    from wellread.index.following import recalled
    from wellread.index.inputs import InputOptions
    from wellread.sources.index_options import embedder_for

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
            _tell(made, folder, as_json)

        await once()
        if not watch:
            return
        import watchfiles

        paths = [Path(name) for name in names if not name.startswith(("http://", "https://", "hf:"))]
        async for _ in cast("Any", watchfiles).awatch(*paths, debounce=1000):
            await once()


def _tell(made: Changes, folder: Path, as_json: bool) -> None:
    counts = {"added": len(made.added), "changed": len(made.changed), "removed": len(made.removed)}
    facts = {**counts, "passages": made.content.passages, "vectors": made.content.vectors, "output": str(folder)}
    words = ", ".join(f"{count} {what}" for what, count in counts.items())
    say_json(facts) if as_json else say(f"{words}; {made.content.passages:,} passages in {folder}")
