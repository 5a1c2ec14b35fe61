"""One reply on its way from a provider to the caller: thinking taken out, cut at stop sequences."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.models.stops import Stops
from wellread.models.thinking import Thinking

# A token of ordinary text has three to five characters. A reply this far beyond its limit comes from
# a server that ignores the limit.
_CHARACTERS_PER_TOKEN = 12
_UNSAID_TOKENS = 100_000  # where a prompt says nothing of how long the reply may be
_UNSEEN_TOKENS = 8192  # for thinking and for calls of tools
_PART = 200  # characters: the beginning of a thought, of words or of a call is work, however short it is


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
        """What was held back until it was clear that it is text."""
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
