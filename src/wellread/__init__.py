"""wellread: an answer engine you run yourself, with citations that a program has checked.

import wellread
answer = wellread.ask("Who invented the telescope?")
print(answer)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from wellread import errors
from wellread.core import printing
from wellread.errors import UsageError, WellreadError
from wellread.version import __version__

if TYPE_CHECKING:
    from wellread import events
    from wellread.api import Index, ask, retrieve
    from wellread.engine import Engine
    from wellread.settings import Settings
    from wellread.types import Answer, Citation, Hit, Passage, Query, Sentence, Usage

if sys.platform == "win32":  # documents are read in confined processes and files opened below descriptors, which it has not
    raise ImportError("wellread runs on Linux and macOS; on Windows inside of WSL 2: wsl --install, then install wellread there")

__all__ = [
    "Answer",
    "Citation",
    "Engine",
    "Hit",
    "Index",
    "Passage",
    "Query",
    "Sentence",
    "Settings",
    "Usage",
    "UsageError",
    "WellreadError",
    "__version__",
    "ask",
    "errors",
    "events",
    "retrieve",
]
_LATER = {"Engine": "engine", "Index": "api", "Settings": "settings", "ask": "api", "retrieve": "api"}


def _printer() -> printing.Printer:
    from wellread.present import printed

    return printed


printing.printer = _printer


def __getattr__(name: str) -> object:
    """Load what is asked for when it is, so that `import wellread` stays quick."""
    if name == "events":
        return import_module("wellread.events")
    if name not in __all__:
        raise AttributeError(f"module 'wellread' has no attribute {name!r}")
    return getattr(import_module(f"wellread.{_LATER.get(name, 'types')}"), name)
