"""Perl's plain old documentation."""

from __future__ import annotations

import re

from wellread.reading.builder import Builder, titled
from wellread.text.inert import unescaped
from wellread.types import Block, Page

_COMMAND = re.compile(r"=([a-z]\w*)[ \t]*(.*)", re.DOTALL)
_INNER = re.compile(r"([A-Z])(?:<([^<>]*)>|<<+\s(.{0,500}?)\s>>+)", re.DOTALL)
_ENTITIES = {"sol": "/", "verbar": "|"}  # beside those of HTML
_DEEPEST = 8
_TERMS = 1_000  # characters of what is explained together
_ASIDE = frozenset({"html", "latex", "roff", "man", "comment", "tex", "xml"})  # formats that =begin names


def read_pod(text: str, url: str, name: str = "") -> Page:
    made = Builder(_said)
    depth, aside = 0, ""
    for part in re.split(r"\n[ \t]*\n+", text):
        part = part.strip("\n")
        found = _COMMAND.match(part)
        command, said = (found[1], found[2].strip()) if found else ("", part)
        if aside or command in {"begin", "for"}:
            first = said.partition(" ")[0]
            aside = "" if command == "end" else aside or (first if command == "begin" and first.strip(":") in _ASIDE else "")
        elif re.fullmatch(r"head[1-6]", command):
            made.heading(said, int(command[4]))
        elif command == "over":
            depth = min(depth + 1, _DEEPEST)
        elif command == "back":
            made.flush()
            depth = max(depth - 1, 0)
        elif command == "item" and made.kind == "entry" and not made.lines and len(made.term) < _TERMS:  # explained together
            made.term, made.depth = ", ".join(filter(None, (made.term, said))), depth
        elif command == "item":
            made.begin("entry", term=f"{said}." if said.isdecimal() else said, depth=depth)
        elif not command and part.strip():
            _paragraph(part, made)
    made.flush()
    blocks = made.blocks
    begins = len(blocks) > 1 and blocks[0] == Block("heading", "NAME", 1)  # as manuals do: "lamp - light"
    return titled("pod", blocks, url, name, blocks[1].text.partition(" - ")[0] if begins else "")


def _paragraph(part: str, made: Builder) -> None:
    if part[:1] in " \t":
        made.begin("code", *part.expandtabs().split("\n"))
    elif made.kind == "entry" and not made.lines:
        made.lines.append(part)
    else:
        made.begin("paragraph", part)


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
