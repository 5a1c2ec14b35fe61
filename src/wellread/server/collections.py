"""Collections: uploaded documents and folders of this machine, each with an index that the server builds in the background.

    collections/SLUG/about.json   its name, and the folder it reads where nothing was sent
                     documents/   what was sent
                     index/       made by `Indexing`
    collections/incoming/         what is being sent

The disk is what counts: several processes may serve the same folder. Words are read first, which can be searched at once, vectors
are made after, a few seconds at a time. What has been read stays read, however a job ends: one that is begun again goes on where
the last one was.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from wellread.core import codec
from wellread.core.private_files import private_folder, replace_private
from wellread.core.safe_files import files_inside
from wellread.core.unicode_safety import encodable
from wellread.errors import DamagedFile, UsageError, WellreadError, os_errors
from wellread.index import ledger
from wellread.index.build import update
from wellread.index.folder import BeingWritten, existing, writing
from wellread.index.following import Following
from wellread.index.inputs import InputOptions, Item
from wellread.index.ledger import Entry
from wellread.index.manifest import FileSum, Manifest, checksum
from wellread.index.progress import Gauge
from wellread.index.vectors import Embedding, embed
from wellread.parts import Parts
from wellread.protocols import Embedder
from wellread.reading.kinds import is_readable
from wellread.server import intake, logs, viewer
from wellread.server.intake import Sent
from wellread.server.options import ServerOptions

INCOMING = "incoming"
_ABOUT = "about.json"
_STOPPED = "stopped"
_GONE = ".gone-"  # how folders begin that are being removed
_SLICE = 3.0  # seconds of making vectors before looking whether documents have come
_PATIENCE = 0.5  # seconds between two looks at an index that another process writes
_STALE = 86_400.0  # seconds after which something half sent is nobody's


@dataclass(frozen=True, slots=True)
class About:
    """The file that makes a folder a collection."""

    name: str
    folder: str | None  # of this machine, read where it lies; None: its documents were sent
    created: float


@dataclass(frozen=True, slots=True)
class Collection(About):
    """One of them."""

    slug: str
    place: Path

    @property
    def root(self) -> Path:
        return Path(self.folder) if self.folder is not None else self.place / "documents"

    @property
    def index(self) -> Path:
        return self.place / "index"

    @property
    def spec(self) -> str:
        return f"index:{self.index}?{urlencode({'name': self.name})}"

    @property
    def there(self) -> bool:
        """Whether nobody has removed it, here or in another process."""
        return (self.place / _ABOUT).is_file()

    @property
    def searchable(self) -> bool:
        """Whether anything has been read: an index of nothing has no manifest."""
        return (self.index / "manifest.json").is_file()

    @property
    def stopped(self) -> bool:
        """Whether somebody has told the server to stop reading it."""
        return (self.place / _STOPPED).exists()

    def mark_stopped(self, yes: bool) -> None:
        with suppress(OSError):  # gone meanwhile
            if yes:
                (self.place / _STOPPED).touch()
            else:
                (self.place / _STOPPED).unlink(missing_ok=True)


class Collections:
    """All of them, and the limits that hold for them together."""

    def __init__(self, root: Path, options: ServerOptions) -> None:
        self.root, self.options = root, options

    @contextmanager
    def _alone(self, what: str) -> Generator[None]:
        """One at a time, of all threads and processes that serve this folder; `what` cannot be done where the disk fails."""
        with os_errors(DamagedFile, what):
            handle = os.open(private_folder(self.root), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with os_errors(DamagedFile, what):
                yield
        finally:
            os.close(handle)

    def everything(self) -> list[Collection]:
        if not self.options.takes_documents:
            return []
        try:
            entries = [entry for entry in os.scandir(self.root) if not entry.name.startswith(_GONE)]
            places = [Path(entry.path) for entry in entries if entry.is_dir()]
        except OSError:
            return []
        found = [one for place in places if (one := _read(place)) is not None]
        return sorted(found, key=lambda one: one.name.casefold())

    def get(self, slug: str) -> Collection | None:
        return next((one for one in self.everything() if one.slug == slug), None)

    def specs(self) -> Mapping[str, str]:
        """The sources that they are, by name."""
        return {one.name: one.spec for one in self.everything() if one.searchable}

    def create(self, said: str, folder: str | None = None, *, taken: Sequence[str] = ()) -> Collection:
        """A new, empty one. `taken` are names of other sources."""
        name = intake.collection_name(said)
        path = self._allowed(folder) if folder is not None else None
        with self._alone("the collection cannot be made"):
            there = self.everything()
            if name.casefold() in {other.casefold() for other in (*taken, *(one.name for one in there))}:
                raise UsageError(f"there is a source called {name!r} already: take another name")
            if len(there) >= self.options.max_collections:
                raise UsageError(f"there are {len(there)} collections already, which is the most this server keeps")
            return self._make(name, path)

    def _make(self, name: str, folder: str | None) -> Collection:
        slug = intake.slug(name, {INCOMING, *os.listdir(self.root)})
        place = self.root / slug
        made = Collection(name, folder, time.time(), slug, place)
        place.mkdir(mode=0o700)
        if folder is None:
            made.root.mkdir(mode=0o700)
        replace_private(place / _ABOUT, codec.dumps(About(name, folder, made.created)).encode())
        return made

    def _allowed(self, folder: str) -> str:
        """A folder that the operator lets the page read from, wherever links lead."""
        path = Path(os.path.realpath(os.path.expanduser(folder.strip().replace("\0", ""))))
        if self._named_above(path) is None:
            raise UsageError("this folder may not be read here; the operator says which ones may ([server] folders)")
        if not path.is_dir():
            raise UsageError("there is no such folder")
        return str(path)

    def _named_above(self, path: Path) -> Path | None:
        """The folder that the operator has named and that this one lies in, if any."""
        roots = (Path(os.path.realpath(os.path.expanduser(root))) for root in self.options.readable_folders)
        return next((root for root in roots if path.is_relative_to(root)), None)

    def remove(self, one: Collection) -> None:
        """It is gone from the lists at once; its files go after that."""
        gone = self.root / f"{_GONE}{secrets.token_hex(6)}"
        with self._alone("the collection cannot be removed"), suppress(FileNotFoundError):  # another one was first
            one.place.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def clear(self, one: Collection) -> None:
        """Delete what was written into a collection after another process had removed it."""
        with self._alone("the collection cannot be removed"):
            if not one.there:  # nor is a new one in its place, which would be made under this lock
                shutil.rmtree(one.place, ignore_errors=True)

    def sweep(self) -> None:
        """Delete what a server that was killed has left half removed, and, a day later, what it had begun to make."""
        with suppress(OSError):
            for place in [Path(entry.path) for entry in os.scandir(self.root) if entry.is_dir(follow_symlinks=False)]:
                old = time.time() - place.stat().st_mtime > _STALE
                if place.name.startswith(_GONE) or (old and place.name != INCOMING and not (place / _ABOUT).exists()):
                    shutil.rmtree(place, ignore_errors=True)

    def documents(self, one: Collection) -> list[Item]:
        """Documents to read. A folder of this machine was allowed once; others may have put a link in its place since."""
        found: list[Item] = []
        inside = one.root if one.folder is None else self._named_above(one.root)
        for path in files_inside(one.root, inside=inside) if inside is not None else ():
            if is_readable(path.name) and 0 < _size(path) <= self.options.max_document:
                found.append(Item(os.path.relpath(path, one.root), "document", path, inside))
            if len(found) >= self.options.max_documents:
                break
        return found

    def stored(self) -> int:
        """Bytes of all documents that were sent."""
        sent = (one for one in self.everything() if one.folder is None)
        return sum(_size(path) for one in sent for path in files_inside(one.root))

    def incoming(self) -> Path:
        """A folder for what is being sent; what others have left there long ago goes."""
        folder = self.root / INCOMING
        with os_errors(DamagedFile, "the document cannot be kept"):
            private_folder(self.root)
            private_folder(folder)
            for path in folder.iterdir():
                with suppress(FileNotFoundError):  # another one has just been put away
                    if time.time() - path.stat().st_mtime > _STALE:
                        path.unlink()
        return folder

    def file(self, one: Collection, files: Sequence[Sent]) -> None:
        """Put what was sent where it belongs; a problem says why not. One of the same path that was there before is replaced, one
        that came with it gets a number; one that is there already under another name is refused. What there is is counted
        once: thousands may come together."""
        with self._alone("the document cannot be kept"):
            here = {os.path.relpath(path, one.root): _size(path) for path in files_inside(one.root)}
            stored, fresh, twins, kept = self.stored(), set[str](), Counter[str](), _Contents(one.root, here)
            for sent in files:
                if sent.path is None:
                    continue
                twins[sent.name] += 1
                final = intake.numbered(sent.name, fresh, least=twins[sent.name])
                room = stored + sent.size - here.get(final, 0)
                sent.problem = self._refusal(one, room, len(here) + (final not in here))
                if not sent.problem and (twin := kept.twin(sent.path, sent.size)) not in (None, final):
                    sent.problem = f"is there already, as {twin}"
                if not sent.problem:
                    (one.root / final).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    os.replace(sent.path, one.root / final)
                    stored, here[final] = room, sent.size
                    fresh.add(final)
                    kept.add(final, sent.size)

    def _refusal(self, one: Collection, stored: int, count: int) -> str:
        if not one.root.is_dir():
            return "the collection was removed meanwhile"
        if count > self.options.max_documents:
            return f"a collection holds {self.options.max_documents:,} documents at most"
        return "there is no room left for it on this server" if stored > self.options.max_stored else ""

    def drop(self, one: Collection, name: str) -> bool:
        """Delete a document that was sent; False where there is none of that name."""
        path = next((path for path in files_inside(one.root) if encodable(os.path.relpath(path, one.root)) == name), None)
        if one.folder is not None or path is None:
            return False
        with os_errors(DamagedFile, "the document cannot be removed"):
            path.unlink(missing_ok=True)
        return True


def _read(place: Path) -> Collection | None:
    """Reads a collection from its folder; None where it is none, or goes away just now."""
    try:
        said = codec.loads(About, (place / _ABOUT).read_bytes())
    except (OSError, ValueError):
        return None
    return Collection(said.name, said.folder, said.created, place.name, place)


class _Contents:
    """Which document has which content; those are looked at that are as large as one that comes."""

    def __init__(self, root: Path, sizes: Mapping[str, int]) -> None:
        self._root = root
        self._unknown: dict[int, list[str]] = {}
        self._known: dict[FileSum, str] = {}
        for name, size in sizes.items():
            self.add(name, size)

    def add(self, name: str, size: int) -> None:
        self._unknown.setdefault(size, []).append(name)

    def twin(self, path: Path, size: int) -> str | None:
        for name in self._unknown.pop(size, ()):
            self._known.setdefault(checksum(self._root / name), name)
        return self._known.get(checksum(path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@dataclass(slots=True)
class Job:
    """The reading of one collection, going on or over."""

    gauge: Gauge = field(default_factory=Gauge)
    again: bool = True  # there is something to read, again or still
    problem: str = ""
    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()


class Indexing:
    """All jobs of this process."""

    def __init__(self, collections: Collections, kit: Parts) -> None:
        self._collections, self._kit = collections, kit
        self.jobs: dict[str, Job] = {}
        self._leaving: Counter[str] = Counter()  # those that are being removed
        self._turn = asyncio.Lock()  # one collection at a time: reading one takes all processors already

    def begin(self, one: Collection) -> None:
        """Bring it up to date; a job that is at it already will look again. One that is being removed stays as it is."""
        if one.slug in self._leaving:
            return
        one.mark_stopped(False)
        job = self.jobs.get(one.slug)
        if job is not None and job.running:
            job.again = True
            return
        job = self.jobs[one.slug] = Job(entries=job.entries if job else {})
        job.task = asyncio.create_task(self._work(one, job), name=f"collection {one.slug}")

    def resume(self) -> None:
        """After a start: go on with whatever was not finished, unless somebody had stopped it."""
        for one in self._collections.everything():
            if not one.stopped:
                self.begin(one)

    async def stop(self, one: Collection) -> None:
        """End the job; what it has read can be searched."""
        one.mark_stopped(True)
        await self._end(one.slug)

    @asynccontextmanager
    async def without(self, one: Collection) -> AsyncGenerator[None]:
        """End the job of a collection that goes away in this block; none is begun until it has: it would make its folder anew."""
        self._leaving[one.slug] += 1
        try:
            await self._end(one.slug)
            self.jobs.pop(one.slug, None)
            yield
        finally:
            self._leaving -= Counter([one.slug])

    async def aclose(self) -> None:
        for slug in list(self.jobs):
            await self._end(slug)

    def entries(self, one: Collection) -> Mapping[str, Entry]:
        """Ledger entries of what has been read, by document. Blocks."""
        content = existing(one.index)
        job = self.jobs.get(one.slug)
        known: Mapping[str, Entry] = job.entries if job is not None else {}
        if content is None:
            return known
        try:
            return {**known, **ledger.load(one.index, content.read)}
        except DamagedFile:  # replaced while we looked
            return known

    async def _end(self, slug: str) -> None:
        job = self.jobs.get(slug)
        if job is not None and job.task is not None and job.running:
            job.task.cancel()
            await asyncio.wait([job.task])

    async def _work(self, one: Collection, job: Job) -> None:
        try:
            embedder = await asyncio.to_thread(self._kit.embedder)
            finished = False
            while (job.again or not finished) and one.there:
                async with self._turn:
                    finished = await self._step(one, job, embedder)
        except WellreadError as problem:
            job.problem = str(problem).replace(f"{one.index}", "the index")
            logs.fault("collection not read", problem)
        except Exception as problem:
            job.problem = "something unexpected went wrong"
            logs.fault("collection not read", problem)
        finally:
            if not one.there:
                await asyncio.to_thread(self._collections.clear, one)

    async def _step(self, one: Collection, job: Job, embedder: Embedder) -> bool:
        """Read what is new, or make some vectors; whether that was all."""
        try:
            if job.again:
                job.again = False
                content = await self._words(one, job, embedder)
            else:
                how = Embedding(until=time.monotonic() + _SLICE, turn=lambda: writing(one.index))
                content = await embed(one.index, one.index, embedder, how, job.gauge)
        except BeingWritten:  # another process that serves the same folder
            job.again = True
            await asyncio.sleep(_PATIENCE)
            return False
        return content.finished or not content.rows

    async def _words(self, one: Collection, job: Job, embedder: Embedder) -> Manifest:
        items = await asyncio.to_thread(self._collections.documents, one)
        how = InputOptions(unreadable=[], address=lambda name: viewer.document(one.slug, name))
        following = Following((str(one.root),), how, found=items)
        if (old := existing(one.index)) is not None and (old.embedder, old.dimensions) != (embedder.name, embedder.dimensions):
            await asyncio.to_thread(_clear, one.index)  # its vectors say nothing to this embedder
        start = Manifest(embedder.name, embedder.dimensions, (), "sign", (), generation=0, origin=following.recorded)
        made = await update(one.index, following, None, job.gauge, start=start)
        job.entries = made.entries
        return made.content


def _clear(index: Path) -> None:
    with suppress(FileNotFoundError), writing(index):
        shutil.rmtree(index)
