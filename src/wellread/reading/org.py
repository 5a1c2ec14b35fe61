"""Notes and manuals in the markup of Emacs' Org mode."""

from __future__ import annotations

import re
from textwrap import dedent

from wellread.reading.unmarked import unwrapped
from wellread.types import Block, Page

_HEADING = re.compile(r"(\*{1,8})\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(?:\[#[A-Z]\]\s+)?")
_TAGS = re.compile(r":[\w@:]+:")
_KEY = re.compile(r"#\+(\w+):?\s*(.*)", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\]]{1,500})\](?:\[([^\]]{1,500})\])?\]")
_ITEM = re.compile(r"(\s*)(?:[-+]|\d{1,3}[.)]|(?<=\s)\*)\s+(?:\[[ X-]\]\s+)?(?=\S)")
_LONGEST_TERM = 100  # characters of what stands before ::
_DRAWER = re.compile(r"\s*:([\w-]+):\s*")


def read_org(text: str, url: str, name: str = "") -> Page:
    org = _Org()
    for line in text.split("\n"):
        org.take(line)
    org.flush()
    first = next((block.text for block in org.blocks if block.kind == "heading"), name)
    return Page(url, org.title or first, (), kind="org", author=org.author, blocks=tuple(org.blocks))


class _Org:
    def __init__(self) -> None:
        self.title = ""
        self.author: str | None = None
        self.blocks: list[Block] = []
        self._lines: list[str] = []
        self._item: tuple[str, int] | None = None  # term and depth
        self._code = False
        self._drawer = False

    def take(self, line: str) -> None:
        key = _KEY.fullmatch(line.strip())
        if key:
            self._key(key[1].lower(), key[2])
        elif self._code:
            self._lines.append(line)
        elif self._drawer or ((drawer := _DRAWER.fullmatch(line)) and drawer[1].upper() in {"PROPERTIES", "LOGBOOK"}):
            self._drawer = line.strip().upper() != ":END:"
        elif found := _HEADING.match(line):
            self.flush()
            self.blocks.append(Block("heading", _linked(_untagged(line[found.end() :])), min(len(found[1]), 6)))
        elif line.lstrip().startswith("|"):
            self._row(line.strip())
        elif found := _ITEM.match(line):
            self.flush()
            term, said = _term(line[found.end() :])
            self._item, self._lines = (term, 1 + len(found[1]) // 2), [said] if said else []
        elif not line.strip():
            self.flush()
        elif not line.startswith("# "):
            self._lines.append(line)

    def _key(self, key: str, said: str) -> None:
        if key == "title":
            self.title = said
        elif key == "author":
            self.author = said or None
        elif key.startswith(("begin_src", "begin_example")):
            self.flush()
            self._code = True
        elif key.startswith("end_"):
            self.flush()
            self._code = False

    def _row(self, line: str) -> None:
        self.flush()
        cells = [_linked(cell.strip()) for cell in line.strip("|").split("|")]
        if any(cell.strip("-+:") for cell in cells):
            self.blocks.append(Block("row", "| " + " | ".join(cells) + " |"))

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        item, self._item = self._item, None
        if self._code:
            text = dedent("\n".join(lines)).strip("\n")
            self.blocks.extend([Block("code", text)] if text else [])
        elif lines or item:
            text = _linked(" ".join(line.strip() for line in lines) if item else unwrapped("\n".join(lines)))
            if item and item[0]:
                self.blocks.append(Block("entry", f"{_linked(item[0])}: {text}" if text else _linked(item[0]), item[1]))
            else:
                self.blocks.append(Block("item" if item else "paragraph", text, item[1] if item else 0))


def _untagged(heading: str) -> str:
    words = heading.rsplit(maxsplit=1)
    return words[0] if len(words) == 2 and _TAGS.fullmatch(words[1]) else heading.strip()


def _term(item: str) -> tuple[str, str]:
    """What an item explains, if anything, and what it says; that may begin in the next line."""
    term, mark, said = f"{item.rstrip()} ".partition(" :: ")
    if mark and 0 < len(term.strip()) <= _LONGEST_TERM:
        return term.strip(), said.strip()
    return "", item


def _linked(text: str) -> str:
    return _LINK.sub(lambda found: found[2] or found[1], text)
