"""BibTeX and RIS read as fields; nothing is known here of what they mean."""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Iterator

Fields = dict[str, str]
_ENTRY = re.compile(r"@\s*(\w+)\s*[{(]\s*")
_FIELD = re.compile(r"\s*,?\s*([\w:+-]+)\s*=\s*")
_BARE = re.compile(r"[^\s,#{}()\"]+")
_MONTHS = {name.lower(): "" for name in calendar.month_abbr}  # macros that all styles have
_MARKS = (*range(0x300, 0x305), 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C, 0x323, 0x327, 0x328, 0x331)
_ACCENTS = dict(zip("`'^~=u.\"rHvdckb", map(chr, _MARKS), strict=True))
_ACCENTED = re.compile(r"""\\([`'^~=."]|[uvHckrdb](?![a-zA-Z]))\s*(?:\{\s*\\?([a-zA-Z])\s*\}|\\?([a-zA-Z]))""")
_LETTERS = dict(zip(["ss", "o", "O", "l", "L", "ae", "AE", "oe", "OE", "aa", "AA", "i"], "ßøØłŁæÆœŒåÅı", strict=True))
_LETTER = re.compile(r"\\(" + "|".join(sorted(_LETTERS, key=len, reverse=True)) + r")(?![a-zA-Z])\s*")
_TAG = re.compile(r"([A-Z][A-Z0-9])  ?- ?(.*)")


def read_bibtex(text: str) -> Iterator[Fields]:
    """The entries, with `type` and `key` beside their fields; what is broken is passed over. Braces are still in the values."""
    macros = dict(_MONTHS)
    at = 0
    while found := _ENTRY.search(text, at):
        kind, at = found[1].lower(), found.end()
        if kind in ("comment", "preamble"):
            continue
        fields: Fields = {"type": kind}
        if kind != "string":
            key = _BARE.match(text, at)
            fields["key"], at = (key[0], key.end()) if key else ("", at)
        while named := _FIELD.match(text, at):
            value, at = _value(text, named.end(), macros)
            fields.setdefault(named[1].lower(), value)
        if kind == "string":
            macros |= {name: value for name, value in fields.items() if name != "type"}
        else:
            yield fields


def _value(text: str, at: int, macros: dict[str, str]) -> tuple[str, int]:
    """A value and where it ends: texts in braces or quotes, numbers and macros, joined by `#`."""
    parts: list[str] = []
    while True:
        if text[at : at + 1] in ("{", '"'):
            end = _closed(text, at)
            parts.append(text[at + 1 : end])
            at = end + 1
        elif bare := _BARE.match(text, at):
            parts.append(macros.get(bare[0].lower(), bare[0]))
            at = bare.end()
        joint = re.compile(r"\s*#\s*").match(text, at)
        if not joint:
            return "".join(parts), at
        at = joint.end()


def _closed(text: str, at: int) -> int:
    """Where what begins at a brace or a quote ends; at the end of the text if nowhere."""
    quoted, depth = text[at] == '"', 0
    for place in range(at + 1, len(text)):
        sign = text[place]
        if text[place - 1] == "\\" and text[place - 2 : place - 1] != "\\":
            continue
        if depth == 0 and sign == ('"' if quoted else "}"):
            return place
        depth += (sign == "{") - (sign == "}")
    return len(text)


def spelled(value: str) -> str:
    """A value of BibTeX as words: accents as letters, braces and commands gone."""
    value = _ACCENTED.sub(lambda found: unicodedata.normalize("NFC", (found[2] or found[3]) + _ACCENTS[found[1]]), value)
    value = _LETTER.sub(lambda found: _LETTERS[found[1]], value)
    value = re.sub(r"\\([&%$#_{}])", "\x00\\1", value).replace("---", "—").replace("--", "–").replace("~", " ")
    value = re.sub(r"(?<!\x00)[{}]|\\[a-zA-Z]+\s*|\x00", "", value)
    return " ".join(value.replace("``", "“").replace("''", "”").split())


def read_ris(text: str) -> Iterator[dict[str, list[str]]]:
    """The entries, as the values of each tag in order."""
    entry: dict[str, list[str]] = {}
    for line in text.splitlines():
        found = _TAG.fullmatch(line.strip("\ufeff").rstrip())
        if found and found[1] == "ER":
            yield entry
            entry = {}
        elif found:
            entry.setdefault(found[1], []).append(found[2].strip())
