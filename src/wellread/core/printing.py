"""Printing of answers (`print(answer)`, notebooks) by the room that shows them everywhere. It stands above the values, so the
package says here where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Printer(Protocol):
    """Renderer of an answer for `print` and notebooks."""

    def text(self, answer: Any) -> str: ...
    def checked(self, answer: Any) -> str: ...
    def in_markdown(self, answer: Any) -> str: ...
    def in_html(self, answer: Any) -> str: ...


printer: Callable[[], Printer]  # set in wellread/__init__.py, before any other module of the package is loaded
