"""From files to a first answer: python benchmarks/ingest.py [--quick] [--passages N]

The files are texts that lie in the Python environment (sources and documentation of its packages): real ones, there on
every machine. Times are best times of alternating rounds of one run.

    words_ratio       reading and indexing N passages until all are found by words / reading them and indexing them with bm25s
    first_search_s    seconds from typing `wellread index build` until a search in another process finds something
    second_ask_ratio  the second `wellread ask --source FOLDER` on 200 files / the same question to a built index
    vectors_ratio     passages a second of the default embedder / of the file that was shipped before; see `arithmetic.py`
    vectors_cosine    least likeness of its vectors to float32's
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.arithmetic import vectors
from wellread.errors import IndexFault
from wellread.index import manifest
from wellread.index.build import BuildOptions, build
from wellread.index.feed import EmbeddingFeed
from wellread.index.following import Following, passages
from wellread.index.inputs import InputOptions
from wellread.index.search import LocalIndex

WELLREAD = str(Path(sys.executable).parent / "wellread")
QUESTION = "What does the license say about liability for damages?"
PER_FILE = 12_000  # characters of one file: about twelve passages
_SUFFIXES = (".py", ".md", ".rst", ".txt")


def texts() -> Iterator[str]:
    """Texts of the environment's packages, cut to like length."""
    folders = (Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib")))
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                text = path.read_text(encoding="utf-8", errors="ignore")
                for start in range(0, len(text) - PER_FILE // 2, PER_FILE):
                    yield text[start : start + PER_FILE]


def written(folder: Path, files: int) -> Path:
    """A folder with so many of them."""
    folder.mkdir()
    for number, text in zip(range(files), texts(), strict=False):
        (folder / f"{number:05}.txt").write_text(text, encoding="utf-8")
    return folder


class NoVectors:
    """Stands for an embedder where words alone are timed."""

    name, dimensions = "none", 384


async def read_all(folder: Path) -> list[str]:
    return [f"{p.title}\n{p.text}" async for p in passages([str(folder)], InputOptions(unreadable=[]))]


async def by_words(folder: Path, index: Path) -> None:
    how = InputOptions(unreadable=[])
    names = [str(folder)]
    maker: Any = NoVectors()
    feed = EmbeddingFeed(Following(names, how), maker, "benchmark")
    await build(index, feed, BuildOptions(vectors=False))


def by_bm25s(folder: Path) -> int:
    import bm25s

    found = asyncio.run(read_all(folder))
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(found, stopwords="en", show_progress=False), show_progress=False)
    return len(found)


def words(folder: Path, work: Path, rounds: int) -> dict[str, float]:
    ours: list[float] = []
    theirs: list[float] = []
    whole: list[float] = []
    count = 0
    for number in range(rounds):
        begun = time.perf_counter()
        count = by_bm25s(folder)
        theirs.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        found = threading.Thread(target=until_found, args=(work / f"words-{number}", count, ours))
        found.start()
        asyncio.run(by_words(folder, work / f"words-{number}"))
        whole.append(time.perf_counter() - begun)
        found.join()
        ours[-1] -= begun
    return {
        "passages": count,
        "words_ratio": round(min(ours) / min(theirs), 3),
        "words_merged_ratio": round(min(whole) / min(theirs), 3),  # also written together as one segment
        "words_passages_per_second": round(count / min(ours)),
    }


def until_found(index: Path, count: int, moments: list[float]) -> None:
    """Note when all passages can be searched."""
    while True:
        with contextlib.suppress(IndexFault):
            if manifest.load(index).rows == count:
                moments.append(time.perf_counter())
                return
        time.sleep(0.01)


def first_search(folder: Path, work: Path) -> float:
    """Seconds until something is found in an index that is being built; the build is ended then."""
    index = work / "first"
    begun = time.perf_counter()
    building = subprocess.Popen([WELLREAD, "index", "build", str(folder), "-o", str(index)], stderr=subprocess.DEVNULL)
    try:
        while building.poll() is None:
            if (index / "manifest.json").exists() and len(LocalIndex.open(index).by_words("license", 1)[0]):
                return time.perf_counter() - begun
            time.sleep(0.01)
        raise RuntimeError("the build has ended before anything was found")
    finally:
        building.kill()
        building.wait()


def asked(source: str, environ: dict[str, str]) -> float:
    begun = time.perf_counter()
    command = [WELLREAD, "ask", QUESTION, "--strategy", "quote", "--source", source, "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - begun


def second_ask(work: Path, files: int, rounds: int) -> dict[str, float]:
    folder = written(work / "asked", files)
    environ = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
    index = work / "built"
    subprocess.run([WELLREAD, "index", "build", str(folder), "-o", str(index)], check=True, capture_output=True)
    first = asked(str(folder), environ)
    again, built = [], []
    for _ in range(rounds):
        again.append(asked(str(folder), environ))
        built.append(asked(f"index:{index}", environ))
    return {"first_ask_ratio": round(first / min(built), 3), "second_ask_ratio": round(min(again) / min(built), 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer passages, rounds, and files for the question")
    parser.add_argument("--passages", type=int, default=None, help="10,000; with --quick 3,000")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="wellread-ingest-"))
    try:
        folder = written(work / "files", (options.passages or (3_000 if options.quick else 10_000)) // 9)
        result: dict[str, float | None] = dict(words(folder, work, 2 if options.quick else 3))
        print(json.dumps(result), file=sys.stderr)
        result["first_search_s"] = round(min(first_search(folder, work / str(n)) for n in range(1 if options.quick else 3)), 2)
        print(json.dumps(result), file=sys.stderr)
        result |= second_ask(work, 20 if options.quick else 200, 2 if options.quick else 5)
        print(json.dumps(result), file=sys.stderr)
        result |= {name: round(value, 4) for name, value in vectors(2 if options.quick else 3).items()}
        print(json.dumps(result))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
