"""Writing one segment: a stream of passages with their vectors, in bounded memory.

    passages ─► texts, rows, codes, hashes     appended in step; a checkpoint says how far all of them are
             ─► tables                         sorted from the hashes
             ─► words                          from the texts; tantivy knows by itself how far it is
             ─► lists, sketches                rows sorted into neighbourhoods, when there are many

Each step can be interrupted and taken up again. Nothing here is visible to readers until the segment is
named in the manifest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.core import codec
from wellread.errors import IndexFault
from wellread.index import keys, lexical, lists, texts
from wellread.index.coarse import CODES
from wellread.index.keys import ARRIVAL, Seen, hashed, title_hash
from wellread.index.lexical import WordsWriter
from wellread.index.manifest import FileSum, Segment, checksums, replace_file
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Bytes, Codes, Floats, code_bytes
from wellread.index.rows import ROWS, RowFile
from wellread.index.seal import sealed
from wellread.index.texts import TextStore
from wellread.questions.languages import ENGLISH, main_language
from wellread.types import Passage

_HASHES = "hashes.tmp"
_STATE = "state.tmp"
_SAMPLED = 100
_WORDS_COMMIT = 200_000  # passages between two commits of the word index
Device: TypeAlias = Literal["cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build."""

    words: bool = True
    language: str | None = None  # in which words are stemmed; None: that of the passages
    resume: bool = False
    device: Device = "cpu"  # where lists are trained and rows assigned to them
    checkpoint_seconds: float = 20.0  # between two of a build, and between two parts that are published, at the most
    vectors: bool = True  # False: texts and words alone; `embed` makes them later


class SegmentWriter:
    """Appends to the files of one segment; `rows` is how many passages are in. Vectors come with the passages, or later."""

    def __init__(self, folder: Path, dimensions: int, *, vectors: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.dimensions = dimensions
        self._vectors = vectors
        self.rows, self._text_bytes = _state(folder)
        self._files = self._open()
        self._seen = Seen(keys.column(folder / _HASHES, "id", self.rows))

    def append(self, passages: Sequence[Passage], *vectors: Bytes | Codes) -> None:
        """Passages in order, with their vectors (rows and codes) unless those come later."""
        if any(len(part) != len(passages) for part in vectors):
            raise IndexFault(f"{len(passages)} passages came with {len(vectors[0])} vectors")
        if not passages:
            return
        if empty := next((passage for passage in passages if not passage.text.strip()), None):
            raise IndexFault(f"the passage {empty.id!r} has no text")
        if self.rows + len(passages) >= 1 << 32:
            raise IndexFault("a segment holds at most 4,294,967,295 passages")
        lines = [texts.encode(passage) for passage in passages]
        ends = np.cumsum([len(line) for line in lines], dtype=np.uint64) + np.uint64(self._text_bytes)
        arrivals = _arrivals(passages)
        again = self._seen.add(np.ascontiguousarray(arrivals["id"]))
        if again is not None:
            raise IndexFault(f"the id {passages[again].id!r} comes twice: ids must be unique")
        blocks = (b"".join(lines), ends.tobytes(), arrivals.tobytes(), *(part.tobytes() for part in vectors))
        for file, block in zip(self._files, blocks, strict=True):
            file.write(block)
        self.rows += len(passages)
        self._text_bytes = int(ends[-1])

    def checkpoint(self) -> None:
        """From here a killed build goes on."""
        if any(file.closed for file in self._files):  # after a failure: the disk was full
            raise IndexFault(f"{self.folder} was given up")
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
        replace_file(self.folder / _STATE, codec.dumps({"rows": self.rows, "texts": self._text_bytes}).encode())

    def close(self) -> None:
        """Leave the files; what came after the last checkpoint is cut off at the next start."""
        for file in self._files:
            with suppress(OSError):  # on a full disk: the error was raised by the write already
                file.close()

    def finish(self, scale: Floats, options: BuildOptions, progress: Progress = silent) -> Segment:
        """The steps after the last passage; the segment's entry for the manifest."""
        self.checkpoint()
        self.close()
        self._seen = Seen()  # its memory is wanted now
        keys.write_tables(self.folder, self.folder / _HASHES, self.rows)
        language = self._write_words(options, progress) if options.words else ENGLISH
        large = self._vectors and is_large(self.rows, self.dimensions)
        count, known = write_lists(self.folder, self.rows, scale, options.device, progress) if large else (0, {})
        progress("checksums", self.rows, self.rows)
        vectors = self.rows if self._vectors else 0
        return sealed(self.folder, Segment(self.folder.name, self.rows, count, checksums(self.folder, known), vectors, language))

    def _write_words(self, how: BuildOptions, progress: Progress) -> str:
        """The language that they are stemmed in."""
        store = TextStore(self.folder, self.rows)
        language = how.language or main_language([store.passage(row).text for row in sample(self.rows)])
        writer = WordsWriter(self.folder / lexical.FOLDER, language)
        while writer.rows < self.rows:
            stop = min(self.rows, writer.rows + _WORDS_COMMIT)
            writer.add(store.passage(row) for row in range(writer.rows, stop))
            writer.commit()
            progress("words", stop, self.rows)
        writer.close()
        for path in (self.folder / lexical.FOLDER).iterdir():
            if path.suffix == ".lock" or path.name == ".managed.json":
                path.unlink()  # a writer's own notes; nobody writes here again
            else:
                path.chmod(0o644)  # tantivy keeps some for the owner alone; other users may search too
        return language

    def _open(self) -> list[IO[bytes]]:
        lengths = {
            texts.TEXTS: self._text_bytes,
            texts.OFFSETS: self.rows * 8,
            _HASHES: self.rows * ARRIVAL.itemsize,
        }
        if self._vectors:
            lengths |= {ROWS: self.rows * self.dimensions, CODES: self.rows * code_bytes(self.dimensions)}
        files: list[IO[bytes]] = []
        for name, length in lengths.items():
            file = (self.folder / name).open("ab")
            file.truncate(length)  # what came after the last checkpoint may be torn
            files.append(file)
        return files


def sample(count: int) -> range:
    """A few of so many passages, from all over, by which their language is known."""
    return range(0, count, max(1, count // _SAMPLED))


def is_large(rows: int, dimensions: int) -> bool:
    """Whether a segment is worth lists and sketches."""
    return rows >= lists.FROM_ROWS and dimensions >= lists.NARROWEST


def write_lists(
    folder: Path, count: int, scale: Floats, device: Device = "cpu", progress: Progress = silent
) -> tuple[int, dict[str, FileSum]]:
    """Sort rows into lists; the file of the lists themselves comes last and says that all is there.

    The largest file is read for it from end to end, so its checksum comes along.
    """
    done = folder / lists.LISTS
    known: dict[str, FileSum] = {}
    if not done.exists():
        rows = RowFile(folder / ROWS, count, len(scale))
        progress("lists", 0, count)
        trained = lists.train(rows, scale, *([lists.nearest_on_gpu] if device == "cuda" else []))
        scaled = trained.scaled(scale)
        encode = lists.GpuEncoder(scaled) if device == "cuda" else scaled.encode
        digest = hashlib.sha256()
        with (folder / lists.UNSORTED).open("wb") as out:
            labels = lists.encode_all(
                rows, encode, out, lambda done: progress("lists", done, count), lambda part: digest.update(part.data)
            )
        known[ROWS] = FileSum(count * len(scale), digest.hexdigest())
        lists.sort_sketches(folder, labels, trained)
    (folder / lists.UNSORTED).unlink(missing_ok=True)
    with np.load(done) as parts:
        return len(parts["ends"]), known


def _arrivals(passages: Sequence[Passage]) -> NDArray[np.void]:
    """The hashes of each passage's names; column by column, which numpy takes in at a fraction of the time."""
    found = np.empty(len(passages), ARRIVAL)
    own = [hashed(passage.id) for passage in passages]
    found["id"] = own
    found["document"] = [hashed(p.document) if p.document else mine for p, mine in zip(passages, own, strict=True)]
    found["title"] = [title_hash(passage.title) for passage in passages]
    return found


def _state(folder: Path) -> tuple[int, int]:
    try:
        state = codec.loads(dict[str, int], (folder / _STATE).read_bytes())
    except FileNotFoundError:
        return 0, 0
    return state["rows"], state["texts"]
