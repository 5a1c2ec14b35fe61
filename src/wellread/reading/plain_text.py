"""Text without markup: READMEs, FAQs, RFCs, letters. Headings are what stands out as one: underlined, numbered, in capitals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import dedent

from wellread.text.lexicon import UNSPACED_CLASS
from wellread.types import Block, Page

_BLANK = re.compile(r"\n[ \t]*\n+")
_LINE = 100  # prose with longer lines was not wrapped by hand
_FULL = 45  # characters of a mean line of prose; verse, addresses and lists have shorter ones
_RULE = re.compile(r"\s*([=\-~^*#+._])\1{2,}\s*")
_NUMBERED = re.compile(
    r"((?:(?:chapter|appendix|part|section)\s)?(?:\d{1,2}(?:\.\d{1,3}){0,5}|(?<=\s)[A-Z]))"
    r"\.?[ \t\xa0]{1,6}(?=[^\W\d_]|[\"'“(`*])(\S.{0,90})",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"(?=(?:[^A-Z]*[A-Z]){4})[A-Z0-9][A-Z0-9 ,:&/()'\"+-]{2,58}[A-Z0-9)?!:]")
_OUTLINE = re.compile(r"(#{1,4}|\*{1,4})[ \t]+(\w.{0,100}?)[ \t#*:]*")
_UNSPACED_BREAK = re.compile(rf"(?<={UNSPACED_CLASS})\n(?={UNSPACED_CLASS})")  # no blank there when lines are joined
_LIST = re.compile(r"[-*•#+]\s|[|>]")
_SIGN = re.compile(r"[-*•#+]")
_COLUMNS = re.compile(r"\S {3,}\S")
_OVERSTRUCK = re.compile(r"[^\n]\x08")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
# an RFC's foot and the head of its next page
_PAGED = re.compile(r"\n{1,3}\S[^\n]{0,90}\[Page \w{1,5}\][ \t]*\n+(?:\f\n*[^\n]{0,100}\n{1,3})?|\f")
_LONGEST_TITLE = 100
_CENTRED = 12  # characters that a title in the middle stands in, at least, and off the middle, at most
_MIDDLE = 36
_SAMPLE = 200_000  # characters that tell what a text is like


def cleaned(text: str) -> str:
    """One kind of line end; without what printers and terminals are told."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return _PAGED.sub("\n\n", text) if "\f" in text or "[Page " in text else text


def read_text(text: str, url: str, name: str = "") -> Page:
    """Paragraphs are what blank lines part; lines that were wrapped by hand are joined."""
    blocks = tuple(blocks_of(text))
    first = blocks[0].text.partition("\n")[0].strip() if blocks else ""
    return Page(url, first if 0 < len(first) <= _LONGEST_TITLE else name, (), kind="text", blocks=blocks)


def blocks_of(text: str, rules: str = "") -> Iterator[Block]:
    """`rules`: the signs that underline headings, from the first level on, where that is known; else as they come."""
    margin = 0 if rules else _margin(text)
    parts = [part.strip("\n").rstrip() for part in _BLANK.split(text) if re.search(r"\w", part)]
    levels = list(rules)
    # headings as Markdown and Emacs' outlines have them: there are some of a lower level, or it is a list
    outline = next((sign for sign in "#*" if re.search(rf"^{re.escape(sign)}{{2,4}} ", text, re.MULTILINE)), "")
    for part, after in pairwise([*parts, ""]):
        lines = part.split("\n")
        moved = [line[min(margin, _indent(line)) :] for line in lines]
        heading, rest = _heading(moved, after.lstrip(" "), levels)
        if heading is None and len(rest) == len(moved):
            heading, rest = _placed(lines, moved, after, margin, outline)
        if heading is not None:
            yield heading
        if rest:
            yield Block("paragraph", unwrapped("\n".join(rest)))


def rule(line: str, signs: str) -> str:
    """The sign of a line that is nothing but at least three of it, as headings are underlined; else empty."""
    drawn = line.rstrip()
    return drawn[0] if len(drawn) > 2 and drawn[0] in signs and not drawn.strip(drawn[0]) else ""


def _margin(text: str) -> int:
    """How far in most lines stand, as in what pod2text and man write."""
    margins = Counter(_indent(line) for line in text[:_SAMPLE].split("\n") if line.strip())
    margin, lines = margins.most_common(1)[0] if margins else (0, 0)
    return margin if lines * 5 >= margins.total() * 2 else 0


def _placed(
    lines: Sequence[str], moved: Sequence[str], after: str, margin: int, outline: str
) -> tuple[Block | None, Sequence[str]]:
    """Headings by where they stand: after a sign of an outline, out of the margin, in the middle of the line."""
    found = _OUTLINE.fullmatch(lines[0]) if outline and lines[0].startswith(outline) else None
    if found and (len(lines) == 1 or outline == "#"):
        return Block("heading", found[2], len(found[1])), moved[1:]
    if margin and _hangs_out(lines, margin):
        return Block("heading", lines[0].strip(), 1 + (_indent(lines[0]) > 0)), moved[1:]
    if len(lines) == 1 and after and _is_centred(lines[0], after):
        return Block("heading", lines[0].strip(), 1), ()
    return None, moved


def _is_centred(line: str, after: str) -> bool:
    line, title = line.expandtabs(), line.strip()
    middle = _indent(line) + len(title) / 2
    return (
        _indent(line) >= _CENTRED
        and abs(middle - _MIDDLE) <= _CENTRED
        and _indent(after.expandtabs()) < _CENTRED
        and title[0].isupper()
        and not title.endswith((".", ",", ";", ":"))
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _hangs_out(lines: Sequence[str], margin: int) -> bool:
    """A short line further to the left than the text, alone or right above it."""
    title = lines[0]
    if _indent(title) >= margin or len(title) > _LONGEST_TITLE or not re.match(r"\s*\w", title):
        return False
    return not title.endswith((".", ",", ";", ":")) and (len(lines) == 1 or _indent(lines[1]) >= margin)


def _heading(lines: Sequence[str], after: str, levels: list[str]) -> tuple[Block | None, Sequence[str]]:
    """The heading that a part begins with, if any, and what is left of the part."""
    over = len(lines) > 2 and _is_rule_of(lines[0], lines[1]) and _is_rule_of(lines[2], lines[1])
    title, *rest = lines[1:] if over else lines
    if rest and _is_rule_of(rest[0], title):
        sign = rest[0].strip()[0]
        if sign not in levels:
            levels.append(sign)
        return Block("heading", title.strip(), min(levels.index(sign) + 1, 6)), rest[1:]
    if level := _numbered(lines, after):
        return Block("heading", lines[0].strip(), level), ()
    if _CAPITALS.fullmatch(lines[0]) and (rest[0].startswith((" ", "\t")) if rest else bool(after)):
        return Block("heading", lines[0].strip().rstrip(":"), 1), rest
    return None, lines


def _is_rule_of(line: str, title: str) -> bool:
    """Whether the line is there to underline the title: about as wide as it is."""
    wide = _width(title.rstrip())
    return bool(
        _RULE.fullmatch(line)
        and re.search(r"\w", title)
        and wide <= _LONGEST_TITLE
        and (abs(len(line.rstrip()) - wide) <= 3 or (len(line.rstrip()) > wide and line.strip()[0] in "=*#"))
    )


def _numbered(lines: Sequence[str], after: str) -> int:
    """The level of a line of its own such as `2.1 Oil`. One that others of its kind follow is a list."""
    found = _NUMBERED.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None or not after or lines[0].rstrip().endswith((".", ",", ";", ":")):
        return 0
    level = found[1].count(".") + 1
    following = _NUMBERED.match(after)
    return 0 if following and following[1].count(".") + 1 == level else min(level, 6)


def unwrapped(paragraph: str) -> str:
    """As one line where it is prose that was wrapped by hand; else as it stands."""
    lines = dedent(paragraph).split("\n")
    indented = lines[0].startswith(" ")  # the first line of a paragraph in a book
    body = lines[1:] if indented else lines
    if len(lines) < 2 or any(line[:1] in " \t" or len(line) > _LINE for line in body) or _lists(lines):
        return paragraph
    if sum(map(_width, lines[:-1])) / len(lines[:-1]) < _FULL:
        return paragraph
    columns = sum(bool(_COLUMNS.search(line.strip())) for line in lines)
    if columns * 2 > len(lines) or (paragraph[:1] in " \t" and not indented and not _is_said(lines)):
        return paragraph
    return _UNSPACED_BREAK.sub("", "\n".join(line.strip() for line in lines)).replace("\n", " ")


def _lists(lines: Sequence[str]) -> bool:
    """Whether lines begin items. "-print" that is wrapped begins a line as well, but had no room in the line above it."""
    widest, signed = max(map(len, lines)), _SIGN.match(lines[0])
    return any(map(_LIST.match, lines)) or any(
        _SIGN.match(line) and (signed or len(f"{above} {line.split(maxsplit=1)[0]}") <= widest) for above, line in pairwise(lines)
    )


def _width(line: str) -> int:
    """Letters of the far East are two wide."""
    return sum(2 if "\u2e80" <= letter <= "\uffdc" else 1 for letter in line)


def _is_said(lines: Sequence[str]) -> bool:
    """Sentences, as against code that is indented."""
    return lines[-1].rstrip().endswith((".", ":", "?", "!", ")", '"', "”")) and not any(
        line.rstrip().endswith((";", "{", "}", "\\")) for line in lines
    )
