"""Bytes, and what is said about them, as a document that is read in this process."""

from __future__ import annotations

from wellread.reading.allowance import OWN_FILE, Allowance
from wellread.reading.documents import read
from wellread.types import Document, Page


def read_bytes(body: bytes, url: str, *, allowance: Allowance = OWN_FILE, **said: str) -> Page:
    return read(Document(body, url, **said), allowance)
