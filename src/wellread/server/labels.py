"""What sources are called where people read: a name, not the spec that makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from wellread.errors import UsageError
from wellread.plugins import parse_spec

_NAMES = {
    "library": "Library",
    "wikipedia": "Wikipedia",
    "searxng": "SearXNG",
    "newsapi": "News",
    "mediawiki": "Wiki",
    "elasticsearch": "Elasticsearch",
    "web": "Web",
}
_PATHS = ("index", "files")  # whose argument is a folder


def label(source: str) -> str:
    """A source's name: the one that it was given, the last part of its folder, or the service with what sets it apart."""
    if ":" not in source and "?" not in source:
        return _NAMES.get(source, source)
    try:
        spec = parse_spec(source)
    except UsageError:
        return source
    if named := spec.options.get("name"):
        return str(named)
    if spec.name in _PATHS:
        return PurePosixPath(spec.argument).name or source
    apart = [spec.argument, *map(str, spec.options.values())]
    return " ".join([_NAMES.get(spec.name, spec.name), *(f"({part})" for part in apart if part)])


def labels(sources: Sequence[str]) -> Mapping[str, str]:
    """Names of sources that stand side by side: those that would have the same name keep their specs."""
    names = {source: label(source) for source in sources}
    count = Counter(names.values())
    return {source: name if count[name] == 1 else source for source, name in names.items()}
