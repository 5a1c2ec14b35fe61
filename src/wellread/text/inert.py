r"""Sanitising Markdown: foreign words in an answer can only be read. Images, elements and links to no source become text.

Pages tell models what to write, and clients load the images of what they show: an address can carry away what was
asked. A backslash makes Markdown show a sign as it stands, so nothing is lost: `![a](b)` becomes `!\[a]\(b)` and
`<img>` becomes `&lt;img>`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from itertools import islice

from wellread.text import patterns as re
from wellread.text.markers import LINK_TARGET, same_address
from wellread.types import Passage

_TAGS = (
    "img image picture source video audio track iframe frame object embed svg math script style link meta base form input "
    "button a area map body html head portal template"
)
# Any other element can act through its attributes, so it is one that has room for some; a link in angle brackets names a scheme
# or a mailbox; a name that goes on and on is no word.
_OTHERS = r"[!?]|[a-z][^\s/>]{0,39}[\s/:@]|[a-z][^\s/>]{40}"  # to a browser nearly every sign can be part of a name
_ACTIVE = re.compile(rf"!\[|\]\(|\]:|<(?=/?(?:{'|'.join(_TAGS.split())})\b|{_OTHERS})", re.IGNORECASE)
_MAY_DEFINE = re.compile(r"\]:\s{0,200}<?[^\s\]/:]{0,200}")
_DEFINES = re.compile(r"\]:\s{0,200}<?[^\s\]]{0,200}[/:]")
_NAME = r"<(?:/?[a-zA-Z][^\s/>]{0,40}|/)?"
_MAYBE = re.compile(rf"(?:!|\]|{_NAME}|\]:\s{{0,200}}\S{{0,200}})\Z")
_UNENDED = re.compile(rf"{_NAME}\Z")
_TOO_LONG = re.compile(r"&#(?:[xX][0-9a-fA-F]{8}[0-9a-fA-F]*+|[0-9]{8}[0-9]*+);?")  # Python refuses to read thousands of digits
_LONGEST_TARGET = 2_500  # characters
_ENDS_TARGET = frozenset(")\n")
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))  # they show words in another order than they stand


class Inert:
    """`feed` returns what may be shown; all that it returns is the text with nothing in it that acts."""

    def __init__(self, known: Callable[[str], bool]) -> None:
        self._known = known
        self._held = ""

    def feed(self, piece: str) -> str:
        waiting = self._held.startswith("](")  # for the end of a link's target, which is then not looked at piece by piece
        self._held += piece if piece.isascii() else piece.translate(_TURNING)
        if waiting and len(self._held) < _LONGEST_TARGET and not _ENDS_TARGET.intersection(piece):
            return ""
        return self._take(final=False)

    def close(self) -> str:
        return self._take(final=True)

    def _take(self, *, final: bool) -> str:
        text, at = self._held, 0
        parts: list[str] = []
        unended = None if final else _UNENDED.search(text, max(0, len(text) - 45))  # may take in the signs that follow it
        while match := _ACTIVE.search(text, at):
            if unended and at <= unended.start() < match.start():
                break
            parts.append(text[at : match.start()])
            at = match.start()
            made = self._made(text, match, final=final)
            if made is None:
                self._held = text[at:]
                return "".join(parts)
            shown, at = made
            parts.append(shown)
        maybe = None if final else _MAYBE.search(text, max(at, len(text) - 450))
        end = maybe.start() if maybe else len(text)
        parts.append(text[at:end])
        self._held = text[end:]
        return "".join(parts)

    def _made(self, text: str, match: re.Match[str], *, final: bool) -> tuple[str, int] | None:
        """The replacement of a sign, and where to read on; None when more must come first."""
        sign, after = match[0], match.end()
        if sign == "](":
            target = LINK_TARGET.match(text, match.start() + 1)
            if target is not None and '"' not in target[0] and self._known(target[1]):  # a title is shown here and there
                return text[match.start() : target.end()], target.end()
            waiting = target is None and not final and len(text) - after < _LONGEST_TARGET and "\n" not in text[after:]
            return None if waiting else ("]\\(", after)
        if sign == "]:":
            if not final and _MAY_DEFINE.fullmatch(text, match.start()):
                return None
            return ("]\\:" if _DEFINES.match(text, match.start()) else sign), after
        if sign == "<" and not final and _MAYBE.fullmatch(text, match.start()):
            return None  # `<a` may become `<aa`, which is no element that acts
        return ("!\\[" if sign == "![" else "&lt;"), after


def inert(text: str, passages: Mapping[int, Passage] | None = None) -> str:
    """The whole text; links stay where they lead to one of the passages."""
    made = Inert(leads_to(passages or {}))
    return made.feed(text) + made.close()


def leads_to(passages: Mapping[int, Passage]) -> Callable[[str], bool]:
    """Whether an address is that of a passage; passages may still be added."""
    known: set[str] = set()
    read = 0

    def leads(url: str) -> bool:
        nonlocal read
        known.update(same_address(one.url) for one in islice(passages.values(), read, None) if one.url)
        read = len(passages)
        return same_address(url) in known

    return leads


def unescaped(text: str) -> str:
    """`&amp;`, `&#38;` and `&#x26;` as `&`; a number that no sign has as U+FFFD."""
    return html.unescape(_TOO_LONG.sub("\ufffd", text)) if "&" in text else text
