"""A pool of sandboxed processes that read documents: what breaks there is one document's failure.

    Workers.read ─► a free child, or a new one ─► request ─► reply within the time ─► page
                                                     └► none: the child is killed, the document has failed

There are as many children as processors, started when needed. A document that takes long gives its place
to the next one and goes on beside it, so that slow documents do not keep quick ones waiting.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from wellread.core.processors import available_processors
from wellread.errors import ReadError, TooCostly
from wellread.reading import ocr, worker
from wellread.reading.allowance import BLOCK_BYTES, MAX_BLOCKS, OWN_FILE, PICTURE, RECOGNITION, Allowance
from wellread.reading.child import BrokenFrame, Child, pack, size_of
from wellread.reading.pdfpicture import Drawing, Picture
from wellread.types import Document, Page

K = TypeVar("K")
_FRESH = worker.IDLE / 2  # a child that waited longer may be about to end
_QUICK = 1.0  # seconds in which most documents are read
_BEYOND = 1024 * 1024  # bytes of a reply beside its text


class _Turn:
    """One document's way through the workers; it may be given up from another thread."""

    def __init__(self, document: Document, allowance: Allowance, wanted: Drawing | None = None) -> None:
        self.document = document
        self.allowance = allowance
        self.wanted = wanted
        self._lock = threading.Lock()
        self._child: Child | None = None
        self.given_up = False

    def give_up(self) -> None:
        with self._lock:
            self.given_up = True
            if self._child is not None:
                self._child.kill()

    def take(self, child: Child | None) -> None:
        with self._lock:
            self._child = child
            if child is not None and self.given_up:
                child.kill()


class Workers:
    """The children of this process. `read` blocks, `aread` does not; both may be called from anywhere."""

    def __init__(self, size: int | None = None, *, recognising: bool = False) -> None:
        self.size = size or max(available_processors(), 2)
        self._recognising = recognising
        # scans are read by one process, which takes all processors and loads models that others need not have
        self._scans = Workers(1, recognising=True) if ocr.is_available() and not recognising else None
        self._places = threading.Semaphore(self.size)
        self._slow = threading.Semaphore(self.size)  # documents that read on beside the others
        self._threads = ThreadPoolExecutor(2 * self.size, thread_name_prefix="wellread-reading")
        # pictures that take long are waited for by those who want pictures, not by those who want a document read
        self._drawers = ThreadPoolExecutor(max(1, self.size // 2), thread_name_prefix="wellread-drawing")
        self._lock = threading.Lock()
        self._free: list[Child] = []
        self._all: set[Child] = set()

    def read(self, document: Document, allowance: Allowance = OWN_FILE) -> Page:
        """The page of a document; raises `ReadError`, or `TooCostly` for one that takes too long or too much."""
        return _page_of(self._read(_Turn(document, allowance)))

    async def aread(self, document: Document, allowance: Allowance = OWN_FILE) -> Page:
        """As `read`. Cancelling it kills the child that reads."""
        return _page_of(await self._aread(_Turn(document, allowance)))

    async def adraw(self, document: Document, wanted: Drawing, allowance: Allowance = PICTURE) -> Picture:
        """A page of a PDF as a picture, or where words stand on it; fails as `read` does."""
        made = await self._aread(_Turn(document, allowance, wanted))
        assert made.picture is not None
        return made.picture

    async def _aread(self, turn: _Turn) -> worker.Reply:
        threads = self._threads if turn.wanted is None else self._drawers
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, self._read, turn)
        except asyncio.CancelledError:
            turn.give_up()
            raise

    def warm(self) -> None:
        """Start a child where there is none, for a document that will come soon."""
        if not self._all:
            self._threads.submit(self._start_one)

    def _start_one(self) -> None:
        with self._lock:
            if self._all:
                return
            child = Child()
            self._all.add(child)
            self._free.append(child)

    async def in_order(
        self, documents: Iterable[tuple[K, Document | Callable[[], Document]]], allowance: Allowance = OWN_FILE
    ) -> AsyncGenerator[tuple[K, Page | ReadError]]:
        """Many documents, some at once, opened in their turn; each key with what came of its document, in the order they came."""
        waiting: deque[tuple[K, asyncio.Task[Page | ReadError]]] = deque()
        try:
            for key, document in documents:
                waiting.append((key, asyncio.create_task(self._outcome(document, allowance))))
                if len(waiting) > 2 * self.size:
                    key, task = waiting.popleft()
                    yield key, await task
            while waiting:
                key, task = waiting.popleft()
                yield key, await task
        finally:
            for _, task in waiting:
                task.cancel()
            await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)

    async def _outcome(self, document: Document | Callable[[], Document], allowance: Allowance) -> Page | ReadError:
        try:
            if not isinstance(document, Document):
                document = await asyncio.to_thread(document)
            return await self.aread(document, allowance)
        except ReadError as problem:
            return problem

    def pids(self) -> list[int]:
        """Of the children there are now."""
        with self._lock:
            return [child.pid for child in self._all]

    def close(self) -> None:
        """End all children; documents that are being read fail."""
        with self._lock:
            children, self._free = list(self._all), []
            self._all.clear()
        for child in children:
            child.kill()
        if self._scans:
            self._scans.close()
        for threads in (self._threads, self._drawers):
            threads.shutdown(wait=True, cancel_futures=True)
        for child in children:
            child.end()

    def _read(self, turn: _Turn) -> worker.Reply:
        place = _Place(self._places, self._slow)
        with place:
            if turn.given_up:
                raise ReadError(turn.document.url, "nobody waits for it any more")
            child = self._child()
            try:
                turn.take(child)
                made = _exchange(child, turn, place)
            except BaseException as problem:
                turn.take(None)
                failure = self._failure(turn, child, problem)
                if failure is None:
                    raise
                raise failure from problem
            turn.take(None)
            self._give_back(child, ended=made.last)
        if made.scans and self._scans and turn.allowance.scans:
            turn.allowance = RECOGNITION
            return self._scans._read(turn)
        if (made.page if turn.wanted is None else made.picture) is None:
            raise (TooCostly if made.costly else ReadError)(turn.document.url, made.reason)
        return made

    def _failure(self, turn: _Turn, child: Child, problem: BaseException) -> ReadError | None:
        """The error of a document whose child did not answer; None: nothing is wrong with it. The child is not used again."""
        ended = self._give_back(child, ended=True)
        url, allowance = turn.document.url, turn.allowance
        if not isinstance(problem, BrokenFrame | OSError):
            return None
        if isinstance(problem, TimeoutError) or ended in (-signal.SIGXCPU, -signal.SIGALRM):
            return TooCostly(url, f"reading it took longer than {allowance.seconds:g} s")
        if child.most > allowance.memory / 2:
            return TooCostly(url, worker.too_large(allowance))
        return ReadError(url, "the document is broken: what reads it crashed")

    def _child(self) -> Child:
        """One that waits, or a new one. Those that have waited long are not used: they end by themselves."""
        with self._lock:
            stale = [child for child in self._free if time.monotonic() - child.used > _FRESH]
            self._free = [child for child in self._free if child not in stale]
            self._all.difference_update(stale)
            child = self._free.pop() if self._free else None
        for old in stale:
            old.end()
        if child is None:
            child = Child(recognising=self._recognising)
            with self._lock:
                self._all.add(child)
        return child

    def _give_back(self, child: Child, *, ended: bool) -> int:
        with self._lock:
            if not ended and child in self._all:
                self._free.append(child)
                return 0
            self._all.discard(child)
        return child.end()


class _Place:
    """One of the places at work; a document that is slow leaves it for one beside them, where there is one."""

    def __init__(self, places: threading.Semaphore, slow: threading.Semaphore) -> None:
        self._held = places
        self._slow = slow

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(self, *_: object) -> None:
        self._held.release()

    def leave(self) -> None:
        if self._held is not self._slow and self._slow.acquire(blocking=False):
            self._held.release()
            self._held = self._slow


def _page_of(made: worker.Reply) -> Page:
    assert made.page is not None
    return made.page


def _exchange(child: Child, turn: _Turn, place: _Place) -> worker.Reply:
    allowance = turn.allowance
    begun = time.monotonic()
    child.send(pack(worker.Request(turn.document, allowance, turn.wanted)), begun + allowance.seconds)
    try:
        head = child.receive(4, min(begun + _QUICK, begun + allowance.seconds))
    except TimeoutError:
        place.leave()
        head = child.receive(4, begun + allowance.seconds)
    size = size_of(bytes(head))
    if size > 4 * allowance.characters + BLOCK_BYTES * MAX_BLOCKS + _BEYOND:
        raise BrokenFrame("a reply that is larger than a page may be")
    frame = child.receive(size, begun + allowance.seconds + _QUICK)
    return worker.replied(frame, turn.document.url)


_pools: dict[int, Workers] = {}
_making = threading.Lock()


def shared() -> Workers:
    """The workers of this process, started when first asked for and ended with it. A fork has its own."""
    with _making:
        if os.getpid() not in _pools:
            _pools.clear()
            pool = _pools[os.getpid()] = Workers()
            atexit.register(pool.close)
        return _pools[os.getpid()]
