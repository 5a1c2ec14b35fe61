"""The corpus of a data set as an index: built once, then reused."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from wellread.core.private_files import cache_folder
from wellread.errors import IndexFault, UsageError
from wellread.evals.data import Data
from wellread.index import manifest
from wellread.index.build import BuildOptions, build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.progress import Progress
from wellread.parts import Parts
from wellread.settings import Settings

_MARK = "eval "


async def index_of(data: Data, folder: Path | None, settings: Settings, progress: Progress) -> str:
    """The source to search: the data's index, made now if it is not there, or the library."""
    if data.corpus is None:
        return "library"
    origin = f"{_MARK}{data.name} {_fingerprint(data)}"
    where = folder or cache_folder("evals") / origin.replace(" ", "-")
    try:
        found = manifest.load(where)
    except IndexFault:
        found = None
    if found is None or not found.finished:
        await _build(data, where, origin, settings, progress)
    elif (made_from := str(found.origin.get("inputs", ""))).startswith(_MARK) and made_from != origin:
        raise UsageError(f"{where} is the index of another corpus ({made_from.removeprefix(_MARK)}); name another folder")
    return f"index:{where}"


async def _build(data: Data, where: Path, origin: str, settings: Settings, progress: Progress) -> None:
    assert data.corpus is not None
    corpus = data.corpus
    kit = Parts(settings)
    try:
        feed = EmbeddingFeed(lambda: streamed(corpus()), kit.embedder(), origin)
        await build(where, feed, BuildOptions(resume=True), progress)
    finally:
        await kit.aclose()


def _fingerprint(data: Data) -> str:
    assert data.corpus is not None
    total = sha256()
    for passage in data.corpus():
        total.update(f"{passage.id}\n{passage.title}\n{passage.text}\n".encode("utf-8", "surrogatepass"))
    return total.hexdigest()[:16]
