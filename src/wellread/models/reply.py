"""Streaming of one reply on its way from a provider to the caller: thinking taken out, cut at stop sequences.

Servers that know a model's format send its thinking apart; the others leave it in the text, each family with its own marks. What
is between the marks must never reach an answer or a parser. Stop sequences are cut here for servers that ignore the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# A token of ordinary text has three to five characters. A reply this far beyond its limit comes from
# a server that ignores the limit.
_CHARACTERS_PER_TOKEN = 12
_UNSAID_TOKENS = 100_000  # where a prompt says nothing of how long the reply may be
_UNSEEN_TOKENS = 8192  # for thinking and for calls of tools
_PART = 200  # characters: the beginning of a thought, of words or of a call is work, however short it is


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


def _beginnings(marks: Iterable[str]) -> frozenset[str]:
    return frozenset(mark[:length] for mark in marks for length in range(1, len(mark)))


def _begun(text: str, beginnings: frozenset[str], longest: int) -> int:
    """How many characters at the end may be the beginning of a mark."""
    return next((size for size in range(min(len(text), longest - 1), 0, -1) if text[-size:] in beginnings), 0)


def _pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(marks, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


_ANY = _pattern(_MARKS)
_BEGINNINGS = _beginnings(map(str.lower, _MARKS))
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
            ready = len(self._buffer) - _begun(self._buffer.lower(), _BEGINNINGS, _LONGEST)
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

    def _emit(self, text: str) -> None:
        if self._orphaned and text.strip():
            self._orphaned = False
            self._trim = self.restarted = True
            self._out = ""
        if self._trim and text:  # blank lines between the thinking and the words
            text = text.lstrip()
            self._trim = not text
        self._out += text


class Stops:
    """Text goes in by pieces and comes out as soon as it cannot be the beginning of a stop sequence.

    `found` is the sequence that was completed first; nothing from its beginning on ever comes out.
    """

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(dict.fromkeys(sequence for sequence in sequences if sequence))
        self._beginnings, self._longest = _beginnings(self._sequences), max(map(len, self._sequences), default=0)
        self._held: str = ""
        self.found: str | None = None

    def feed(self, text: str) -> str:
        """The text without stop sequences that may be shown now."""
        if self.found is not None or not text:
            return ""
        if not self._sequences:
            return text
        text = self._held + text
        # the sequence that is complete first, as a server reading token by token would see it
        complete = [(at + len(one), at, one) for one in self._sequences if (at := text.find(one)) >= 0]
        if complete:
            _, start, self.found = min(complete)
            self._held = ""
            return text[:start]
        keep = _begun(text, self._beginnings, self._longest)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """The text that was held back and is no stop sequence after all."""
        held, self._held = self._held, ""
        return held


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


class Reply:
    """`feed` with what the provider sends; it returns what may be shown. `over`: no more is wanted."""

    def __init__(
        self, stops: Sequence[str] = (), *, max_tokens: int | None = None, thinks: bool = False, after_space: bool = False
    ) -> None:
        self._stop_sequences = tuple(stops)
        self._stops = Stops(stops)
        self._thinking = Thinking(begun=thinks)
        self._limit = None if max_tokens is None else max_tokens * _CHARACTERS_PER_TOKEN + 200
        self._most = ((max_tokens or _UNSAID_TOKENS) + _UNSEEN_TOKENS) * _CHARACTERS_PER_TOKEN
        self._heard = 0
        self._after_space = after_space
        self.text = ""
        self.too_long = False
        self.thought_unmarked = False

    @property
    def stopped_at(self) -> str | None:
        return self._stops.found

    @property
    def over(self) -> bool:
        return self.too_long or self._stops.found is not None

    def feed(self, text: str) -> str:
        return self._add(self._thinking.feed(text))

    def heard(self, characters: int, *, begins: bool = False) -> None:
        """So much has come, to be shown or not. Who thinks without end, or calls for tools, is not listened to without end."""
        self._heard += characters
        self._most -= characters + begins * _PART
        self.too_long = self.too_long or self._most < 0

    @property
    def unseen(self) -> int:
        """The characters that have come beside the text."""
        return max(0, self._heard - len(self.text))

    def thinking_apart(self) -> None:
        """The server sends thinking by itself: none is to be expected in the text."""
        self._thinking.apart()

    def finish(self) -> str:
        """The end of the text, held back until it was clear that it is text."""
        if self.over:
            return ""
        shown = self._add(self._thinking.finish())
        if self.over:
            return shown
        rest = self._stops.finish()
        self.text += rest
        return shown + rest

    def _add(self, words: str) -> str:
        if self._thinking.restarted:
            self._thinking.restarted = False
            self.thought_unmarked = True
            self._stops = Stops(self._stop_sequences)
            self.text = ""
        if self._after_space and words:  # the caller's text ends in the space that this would begin with
            words = words.lstrip()
            self._after_space = not words
        shown = self._stops.feed(words)
        self.text += shown
        if self._limit is not None and len(self.text) > self._limit:
            self.too_long = True
        return shown
