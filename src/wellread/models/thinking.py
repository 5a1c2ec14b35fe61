"""Takes a model's thinking out of its words while they stream.

Servers that know a model's format send its thinking apart; the others leave it in the text, each
family with its own marks. What is between the marks must never reach an answer or a parser.
"""

from __future__ import annotations

import re

# Opening mark → the marks that end the thinking. The harmony format names a channel instead.
_CHANNEL_ENDS = ("<|end|>", "<|call|>", "<|return|>", "<|channel|>final<|message|>")
_PAIRS: dict[str, tuple[str, ...]] = {
    "<think>": ("</think>",),
    "<thinking>": ("</thinking>",),
    "<thought>": ("</thought>",),
    "<reasoning>": ("</reasoning>",),
    "<reflection>": ("</reflection>",),
    "<seed:think>": ("</seed:think>",),
    "[THINK]": ("[/THINK]",),
    "◁think▷": ("◁/think▷",),
    "<|begin_of_thought|>": ("<|end_of_thought|>",),
    "<|channel|>analysis": _CHANNEL_ENDS,
    "<|channel|>commentary": _CHANNEL_ENDS,
}
_CLOSERS = tuple(dict.fromkeys(c for opener, ends in _PAIRS.items() if "|channel|" not in opener for c in ends))
# Marks of a format that carry no words themselves.
_MARKUP = ("<|start|>assistant", "<|channel|>final<|message|>", "<|message|>", "<|end|>", "<|return|>")
_MARKS = (*_PAIRS, *_CLOSERS, *_MARKUP)
_LONGEST = max(map(len, _MARKS))
_BEGUN = frozenset(mark[:length].lower() for mark in _MARKS for length in range(1, len(mark) + 1))


def _pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(marks, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


_ANY = _pattern(_MARKS)
_ENDS = {ends: _pattern(ends) for ends in {*_PAIRS.values(), _CLOSERS}}
_BY_LOWER = {opener.lower(): ends for opener, ends in _PAIRS.items()}
_CLOSERS_LOWER = frozenset(closer.lower() for closer in _CLOSERS)


class Thinking:
    """`feed` gives the words that are not thinking.

    `begun`: the chat template opened the thinking already, so the reply starts inside it. When no end
    ever comes it was an answer after all, and `finish` gives it back.
    `restarted` turns true when an end without a beginning, with words after it, shows that all that
    came out before was thinking: what `feed` returns then stands in its place.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self._buffer = ""
        self._out = ""
        self._ends: tuple[str, ...] | None = _CLOSERS if begun else None
        self._kept: list[str] | None = [] if begun else None
        self._trim = False
        self._orphaned = False
        self._last = ""  # the visible character before the buffer
        self.restarted = False

    def feed(self, text: str) -> str:
        self._buffer += text
        self._out = ""
        while self._hidden() if self._ends is not None else self._visible():
            pass
        return self._out

    def apart(self) -> None:
        """The server sends the thinking by itself, so the text does not begin inside it."""
        if self._kept is not None:
            self._buffer = "".join(self._kept) + self._buffer
            self._kept = self._ends = None

    def finish(self) -> str:
        """The rest; thinking that never ended is dropped."""
        rest, self._buffer, self._out = self._buffer, "", ""
        if self._kept is not None:
            return "".join(self._kept) + rest
        if self._ends is None:
            self._emit(rest)
        return self._out

    def _hidden(self) -> bool:
        """Skip to the end of the thinking; False when it is not there yet."""
        assert self._ends is not None
        match = _ENDS[self._ends].search(self._buffer)
        cut = match.end() if match else max(0, len(self._buffer) - _LONGEST)
        if match is None and self._kept is not None:
            self._kept.append(self._buffer[:cut])
        self._buffer = self._buffer[cut:]
        if match is None:
            return False
        self._ends = self._kept = None
        self._trim = True
        return True

    def _visible(self) -> bool:
        """Show the words up to the next mark; False when there is none yet."""
        match = _ANY.search(self._buffer)
        if match is None:
            ready = len(self._buffer) - self._maybe_mark()
            self._last = self._buffer[:ready][-1:] or self._last
            self._emit(self._buffer[:ready])
            self._buffer = self._buffer[ready:]
            return False
        before, mark = self._buffer[: match.start()], match.group()
        self._buffer = self._buffer[match.end() :]
        quoted, self._last = (before[-1:] or self._last) == "`", ""
        if quoted:  # a text about the mark, not the mark
            self._emit(before + mark)
            return True
        self._emit(before)
        self._ends = _BY_LOWER.get(mark.lower())
        self._orphaned = mark.lower() in _CLOSERS_LOWER
        return True

    def _maybe_mark(self) -> int:
        """How many characters at the end may be the beginning of a mark."""
        tail = self._buffer[-(_LONGEST - 1) :].lower()
        return next((len(tail) - place for place in range(len(tail)) if tail[place:] in _BEGUN), 0)

    def _emit(self, text: str) -> None:
        if self._orphaned and text.strip():
            self._orphaned = False
            self._trim = self.restarted = True
            self._out = ""
        if self._trim and text:  # blank lines between the thinking and the words
            text = text.lstrip()
            self._trim = not text
        self._out += text
