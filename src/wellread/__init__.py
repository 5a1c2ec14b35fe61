"""wellread: an answer engine you run yourself, with citations that a program has checked.

import wellread
answer = wellread.ask("Who invented the telescope?")
print(answer.text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellread.types import Answer, Citation, Hit, Passage, Query, Sentence, Usage
from wellread.version import __version__

if TYPE_CHECKING:
    from wellread.engine import Engine, ask, retrieve
    from wellread.settings import Settings

__all__ = [
    "Answer",
    "Citation",
    "Engine",
    "Hit",
    "Passage",
    "Query",
    "Sentence",
    "Settings",
    "Usage",
    "__version__",
    "ask",
    "retrieve",
]


def __getattr__(name: str) -> object:
    """Load the engine when it is asked for, so that `import wellread` stays quick."""
    if name in ("Engine", "ask", "retrieve"):
        from wellread import engine

        return getattr(engine, name)
    if name == "Settings":
        from wellread.settings import Settings

        return Settings
    raise AttributeError(f"module 'wellread' has no attribute {name!r}")
