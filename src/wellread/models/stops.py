"""Cuts a stream at a stop sequence, for servers that ignore or refuse the parameter."""

from __future__ import annotations

from collections.abc import Sequence


class Stops:
    """Text goes in by pieces and comes out as soon as it cannot be the beginning of a stop sequence.

    `found` is the sequence that was completed first; nothing from its beginning on ever comes out.
    """

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(dict.fromkeys(sequence for sequence in sequences if sequence))
        self._held = ""
        self.found: str | None = None

    def feed(self, text: str) -> str:
        """What may be shown now."""
        if self.found is not None or not text:
            return ""
        if not self._sequences:
            return text
        text = self._held + text
        if (place := self._first(text)) is not None:
            start, self.found = place
            self._held = ""
            return text[:start]
        keep = self._beginning(text)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was held back and turned out to be plain text."""
        held, self._held = self._held, ""
        return held

    def _first(self, text: str) -> tuple[int, str] | None:
        """The sequence that is complete first, as a server reading token by token would see it."""
        found = [(start + len(s), start, s) for s in self._sequences if (start := text.find(s)) >= 0]
        if not found:
            return None
        _, start, sequence = min(found)
        return start, sequence

    def _beginning(self, text: str) -> int:
        """How many characters at the end could be the beginning of a sequence."""
        longest = 0
        for sequence in self._sequences:
            for size in range(min(len(sequence) - 1, len(text)), longest, -1):
                if text.endswith(sequence[:size]):
                    longest = size
                    break
        return longest


def unclosed(text: str, sequences: Sequence[str]) -> str | None:
    """The stop sequence that must have ended `text`: a closing tag whose opening tag is left open.

    Most servers don't say which stop sequence ended a reply, nor whether one did.
    """
    for sequence in sequences:
        if sequence.startswith("</") and sequence.endswith(">"):
            opening = "<" + sequence[2:]
            if text.count(opening) > text.count(sequence):
                return sequence
    return None
