"""Changing the settings file: the lines concerned and no others, so that comments and whatever else is there stay."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wellread.core.private_files import private_folder, replace_private
from wellread.errors import SettingsError

Changes = Mapping[str, object]  # None takes a line away
_HEADER = re.compile(r"^\s*\[")


def change(path: Path, plain: Changes, keys: Mapping[str, str | None]) -> None:
    """Set top-level values and entries of [keys]. The file is whole at any moment, and its owner's alone afterwards."""
    real = Path(os.path.realpath(path))
    try:
        text = real.read_text(encoding="utf-8") if real.exists() else ""
        wanted = _merged(tomllib.loads(text), plain, keys)
        fresh = changed(text, plain, keys)
        if tomllib.loads(fresh) != wanted:
            raise SettingsError(f"{path} is written in a way that cannot be changed here: change it by hand")
        private_folder(real.parent) if not real.parent.exists() else None
        replace_private(real, fresh.encode())
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{path} is broken: {problem}") from None
    except OSError as problem:
        raise SettingsError(f"{path} cannot be written: {problem.strerror or problem}") from None


def changed(text: str, plain: Changes, keys: Mapping[str, str | None]) -> str:
    """The text of the file with other values."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []  # TOML's lines alone
    end = next((number for number, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    head, rest = lines[:end], lines[end:]
    for name, value in plain.items():
        head = _set(head, name, value)
    if head and rest and head[-1].strip() and head != lines[:end]:
        head.append("")
    return "\n".join([*head, *_with_keys(rest, keys), ""])


def _with_keys(lines: list[str], keys: Mapping[str, str | None]) -> list[str]:
    at = next((number for number, line in enumerate(lines) if line.split("#")[0].strip() == "[keys]"), None)
    if at is None:
        if not any(keys.values()):
            return lines
        lines, at = [*lines, "", "[keys]"], len(lines) + 1
    end = next((number for number in range(at + 1, len(lines)) if _HEADER.match(lines[number])), len(lines))
    inside = lines[at + 1 : end]
    for name, value in keys.items():
        inside = _set(inside, name, value)
    return [*lines[: at + 1], *inside, *lines[end:]]


def _set(lines: list[str], name: str, value: object) -> list[str]:
    """The lines with one assignment replaced, added or taken away."""
    said = [] if value is None else [f"{name} = {json.dumps(value, ensure_ascii=False)}"]
    begins = re.compile(rf"^\s*{re.escape(name)}\s*=")
    at = next((number for number, line in enumerate(lines) if begins.match(line)), None)
    if at is None:
        return [*lines, *said]
    return [*lines[:at], *said, *lines[_end(lines, at) :]]


def _end(lines: list[str], at: int) -> int:
    """Where an assignment ends that may go on over several lines."""
    for end in range(at + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[at:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return at + 1


def _merged(old: dict[str, Any], plain: Changes, keys: Mapping[str, str | None]) -> dict[str, Any]:
    """What the file must say afterwards."""
    both = {**old, **plain}
    table = {**old.get("keys", {}), **keys}
    kept = {name: value for name, value in table.items() if value is not None}
    fresh = {name: value for name, value in both.items() if value is not None and name != "keys"}
    return {**fresh, "keys": kept} if kept or "keys" in old else fresh
