"""The seam to libxml2: markup in, events out.

Event parsing takes linear time and builds nothing by itself. Entities of the document's own are never
expanded and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_lxml: Any = import_module("lxml.etree")  # it has no types; nothing else touches it


MAX_HTML = 20_000_000


class Enough(Exception):
    """Raised by a target that wants no more of a document."""


class Target:
    """Receives the events of a parser; does nothing with those that it has no method for."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, data: str) -> None: ...
    def close(self) -> None: ...


def feed_html(html: str, target: Target) -> None:
    """Parse HTML of any quality, up to twenty million characters or as much as the target wants; what else it raises comes
    through."""
    data = html[:MAX_HTML].encode("utf-8", "replace").replace(b"\0", b"")
    if not data.strip():
        return
    try:
        _lxml.fromstring(data, _lxml.HTMLParser(target=target, encoding="utf-8", huge_tree=True))
    except (_lxml.LxmlError, Enough):
        target.close()  # too deep or too broken: what was read so far is what there is


def feed_xml(data: bytes, target: Target) -> None:
    """Parse XML; `ValueError` for what is not."""
    parser = _lxml.XMLParser(target=target, resolve_entities=False, no_network=True, load_dtd=False)
    try:
        _lxml.fromstring(data, parser)
    except _lxml.LxmlError as error:
        raise ValueError(f"not XML: {error}") from error
