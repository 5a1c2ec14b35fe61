"""Perl's plain old documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wellread.reading.builder import code, entry, titled
from wellread.text.inert import unescaped
from wellread.types import Block, Page

_COMMAND = re.compile(r"=([a-z]\w*)[ \t]*(.*)", re.DOTALL)
_INNER = re.compile(r"([A-Z])(?:<([^<>]*)>|<<+\s(.{0,500}?)\s>>+)", re.DOTALL)
_ENTITIES = {"sol": "/", "verbar": "|"}  # beside those of HTML
_DEEPEST = 8
_ASIDE = frozenset({"html", "latex", "roff", "man", "comment", "tex", "xml"})  # formats that =begin names


def read_pod(text: str, url: str, name: str = "") -> Page:
    blocks = list(_pod(text))
    begins = len(blocks) > 1 and blocks[0] == Block("heading", "NAME", 1)  # as manuals do: "lamp - light"
    return titled("pod", blocks, url, name, blocks[1].text.partition(" - ")[0] if begins else "")


def _pod(text: str) -> Iterator[Block]:
    depth, aside = 0, ""
    terms: list[str] = []
    for part in re.split(r"\n[ \t]*\n+", text):
        part = part.strip("\n")
        found = _COMMAND.match(part)
        command, said = (found[1], _said(found[2])) if found else ("", "")
        if aside or command in {"begin", "for"}:
            first = said.partition(" ")[0]
            aside = "" if command == "end" else aside or (first if command == "begin" and first.strip(":") in _ASIDE else "")
        elif re.fullmatch(r"head[1-6]", command):
            yield Block("heading", said, int(command[4]))
        elif command == "over":
            depth = min(depth + 1, _DEEPEST)
        elif command == "back":
            if any(terms):
                yield Block("entry", _joined(terms), depth)
            depth, terms = max(depth - 1, 0), []
        elif command == "item":
            terms.append(said)
        elif not command and part.strip():
            yield from _paragraph(part, _joined(terms), depth)
            terms = []


def _joined(terms: Iterable[str]) -> str:
    return ", ".join(filter(None, terms))


def _paragraph(part: str, term: str, depth: int) -> list[Block]:
    if part[:1] in " \t":
        return code([part.expandtabs()])
    term = f"{term}." if term.isdecimal() else term
    return [entry(term, _said(part), depth) if term else Block("paragraph", _said(part))]


def _said(text: str) -> str:
    """Without the codes, from the innermost out."""
    text = " ".join(text.split())
    for _ in range(_DEEPEST):
        text, count = _INNER.subn(_meant, text)
        if not count:
            break
    return text


def _meant(found: re.Match[str]) -> str:
    code, inner = found[1], found[2] if found[2] is not None else found[3]
    if code in "XZ":
        return ""
    if code == "E":
        return _ENTITIES.get(inner) or unescaped(f"&#{inner};" if inner.isdecimal() else f"&{inner};")
    if code == "L" and "|" in inner:
        return inner.partition("|")[0]
    return inner.replace("/", " ").replace('"', "").strip() if code == "L" and "://" not in inner else inner
