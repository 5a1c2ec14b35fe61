"""Plain text and Markdown to passages."""

from __future__ import annotations

import re

from wellread.text.dates import iso_date
from wellread.types import Page

_BLANK = re.compile(r"\n[ \t]*\n+")
_LINK = re.compile(r"!?\[([^\]\[]{0,500})\]\([^()\s]{0,2000}(?:\s+\"[^\"]{0,200}\")?\)")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_FIELDS = ("title", "date", "author", "lang", "language")
_LINE = 100  # prose with longer lines was not wrapped by hand


def read_text(text: str, url: str, name: str = "") -> Page:
    """Paragraphs are what blank lines part; lines that were wrapped by hand are joined."""
    passages = tuple(map(_unwrapped, _split(_clean(text))))
    first = passages[0].partition("\n")[0].strip() if passages else ""
    title = first if 0 < len(first) <= 100 else name
    return Page(url=url, title=title, passages=passages, kind="text")


def read_markdown(text: str, url: str, name: str = "") -> Page:
    """Markdown stays as it is, but for the addresses of links and comments; fields at its head are facts."""
    text = _clean(text)
    fields: dict[str, str] = {}
    if text.startswith("---\n") and "\n---\n" in text[:5000]:
        head, _, text = text[4:].partition("\n---\n")
        fields = _fields(head)
    passages = tuple(_markdown_passages(text))
    heading = _title(text)
    language = fields.get("lang") or fields.get("language")
    return Page(
        url=url,
        title=fields.get("title") or (_LINK.sub(r"\1", heading) or name),
        passages=passages,
        published=iso_date(fields.get("date", "")),
        author=fields.get("author"),
        language=language[:2].lower() if language else None,
        kind="markdown",
    )


def _fields(head: str) -> dict[str, str]:
    rows = (row.partition(":") for row in head.split("\n"))
    found = {key.strip().lower(): value.strip().strip("\"'") for key, _, value in rows if value.strip()}
    return {name: found[name] for name in _FIELDS if name in found}


def _title(text: str) -> str:
    """The first heading of the first level. Line by line: titles may hold tens of thousands of spaces."""
    for line in text.split("\n"):
        if line.startswith("# ") and (words := line[2:].strip()):
            return words.rstrip("#").rstrip() or words
    return ""


def _clean(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").replace("\f", "\n\n")


def _split(text: str) -> list[str]:
    return [part.strip("\n").rstrip() for part in _BLANK.split(text) if part.strip()]


def _unwrapped(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if len(lines) < 2 or any(line[:1] in " \t-*•|>#" or len(line) > _LINE for line in lines):
        return paragraph
    if sum(map(len, lines[:-1])) / len(lines[:-1]) < 45:  # verse, addresses, lists
        return paragraph
    return " ".join(line.strip() for line in lines)


def _markdown_passages(text: str) -> list[str]:
    """Blank lines part passages, except inside a fence."""
    result: list[str] = []
    code: list[str] = []
    prose: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            code.append(line)
            if mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                result.append("\n".join(code))
                code, fence = [], ""
        elif mark:
            result.extend(_prose("\n".join(prose)))
            prose, code, fence = [], [line], mark.group(1)
        else:
            prose.append(line)
    return [*result, *(["\n".join(code)] if code else []), *_prose("\n".join(prose))]


def _prose(text: str) -> list[str]:
    before, *after = text.split("<!--")  # comments, in linear time
    text = before + "".join(part.partition("-->")[2] for part in after)
    parts = _split(_LINK.sub(r"\1", text))
    return [_unwrapped(part) for part in parts]
