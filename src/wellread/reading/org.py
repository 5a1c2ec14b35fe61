"""Notes and manuals in the markup of Emacs' Org mode."""

from __future__ import annotations

import re

from wellread.reading.builder import Builder, titled
from wellread.types import Page

_HEADING = re.compile(r"(\*{1,8})\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(?:\[#[A-Z]\]\s+)?")
_TAGS = re.compile(r":[\w@:]+:")
_KEY = re.compile(r"#\+(\w+):?\s*(.*)", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\]]{1,500})\](?:\[([^\]]{1,500})\])?\]")
_ITEM = re.compile(r"(\s*)(?:[-+]|\d{1,3}[.)]|(?<=\s)\*)\s+(?:\[[ X-]\]\s+)?(?=\S)")
_LONGEST_TERM = 100  # characters of what stands before ::
_DRAWER = re.compile(r"\s*:([\w-]+):\s*")


def read_org(text: str, url: str, name: str = "") -> Page:
    made = Builder(lambda words: _LINK.sub(lambda found: found[2] or found[1], words), verse=True)
    about: dict[str, str] = {}
    drawer = False
    for line in text.split("\n"):
        if key := _KEY.fullmatch(line.strip()):
            _keyed(key[1].lower(), key[2], made, about)
        elif made.kind == "code":
            made.lines.append(line)
        elif drawer or ((opens := _DRAWER.fullmatch(line)) and opens[1].upper() in {"PROPERTIES", "LOGBOOK"}):
            drawer = line.strip().upper() != ":END:"
        else:
            _line(line, made)
    made.flush()
    return titled("org", made.blocks, url, name, about.get("title", ""), author=about.get("author"))


def _keyed(key: str, said: str, made: Builder, about: dict[str, str]) -> None:
    if key in {"title", "author"} and said:
        about[key] = said
    elif key.startswith(("begin_src", "begin_example")):
        made.begin("code")
    elif key.startswith("end_"):
        made.flush()


def _line(line: str, made: Builder) -> None:
    if found := _HEADING.match(line):
        *before, last = line[found.end() :].rsplit(maxsplit=1) or [""]
        made.heading(before[0] if before and _TAGS.fullmatch(last) else line[found.end() :].strip(), len(found[1]))
    elif line.lstrip().startswith("|"):
        made.flush()
        cells = line.strip().strip("|").split("|")
        if any(cell.strip(" -+:") for cell in cells):
            made.row(cells)
    elif found := _ITEM.match(line):
        term, said = _term(line[found.end() :])
        made.begin("item", said, term=term, depth=1 + len(found[1]) // 2)
    elif not line.strip():
        made.flush()
    elif not line.startswith("# "):
        made.lines.append(line)


def _term(item: str) -> tuple[str, str]:
    """The term of an item, if any, and what it says; that may begin in the next line."""
    term, mark, said = f"{item.rstrip()} ".partition(" :: ")
    if mark and 0 < len(term.strip()) <= _LONGEST_TERM:
        return term.strip(), said.strip()
    return "", item
