"""The file that a document of an index was read from, looked up in the index's own records.

An index may be a stranger's, and its records may name any file of this machine. So a file is handed out only while its
bytes are those that the index has the checksum of: whoever made the index knew them already.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from wellread import codec
from wellread.core.unicode_safety import encodable
from wellread.errors import ReadError
from wellread.index import inputs, ledger
from wellread.index.following import RECORD, Recorded
from wellread.index.ledger import Entry
from wellread.index.manifest import Manifest
from wellread.net.address import is_of_own_network
from wellread.reading.documents import MAX_FILE, Document, opened
from wellread.types import Original, OriginalState


def find(folder: Path, content: Manifest, document: str, roots: Sequence[Path] | None = None) -> Original:
    """What has become of a document's file. `roots` are its inputs where the caller knows them better than the index."""
    entries = ledger.load(folder, content.read)
    entry = next((one for name, one in entries.items() if encodable(name) == document and not one.table), None)
    if entry is None or inputs.is_page(entry.name):
        return Original("none")
    known = recorded(content.origin) if roots is None else roots
    paths = [path for root in known if (path := _inside(root, entry.name)) is not None]
    found = [Original(_state(path, entry), str(path), entry.sha256) for path in paths]
    return next((one for one in found if one.state == "same"), found[0] if found else Original("gone"))


def recorded(origin: Mapping[str, str]) -> list[Path]:
    """The files and folders that an index says it was made from."""
    try:
        return [Path(name) for name in codec.loads(Recorded, origin[RECORD]).inputs if name.startswith("/")]
    except (KeyError, ValueError):
        return []


def are_public(origin: Mapping[str, str]) -> bool:
    """Whether everybody may know what an index says it was made from: web pages, data sets of the hub, ZIM files."""
    try:
        names = codec.loads(Recorded, origin[RECORD]).inputs
    except (KeyError, ValueError):
        return "hf:" in origin.get("inputs", "")
    return bool(names) and all(map(_is_public, names))


def _is_public(name: str) -> bool:
    if inputs.is_page(name):
        return not is_of_own_network(urlsplit(name).hostname or "")
    return name.startswith("hf:") or name.endswith((".zim", ".urls"))


def content(original: Original) -> Document:
    """The bytes that were indexed; raises `ReadError` where the file holds others by now."""
    if original.path is None or original.state != "same":
        raise ReadError(original.path or "", "the file is not what was read")
    document = opened(original.path)
    if hashlib.sha256(document.body).hexdigest() != original.sha256:
        raise ReadError(original.path, "the file has changed since it was read")
    return document


def _inside(root: Path, name: str) -> Path | None:
    """A regular file by its name under an input, however it is linked; never one outside of it."""
    if "\0" in name or name.startswith("/") or ".." in name.split("/"):
        return None
    try:
        top = os.path.realpath(root, strict=True)
        if os.path.isfile(top):
            return Path(top) if root.name == name else None
        path = os.path.realpath(os.path.join(top, name), strict=True)
        if os.path.commonpath([top, path]) != top or not stat.S_ISREG(os.stat(path).st_mode):
            return None
    except (OSError, ValueError):
        return None
    return Path(path)


def _state(path: Path, entry: Entry) -> OriginalState:
    try:
        about = path.stat()
    except OSError:
        return "gone"
    if about.st_size != entry.size or about.st_size > MAX_FILE or not entry.sha256:
        return "changed"
    if about.st_mtime_ns == entry.changed:
        return "same"  # whoever wants its bytes compares them
    try:
        return "same" if hashlib.sha256(opened(path).body).hexdigest() == entry.sha256 else "changed"
    except ReadError:
        return "gone"
